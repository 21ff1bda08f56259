"""Losses that users come from, in plain torch or their own library, equal the lines of docs/migration.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
import torch.nn.functional as F
from pytorch_metric_learning import losses
from torch import Tensor

from tammes import TwoTowers
from tammes.recipes import decoupled, simclr, supcon

T = 0.2
EQUAL_CLASSES = torch.tensor([0, 1, 2, 0, 1, 2])
CLASSES = torch.tensor([0, 1, 0, 0, 1, 1, 0])


def views(count: int = 6) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, count, 5, generator=generator, dtype=torch.float64)
    return a.requires_grad_(), b.requires_grad_()


def assert_equal(ours: Tensor, theirs: Tensor, rows: Sequence[Tensor], *, tolerance: float = 1e-12) -> None:
    """In value and gradient."""
    torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    slopes = [torch.autograd.grad(loss, rows, retain_graph=True) for loss in (ours, theirs)]
    torch.testing.assert_close(*slopes, rtol=tolerance, atol=tolerance)


def similarities(a: Tensor, b: Tensor) -> Tensor:
    return F.normalize(a, dim=1) @ F.normalize(b, dim=1).T / T


def published_supcon(features: Tensor, labels: Tensor, temperature: float, base_temperature: float) -> Tensor:
    """Khosla et al.'s loss as it is published: (batch, views, d), every row an anchor."""
    rows = torch.cat(features.unbind(1))
    logits = rows @ rows.T / temperature
    others = ~torch.eye(len(rows), dtype=torch.bool)
    positives = (labels[:, None] == labels).repeat(2, 2) & others
    log_sum = logits.masked_fill(~others, -torch.inf).logsumexp(1, keepdim=True)
    means = ((logits - log_sum) * positives).sum(1) / positives.sum(1)
    return -(temperature / base_temperature) * means.mean()


def test_nt_xent_of_ones_own() -> None:
    a, b = views()
    logits = similarities(torch.cat([a, b]), torch.cat([a, b])).fill_diagonal_(-torch.inf)
    theirs = F.cross_entropy(logits, torch.arange(12).roll(6))
    assert_equal(simclr(temperature=T)(a, b), theirs, [a, b])


def test_one_direction_and_both() -> None:
    a, b = views()
    one, other = (F.cross_entropy(each, torch.arange(6)) for each in (similarities(a, b), similarities(b, a)))
    assert_equal(simclr(temperature=T)(TwoTowers()(a, b)), one, [a, b])
    assert_equal(simclr(temperature=T)(TwoTowers(symmetric=True)(a, b)), (one + other) / 2, [a, b])


def test_lightlys_decoupled_loss_has_the_gradient_and_a_constant_more() -> None:
    a, b = views()
    keep = ~torch.eye(6, dtype=torch.bool)

    def of_one_view(x: Tensor, y: Tensor) -> Tensor:
        same, across = similarities(x, x), similarities(x, y)
        negatives = torch.cat([same[keep].view(6, 5), across[keep].view(6, 5)], dim=1)
        return (negatives.logsumexp(1) - across.diagonal()).mean()

    theirs = (of_one_view(a, b) + of_one_view(b, a)) / 2
    assert_equal(decoupled(temperature=T)(a, b) + math.log(2 * 6 - 2), theirs, [a, b])


def test_nt_xent_of_metric_learning_with_classes_of_one_size() -> None:
    rows, _ = views()
    theirs = losses.NTXentLoss(temperature=T)(rows, EQUAL_CLASSES)
    assert_equal(simclr(temperature=T)(rows, ids=EQUAL_CLASSES), theirs, [rows], tolerance=1e-6)


def test_nt_xent_of_metric_learning_weighs_large_classes_more() -> None:
    rows, _ = views(7)
    theirs = losses.NTXentLoss(temperature=T)(rows, CLASSES)
    ours = simclr(temperature=T)(rows, ids=CLASSES)
    assert not torch.isclose(ours, theirs, rtol=1e-3)


def test_supervised_contrast_of_metric_learning() -> None:
    rows, _ = views(7)
    theirs = losses.SupConLoss(temperature=T)(rows, CLASSES)
    assert_equal(supcon(temperature=T)(rows, ids=CLASSES), theirs, [rows], tolerance=1e-6)


@pytest.mark.parametrize("base", [T, 0.07])
def test_supervised_contrast_as_published(base: float) -> None:
    a, b = views()
    features = F.normalize(torch.stack([a, b], dim=1), dim=2)
    theirs = published_supcon(features, CLASSES[:6], T, base)
    ours = supcon(temperature=T)(*features.unbind(1), ids=CLASSES[:6])
    assert_equal(T / base * ours, theirs, [a, b])
