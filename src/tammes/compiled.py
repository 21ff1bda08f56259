"""Objectives in steps that `torch.compile` traces or `torch.func` transforms, imported only then.

An objective decides by numbers that it reads from tensors: lengths, ids, ranges of exponents. Traced line by
line it would break the graph twenty times, and be compiled anew for other numbers. So it breaks the graph
once: the encoder is compiled whole, the objective runs as it does without a compiler. Only the softmax loss
by the dense engine, of two views or of aligned pairs, needs no such number, and is a part of the graph: of
plain operations, which `torch.func` transforms as well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.contrast.infonce import SoftmaxContrast
from tammes.correction import Debias
from tammes.coupling import Coupling, Hard, Uniform
from tammes.module import Evaluates
from tammes.pairs import Pairs
from tammes.reduce import Dense
from tammes.reduce.terms import softplus
from tammes.selection import All
from tammes.traced import is_transformed

if TYPE_CHECKING:
    from tammes.objective import Objective

_SHORT = 30.0
"""Exponents up to which sums of exponentials need no shift, in float32 too."""


def evaluate(
    objective: Objective,
    *views: Tensor | Pairs,
    ids: Tensor | None,
    labels: Tensor | None,
    generator: torch.Generator | None,
    temperature: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """Return the loss, within the graph or between two graphs; arguments are those of the objective.

    Raises:
        ValueError: a loss that `torch.func` is to transform, and that is not made of plain operations.
    """
    if temperature is not None and not isinstance(temperature, Tensor):
        raise ValueError(f"temperature must be a tensor, got {temperature!r}: write torch.tensor(...)")
    is_plain = ids is None and labels is None and bias is None
    if is_plain and _is_dense_softmax(objective, temperature):
        pair, pairs = _two_views(views), _aligned_pairs(views)
        if pair is not None:
            return _dense_softmax(objective, _of_views(objective, *pair), temperature)
        if pairs is not None:
            loss = _dense_softmax(objective, _of_pairs(objective, pairs), temperature)
            if pairs.reverse is None:
                return loss
            return (loss + _dense_softmax(objective, _of_pairs(objective, pairs.reverse), temperature)) / 2
    if is_transformed():
        raise ValueError(
            "torch.func transforms softmax losses of the dense engine alone, with uniform or hard negatives "
            "of two views or aligned pairs: take dataclasses.replace(objective, engine=Dense()), or plain "
            "backward()"
        )
    return _between_graphs(
        objective,
        *views,
        ids=ids,
        labels=labels,
        generator=generator,
        temperature=temperature,
        bias=bias,
    )


@torch.compiler.disable(reason="an objective is evaluated between two graphs")  # type: ignore[untyped-decorator]
def _between_graphs(
    objective: Evaluates,
    *views: Tensor | Pairs,
    ids: Tensor | None,
    labels: Tensor | None,
    generator: torch.Generator | None,
    temperature: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    return objective(*views, ids=ids, labels=labels, generator=generator, temperature=temperature, bias=bias)


def _two_views(views: tuple[Tensor | Pairs, ...]) -> tuple[Tensor, Tensor] | None:
    """Return two views of two rows or more; what is wrong with anything else, the objective says."""
    a, b = views if len(views) == 2 else (None, None)
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return None
    are_floats = a.is_floating_point() and b.is_floating_point()
    return (a, b) if are_floats and a.ndim == 2 and a.shape == b.shape and len(a) > 1 else None


def _aligned_pairs(views: tuple[Tensor | Pairs, ...]) -> Pairs | None:
    """Return pairs of which each anchor has its own candidate, in both directions if there are two."""
    pairs = views[0] if len(views) == 1 else None
    if not isinstance(pairs, Pairs):
        return None
    both = (pairs,) if pairs.reverse is None else (pairs, pairs.reverse)
    for each in both:
        if not each.is_aligned or each.candidates is None or len(each.candidates) < 2:
            return None
    return pairs


def _is_dense_softmax(objective: Objective, temperature: Tensor | None) -> bool:
    """Return whether the loss of a batch is that of `_dense_softmax`."""
    return (
        isinstance(objective.engine, Dense)
        and isinstance(objective.contrast, SoftmaxContrast)
        and isinstance(objective.coupling, Uniform | Hard)
        and isinstance(objective.selection, All)
        and isinstance(objective.correction, Debias | None)
        and objective.perturbation is None
        and objective.mixing is None
        and (temperature is None or temperature.ndim == 0)
    )


class _Rows(NamedTuple):
    """Anchors and candidates of one direction, and which candidates are no negatives.

    Args:
        anchors: anchors.
        candidates: candidates.
        partners: positive of each anchor.
        excluded: whether a candidate is the anchor or its positive.
        available: number of negatives of each anchor.
    """

    anchors: Float[Tensor, "n d"]
    candidates: Float[Tensor, "m d"]
    partners: Float[Tensor, "n d"]
    excluded: Bool[Tensor, "n m"]
    available: int


def _of_views(objective: Objective, view_a: Tensor, view_b: Tensor) -> _Rows:
    """Return the rows of two views, each an anchor and a candidate of the others."""
    batch = len(view_a)
    rows = _prepared(objective, torch.cat([view_a, view_b]))
    image = torch.arange(batch, device=rows.device).repeat(2)
    return _Rows(
        anchors=rows,
        candidates=rows,
        partners=rows.roll(batch, 0),
        excluded=image[:, None] == image,
        available=2 * batch - 2,
    )


def _of_pairs(objective: Objective, pairs: Pairs) -> _Rows:
    """Return the rows of aligned pairs."""
    assert pairs.candidates is not None
    anchors, candidates = _prepared(objective, pairs.anchors), _prepared(objective, pairs.candidates)
    n, m = len(anchors), len(candidates)
    places = torch.arange(m, device=anchors.device)
    return _Rows(
        anchors=anchors,
        candidates=candidates,
        partners=candidates[:n],
        excluded=places[:n, None] == places,
        available=m - 1,
    )


def _prepared(objective: Objective, rows: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Return rows in float32 or float64, of unit length if the objective has them so."""
    with torch.autocast(rows.device.type, enabled=False):
        rows = rows if rows.dtype == torch.float64 else rows.float()
        return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True) if objective.normalize else rows


def _dense_softmax(objective: Objective, rows: _Rows, learned: Float[Tensor, ""] | None) -> Float[Tensor, ""]:
    """Return the mean over all anchors of softplus(log Q + log G - l+), the gradient left to autograd.

        G  =  sum_j w_ij e^{l_ij} / sum_j w_ij ,        w_ij = 1, or e^{beta l_ij} for hard negatives,

    over the candidates that are neither the anchor nor its positive; with the correction of G.
    """
    temperature = objective.temperature if learned is None else learned
    contrast = objective.contrast
    assert isinstance(contrast, SoftmaxContrast)
    is_short = learned is None and objective.normalize and _steepness(objective) < _SHORT
    with torch.autocast(rows.anchors.device.type, enabled=False):
        positive = (rows.anchors * rows.partners).sum(dim=1) / temperature
        logits, correct = rows.anchors @ rows.candidates.T / temperature, objective.correction
        count = rows.anchors.new_full((), rows.available)
        if is_short:
            mean = _mean(objective.coupling, logits, rows.excluded, count)
            if correct is not None:
                least = math.exp(correct.least_similarity / objective.temperature)
                mean, _ = correct(mean, positive.exp(), least, log_domain=False)
            log_mean = mean.log()
        else:
            log_mean = _log_mean(objective.coupling, logits, rows.excluded, count)
            if correct is not None:
                floor = correct.least_similarity / temperature
                log_mean, _ = correct(log_mean, positive, floor, log_domain=True)
        if contrast.is_limit:
            return (log_mean - positive).mean()
        log_weight = count.log() if contrast.log_weight is None else contrast.log_weight
        return softplus(log_mean + log_weight - positive).mean()


def _steepness(objective: Objective) -> float:
    """Return the largest |l_ij + log w_ij| of unit vectors."""
    beta = objective.coupling.beta if isinstance(objective.coupling, Hard) else 0.0
    return (1 + beta) / objective.temperature


def _log_mean(coupling: Coupling, logits: Tensor, excluded: Tensor, count: Tensor) -> Float[Tensor, " n"]:
    """Return log G of each anchor by log-sum-exps."""

    def log_sum(exponents: Tensor) -> Tensor:
        return torch.where(excluded, -torch.inf, exponents).logsumexp(dim=1)

    if not isinstance(coupling, Hard):
        return log_sum(logits) - count.log()
    log_weights = _log_weights(coupling, logits)
    return log_sum(logits + log_weights) - log_sum(log_weights)


def _mean(coupling: Coupling, logits: Tensor, excluded: Tensor, count: Tensor) -> Float[Tensor, " n"]:
    """Return G of each anchor by sums of exponentials, quicker, where they need no shift."""
    terms = torch.where(excluded, 0.0, logits.exp())
    if not isinstance(coupling, Hard):
        return terms.sum(dim=1) / count
    if coupling == Hard(beta=1.0):
        weights = terms  # one exponential less
    else:
        weights = torch.where(excluded, 0.0, _log_weights(coupling, logits).exp())
    return (weights * terms).sum(dim=1) / weights.sum(dim=1)


def _log_weights(coupling: Hard, logits: Tensor) -> Tensor:
    hardness = logits if coupling.clip is None else logits.clamp(-coupling.clip, coupling.clip)
    return coupling.beta * (hardness.detach() if coupling.detach else hardness)
