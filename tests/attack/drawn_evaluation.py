"""A drawn case evaluated by the package and on paper, and how far apart the two may be."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import plain_formula
import torch
from drawn_cases import Case
from torch import Tensor
from typing_extensions import override

import tammes
from tammes.contrast import Hinge, Sigmoid, Triplet
from tammes.coupling import Coupling, Fit
from tammes.layout import layout_of
from tammes.reduce import Engine, Negatives


class FittedOnce(Coupling):
    """A coupling that keeps its first fit, so that engines and types are compared under the same weights.

    No dataclass: the command line offers every coupling that is one.
    """

    def __init__(self, *, inner: Coupling) -> None:
        self.inner = inner
        self.kept: list[Fit] = []

    def __repr__(self) -> str:
        return f"FittedOnce(inner={self.inner!r})"

    @override
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        if not self.kept:
            self.kept.append(self.inner.fit(negatives, temperature, engine))
        (fit,) = self.kept
        if fit.weight.column is None:
            return fit
        column = fit.weight.column.to(negatives.anchors.dtype)
        return replace(fit, weight=replace(fit.weight, column=column))


@dataclass(frozen=True, kw_only=True)
class Found:
    """A loss with its gradients.

    Args:
        loss: the loss.
        gradients: gradient of each leaf, each row times its length (or the longest, where rows are not
            normalized), so that it answers relative changes of a row.
        temperature: gradient of the logarithm of a learned temperature, or zero.
    """

    loss: float
    gradients: Tensor
    temperature: float

    @property
    def is_finite(self) -> bool:
        numbers = torch.tensor([self.loss, self.temperature], dtype=torch.float64)
        return bool(torch.isfinite(numbers).all()) and bool(torch.isfinite(self.gradients).all())

    def distance(self, other: Found) -> tuple[float, float, float]:
        return (
            abs(self.loss - other.loss),
            float((self.gradients - other.gradients).abs().max()),
            abs(self.temperature - other.temperature),
        )


def evaluated(
    case: Case, dtype: torch.dtype, loss: Callable[[tuple[Tensor, ...], Tensor | None], Tensor]
) -> Found:
    """A loss of the leaves and the learned temperature, with its gradients."""
    leaves = tuple(leaf.detach().clone().to(dtype).requires_grad_() for leaf in case.leaves)
    kind = torch.float64 if dtype == torch.float64 else torch.float32
    learned = None if case.learned is None else torch.tensor(case.learned, dtype=kind, requires_grad=True)
    value = loss(leaves, learned)
    value.backward()
    lengths = [torch.linalg.vector_norm(leaf.detach().double(), dim=1, keepdim=True) for leaf in leaves]
    if not case.objective.normalize:
        longest = torch.cat(lengths).max()
        lengths = [longest.expand_as(length) for length in lengths]
    gradients = [
        torch.zeros_like(leaf).double() if leaf.grad is None else leaf.grad.double() for leaf in leaves
    ]
    return Found(
        loss=float(value.detach()),
        gradients=torch.cat([g * length for g, length in zip(gradients, lengths, strict=True)]),
        temperature=0.0
        if learned is None or learned.grad is None
        else float(learned.grad) * float(learned.detach()),
    )


def of_package(case: Case, dtype: torch.dtype, engine: Engine | None = None) -> Found:
    objective = replace(case.objective, engine=engine)
    return evaluated(
        case, dtype, lambda leaves, learned: case.loss(leaves, objective=objective, learned=learned)
    )


def assert_in_words(error: ValueError) -> None:
    """A refusal is a sentence with a reason, of which NaN is not all."""
    words = [word for word in str(error).split() if word.strip(".,:;()").lower() not in {"nan", "inf"}]
    assert len(words) >= 6, f"refused without words: {error}"


def refuses(call: Callable[[], object]) -> bool:
    """Whether the call raises a ValueError, which must be in words."""
    try:
        call()
    except ValueError as error:
        assert_in_words(error)
        return True
    return False


def plain(
    case: Case, *, floor_move: float = 0.0, noise: float = 0.0
) -> Callable[[tuple[Tensor, ...], Tensor | None], Tensor]:
    """The formula on paper, for the fit that the case holds by now."""
    if case.queue is not None:
        # One that does not refuse moved keys which are too small for a half precision.
        case = replace(case, queue=copy.deepcopy(case.queue).double())
    objective = case.objective
    coupling, potential = objective.coupling, None
    pairs = case.pairs(case.leaves)
    if isinstance(coupling, FittedOnce):
        column = coupling.kept[0].weight.column
        if column is not None:
            layout = layout_of(pairs, objective.selection)
            order = layout.order if layout.candidate_order is None else layout.candidate_order
            potential = torch.empty_like(column)
            potential[order] = column
        objective = replace(objective, coupling=coupling.inner)
    drawn = None
    if case.draws:
        any_weights = tammes.Objective(
            temperature=1.0, selection=objective.selection, normalize=objective.normalize
        )
        drawn = any_weights.weights(pairs, generator=case.generator()) > 0
    matrices = plain_formula.Matrices.of(objective, pairs, drawn=drawn, potential=potential)
    matrices = replace(matrices, floor_move=floor_move, noise=noise)

    def loss(leaves: tuple[Tensor, ...], learned: Tensor | None) -> Tensor:
        temperature = torch.tensor(objective.temperature, dtype=torch.float64) if learned is None else learned
        return plain_formula.loss(objective, case.pairs(leaves), matrices, temperature.double())

    return loss


def tolerances(
    case: Case,
    exact: Callable[[tuple[Tensor, ...], Tensor | None], Tensor],
    reference: Found,
    dtype: torch.dtype,
) -> tuple[float, float, float]:
    """How far an evaluation in a type may be from the formula on paper.

    An engine is right if its result is that of rows which differ by a few roundings from those given. So the
    formula is evaluated on rows moved by 16 roundings, in a random direction and its opposite, and with
    similarities moved likewise: how far the results move is the condition of this very case, with the kinks,
    the floors and the ties nearby. Where the moves cancel (equal rows), rounding of the logits is left: they
    are of size l = bound / temperature, exponents of size x, so weights have errors of eps x, and means of
    logits eps x l, which a correction divides by 1 - class_prior; shifts and margins of size c leave errors
    of eps c in the logits. In float64 the bounds on the loss are thus about 1e-13. A loss that these few
    roundings move by a thousandth (true negatives as the difference of two large means) has no digits that
    could be compared.
    """
    eps = torch.finfo(dtype).eps
    correction = case.objective.correction
    prior = correction.class_prior if isinstance(correction, tammes.Debias) else 0.0
    logit, exponent, size = sizes(case)
    rounding = 16 * eps / (1 - prior)
    nearby = [
        evaluated(replace(case, leaves=leaves), torch.float64, exact) for leaves in moved_leaves(case, eps)
    ]
    for noise in (16 * eps, -16 * eps):
        # Rows of one dimension are 1 or -1, however they are moved, and their similarities round apart.
        nearby.append(evaluated(case, torch.float64, plain(case, noise=noise)))
    if isinstance(correction, tammes.Debias) and math.isfinite(correction.least_similarity):
        # Rounding of the means decides where the correction is on its floor.
        for sign in (1, -1):
            moved_floor = plain(case, floor_move=sign * rounding * (1 + exponent))
            nearby.append(evaluated(case, torch.float64, moved_floor))
    worst = (max(each) for each in zip(*map(reference.distance, nearby), strict=True))
    value, gradient, temperature = (3 * each for each in worst)
    if value > 1e-3 * (1 + abs(reference.loss)):
        return math.inf, math.inf, math.inf
    if torch.finfo(dtype).eps * size > 1e-6 * logit:
        # Logits are lost beside a margin or a shift, and rounding decides on which side of a kink they are.
        gradient = temperature = math.inf
    return (
        value + rounding * ((1 + exponent) * (1 + logit) + size + abs(reference.loss)),
        gradient + rounding * (1 + exponent) * ((1 + exponent) * (1 + logit) + size),
        temperature + rounding * (1 + exponent) * ((1 + exponent) * (1 + logit) + size),
    )


def moved_leaves(case: Case, eps: float) -> Iterator[tuple[Tensor, ...]]:
    """The leaves with their rows moved by 16 eps of their lengths, in opposite directions."""
    generator = torch.Generator().manual_seed(0)
    lengths = [torch.linalg.vector_norm(leaf, dim=1, keepdim=True) for leaf in case.leaves]
    # A row of zeros is moved a little, too: it has the same similarity with all others.
    least = 1e-20 * float(torch.cat(lengths).max())
    # Among several equally hard negatives, each is to come first in one of the directions.
    for _ in range(4 if isinstance(case.objective.contrast, Hinge) else 1):
        moves = [
            16 * eps * length.clamp(min=least) * torch.randn(leaf.shape, generator=generator).double()
            for leaf, length in zip(case.leaves, lengths, strict=True)
        ]
        for sign in (1, -1):
            yield tuple(leaf + sign * move for leaf, move in zip(case.leaves, moves, strict=True))


def sizes(case: Case) -> tuple[float, float, float]:
    """The sizes of the logits, of the exponents of the weights times e^l, and of the constants."""
    objective = case.objective
    pairs = case.pairs(case.leaves)
    rows = pairs.anchors if pairs.candidates is None else torch.cat([pairs.anchors, pairs.candidates])
    longest = 1.0 if objective.normalize else float(torch.linalg.vector_norm(rows, dim=1).max())
    logit = longest**2 / objective.temperature
    exponent, coupling = logit, objective.coupling
    if isinstance(coupling, tammes.Hard):
        exponent += coupling.beta * min(logit, math.inf if coupling.clip is None else coupling.clip)
    elif isinstance(coupling, FittedOnce):
        weight = coupling.kept[0].weight
        exponent += abs(weight.slope) * longest**2
        if weight.tilt is not None:
            ends = weight.tilt(torch.tensor([-(longest**2), longest**2], dtype=torch.float64))
            exponent += float(ends.abs().max())
        if weight.column is not None:
            exponent += float(weight.column.abs().max())
    size = 0.0
    if isinstance(objective.contrast, Triplet | Hinge):
        size += objective.contrast.margin
    if isinstance(objective.contrast, Sigmoid):  # a sum over the negatives, each as large as the bias
        count = rows.shape[0] if objective.contrast.weight is None else objective.contrast.weight
        size += max(1.0, count) * (logit + abs(objective.contrast.bias))
    if isinstance(objective.perturbation, tammes.FeatureModification):
        size += objective.perturbation.epsilon * longest / objective.temperature
    if isinstance(objective.correction, tammes.Debias) and math.isfinite(
        objective.correction.least_similarity
    ):
        size += abs(objective.correction.least_similarity) / objective.temperature
    return logit, exponent, size


def assert_near(found: Found, expected: Found, bounds: tuple[float, float, float], name: str) -> None:
    for what, distance, bound in zip(
        ("loss", "gradient", "temperature"), found.distance(expected), bounds, strict=True
    ):
        assert distance <= bound, f"{what} in {name}: off by {distance:.2e}, allowed {bound:.2e}"
