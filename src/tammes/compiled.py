"""Objectives in steps that `torch.compile` traces, imported only while it does.

An objective decides by numbers that it reads from tensors: lengths, ids, ranges of exponents. Traced line by
line it would break the graph twenty times, and be compiled anew for other numbers. So it breaks the graph
once: the encoder is compiled whole, the objective runs as it does without a compiler. Only the softmax loss
of two views by the dense engine needs no such number, and is a part of the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.contrast.infonce import SoftmaxContrast
from tammes.correction import Debias
from tammes.coupling import Hard, Uniform
from tammes.module import Evaluates
from tammes.pairs import Pairs
from tammes.reduce import Dense
from tammes.reduce.terms import softplus
from tammes.selection import All

if TYPE_CHECKING:
    from tammes.objective import Objective


def evaluate(
    objective: Objective,
    *views: Tensor | Pairs,
    ids: Tensor | None,
    labels: Tensor | None,
    generator: torch.Generator | None,
    temperature: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """Return the loss, within the graph or between two graphs; arguments are those of the objective."""
    pair = _two_views(views)
    is_plain = ids is None and labels is None and bias is None
    if pair is not None and is_plain and _is_dense_softmax(objective, temperature):
        return _dense_softmax(objective, *pair, temperature)
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
    """Return two views of two images at least; of anything else the objective says what is wrong."""
    a, b = views if len(views) == 2 else (None, None)
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return None
    are_floats = a.is_floating_point() and b.is_floating_point()
    return (a, b) if are_floats and a.ndim == 2 and a.shape == b.shape and len(a) > 1 else None


def _is_dense_softmax(objective: Objective, temperature: Tensor | None) -> bool:
    """Return whether the loss of two views is that of `_dense_softmax`."""
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


def _dense_softmax(
    objective: Objective,
    view_a: Float[Tensor, "batch d"],
    view_b: Float[Tensor, "batch d"],
    learned: Float[Tensor, ""] | None,
) -> Float[Tensor, ""]:
    """Return the mean over all anchors of softplus(log Q + log G - l+), the gradient left to autograd.

        G  =  sum_j w_ij e^{l_ij} / sum_j w_ij ,        w_ij = 1, or e^{beta l_ij} for hard negatives,

    over the 2 (batch - 1) rows that are neither the anchor nor its positive; with the correction of G.
    """
    temperature = objective.temperature if learned is None else learned
    batch, contrast = len(view_a), objective.contrast
    assert isinstance(contrast, SoftmaxContrast)
    with torch.autocast(view_a.device.type, enabled=False):
        rows = torch.cat([view_a, view_b])
        rows = rows if rows.dtype == torch.float64 else rows.float()
        if objective.normalize:
            rows = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        positive = (rows * rows.roll(batch, 0)).sum(dim=1) / temperature
        image = torch.arange(batch, device=rows.device).repeat(2)
        log_count = rows.new_full((), 2 * batch - 2).log()
        log_mean = _log_mean(objective, rows @ rows.T / temperature, image[:, None] == image, log_count)
        if objective.correction is not None:
            least = objective.correction.least_similarity / temperature
            log_mean, _ = objective.correction(log_mean, positive, least, log_domain=True)
        if contrast.is_limit:
            return (log_mean - positive).mean()
        log_weight = log_count if contrast.log_weight is None else contrast.log_weight
        return softplus(log_mean + log_weight - positive).mean()


def _log_mean(
    objective: Objective,
    logits: Float[Tensor, "n n"],
    excluded: Bool[Tensor, "n n"],
    log_count: Float[Tensor, ""],
) -> Float[Tensor, " n"]:
    """Return log G of each anchor."""
    coupling = objective.coupling

    def log_sum(exponents: Tensor) -> Tensor:
        return torch.where(excluded, -torch.inf, exponents).logsumexp(dim=1)

    if not isinstance(coupling, Hard):
        return log_sum(logits) - log_count
    hardness = logits if coupling.clip is None else logits.clamp(-coupling.clip, coupling.clip)
    log_weights = coupling.beta * (hardness.detach() if coupling.detach else hardness)
    return log_sum(logits + log_weights) - log_sum(log_weights)
