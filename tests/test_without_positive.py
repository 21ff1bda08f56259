"""Anchors without a positive: left out of the mean, and still candidates of the others."""

from __future__ import annotations

import dataclasses
import warnings

import pytest
import torch
from torch import Tensor

import tammes
from tammes.reduce import Dense, Engine, Tiled

IDS = torch.tensor([4, 1, 7, 1, 4, 9, 3, 4])  # 7, 9 and 3 occur once
KEPT = torch.tensor([0, 1, 3, 4, 7])
OBJECTIVES = {
    "simclr": tammes.recipes.simclr(temperature=0.3),
    "hcl": tammes.recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "ifm": tammes.recipes.ifm(temperature=0.5, epsilon=0.1),
    "triplet": tammes.recipes.triplet(margin=0.5),
    "transport": tammes.recipes.hcl_ot(temperature=0.5, epsilon=0.3),
    "subset": tammes.recipes.simclr(temperature=0.3, selection=tammes.Subset(k=3)),
}
ENGINES: list[Engine | None] = [None, Dense(), Tiled(side=3)]


def rows(count: int = len(IDS)) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(count, 4, generator=generator, dtype=torch.float64).requires_grad_()


def skipping(objective: tammes.Objective, engine: Engine | None = None) -> tammes.Objective:
    return dataclasses.replace(objective, without_positive="skip", engine=engine)


def plain_infonce(z: Tensor, ids: Tensor, temperature: float) -> Tensor:
    """The definition, anchor by anchor and positive by positive."""
    unit = z / z.norm(dim=1, keepdim=True)
    logits, losses = unit @ unit.T / temperature, []
    for i in range(len(ids)):
        positives = [j for j in range(len(ids)) if j != i and ids[j] == ids[i]]
        negatives = logits[i][ids != ids[i]].exp().sum()
        each = [-torch.log(logits[i, j].exp() / (logits[i, j].exp() + negatives)) for j in positives]
        if each:
            losses.append(torch.stack(each).mean())
    return torch.stack(losses).mean()


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_the_mean_is_over_the_other_anchors(engine: Engine | None) -> None:
    z = rows()
    objective = skipping(tammes.recipes.simclr(temperature=0.3), engine)
    loss, expected = objective(z, ids=IDS), plain_infonce(z, IDS, 0.3)
    torch.testing.assert_close(loss, expected, rtol=1e-10, atol=1e-12)
    slopes = (torch.autograd.grad(each, z)[0] for each in (loss, expected))
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-12)
    assert objective.last["skipped_anchors"] == 3


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_it_equals_pairs_whose_anchors_are_the_others(name: str, engine: Engine | None) -> None:
    z = rows()
    objective, reference = skipping(OBJECTIVES[name], engine), dataclasses.replace(OBJECTIVES[name])
    pairs = tammes.Pairs(anchors=z[KEPT], ids=IDS[KEPT], candidates=z, candidate_ids=IDS, own=KEPT)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tammes.SinkhornWarning)
        for loss in (
            objective(z, ids=IDS, generator=torch.Generator().manual_seed(5)),
            dataclasses.replace(reference, engine=Dense())(pairs, generator=torch.Generator().manual_seed(5)),
        ):
            found.append([loss, *torch.autograd.grad(loss, z)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("engine", [None, Dense()], ids=str)
def test_an_anchor_of_two_towers_is_left_out_too(engine: Engine | None) -> None:
    queries, keys = rows(4), rows(9)[4:]
    ids, key_ids = torch.tensor([0, 5, 2, 3]), torch.tensor([3, 2, 0, 8, 9])
    objective = skipping(OBJECTIVES["simclr"], engine)
    loss = objective(tammes.Pairs(anchors=queries, ids=ids, candidates=keys, candidate_ids=key_ids))
    kept = torch.tensor([0, 2, 3])
    rest = tammes.Pairs(anchors=queries[kept], ids=ids[kept], candidates=keys, candidate_ids=key_ids)
    torch.testing.assert_close(loss, dataclasses.replace(OBJECTIVES["simclr"], engine=Dense())(rest))
    assert objective.last["skipped_anchors"] == 1


def test_nothing_changes_where_all_have_positives() -> None:
    a, b = rows().detach(), rows(16).detach()[8:]
    objective = skipping(OBJECTIVES["hcl"])
    assert torch.equal(objective(a, b), OBJECTIVES["hcl"](a, b))
    assert objective.last["skipped_anchors"] == 0
    assert "skipped_anchors" not in OBJECTIVES["hcl"].last
    assert torch.equal(objective(a, b, ids=IDS), OBJECTIVES["hcl"](a, b, ids=IDS))


def test_weights_of_an_anchor_left_out_are_zero() -> None:
    weights = skipping(OBJECTIVES["hcl"]).weights(rows(), ids=IDS)
    expected = torch.zeros(len(IDS), len(IDS), dtype=torch.bool)
    expected[KEPT] = IDS[KEPT, None] != IDS
    assert torch.equal(weights > 0, expected)


def test_an_error_is_the_default_and_names_both_ways_out() -> None:
    with pytest.raises(
        ValueError, match=r"3 of 8 anchors have no positive.*leave such anchors out with .*'skip'"
    ):
        OBJECTIVES["simclr"](rows(), ids=IDS)


def test_all_skipped_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"none of the 8 anchors has a positive, so without_positive='skip'"):
        skipping(OBJECTIVES["simclr"])(rows(), ids=torch.arange(8))


@pytest.mark.parametrize("objective", [OBJECTIVES["simclr"], skipping(OBJECTIVES["simclr"])])
def test_labels_without_ids_are_told_how_supervised_use_is_written(objective: tammes.Objective) -> None:
    with pytest.raises(ValueError, match=r"supervised contrast\), pass the classes as ids="):
        objective(rows(), labels=IDS)


def test_a_row_is_named_as_before_the_others_left() -> None:
    z = rows().detach()
    z[4] = torch.nan
    with pytest.raises(ValueError, match="anchor row 4"):
        skipping(OBJECTIVES["simclr"])(z, ids=IDS)


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="without_positive must be 'error' or 'skip', got 'ignore'"):
        tammes.Objective(temperature=1.0, without_positive="ignore")  # type: ignore[arg-type]
