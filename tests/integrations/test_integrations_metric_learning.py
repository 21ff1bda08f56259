"""Objectives as losses of pytorch-metric-learning."""

from __future__ import annotations

import pytest
import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import SupConLoss
from pytorch_metric_learning.miners import MultiSimilarityMiner
from pytorch_metric_learning.reducers import MeanReducer
from pytorch_metric_learning.regularizers import LpRegularizer
from torch import nn

import tammes
from tammes.integrations.metric_learning import ObjectiveLoss

HCL = tammes.recipes.hcl(temperature=0.3, beta=0.5)
LABELS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 2])


def rows(seed: int = 0, count: int = 8) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 5, generator=generator).requires_grad_()


def test_rows_of_one_label_are_positives() -> None:
    z = rows()
    ours, theirs = HCL(z, ids=LABELS), ObjectiveLoss(HCL)(z, LABELS)
    torch.testing.assert_close(theirs, ours)
    slopes = (torch.autograd.grad(each, z)[0] for each in (theirs, ours))
    torch.testing.assert_close(*slopes, rtol=1e-6, atol=1e-6)


def test_reference_embeddings_are_the_candidates() -> None:
    z, others, labels = rows(), rows(1, 6), torch.tensor([2, 1, 0, 0, 1, 4])
    pairs = tammes.Pairs(anchors=z, ids=LABELS, candidates=others, candidate_ids=labels)
    theirs = ObjectiveLoss(HCL)(z, LABELS, ref_emb=others, ref_labels=labels)
    torch.testing.assert_close(theirs, HCL(pairs))


def test_the_rows_themselves_with_other_labels_are_other_rows() -> None:
    """The same tensor as `ref_emb` is compared by the labels that come with it, as theirs does."""
    z, labels = rows(), LABELS.roll(1)
    theirs = ObjectiveLoss(HCL)(z, LABELS, ref_emb=z, ref_labels=labels)
    pairs = tammes.Pairs(anchors=z, ids=LABELS, candidates=z, candidate_ids=labels)
    torch.testing.assert_close(theirs, HCL(pairs))
    torch.testing.assert_close(
        ObjectiveLoss(HCL)(z, LABELS, ref_emb=z, ref_labels=LABELS.clone()), HCL(z, ids=LABELS)
    )


def test_two_views_are_rows_of_one_label_each() -> None:
    a, b = rows(), rows(1)
    loss = ObjectiveLoss(HCL)(torch.cat([a, b]), torch.arange(8).repeat(2))
    torch.testing.assert_close(loss, HCL(a, b))


def test_anchors_alone_are_left_out_as_they_do() -> None:
    z, labels = rows(), torch.tensor([0, 1, 2, 0, 1, 3, 0, 4])
    simclr = tammes.Objective(temperature=0.3, without_positive="skip")
    with pytest.raises(ValueError, match="3 of 8 anchors have no positive"):
        ObjectiveLoss(tammes.recipes.simclr(temperature=0.3))(z, labels)
    loss = ObjectiveLoss(simclr)
    assert loss(z, labels).isfinite()
    assert SupConLoss(temperature=0.3)(z, labels).isfinite()
    assert simclr.last["skipped_anchors"] == 3


def test_a_loop_of_theirs_trains_with_it() -> None:
    torch.manual_seed(0)
    encoder, temperature = nn.Linear(5, 3), tammes.LearnedTemperature(initial=0.3)
    loss = ObjectiveLoss(HCL, temperature=temperature, embedding_regularizer=LpRegularizer())
    optimizer = torch.optim.Adam([*encoder.parameters(), *loss.parameters()], lr=0.05)
    losses = []
    for _ in range(20):
        value = loss(encoder(rows()), LABELS)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    assert losses[-1] < losses[0]
    assert temperature().item() != pytest.approx(0.3, abs=1e-3)


def test_what_an_objective_does_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="an objective has no distance"):
        ObjectiveLoss(HCL, distance=CosineSimilarity())
    with pytest.raises(ValueError, match="an objective has no reducer"):
        ObjectiveLoss(HCL, reducer=MeanReducer())
    z = rows()
    with pytest.raises(ValueError, match="leave the miner out"):
        ObjectiveLoss(HCL)(z, LABELS, MultiSimilarityMiner()(z, LABELS))
    with pytest.raises(ValueError, match="objective must be an Objective, got 'hcl'"):
        ObjectiveLoss("hcl")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected labels"):
        ObjectiveLoss(HCL)(z)
