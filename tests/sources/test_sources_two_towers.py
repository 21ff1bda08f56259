"""Queries against documents: equal to the formula, in one direction and in both."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

import tammes
from tammes import Gather, Pairs, TwoTowers
from tammes.reduce import Dense, Engine, Tiled

BATCH, HARD, DIM, TEMPERATURE = 7, 2, 5, 0.3
IDS = torch.tensor([4, 1, 7, 1, 4, 9, 3])
SIMCLR = tammes.recipes.simclr(temperature=TEMPERATURE)
ENGINES: list[Engine | None] = [None, Dense(), Tiled(side=3)]


def towers() -> list[Tensor]:
    """Queries, documents and hard negatives."""
    generator = torch.Generator().manual_seed(2)
    shapes = (BATCH, DIM), (BATCH, DIM), (BATCH, HARD, DIM)
    return [
        torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes
    ]


def one_direction(anchors: Tensor, own_ids: Tensor, candidates: Tensor, ids: list[int | None]) -> Tensor:
    """InfoNCE by its definition; a candidate whose id is None is a negative of all."""
    unit, others = (rows / rows.norm(dim=1, keepdim=True) for rows in (anchors, candidates))
    logits, losses = unit @ others.T / TEMPERATURE, []
    for i, own in enumerate(own_ids.tolist()):
        negatives = sum(logits[i, j].exp() for j, each in enumerate(ids) if each != own)
        positives = [logits[i, j].exp() for j, each in enumerate(ids) if each == own]
        losses.append(torch.stack([-torch.log(p / (p + negatives)) for p in positives]).mean())
    return torch.stack(losses).mean()


def assert_alike(ours: Tensor, theirs: Tensor, rows: list[Tensor]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    slopes = (torch.autograd.grad(each, rows, allow_unused=True) for each in (ours, theirs))
    for one, other in zip(*slopes, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@pytest.mark.parametrize("ids", [None, IDS], ids=["distinct", "repeated"])
def test_hard_negatives_are_candidates_of_every_query(engine: Engine | None, ids: Tensor | None) -> None:
    queries, documents, hard = rows = towers()
    numbers = torch.arange(BATCH) if ids is None else ids
    candidates = torch.cat([documents, hard.transpose(0, 1).flatten(0, 1)])
    known = [*numbers.tolist(), *[None] * BATCH * HARD]
    ours = dataclasses.replace(SIMCLR, engine=engine)(TwoTowers()(queries, documents, hard, ids))
    assert_alike(ours, one_direction(queries, numbers, candidates, known), rows)


def test_a_plain_batch_is_a_cross_entropy() -> None:
    queries, documents, _ = rows = towers()
    logits = torch.nn.functional.normalize(queries) @ torch.nn.functional.normalize(documents).T
    expected = torch.nn.functional.cross_entropy(logits / TEMPERATURE, torch.arange(BATCH))
    assert_alike(SIMCLR(TwoTowers()(queries, documents)), expected, rows[:2])


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_both_directions_are_averaged(engine: Engine | None) -> None:
    queries, documents, hard = rows = towers()
    objective = dataclasses.replace(SIMCLR, engine=engine)
    candidates = torch.cat([documents, hard.transpose(0, 1).flatten(0, 1)])
    forward = one_direction(queries, IDS, candidates, [*IDS.tolist(), *[None] * BATCH * HARD])
    backward = one_direction(documents, IDS, queries, IDS.tolist())
    ours = objective(TwoTowers(symmetric=True)(queries, documents, hard, IDS))
    assert_alike(ours, (forward + backward) / 2, rows)
    assert objective.last["loss"] == pytest.approx(ours.item())
    negatives = (IDS[:, None] != IDS).sum(dim=1).double().mean().item()
    assert objective.last["negatives"] == pytest.approx(negatives + BATCH * HARD / 2)


@pytest.mark.parametrize("ids", [torch.arange(BATCH), IDS], ids=["distinct", "repeated"])
def test_rows_of_the_same_tower_are_candidates_where_asked(ids: Tensor) -> None:
    queries, documents, hard = towers()
    both = TwoTowers(symmetric=True, same_tower=True)
    flat = hard.transpose(0, 1).flatten(0, 1)
    expected = []
    for anchors, others in ((queries, documents), (documents, queries)):
        each = []
        for i in range(BATCH):  # an anchor is no candidate of itself
            rest = torch.arange(BATCH) != i
            candidates = torch.cat([others, anchors[rest], flat])
            known = [*ids.tolist(), *ids[rest].tolist(), *[None] * BATCH * HARD]
            each.append(one_direction(anchors[i : i + 1], ids[i : i + 1], candidates, known))
        expected.append(torch.stack(each).mean())
    ours = SIMCLR(both(queries, documents, hard, ids))
    assert_alike(ours, torch.stack(expected).mean(), [queries, documents, hard])


def test_every_part_of_an_objective_works_on_towers() -> None:
    queries, documents, hard = rows = towers()
    pairs = TwoTowers()(queries, documents, hard)
    objective = tammes.recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
    flat = hard.transpose(0, 1).flatten(0, 1)
    ids = torch.arange(BATCH * (HARD + 1))
    reference = Pairs(
        anchors=queries,
        ids=ids[:BATCH],
        candidates=torch.cat([documents, flat]),
        candidate_ids=ids,
    )
    assert_alike(objective(pairs), dataclasses.replace(objective, engine=Dense())(reference), rows)
    weights = objective.weights(pairs)
    assert weights.shape == (BATCH, BATCH * (HARD + 1))
    assert torch.equal(weights == 0, ids[:BATCH, None] == ids)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("numbers", [(0, 1, 2), (5, 3, 1), (7, -1, 10**12)])
def test_labels_take_documents_of_the_class_out_but_no_hard_negative(
    numbers: tuple[int, ...], symmetric: bool
) -> None:
    """Whatever the numbers of the classes: one of them must not be taken for that of a hard negative."""
    queries, documents, hard = towers()
    labels = torch.tensor(numbers)[[0, 1, 0, 1, 2, 2, 0]]
    pairs = TwoTowers(symmetric=symmetric)(queries, documents, hard, labels=labels)
    if symmetric:
        assert pairs.reverse is not None
        backwards = tammes.recipes.simclr(temperature=0.5, selection=tammes.OtherLabels())
        assert torch.equal(backwards.weights(pairs.reverse) > 0, labels[:, None] != labels)
        pairs = dataclasses.replace(pairs, reverse=None)
    objective = tammes.recipes.simclr(temperature=0.5, selection=tammes.OtherLabels())
    others = labels[:, None] != labels
    expected = torch.cat([others, torch.ones(BATCH, BATCH * HARD, dtype=torch.bool)], dim=1)
    assert torch.equal(objective.weights(pairs) > 0, expected)


def test_ids_at_the_end_of_the_integers_leave_room_for_hard_negatives() -> None:
    queries, documents, hard = towers()
    ids = torch.arange(BATCH) + (torch.iinfo(torch.long).max - BATCH)
    with_ids, without = (SIMCLR(TwoTowers()(queries, documents, hard, each)) for each in (ids, None))
    assert torch.equal(with_ids, without)


def test_one_query_with_hard_negatives_has_negatives() -> None:
    queries, documents, hard = (rows[:1] for rows in towers())
    loss = SIMCLR(TwoTowers()(queries, documents, hard))
    assert loss.isfinite()
    with pytest.raises(ValueError, match=r"expected at least two queries, got 1.*drop_last=True"):
        TwoTowers()(queries, documents)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (torch.zeros(BATCH, DIM), r"got \(7, 5\); one for each is hard_negatives\[:, None\]"),
        (torch.zeros(BATCH, 0, DIM), r"got \(7, 0, 5\)"),
        (torch.zeros(BATCH - 1, HARD, DIM), r"hard_negatives must be \(batch, h, dimension\)"),
        ([[1.0]], "got list"),
    ],
)
def test_hard_negatives_of_another_shape_are_refused(wrong: object, words: str) -> None:
    queries, documents, _ = towers()
    with pytest.raises(ValueError, match=words):
        TwoTowers()(queries, documents, wrong)  # type: ignore[arg-type]


def test_towers_of_different_sizes_are_refused_by_name() -> None:
    queries, documents, _ = towers()
    with pytest.raises(ValueError, match=r"of one shape, got \(7, 5\) and \(6, 5\)"):
        TwoTowers()(queries, documents[1:])


def test_a_document_of_length_zero_is_refused_by_its_number() -> None:
    queries, documents, hard = (rows.detach() for rows in towers())
    documents[3] = 0
    with pytest.raises(ValueError, match="candidate row 3"):
        SIMCLR(TwoTowers(same_tower=True)(queries, documents, hard))


@pytest.mark.parametrize("fields", [{"symmetric": 1}, {"same_tower": "yes"}, {"gather": True}])
def test_fields_of_the_wrong_kind_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(fields))} must be"):
        TwoTowers(**fields)  # type: ignore[arg-type]


def test_a_gather_needs_processes() -> None:
    with pytest.raises(ValueError, match=r"torch\.distributed"):
        TwoTowers(gather=Gather())(*towers()[:2])
