"""The parts together: any sensible combination is the same tiled and dense, and some by hand."""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import tammes
from objective_cases import name_of
from tammes import recipes
from tammes.reduce import Dense, Tiled

COUPLINGS = [
    tammes.Uniform(),
    tammes.Hard(beta=1.0),
    tammes.Hard(beta=0.7, detach=True),
    tammes.Hard(beta=1.3, clip=1.0),
    tammes.Transport(epsilon=0.3, tolerance=1e-9, max_iterations=60),
    tammes.Transport(
        epsilon=0.5, cost=tammes.ExponentialEuclidean(kappa=1.0), tolerance=1e-9, max_iterations=60
    ),
    tammes.Transport(epsilon=0.3, cost=lambda s: (s - 0.5) ** 2, tolerance=1e-9, max_iterations=60),
]
SELECTIONS = [
    tammes.All(),
    tammes.Subset(k=5),
    tammes.OtherLabels(),
    tammes.Subset(k=4, among=tammes.OtherLabels()),
]
CORRECTIONS = [None, tammes.Debias(class_prior=0.15)]
PERTURBATIONS = [None, tammes.FeatureModification(epsilon=0.1, alpha=0.5)]
CONTRASTS = [
    tammes.InfoNCE(),
    tammes.InfoNCE(weight=10.0),
    tammes.InfoNCE(limit=True),
    tammes.BCL(),
    tammes.Triplet(margin=0.5),
    tammes.Hinge(),
    tammes.Logistic(),
    tammes.Softplus(),
]


def combinations() -> list[tammes.Objective]:
    """Every combination that is not refused; which ones are is tested on its own."""
    out = []
    for coupling, selection, correction, perturbation, contrast in itertools.product(
        COUPLINGS, SELECTIONS, CORRECTIONS, PERTURBATIONS, CONTRASTS
    ):
        if correction is not None and (selection.removes_false_negatives or not contrast.debiasable):
            continue
        if not contrast.weighs and coupling != tammes.Uniform():
            continue
        out.append(
            tammes.Objective(
                temperature=0.5,
                coupling=coupling,
                selection=selection,
                correction=correction,
                perturbation=perturbation,
                contrast=contrast,
            )
        )
    return out


def batch(seed: int, ids: Tensor, dim: int = 4) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    centers = torch.randn(int(ids.max()) + 1, dim, generator=generator, dtype=torch.float64)
    noise = torch.randn(len(ids), dim, generator=generator, dtype=torch.float64)
    return (centers[ids] + 0.8 * noise).requires_grad_()


def value_and_gradient(
    objective: tammes.Objective, pairs: tammes.Pairs, leaf: Tensor
) -> tuple[Tensor, Tensor]:
    value = objective(pairs, generator=torch.Generator().manual_seed(3))
    (gradient,) = torch.autograd.grad(value, leaf)
    return value, gradient


def test_classes_of_supervised_contrast_come_as_ids() -> None:
    a, b = torch.randn(2, 6, 4).unbind()
    labels = torch.tensor([0, 0, 0, 1, 1, 1])
    objective = tammes.recipes.supcon(temperature=0.5)
    for call in (objective, objective.weights):
        with pytest.raises(ValueError, match=r"labels came with SupCon, .*: write ids=labels for rows of a"):
            call(a, b, labels=labels)
    assert torch.equal(objective(a, b, ids=labels, labels=labels), objective(a, b, ids=labels))
    of_views = dataclasses.replace(objective, selection=tammes.OtherLabels())
    assert of_views(a, b, labels=labels).isfinite()  # they choose its negatives


@pytest.mark.filterwarnings("ignore::tammes.SinkhornWarning")  # the engines take the same steps regardless
@pytest.mark.parametrize("objective", combinations(), ids=name_of)
def test_every_combination_is_the_same_tiled_and_dense(objective: tammes.Objective) -> None:
    """One view, ids shared by two to five rows, so that every anchor has one to four positives."""
    ids = torch.repeat_interleave(torch.arange(6), torch.tensor([2, 3, 2, 5, 4, 2]))
    ids = ids[torch.randperm(len(ids))]
    z = batch(0, ids)
    pairs = tammes.Pairs(anchors=z, ids=ids, labels=ids.clamp(max=4))
    tiled, tiled_gradient = value_and_gradient(dataclasses.replace(objective, engine=Tiled(side=7)), pairs, z)
    dense, dense_gradient = value_and_gradient(dataclasses.replace(objective, engine=Dense()), pairs, z)
    torch.testing.assert_close(tiled, dense, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(tiled_gradient, dense_gradient, rtol=1e-8, atol=1e-10)
    assert dense_gradient.abs().max() > 0


@given(
    sizes=st.lists(st.integers(2, 6), min_size=2, max_size=6),
    seed=st.integers(0, 10_000),
    side=st.integers(3, 30),
    which=st.integers(0, len(COUPLINGS) - 1),
)
def test_tiled_is_dense_for_random_shapes(sizes: list[int], seed: int, side: int, which: int) -> None:
    ids = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    ids = ids[torch.randperm(len(ids), generator=torch.Generator().manual_seed(seed))]
    if max(sizes) > len(ids) / 2 - 1:  # no transport plan exists
        which %= 3
    z = batch(seed, ids, dim=1 + seed % 7)
    objective = tammes.Objective(
        temperature=0.4,
        coupling=COUPLINGS[which],
        correction=tammes.Debias(class_prior=0.1),
        perturbation=tammes.FeatureModification(epsilon=0.1),
    )
    pairs = tammes.Pairs(anchors=z, ids=ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tammes.SinkhornWarning)
        tiled, tiled_gradient = value_and_gradient(
            dataclasses.replace(objective, engine=Tiled(side=side)), pairs, z
        )
        dense, dense_gradient = value_and_gradient(dataclasses.replace(objective, engine=Dense()), pairs, z)
    torch.testing.assert_close(tiled, dense, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(tiled_gradient, dense_gradient, rtol=1e-6, atol=1e-8)


@given(seed=st.integers(0, 10_000), side=st.integers(2, 20), which=st.integers(0, len(COUPLINGS) - 1))
def test_two_sets_tiled_and_dense(seed: int, side: int, which: int) -> None:
    """Anchors of one kind, candidates of another (pictures and captions, nodes and graphs)."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 6, (11,), generator=generator)
    candidate_ids = torch.cat([torch.arange(6), torch.randint(0, 6, (4,), generator=generator)])
    anchors, candidates = batch(seed, ids), batch(seed + 1, candidate_ids)
    objective = tammes.Objective(
        temperature=0.5, coupling=COUPLINGS[which], correction=tammes.Debias(class_prior=0.1)
    )
    results = []
    for engine in (Tiled(side=side), Dense()):
        pairs = tammes.Pairs(anchors=anchors, ids=ids, candidates=candidates, candidate_ids=candidate_ids)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tammes.SinkhornWarning)
            value = dataclasses.replace(objective, engine=engine)(pairs)
        results.append([value, *torch.autograd.grad(value, (anchors, candidates))])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


def test_several_positives_by_hand() -> None:
    """HCL with M > 1 written out anchor by anchor: positives reweighted alike, the mean outside the log."""
    ids = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2])
    z = torch.nn.functional.normalize(batch(1, ids), dim=1).detach()
    t, beta, prior = 0.5, 1.0, 0.1
    total = 0.0
    for i in range(len(ids)):
        e = torch.exp(z @ z[i] / t)
        negative = e[ids != ids[i]]
        positive = e[(ids == ids[i]) & (torch.arange(len(ids)) != i)]
        g = (negative ** (1 + beta)).sum() / (negative**beta).sum()
        g_positive = (positive ** (1 + beta)).sum() / (positive**beta).sum()
        g = torch.clamp((g - prior * g_positive) / (1 - prior), min=math.exp(-1 / t))
        total += float(-torch.log(positive / (positive + len(negative) * g)).mean())
    objective = recipes.hcl(temperature=t, beta=beta, class_prior=prior)
    ours = objective(tammes.Pairs(anchors=z, ids=ids))
    assert abs(float(ours) - total / len(ids)) < 1e-12


def test_transport_then_subset_then_debias_by_hand() -> None:
    """The plan is fitted on all negatives, then restricted to the drawn ones and normalized again."""
    ids = torch.arange(6).repeat(2)
    z = torch.nn.functional.normalize(batch(2, ids), dim=1).detach()
    whole = tammes.Objective(temperature=0.5, coupling=tammes.Transport(epsilon=0.3, tolerance=1e-12))
    drawn = dataclasses.replace(whole, selection=tammes.Subset(k=4))
    pairs = tammes.Pairs(anchors=z, ids=ids)
    plan = whole.weights(pairs)
    weights = drawn.weights(pairs, generator=torch.Generator().manual_seed(5))
    kept = weights > 0
    assert torch.equal(kept.sum(1), torch.full((12,), 4))
    expected = plan * kept
    torch.testing.assert_close(weights, expected / expected.sum(1, keepdim=True), rtol=1e-9, atol=1e-12)
    g = (weights * torch.exp(z @ z.T / 0.5)).sum(1)
    positive = torch.exp((z * z.roll(6, 0)).sum(1) / 0.5)
    loss = drawn(pairs, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(loss, torch.log(1 + 4 * g / positive).mean(), rtol=1e-9, atol=0)


def test_weights_follow_the_order_of_the_views() -> None:
    a, b = torch.randn(5, 3), torch.randn(5, 3)
    objective = recipes.hcl(temperature=0.5, beta=2.0)
    weights = objective.weights(a, b)
    z = torch.nn.functional.normalize(torch.cat([a, b]), dim=1)
    identity = torch.arange(5).repeat(2)
    raw = torch.exp(2 * z @ z.T / 0.5) * (identity[:, None] != identity[None, :])
    torch.testing.assert_close(weights, raw / raw.sum(1, keepdim=True))


def test_a_subset_is_drawn_afresh_and_repeats_with_its_generator() -> None:
    a, b = torch.randn(40, 8), torch.randn(40, 8)
    objective = recipes.simclr(temperature=0.5, selection=tammes.Subset(k=10))
    first, second = objective(a, b), objective(a, b)
    assert first != second
    one = objective(a, b, generator=torch.Generator().manual_seed(1))
    same = objective(a, b, generator=torch.Generator().manual_seed(1))
    assert one == same


def test_all_negatives_drawn_is_no_subset_at_all() -> None:
    a, b = torch.randn(9, 4), torch.randn(9, 4)
    drawn = recipes.hcl(temperature=0.5, beta=1.0, selection=tammes.Subset(k=16))(a, b)
    torch.testing.assert_close(drawn, recipes.hcl(temperature=0.5, beta=1.0)(a, b))
