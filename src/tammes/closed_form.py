"""The loss of a batch in closed form, for the batches that have one.

A loss made of reductions takes a node of the graph, and a few operations, for every step. For the usual
batches the whole loss is one node instead, with a gradient that is written by hand.
"""

from __future__ import annotations

from dataclasses import replace

from jaxtyping import Float, Int
from torch import Tensor

from tammes.batch import Batch
from tammes.contrast import Contrast, Sigmoid, SoftmaxContrast, Softplus
from tammes.correction import Correction, Debias
from tammes.group import Single
from tammes.perturbation import FeatureModification, Perturbation, Shifted
from tammes.reduce import (
    Exponent,
    KeyRanges,
    Negatives,
    SoftmaxLoss,
    SoftplusLoss,
    SymmetricSoftmaxLoss,
    Tiled,
    Triton,
)

_SMALL = 512 * 512
"""Entries of a symmetric S up to which it is kept whole: it then stays in a processor's cache."""


def form_of(
    contrast: Contrast,
    correction: Correction | None,
    perturbation: Perturbation | None,
    *,
    temperature: float,
    normalize: bool,
) -> SoftmaxLoss | SoftplusLoss | None:
    """Return the closed form of these parts of an objective, with its constants; None for other parts.

    Args:
        contrast: contrast of the objective.
        correction: its correction.
        perturbation: its perturbation.
        temperature: its temperature.
        normalize: whether it brings embeddings to unit length.

    Example:
        >>> from tammes.contrast import InfoNCE
        >>> form_of(InfoNCE(), None, None, temperature=0.5, normalize=True).temperature
        0.5
    """
    if isinstance(contrast, Softplus | Sigmoid) and correction is None and perturbation is None:
        bias, factor = contrast.offset, contrast.weight if isinstance(contrast, Sigmoid) else 1.0
        if isinstance(bias, Tensor):  # learned
            return None
        return SoftplusLoss(temperature=temperature, bias=bias, factor=factor)
    if not isinstance(contrast, SoftmaxContrast) or not isinstance(correction, Debias | None):
        return None
    form = SoftmaxLoss(temperature=temperature, log_weight=contrast.log_weight, limit=contrast.is_limit)
    if correction is not None:
        floor = correction.least_similarity / temperature
        form = replace(form, class_prior=correction.class_prior, floor=floor)
    if perturbation is None:
        return form
    if not isinstance(perturbation, FeatureModification) or not normalize:
        return None
    if not isinstance(perturbation.form, Shifted):
        return None
    return replace(form, shift=perturbation.epsilon / temperature, shifted_share=perturbation.share)


def closed_form(batch: Batch, loss: SoftmaxLoss | SoftplusLoss, weight: Exponent) -> Float[Tensor, ""] | None:
    """Return the loss in closed form; None unless this is a batch for it.

    It serves anchors with one positive each. On a CPU: the softmax loss, also on several processes, and the
    softplus losses of other candidates than the anchors. On a GPU: the softmax loss of views.

    Args:
        batch: the batch.
        loss: the closed form with its constants.
        weight: logarithm of the weights of the negatives.
    """
    if not (batch.constant.by_keys_alone and batch.scale.one is None and batch.layout.positives.one_each):
        return None
    if isinstance(batch.engine, Triton):
        return _on_gpu(batch, batch.engine, loss, weight)
    # An engine with other tiles was asked for on purpose.
    if batch.constant.anchors.device.type != "cpu" or batch.engine != Tiled():
        return None
    if batch.partner is not None:
        return _of_all_processes(batch, loss, weight, batch.partner)
    return _on_cpu(batch, loss, weight)


def _on_cpu(batch: Batch, loss: SoftmaxLoss | SoftplusLoss, weight: Exponent) -> Float[Tensor, ""] | None:
    anchors, candidates = batch.anchors, batch.candidates
    n, m = batch.constant.shape
    if not isinstance(batch.group, Single):
        return None
    if candidates is None and n * m > _SMALL:
        if not isinstance(loss, SoftmaxLoss):
            return None
        of_views = SymmetricSoftmaxLoss(
            loss=loss,
            negatives=batch.constant,
            group=batch.group,
            weight=weight,
            partner=batch.layout.positives.candidate,
        )
        return of_views(anchors.given, anchors.lengths)
    return loss(
        (anchors.given, None if candidates is None else candidates.rows),
        (anchors.lengths, None if candidates is None else candidates.lengths),
        batch.constant,
        weight,
        batch.layout.positives,
    )


def _on_gpu(
    batch: Batch, engine: Triton, loss: SoftmaxLoss | SoftplusLoss, weight: Exponent
) -> Float[Tensor, ""] | None:
    anchors = batch.anchors
    if batch.candidates is not None or not isinstance(batch.group, Single):
        return None
    if not isinstance(loss, SoftmaxLoss):
        return None
    partners = batch.layout.positives.candidate
    return engine.softmax_loss(loss, anchors.given, anchors.lengths, batch.constant, weight, partners)


def _of_all_processes(
    batch: Batch, loss: SoftmaxLoss | SoftplusLoss, weight: Exponent, partner: Int[Tensor, " m"]
) -> Float[Tensor, ""] | None:
    """Return the loss of the anchors of all processes, whose similarity matrix they share."""
    if not isinstance(loss, SoftmaxLoss):
        return None
    constant, candidates = batch.constant, batch.candidates
    assert candidates is not None
    assert constant.own is not None
    everyone = Negatives(
        anchors=candidates.values,
        ranges=KeyRanges(keys=constant.ranges.keys_of_candidates),
        bound=constant.bound,
        kept=0,
    )
    of_all = SymmetricSoftmaxLoss(
        loss=loss, negatives=everyone, group=batch.group, weight=weight, partner=partner, own=constant.own
    )
    return of_all((candidates.rows,), candidates.lengths)
