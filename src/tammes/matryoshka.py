"""An objective at several lengths of one embedding, whose beginnings are embeddings, too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from tammes.checks import check_integer, check_number
from tammes.citation import entries_of
from tammes.measurements import Measurements
from tammes.module import ObjectiveModule
from tammes.objective import Objective
from tammes.pairs import Pairs
from tammes.temperature import LearnedTemperature


@dataclass(frozen=True, kw_only=True)
class Matryoshka:
    """Sum of an objective's losses on the first d numbers of each embedding, for several d.

        loss = sum_k c_k L(z[:d_k]) ,

    each beginning brought to unit length for itself, if the objective normalizes. The encoder runs once; the
    objective once for each length.

    Args:
        objective: objective L. The columns of a guide (`NotAbove`) stay whole.
        dims: lengths d_k, each once.
        weights: weights c_k, as many; by default all 1.

    Attributes:
        each: the objective of each length, whose `last` has the numbers of that length.

    Raises:
        ValueError: no length, one that is no positive integer or comes twice, other than one positive weight
            for each; when called, a length above that of the embeddings.

    Source: Kusupati et al. (2022), eq. 1.

    Example:
        >>> from tammes import recipes
        >>> matryoshka = Matryoshka(objective=recipes.simclr(temperature=0.5), dims=(2, 4))
        >>> loss = matryoshka(torch.randn(8, 4), torch.randn(8, 4))
        >>> round((matryoshka.each[2].last["loss"] + matryoshka.last["loss"]) / loss.item(), 4)
        1.0
    """

    objective: Objective
    dims: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    each: dict[int, Objective] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.objective, Objective):
            raise ValueError(f"objective must be an Objective, got {self.objective!r}")
        for name in ("dims", "weights"):
            if isinstance(vars(self)[name], int | float):
                raise ValueError(
                    f"{name} must be a tuple, got {vars(self)[name]}: write ({vars(self)[name]},)"
                )
        dims = tuple(self.dims)
        for dim in dims:
            check_integer("each of dims", dim)
        if not dims or len(set(dims)) < len(dims):
            raise ValueError(f"dims must name at least one length, each once: got {dims}")
        if self.weights is not None:
            if len(self.weights) != len(dims):
                raise ValueError(f"expected a weight for each of {len(dims)} lengths, got {self.weights}")
            for weight in self.weights:
                check_number("each of weights", weight, above=0)
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "each", {dim: replace(self.objective) for dim in dims})

    @property
    def last(self) -> Measurements:
        """Named numbers of the last call, at the largest length."""
        return self.each[max(self.dims)].last

    @property
    def citation(self) -> str:
        """BibTeX entries of Kusupati et al. (2022), and of the papers whose methods the objective is made of.

        Example:
            >>> from tammes import recipes
            >>> sum_of = Matryoshka(objective=recipes.simclr(temperature=0.5), dims=(2, 4))
            >>> print(sum_of.citation.splitlines()[0])
            @inproceedings{kusupati2022matryoshka,
        """
        own = entries_of(["kusupati2022matryoshka"])
        return "\n\n".join(each for each in (own, self.objective.citation) if each)

    def __call__(
        self,
        *views: Float[Tensor, "batch d"] | Pairs,
        ids: Integer[Tensor, " batch"] | None = None,
        labels: Integer[Tensor, " batch"] | None = None,
        generator: torch.Generator | None = None,
        temperature: Float[Tensor, ""] | Float[Tensor, " 1"] | None = None,
        bias: Float[Tensor, ""] | Float[Tensor, " 1"] | None = None,
    ) -> Float[Tensor, ""]:
        """Return the weighted sum of the losses; arguments and errors as those of the objective."""
        guide = self.objective.selection.guide_columns
        losses = []
        for (dim, objective), weight in zip(
            self.each.items(), self.weights or (1.0,) * len(self.dims), strict=True
        ):
            loss = objective(
                *(
                    _cut(view, dim, guide) if isinstance(view, Pairs) else _columns(view, dim, guide)
                    for view in views
                ),
                ids=ids,
                labels=labels,
                generator=generator,
                temperature=temperature,
                bias=bias,
            )
            losses.append(weight * loss)
        return torch.stack(losses).sum()

    def module(
        self, *, temperature: LearnedTemperature | None = None, bias: nn.Parameter | None = None
    ) -> ObjectiveModule:
        """Return the sum as an `nn.Module`, with a temperature or a bias that is learned with it."""
        self.objective.module(temperature=temperature, bias=bias)  # refuses what it cannot have
        return ObjectiveModule(self, temperature=temperature, bias=bias)


def _cut(pairs: Pairs, dim: int, guide: int) -> Pairs:
    """Return the pairs with the first `dim` columns of each embedding, and those of the guide behind them."""
    return pairs.with_rows(lambda rows: _columns(rows, dim, guide))


def _columns(rows: Tensor, dim: int, guide: int) -> Tensor:
    width = rows.shape[-1] - guide
    if dim > width:
        raise ValueError(
            f"dims asks for the first {dim} numbers of each embedding, but embeddings have {width}: leave "
            "that length out, or widen the encoder"
        )
    return torch.cat([rows[..., :dim], rows[..., width:]], dim=-1) if guide else rows[..., :dim]
