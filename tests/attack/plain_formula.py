"""Every objective as it stands on paper, on plain matrices in float64: what the package is compared with.

Nothing of the package's mathematics is used: not its reductions, contrasts, corrections or gradients, only
the fields of its parts, the ids of its pairs, and the potentials of a transport plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

import tammes
from tammes import Objective, Pairs
from tammes.contrast import BCL, Hinge, InfoNCE, Sigmoid, SoftmaxContrast, Softplus, SupCon, Triplet


def softplus(values: Tensor) -> Tensor:
    """log(1 + e^y) to all digits, where torch's default is y from 20 on."""
    return torch.logaddexp(values, torch.zeros_like(values))


@dataclass(frozen=True, kw_only=True)
class Matrices:
    """What does not depend on the embeddings.

    Args:
        positive: `(n, m)` true where the candidate is a positive.
        negative: `(n, m)` true where it is a negative, or one that was drawn.
        potential: `(m,)` logarithmic potentials of the candidates, for a transport plan.
        floor_move: change of the logit at which a correction has its floor.
        noise: size of a random relative change of every similarity.
    """

    positive: Tensor
    negative: Tensor
    potential: Tensor | None
    floor_move: float = 0.0
    noise: float = 0.0

    @staticmethod
    def of(objective: Objective, pairs: Pairs, *, drawn: Tensor | None, potential: Tensor | None) -> Matrices:
        candidate_ids = pairs.ids if pairs.candidate_ids is None else pairs.candidate_ids
        same = pairs.ids[:, None] == candidate_ids[None, :]
        own = torch.arange(len(pairs.ids)) if pairs.candidates is None else pairs.own
        positive = same.clone()
        if own is not None:
            positive[torch.arange(len(own)), own] = False
        negative = ~same
        if objective.selection.removes_false_negatives:
            labels = pairs.labels if pairs.candidates is None else pairs.candidate_labels
            assert pairs.labels is not None
            assert labels is not None
            negative = pairs.labels[:, None] != labels[None, :]
        if drawn is not None:
            negative = negative & drawn
        return Matrices(positive=positive, negative=negative, potential=potential)


def loss(objective: Objective, pairs: Pairs, matrices: Matrices, temperature: Tensor) -> Tensor:
    """The loss of the pairs, differentiable in their embeddings and in the temperature."""
    anchors, candidates = pairs.anchors, pairs.anchors if pairs.candidates is None else pairs.candidates
    length: Tensor | float = 1.0
    if objective.normalize:
        anchors, candidates = _unit(anchors), _unit(candidates)
    else:
        length = torch.linalg.vector_norm(anchors, dim=1, keepdim=True)
    similarity = anchors @ candidates.T
    if matrices.noise:
        generator = torch.Generator().manual_seed(3)
        drawn = torch.randn(similarity.shape, generator=generator, dtype=torch.float64)
        similarity = similarity * (1 + matrices.noise * drawn)
    logit = similarity / temperature
    exponent = _log_weights(objective.coupling, similarity, logit, matrices.potential)
    evaluate = _evaluation(objective, logit, exponent, matrices, temperature)
    perturbation = objective.perturbation
    if perturbation is None:
        return evaluate(torch.zeros(len(logit), 1, dtype=torch.float64)).mean()
    assert isinstance(perturbation, tammes.FeatureModification)
    shift = perturbation.epsilon * length / temperature * torch.ones(len(logit), 1, dtype=torch.float64)
    plain, moved = evaluate(torch.zeros_like(shift)), evaluate(shift)
    return ((plain + perturbation.alpha * moved) / (1 + perturbation.alpha)).mean()


def _unit(rows: Tensor) -> Tensor:
    return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)


def _log_weights(
    coupling: tammes.Coupling, similarity: Tensor, logit: Tensor, potential: Tensor | None
) -> Tensor:
    """`(n, m)` logarithms of the weights, before rows are normalized."""
    if isinstance(coupling, tammes.Hard):
        clipped = logit if coupling.clip is None else logit.clamp(-coupling.clip, coupling.clip)
        weight = coupling.beta * clipped
        return weight.detach() if coupling.detach else weight
    if not isinstance(coupling, tammes.Transport):
        return torch.zeros_like(logit)
    s, cost = similarity.detach(), coupling.cost
    if isinstance(cost, tammes.SquaredEuclidean):
        costs = -s
    elif isinstance(cost, tammes.ExponentialEuclidean):
        costs = torch.exp(2 - 2 * s - cost.kappa)
    else:
        assert not isinstance(cost, tammes.Cost)
        costs = cost(s)
    exponent = -costs / coupling.epsilon
    return exponent if potential is None else exponent + potential


def _evaluation(
    objective: Objective, logit: Tensor, exponent: Tensor, matrices: Matrices, temperature: Tensor
) -> Callable[[Tensor], Tensor]:
    """A function from the `(n, 1)` shift to the `(n,)` losses."""
    contrast, positive, negative = objective.contrast, matrices.positive, matrices.negative

    def average(values: Tensor) -> Tensor:
        return torch.where(positive, values, 0.0).sum(dim=1) / positive.sum(dim=1)

    def mean(values: Tensor, mask: Tensor) -> Tensor:
        weights = torch.softmax(exponent.masked_fill(~mask, -torch.inf), dim=1)
        return (weights * torch.where(mask, values, 0.0)).sum(dim=1, keepdim=True)

    def log_mean_exp(values: Tensor, mask: Tensor) -> Tensor:
        def log_sum_exp(terms: Tensor) -> Tensor:
            return torch.logsumexp(terms.masked_fill(~mask, -torch.inf), dim=1, keepdim=True)

        return log_sum_exp(exponent + values) - log_sum_exp(exponent)

    def corrected(of_negatives: Tensor, of_positives: Tensor, floor: Tensor, *, logs: bool) -> Tensor:
        correction = objective.correction
        if correction is None or correction.class_prior == 0:  # type: ignore[attr-defined]
            return of_negatives
        assert isinstance(correction, tammes.Debias)
        prior = correction.class_prior
        if not logs:
            return torch.maximum((of_negatives - prior * of_positives) / (1 - prior), floor)
        false = of_positives - of_negatives + math.log(prior)
        true = -torch.expm1(torch.where(false < 0, false, -1.0))
        rest = of_negatives + torch.log(true) - math.log1p(-prior)
        return torch.where(false < 0, torch.maximum(rest, floor), floor)

    least = -1.0 if objective.correction is None else objective.correction.least_similarity
    # A bound of minus infinity has no gradient by the temperature.
    lowest = least / (temperature if math.isfinite(least) else temperature.detach()) + matrices.floor_move

    def losses(shift: Tensor) -> Tensor:
        up, down = logit + shift, logit - shift
        if isinstance(contrast, SoftmaxContrast):
            a, b = log_mean_exp(logit, negative) + shift, log_mean_exp(logit, positive) + shift
            g = corrected(a, b, lowest + shift, logs=True)
            if isinstance(contrast, InfoNCE) and contrast.limit:
                return average(g - down)
            count = negative.sum(dim=1, keepdim=True).double()
            weight = count if contrast.weight is None else torch.tensor(contrast.weight, dtype=torch.float64)
            return average(softplus(weight.log() + g - down))
        if isinstance(contrast, SupCon):
            a, b = log_mean_exp(logit, negative) + shift, log_mean_exp(logit, positive) + shift
            g = corrected(a, b, lowest + shift, logs=True)
            count = negative.sum(dim=1, keepdim=True).double()
            weight = count if contrast.weight is None else torch.tensor(contrast.weight, dtype=torch.float64)
            inside = torch.where(positive, down, -torch.inf)
            numerator = torch.logsumexp(inside, dim=1, keepdim=True)
            denominator = torch.logsumexp(torch.cat([inside, weight.log() + g], dim=1), dim=1, keepdim=True)
            if contrast.average == "outside":
                return average(denominator - down)
            return (denominator - numerator)[:, 0] + positive.sum(dim=1).double().log()
        if isinstance(contrast, Sigmoid):
            b = contrast.bias
            of_negatives, of_positives = mean(softplus(up + b), negative), mean(softplus(up + b), positive)
            count = negative.sum(dim=1, keepdim=True).double()
            weight = count if contrast.weight is None else torch.tensor(contrast.weight, dtype=torch.float64)
            g = corrected(of_negatives, of_positives, softplus(lowest + shift + b), logs=False)
            return average(softplus(-(down + b)) + weight * g)
        if isinstance(contrast, BCL):
            g = corrected(mean(up, negative), mean(up, positive), lowest + shift, logs=False)
            return average(g - down)
        if isinstance(contrast, Softplus):
            a, b = mean(softplus(up), negative), mean(softplus(up), positive)
            return average(softplus(-down) + corrected(a, b, softplus(lowest + shift), logs=False))
        if isinstance(contrast, Triplet):
            terms = torch.relu(2 * (up[:, None, :] - down[:, :, None]) + contrast.margin)  # (n, positive, m)
            weights = torch.softmax(exponent.masked_fill(~negative, -torch.inf), dim=1)
            return average((weights[:, None, :] * terms).sum(dim=2))
        assert isinstance(contrast, Hinge)
        # The largest before the shift, which may be so large that all raised logits are equal.
        hardest = logit.masked_fill(~negative, -torch.inf).amax(dim=1, keepdim=True) + shift
        return average(torch.relu(contrast.margin + hardest - down))

    return losses
