"""A distribution over few sets."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from tammes.extensions.ground_set import GroundSet
from tammes.extensions.set_function import SetFunction
from tammes.extensions.support import Support, weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class Piece:
    """A support and the probability of each of its sets.

    Args:
        support: the sets.
        probabilities: a number for each, in the support's own shape; differentiable in x.
    """

    support: Support
    probabilities: Float[Tensor, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Distribution:
    """p over sets S, for each row and input; the mass that is missing to 1 lies on the empty set.

    Args:
        ground: of the inputs.
        pieces: supports with their probabilities; a set may occur in several.

    Example:
        >>> import torch
        >>> from tammes.extensions import Lovasz
        >>> p = Lovasz().distribution(torch.tensor([[0.5, 0.9, 0.2]]), GroundSet(sizes=(3,)))
        >>> p.mass.item(), p.mean[0].tolist()  # doctest: +ELLIPSIS
        (0.8999..., [0.5, 0.8999..., 0.2...])
    """

    ground: GroundSet
    pieces: tuple[Piece, ...]

    @property
    def mass(self) -> Float[Tensor, "rows inputs"]:
        """Sum over S of p(S), without the mass that is left to the empty set."""
        parts = [piece.support.sum(piece.probabilities) for piece in self.pieces]
        return sum(parts[1:], parts[0])

    @property
    def mean(self) -> Float[Tensor, "rows total"]:
        """Sum over S of p(S) 1_S."""
        parts = [piece.support.mean(piece.probabilities) for piece in self.pieces]
        return sum(parts[1:], parts[0])

    def expectation(self, f: SetFunction) -> Float[Tensor, "rows inputs"]:
        """Sum over S of p(S) f(S): the extension's value (eq. 8.2).

        Raises:
            ValueError: if f is NaN or of the wrong shape somewhere.
        """
        parts = [
            piece.support.sum(weighted(piece.probabilities, piece.support.values(f))) for piece in self.pieces
        ]
        return sum(parts[1:], parts[0])

    def best(self, worth: SetFunction) -> tuple[Float[Tensor, " inputs"], Bool[Tensor, " total"]]:
        """The set of greatest worth in the support of each input, over all rows; of equals the first.

        Args:
            worth: larger is better; minus infinity for sets that are not allowed.

        Returns:
            The worths and, as one indicator vector, the sets.
        """
        worths: Tensor | None = None
        members: Tensor | None = None
        for piece in self.pieces:
            found, sets = piece.support.best(piece.support.values(worth).detach())
            for each, chosen in zip(found, sets, strict=True):
                if worths is None or members is None:
                    worths, members = each, chosen
                    continue
                better = each > worths
                members = chosen.where(better[self.ground.owner], members)
                worths = each.where(better, worths)
        assert worths is not None, "a distribution has a piece with a row"
        assert members is not None, "a distribution has a piece with a row"
        return worths, members
