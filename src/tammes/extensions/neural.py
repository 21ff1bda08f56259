"""Neural extensions: a scalar extension of every leading eigenvector of a matrix."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer, check_number, check_shape
from tammes.extensions.eigenpairs import Eigensolver, PowerIterations
from tammes.extensions.ground_set import GroundSet
from tammes.extensions.scalar.extension import AnySetFunction, Distribution, Extension, as_set_function
from tammes.extensions.scalar.lovasz import Lovasz

Squash = Callable[[Float[Tensor, "k total"], GroundSet], Float[Tensor, "k total"]]
"""Map of unit vectors, with signs such that their entries add up to at least 0, into [0, 1]."""


@dataclass(frozen=True, kw_only=True)
class Sigmoid:
    """x = sigmoid(scale * v).

    Args:
        scale: slope, positive; the paper takes 1. An entry of v is about 1/sqrt(n), so that x is close to 1/2
            everywhere then: half of the mass lies on the set of all elements.

    Raises:
        ValueError: for a scale that is not positive.

    Source: Robinson (2023), section 8.4.2. Differs: with a sigmoid no eigenvector becomes 1_S, and
    F(1_S 1_S^T) = f(S) does not hold; it does with `Peak`.

    Example:
        >>> Sigmoid()(torch.zeros(1, 2), GroundSet(sizes=(2,)))
        tensor([[0.5000, 0.5000]])
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_number("scale", self.scale, above=0)

    def __call__(self, vectors: Float[Tensor, "k total"], ground: GroundSet) -> Float[Tensor, "k total"]:
        """Return x for each vector of each input."""
        return torch.sigmoid(self.scale * vectors)


@dataclass(frozen=True, kw_only=True)
class Peak:
    """x = max(v, 0) / max over the input of v: the eigenvector of 1_S 1_S^T becomes 1_S.

    Example:
        >>> Peak()(torch.tensor([[0.6, -0.1, 0.3]]), GroundSet(sizes=(3,)))
        tensor([[1.0000, 0.0000, 0.5000]])
    """

    def __call__(self, vectors: Float[Tensor, "k total"], ground: GroundSet) -> Float[Tensor, "k total"]:
        """Return x for each vector of each input."""
        positive = vectors.clamp(min=0)
        peak = ground.pad(positive, 0.0).amax(dim=-1)  # (k, inputs); 0 for a vector of zeros
        return positive / peak.where(peak > 0, 1.0)[:, ground.owner]


@dataclass(frozen=True, kw_only=True)
class Neural:
    """F(X) = sum_i lambda_i sum over S, T of p_{x_i}(S) p_{x_i}(T) f(S and T), with X = Z Z^T.

    Z has an embedding for each element, lambda_i are the leading eigenvalues of X divided by their sum, and
    x_i in [0, 1] the squashed eigenvectors. X is never materialized: what is decomposed is d by d at most.
    The sign of an eigenvector is the one with which its entries add up to at least 0, so that the result
    depends neither on the eigensolver's signs nor on the order of the elements. Embeddings that are all zero
    stand for the empty set.

    Args:
        extension: scalar extension p_x.
        eigenvectors: number k of leading eigenvectors, at least 1.
        solver: eigensolver.
        squash: map from eigenvectors to points of the unit cube.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), Proposition 12, eq. 8.3 and 8.4. Differs: these have lambda_i as they are. Here
    the k eigenvalues in use are divided by their sum, so that p_X adds up to 1, as the dual SDP of
    section 8.4.1 demands, and F does not change with the scale of Z; the proof in F.4 normalizes X in the
    same way, but by all n eigenvalues. The published code multiplies eigenvalues and values by a broadcast
    that cancels the weights; the text is followed. Its signs are those of the first coordinate, which depends
    on the order of the elements.

    Example:
        >>> import torch
        >>> from tammes.extensions import ExactEigenpairs, Peak
        >>> embeddings = torch.tensor([[1.0], [1.0], [0.0]])  # X = 1_S 1_S^T for S the first two
        >>> exact = Neural(eigenvectors=1, solver=ExactEigenpairs(), squash=Peak())
        >>> exact(embeddings, lambda sets: sets.sum(dim=1).square().float()).item()
        4.0
    """

    extension: Extension = field(default_factory=Lovasz)
    eigenvectors: int = 4
    solver: Eigensolver = field(default_factory=PowerIterations)
    squash: Squash = field(default_factory=Sigmoid)

    def __post_init__(self) -> None:
        check_integer("eigenvectors", self.eigenvectors)

    def points(
        self, embeddings: Float[Tensor, "total d"], ground: GroundSet
    ) -> tuple[Float[Tensor, "k inputs"], Float[Tensor, "k total"]]:
        """Return the weights lambda_i, with sum 1 (0 for embeddings of zeros), and the points x_i.

        Raises:
            ValueError: for embeddings of another shape or type, or that are not finite or far too large.
        """
        check_shape("embeddings, one for each element,", embeddings.shape, (ground.total, None))
        if not embeddings.is_floating_point() or embeddings.shape[1] < 1:
            got = f"{embeddings.dtype} {tuple(embeddings.shape)}"
            raise ValueError(f"expected embeddings with a feature or more in floating point, got {got}")
        # The sum is one quick pass, and it is finite only if all entries are; it alone may also overflow.
        if not (embeddings.sum().isfinite() or embeddings.isfinite().all()):
            raise ValueError("expected finite embeddings, got infinities or NaN; lower the learning rate")
        precise = embeddings.to(torch.promote_types(embeddings.dtype, torch.float32))
        rows = precise.new_zeros(ground.inputs * ground.widest, embeddings.shape[1])
        factor = rows.index_copy(0, ground.slot, precise).unflatten(0, (ground.inputs, ground.widest))
        with torch.autocast(embeddings.device.type, enabled=False):  # eigenvectors need full precision
            values, vectors = self.solver(factor, self.eigenvectors)
        total = values.sum(dim=1, keepdim=True)
        if not total.isfinite().all():
            raise ValueError(
                f"expected embeddings whose products {precise.dtype} can hold, scale them up or down"
            )
        weights = values / total.where(total > 0, 1.0)
        # sign(sign(sum) + 0.5) is +1 where the sum is 0, and never 0.
        signed = vectors * vectors.detach().sum(1, keepdim=True).sign().add(0.5).sign()
        x = self.squash(ground.unpad(signed.permute(2, 0, 1)), ground)
        return weights.T, self.extension.within(x, ground)

    def distribution(self, embeddings: Float[Tensor, "total d"], ground: GroundSet) -> Distribution:
        """Return the scalar distributions p_{x_i}, a row for each eigenvector, to decode sets from."""
        _, x = self.points(embeddings, ground)
        return self.extension.distribution(x, ground)

    def __call__(self, embeddings: Float[Tensor, "total d"], f: AnySetFunction) -> Float[Tensor, " inputs"]:
        """Return F(Z Z^T) for each input.

        Args:
            embeddings: Z, a row for each element of all inputs, one after the other.
            f: a set function for all inputs; or, for one input, any function from `(sets, total)` bool
                indicator vectors to `(sets,)` numbers.

        Raises:
            ValueError: for embeddings of another shape or that are not finite, and for an f that is not 0 for
                the empty set, is NaN, or gives the wrong shape.
        """
        function = as_set_function(f, embeddings.T)
        weights, x = self.points(embeddings, function.ground)
        return (weights * self.extension.paired(x, function)).sum(0)
