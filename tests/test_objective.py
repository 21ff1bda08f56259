"""The parts together: any sensible combination, any input that comes up, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import gc
import itertools
import math
import pickle
import warnings
import weakref

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import tammes
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
DEBIAS = tammes.Debias(class_prior=0.1)
UNBOUNDED = tammes.Debias(class_prior=0.1, least_similarity=-math.inf)
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


def name_of(objective: tammes.Objective) -> str:
    parts = [
        objective.coupling,
        objective.selection,
        objective.correction,
        objective.perturbation,
        objective.contrast,
    ]
    return "-".join(type(part).__name__ for part in parts)


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


# Range: no NaN, no infinity, in any precision.

EXTREME = [
    recipes.simclr(temperature=0.5),
    recipes.dcl(temperature=0.5, class_prior=0.1),
    recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    recipes.hcl(temperature=0.5, beta=100.0, class_prior=0.1),
    recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1),
    recipes.hcl_ot(temperature=0.5, epsilon=0.3, cost=tammes.ExponentialEuclidean(kappa=1.0)),
    recipes.ifm(temperature=0.5, epsilon=0.1),
    recipes.bcl(temperature=0.5, coupling=tammes.Hard(beta=100.0)),
    dataclasses.replace(recipes.triplet(margin=0.3, coupling=tammes.Hard(beta=100.0))),
    recipes.hinge(),
    recipes.logistic(),
    recipes.jsd(beta=100.0, class_prior=0.1),
    recipes.simclr(temperature=0.5, selection=tammes.Subset(k=7)),
]


@pytest.mark.parametrize("temperature", [0.01, 0.07, 1.0, 10.0])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("objective", EXTREME, ids=name_of)
@pytest.mark.parametrize("rows", ["apart", "duplicated", "all equal", "opposite"])
def test_finite_everywhere(
    objective: tammes.Objective, kind: torch.dtype, temperature: float, rows: str
) -> None:
    a = torch.randn(12, 6)
    b = a + 0.1 * torch.randn(12, 6)
    if rows == "duplicated":
        a[6:], b[:] = a[:6].clone(), a
    elif rows == "all equal":
        a[:], b[:] = 1.0, 1.0
    elif rows == "opposite":
        b = -a
    a, b = a.to(kind).requires_grad_(), b.to(kind).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16 if kind == torch.float32 else kind):
        loss = dataclasses.replace(objective, temperature=temperature)(a, b)
    assert loss.dtype == torch.float32
    assert bool(torch.isfinite(loss))
    loss.backward()
    assert a.grad is not None
    assert b.grad is not None
    assert bool(torch.isfinite(a.grad.float()).all())
    assert bool(torch.isfinite(b.grad.float()).all())


@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("objective", EXTREME[:8], ids=name_of)
def test_float32_is_near_float64(objective: tammes.Objective, temperature: float) -> None:
    objective = dataclasses.replace(objective, temperature=temperature)
    a, b = torch.randn(30, 8), torch.randn(30, 8)
    exact = objective(a.double(), b.double())
    torch.testing.assert_close(objective(a, b).double(), exact, rtol=2e-4, atol=2e-4)


def test_half_precision_inputs_are_reduced_in_float32() -> None:
    a, b = torch.randn(200, 16).bfloat16(), torch.randn(200, 16).bfloat16()
    objective = recipes.hcl(temperature=0.1, beta=1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = objective(a, b)
    assert torch.equal(inside, objective(a.float(), b.float()))


# What is refused.


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_temperature_must_be_positive(temperature: float) -> None:
    with pytest.raises(ValueError, match="temperature must be a positive number"):
        recipes.simclr(temperature=temperature)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"contrast": tammes.Hinge(), "coupling": tammes.Hard(beta=1.0)}, "hardest negative alone"),
        ({"contrast": tammes.Hinge(), "coupling": tammes.Transport(epsilon=1.0)}, "hardest negative alone"),
        ({"contrast": tammes.Hinge(), "correction": DEBIAS}, "nothing to correct"),
        (
            {"contrast": tammes.Triplet(margin=1.0), "correction": tammes.Debias(class_prior=0.1)},
            "nothing to",
        ),
        (
            {"selection": tammes.OtherLabels(), "correction": tammes.Debias(class_prior=0.1)},
            "false negatives",
        ),
        (
            {
                "selection": tammes.Subset(k=2, among=tammes.OtherLabels()),
                "correction": DEBIAS,
            },
            "false negatives",
        ),
        (
            {"correction": tammes.Debias(class_prior=0.1, least_similarity=-math.inf)},
            "finite least_similarity",
        ),
        ({"coupling": "hard"}, "coupling must be a Coupling"),
        ({"contrast": tammes.InfoNCE}, "contrast must be a Contrast"),
        ({"correction": 0.1}, "correction must be a Correction"),
    ],
)
def test_senseless_combinations_are_refused_when_made(parts: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tammes.Objective(temperature=0.5, **parts)


def good(batch_size: int = 4) -> Tensor:
    return torch.randn(batch_size, 3)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ((), "one or more views"),
        ((good(1), good(1)), "at least two pairs"),
        ((good(4), good(5)), r"one shape, got \(4, 3\) and \(5, 3\)"),
        ((torch.zeros(4), torch.zeros(4)), "one shape"),
        ((good().long(), good().long()), "floating-point tensor"),
        (([[1.0]], [[1.0]]), "floating-point tensor .* got list"),
        ((good(),), "no positive"),
    ],
)
def test_views_that_do_not_fit(views: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipes.simclr(temperature=0.5)(*views)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_not_finite_embeddings_are_named(bad: float) -> None:
    a, b = good(), good()
    b[2, 1] = bad
    for objective in (recipes.simclr(temperature=0.5), recipes.hinge()):
        with pytest.raises(ValueError, match=r"1 of 8 embeddings hold NaN.*first anchor row 2 of view 1"):
            objective(a, b)


def test_zero_length_embeddings_are_named() -> None:
    a, b = good(), good()
    a[3] = 0
    with pytest.raises(ValueError, match=r"length zero .*, first anchor row 3 of view 0"):
        recipes.simclr(temperature=0.5)(a, b)
    assert bool(torch.isfinite(recipes.logistic()(a, b)))


def test_not_finite_candidates_are_named() -> None:
    candidates = good(6)
    candidates[5, 0] = math.nan
    pairs = tammes.Pairs(
        anchors=good(3), ids=torch.arange(3), candidates=candidates, candidate_ids=torch.arange(6) % 3
    )
    with pytest.raises(ValueError, match="first candidate row 5"):
        recipes.simclr(temperature=0.5)(pairs)


def test_all_ids_equal_leave_no_negative() -> None:
    with pytest.raises(ValueError, match="no negative: all candidates share its id"):
        recipes.simclr(temperature=0.5)(good(), good(), ids=torch.zeros(4, dtype=torch.long))


def test_one_label_leaves_the_oracle_no_negative() -> None:
    objective = recipes.simclr(temperature=0.5, selection=tammes.OtherLabels())
    with pytest.raises(ValueError, match="no negative: all candidates share its label"):
        objective(good(), good(), labels=torch.zeros(4, dtype=torch.long))
    with pytest.raises(ValueError, match="needs labels"):
        objective(good(), good())


def test_k_above_the_candidates() -> None:
    objective = recipes.simclr(temperature=0.5, selection=tammes.Subset(k=7))
    with pytest.raises(ValueError, match=r"k = 7 negatives .* has only 6"):
        objective(good(), good())
    assert bool(torch.isfinite(dataclasses.replace(objective, selection=tammes.Subset(k=6))(good(), good())))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"ids": torch.arange(3)}, "ids must be a tensor with one integer for each of the 4 rows"),
        ({"ids": torch.arange(4.0)}, "ids must be integers"),
        ({"labels": torch.arange(5)}, "labels must be a tensor"),
        ({"ids": [0, 1, 2, 3]}, "got list"),
    ],
)
def test_ids_and_labels_that_do_not_fit(numbers: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        recipes.simclr(temperature=0.5)(good(), good(), **numbers)


def test_an_id_with_two_labels() -> None:
    objective = recipes.simclr(temperature=0.5, selection=tammes.OtherLabels())
    with pytest.raises(ValueError, match="id 1 occurs with the labels"):
        objective(good(), good(), ids=torch.tensor([0, 1, 1, 2]), labels=torch.tensor([0, 1, 2, 0]))


def test_pairs_and_views_do_not_mix() -> None:
    pairs = tammes.InBatch()(good(), good())
    with pytest.raises(ValueError, match="mixture"):
        recipes.simclr(temperature=0.5)(pairs, good())
    with pytest.raises(ValueError, match="belong to the Pairs"):
        recipes.simclr(temperature=0.5)(pairs, ids=torch.arange(4))


@pytest.mark.parametrize("kind", [torch.uint8, torch.int16, torch.int32, torch.uint16])
@pytest.mark.parametrize("k", [1, 3, 12])
def test_ids_of_any_integer_type(kind: torch.dtype, k: int) -> None:
    objective = recipes.simclr(temperature=0.5, selection=tammes.Subset(k=k))
    a, b = good(8), good(8)
    weights = objective.weights(a, b, ids=torch.arange(8).to(kind))
    assert torch.equal((weights > 0).sum(1), torch.full((16,), k))


def test_the_anchor_without_a_positive_is_named_as_it_was_given() -> None:
    with pytest.raises(ValueError, match=r"first row 6 \(id 1\)"):
        recipes.simclr(temperature=0.5)(good(8), ids=torch.tensor([5, 5, 3, 3, 2, 2, 1, 9]))


def test_nearly_zero_embeddings_are_refused() -> None:
    """Their squares underflow, and the direction would be wrong."""
    with pytest.raises(ValueError, match="length zero"):
        recipes.simclr(temperature=0.5)(1e-22 * good(), good())
    a, b = good().double(), good().double()
    torch.testing.assert_close(
        recipes.simclr(temperature=0.5)(1e-12 * a.float(), b.float()).double(),
        recipes.simclr(temperature=0.5)(a, b),
        rtol=1e-5,
        atol=1e-6,
    )


def test_embeddings_without_dimensions() -> None:
    with pytest.raises(ValueError, match="at least one dimension"):
        recipes.logistic()(torch.randn(4, 0), torch.randn(4, 0))


@pytest.mark.parametrize("temperature", [1e300, 1e38])
def test_a_huge_temperature_makes_all_pairs_alike(temperature: float) -> None:
    loss = recipes.simclr(temperature=temperature)(good(), good())
    torch.testing.assert_close(loss, torch.tensor(math.log(7.0)))


@pytest.mark.parametrize(
    "objective",
    [
        recipes.simclr(temperature=1e-38),
        recipes.hcl(temperature=0.5, beta=1e300),
        recipes.hcl_ot(temperature=0.5, epsilon=1e-320),
    ],
    ids=lambda o: f"{o.temperature}-{o.coupling}",
)
def test_values_beyond_the_type_are_refused(objective: tammes.Objective) -> None:
    with pytest.raises(ValueError, match=r"beyond torch.float32|NaN or infinity"):
        objective(good(), good())


def test_raw_embeddings_too_long_for_their_type() -> None:
    with pytest.raises(ValueError, match=r"beyond torch.float32: the embeddings are too long"):
        recipes.hinge()(4e18 * good(), 4e18 * good())


def test_a_generator_is_a_generator() -> None:
    objective = recipes.simclr(temperature=0.5, selection=tammes.Subset(k=2))
    with pytest.raises(ValueError, match=r"generator must be a torch.Generator or None, got 3"):
        objective(good(), good(), generator=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [torch.tensor(0.5), "0.5", None, [0.5], True])
def test_numbers_are_plain_numbers(value: object) -> None:
    """A tensor would be taken for its value, and no gradient would ever reach it."""
    for make in (
        lambda: recipes.simclr(temperature=value),
        lambda: tammes.Hard(beta=value),
        lambda: tammes.Transport(epsilon=value),
        lambda: tammes.Debias(class_prior=value),
        lambda: tammes.FeatureModification(epsilon=value),
        lambda: tammes.Triplet(margin=value),
        lambda: tammes.ExponentialEuclidean(kappa=value),
    ):
        with pytest.raises(ValueError, match=r"must be a .*number|must be a probability"):
            make()


@pytest.mark.parametrize("engine", [Dense(), Tiled()])
def test_second_derivatives_are_refused(engine: object) -> None:
    """Taken as constants, closed-form gradients would make them silently wrong."""
    objective = dataclasses.replace(recipes.hcl(temperature=0.5, beta=1.0), engine=engine)
    a = torch.randn(6, 3, requires_grad=True)
    (gradient,) = torch.autograd.grad(objective(a, good(6)), a, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives of an objective are not available"):
        torch.autograd.grad(gradient.square().sum(), a)
    softplus = dataclasses.replace(recipes.jsd(beta=1.0), engine=engine)
    (gradient,) = torch.autograd.grad(softplus(a, good(6)), a, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        gradient.square().sum().backward()


# Fields, and what is told of the last call.


def test_replace_and_repr() -> None:
    objective = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    raw = dataclasses.replace(objective, normalize=False)
    assert raw.normalize is False
    assert raw.coupling is objective.coupling
    assert raw.last is not objective.last
    assert objective == recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    assert "Hard(beta=1.0" in repr(objective)
    assert "Debias(class_prior=0.1" in repr(objective)
    a = torch.nn.functional.normalize(good(), dim=1)
    b = torch.nn.functional.normalize(good(), dim=1)
    torch.testing.assert_close(raw(a, b), objective(a, b))


def test_perturbation_grows_with_the_length_of_raw_embeddings() -> None:
    """For embeddings that are not unit vectors the worst case in the ball shifts by epsilon |v|."""
    a, b = good().double(), good().double()
    objective = dataclasses.replace(
        recipes.ifm(temperature=1.0, epsilon=0.2, alpha=1e9), normalize=False, engine=Tiled(side=3)
    )
    z = torch.cat([a, b])
    identity = torch.arange(4).repeat(2)
    shift = 0.2 * z.norm(dim=1)
    s = z @ z.T
    g = (torch.exp(s + shift[:, None]) * (identity[:, None] != identity[None, :])).sum(1)
    positive = (z * z.roll(4, 0)).sum(1) - shift
    expected = torch.log1p(g / torch.exp(positive)).mean()
    torch.testing.assert_close(objective(a, b), expected, rtol=1e-7, atol=1e-7)


def test_last_tells_the_numbers_of_the_call() -> None:
    a, b = torch.randn(10, 4, dtype=torch.float64), torch.randn(10, 4, dtype=torch.float64)
    objective = tammes.Objective(
        temperature=0.5,
        coupling=tammes.Transport(epsilon=0.3),
        correction=tammes.Debias(class_prior=0.1),
    )
    assert dict(objective.last) == {}
    loss = objective(a, b)
    numbers = dict(objective.last)
    z = torch.nn.functional.normalize(torch.cat([a, b]), dim=1)
    weights = objective.weights(a, b)
    similarity = z @ z.T
    negative = weights > 0
    assert math.isclose(numbers["loss"], float(loss))
    assert math.isclose(numbers["positive_similarity"], float((z * z.roll(10, 0)).sum(1).mean()))
    assert math.isclose(numbers["negative_similarity"], float(similarity[negative].mean()), rel_tol=1e-9)
    weighted = float((weights * similarity).sum(1).mean())
    assert math.isclose(numbers["weighted_negative_similarity"], weighted, rel_tol=1e-6)
    effective = float((1 / weights.square().sum(1)).mean())
    assert math.isclose(numbers["effective_negatives"], effective, rel_tol=1e-6)
    assert numbers["negatives"] == 18
    assert 0 <= numbers["debias_floor_fraction"] <= 1
    assert numbers["sinkhorn_iterations"] >= 1
    assert numbers["sinkhorn_error"] <= 1e-5


def test_last_holds_no_graph() -> None:
    """What `last` keeps for later must not keep the encoder's activations alive."""

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, kept):  # type: ignore[no-untyped-def]
            ctx.kept = kept
            return x * 2

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]
            return gradient * 2, None

    def call() -> weakref.ref:
        activation = torch.zeros(3)
        view = Doubling.apply(torch.randn(6, 4, requires_grad=True), activation)
        objective(view, torch.randn(6, 4))
        return weakref.ref(activation)

    objective = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    alive = call()
    gc.collect()
    assert alive() is None
    assert objective.last["effective_negatives"] > 0


def test_objectives_travel_between_processes() -> None:
    objective = recipes.hcl_ot(temperature=0.5, epsilon=0.3, class_prior=0.1)
    objective(good(), good())
    for copied in (pickle.loads(pickle.dumps(objective)), copy.deepcopy(objective)):
        assert copied == objective
        assert dict(copied.last) == {}


def test_uniform_negatives_count_fully() -> None:
    objective = recipes.simclr(temperature=0.5)
    objective(good(), good())
    assert math.isclose(objective.last["effective_negatives"], 6.0, rel_tol=1e-6)
    assert objective.last["negatives"] == 6.0


@pytest.mark.parametrize("selection", [tammes.All(), tammes.Subset(k=3)])
def test_what_is_kept_in_inference_mode_serves_training(selection: tammes.Selection) -> None:
    objective = tammes.Objective(temperature=0.5, selection=selection)
    views = [torch.randn(9, 4) for _ in range(3)]  # of a shape that no other test uses
    with torch.inference_mode():
        objective(*views, generator=torch.Generator().manual_seed(0))
    anchors = views[0].clone().requires_grad_()
    objective(anchors, *views[1:], generator=torch.Generator().manual_seed(0)).backward()
    assert anchors.grad is not None
    assert float(anchors.grad.norm()) > 0


def test_a_selection_of_ones_own_need_not_be_hashable() -> None:
    @dataclasses.dataclass  # not frozen, so not hashable
    class Ids(tammes.Selection):
        def keys(self, pairs: tammes.Pairs) -> tuple[Tensor, Tensor]:
            return pairs.ids, pairs.ids_of_candidates

    a, b = good(), good()
    own = tammes.Objective(temperature=0.5, selection=Ids())
    assert own(a, b) == tammes.Objective(temperature=0.5)(a, b)
