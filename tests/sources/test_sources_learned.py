"""Learned negatives: they climb the loss of the adversary by its gradient, and stand among the candidates."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

import tammes
from tammes.sources import LearnedNegatives, learned

T = 0.1


def rows(count: int, seed: int) -> Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(seed))


def source(size: int = 7, **settings: float) -> LearnedNegatives:
    generator = torch.Generator().manual_seed(0)
    return LearnedNegatives(size=size, dim=5, temperature=T, generator=generator, **settings)


def climbed(rows: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """The gradient of the adversary's InfoNCE, whose denominator holds all keys and all learned rows."""
    rows = rows.clone().requires_grad_()
    q = normalize(queries, dim=1)
    logits = q @ normalize(torch.cat([keys, rows]), dim=1).T / T
    loss = torch.nn.functional.cross_entropy(logits, torch.arange(len(q)))
    return torch.autograd.grad(loss, rows)[0]


def test_they_take_steps_of_sgd_up_the_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "_ENTRIES", 40)  # blocks of three queries
    found = source(learning_rate=0.5, momentum=0.9, weight_decay=0.01)
    expected = found.rows.clone().requires_grad_()
    sgd = torch.optim.SGD([expected], lr=0.5, momentum=0.9, weight_decay=0.01, maximize=True)
    for step in range(3):
        queries, keys = rows(6, 2 * step), rows(6, 2 * step + 1)
        expected.grad = climbed(expected.detach(), queries, keys)
        sgd.step()
        found(queries, keys)
        torch.testing.assert_close(found.rows, expected.detach())


def test_autocast_does_not_change_the_step() -> None:
    plain, cast = source(), source()
    plain(rows(6, 1), rows(6, 2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast(rows(6, 1), rows(6, 2))
    assert torch.equal(cast.rows, plain.rows)


def test_a_step_raises_the_loss_of_its_batch() -> None:
    objective = tammes.recipes.simclr(temperature=T)
    found, (queries, keys) = source(learning_rate=0.1), (rows(6, 1), rows(6, 2))
    losses = [objective(found(queries, keys)).item() for _ in range(5)]
    assert losses == sorted(losses)
    assert losses[-1] > losses[0] + 0.01


def test_pairs_hold_the_rows_before_the_step_as_everybody_s_negatives() -> None:
    found = source()
    before = found.rows.clone()
    queries = rows(6, 1).requires_grad_()
    pairs = found(queries, rows(6, 2), labels=torch.tensor([0, 0, 1, 1, 2, 2]))
    assert pairs.candidates is not None
    torch.testing.assert_close(pairs.candidates[6:], before)
    assert pairs.positives().candidate.tolist() == list(range(6))
    oracle = tammes.Objective(temperature=T, selection=tammes.OtherLabels())
    oracle(pairs).backward()
    assert oracle.last["negatives"] == 4 + 7
    assert queries.grad is not None


def test_nothing_moves_in_evaluation_mode_and_the_state_is_saved() -> None:
    found = source()
    found(rows(6, 1), rows(6, 2))
    saved = {name: tensor.clone() for name, tensor in found.state_dict().items()}
    assert set(saved) == {"rows", "velocity"}
    found.eval()
    found(rows(6, 3), rows(6, 4))
    assert all(bool((found.state_dict()[name] == tensor).all()) for name, tensor in saved.items())
    other = LearnedNegatives(size=7, dim=5, temperature=T)
    other.load_state_dict(saved)
    found.train()
    for each in (found, other):
        each(rows(6, 3), rows(6, 4))
    assert torch.equal(found.rows, other.rows)


def test_it_works_with_feature_modification_and_hard_weights() -> None:
    objective = tammes.Objective(
        temperature=0.5,
        coupling=tammes.Hard(beta=1.0),
        perturbation=tammes.FeatureModification(epsilon=0.1, form=tammes.Renormalized()),
    )
    queries = rows(6, 1).requires_grad_()
    objective(source()(queries, rows(6, 2))).backward()
    assert queries.grad is not None
    assert bool(queries.grad.isfinite().all())


def test_what_is_refused() -> None:
    for fields, said in (
        ({"size": 0}, "size must be an integer of at least 1"),
        ({"temperature": 0.0}, "temperature must be a finite number above 0"),
        ({"learning_rate": -1.0}, "learning_rate must be a finite number above 0"),
        ({"momentum": 1.0}, "momentum must be a finite number at least 0 and below 1"),
        ({"weight_decay": -1.0}, "weight_decay must be a finite number at least 0"),
    ):
        with pytest.raises(ValueError, match=said):
            LearnedNegatives(**{"size": 3, "dim": 5, **fields})  # type: ignore[arg-type]
    found = source()
    with pytest.raises(ValueError, match="have dimension 5, these embeddings 4"):
        found(torch.randn(3, 4), torch.randn(3, 4))
    with pytest.raises(ValueError, match="ids given to learned negatives must be 0 or above, got -1"):
        found(rows(3, 1), rows(3, 2), ids=torch.tensor([0, -1, 2]))
    with pytest.raises(ValueError, match="embeddings hold NaN or infinity"):
        found(torch.full((3, 5), torch.nan), rows(3, 2))
    assert "size=7, dim=5, temperature=0.1" in repr(found)
