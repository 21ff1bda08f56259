"""Several lengths of one embedding: the sum of the objectives on its beginnings."""

from __future__ import annotations

import pytest
import torch

from tammes import LearnedTemperature, Matryoshka, NotAbove, Objective, TwoTowers, recipes

A, B = torch.randn(2, 8, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_it_is_the_weighted_sum_over_the_beginnings() -> None:
    objective = recipes.hcl(temperature=0.3, beta=1.0)
    ours = A.clone().requires_grad_()
    matryoshka = Matryoshka(objective=objective, dims=(6, 2, 3), weights=(1.0, 0.5, 2.0))
    loss = matryoshka(ours, B)
    theirs = A.clone().requires_grad_()
    expected = sum(
        weight * objective(theirs[:, :dim], B[:, :dim]) for dim, weight in ((6, 1.0), (2, 0.5), (3, 2.0))
    )
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-10, atol=1e-14)
    for dim in (6, 2, 3):
        assert matryoshka.each[dim].last["loss"] == objective(A[:, :dim], B[:, :dim]).item()
    assert matryoshka.last is matryoshka.each[6].last


def test_pairs_are_cut_in_both_directions() -> None:
    objective = recipes.simclr(temperature=0.3)
    towers = TwoTowers(symmetric=True)
    expected = objective(towers(A[:, :2], B[:, :2])) + objective(towers(A, B))
    found = Matryoshka(objective=objective, dims=(2, 6))(towers(A, B))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)


def test_the_columns_of_a_guide_stay_whole() -> None:
    objective = Objective(temperature=0.3, selection=NotAbove(guide=2))

    def cut(rows: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.cat([rows[:, :dim], rows[:, 4:]], dim=1)

    expected = objective(cut(A, 1), cut(B, 1)) + objective(cut(A, 4), cut(B, 4))
    torch.testing.assert_close(
        Matryoshka(objective=objective, dims=(1, 4))(A, B), expected, rtol=1e-12, atol=0
    )


def test_as_a_module_it_learns_its_temperature() -> None:
    temperature = LearnedTemperature(initial=0.3).double()
    module = Matryoshka(objective=recipes.simclr(temperature=0.5), dims=(3, 6)).module(
        temperature=temperature
    )
    module(A, B).backward()
    assert float(temperature.log_scale.grad) != 0  # type: ignore[arg-type]
    assert module.last["loss"] > 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dims": ()}, "at least one length"),
        ({"dims": (2, 2)}, "each once"),
        ({"dims": (0,)}, "each of dims"),
        ({"dims": (2, 3), "weights": (1.0,)}, "a weight for each of 2"),
        ({"dims": (2,), "weights": (-1.0,)}, "each of weights"),
        ({"dims": 4}, r"dims must be a tuple, got 4: write \(4,\)"),
        ({"dims": (2, 3), "weights": 1.0}, "weights must be a tuple"),
    ],
)
def test_wrong_lengths_and_weights_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Matryoshka(objective=recipes.simclr(temperature=0.5), **fields)  # type: ignore[arg-type]


def test_a_length_beyond_the_embeddings_is_refused() -> None:
    with pytest.raises(ValueError, match="the first 7 numbers of each embedding, but embeddings have 6"):
        Matryoshka(objective=recipes.simclr(temperature=0.5), dims=(7,))(A, B)


def test_a_bias_needs_a_contrast_that_has_one() -> None:
    matryoshka = Matryoshka(objective=recipes.simclr(temperature=0.5), dims=(3, 6))
    with pytest.raises(ValueError, match="only Sigmoid has one"):
        matryoshka.module(bias=torch.nn.Parameter(torch.zeros(1)))
