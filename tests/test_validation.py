"""What objectives refuse: parts that make no sense together, and input that no loss can be made of."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

import tammes
from objective_cases import good
from tammes import recipes
from tammes.reduce import Dense, Tiled

DEBIAS = tammes.Debias(class_prior=0.1)


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


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ((), "one or more views"),
        ((good(1), good(1)), "at least two pairs, got 1: one has no negative; with drop_last=True"),
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
