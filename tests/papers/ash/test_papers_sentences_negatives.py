"""The number of negatives for adjacent sentences: counted collisions, verdicts from scores, a tiny study."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
import torch

from tammes.data import Texts
from tammes.papers.ash.sentences_corpus import SentenceCorpus
from tammes.papers.ash.sentences_findings import CountResults, findings
from tammes.papers.ash.sentences_plan import ARMS, CONTIGUOUS, HARD, MIXED, TRUE, CountPlan, cells_of, plan_of
from tammes.papers.ash.sentences_training import CountScore, config, selection_of
from tammes.papers.entry import Entry, Request, entries
from tammes.papers.finding import NO, UNLEARNED, YES
from tammes.papers.robinson_negatives.sentences import ARMS as QUICK_THOUGHTS_ARMS
from tammes.papers.robinson_negatives.sentences import QT
from tammes.papers.robinson_negatives.sentences import cells_of as quick_thoughts_cells
from tammes.papers.robinson_negatives.sentences_training import SentenceScale, config_of
from tammes.positives import Adjacent
from tammes.selection import All, OtherLabels, Subset
from tammes.theory import ClassDistribution
from task_files import write_books_and_tasks

PLAN = CountPlan(
    scale=SentenceScale(width=8, epochs=1, batch_size=32, seeds=range(3)),
    negatives=(1, 4),
    tasks=("CR", "TREC"),
)
ENTRY = next(entry for entry in entries() if entry.name == "sentences-negatives")


def corpus(documents: int = 8, sentences: int = 60) -> SentenceCorpus:
    labels = torch.arange(documents).repeat_interleave(sentences)
    names = tuple(map(str, range(len(labels))))
    classes = tuple(map(str, range(documents)))
    words = tuple(f"a sentence {name}" for name in names)
    return SentenceCorpus.of(
        Texts(sentences=words, names=names, labels=labels, classes=classes), sentences=None
    )


def results(
    *,
    contiguous: float = 0.0,
    mixed: float = 0.0,
    true: float = 0.0,
    hard: float = 0.0,
    untrained: float = 0.0,
) -> CountResults:
    """Accuracies of 0.7, or 0.5 untrained, with gains of some arms; the middle k is best by a point."""
    gains = {CONTIGUOUS: contiguous, MIXED: mixed, TRUE: true, HARD: hard}
    scores = {}
    cells = cells_of(PLAN, corpus())
    for run in cells:
        found = [
            arm for arm in ARMS if (arm.run, arm.collisions, arm.beta) == (run.run, run.collisions, run.beta)
        ]
        accuracy = 0.5 + untrained if not run.negatives else 0.7 + gains[found[0]]
        accuracy += 0.01 * (run.negatives == 4) + 0.0001 * run.seed * (1 + run.negatives + run.beta + run.run)
        scores[run] = CountScore(
            cr=accuracy, trec=accuracy, mean=accuracy, linear=accuracy, colliding=0.25, steps=10
        )
    classes = ClassDistribution.uniform(8)
    return CountResults(plan=PLAN, classes=classes, scores=scores, whole=len(cells) // 3)


def verdicts(found: CountResults, words: str) -> set[str]:
    return {finding.verdict for finding in findings(found) if words in finding.paper}


def test_verdicts_follow_from_the_scores() -> None:
    assert verdicts(results(), "slowly decays") == {YES}
    better = results(mixed=0.05, true=0.02, hard=0.05)
    assert verdicts(better, "collisions cost") == {YES}
    assert verdicts(better, "without collisions") == {NO}
    assert verdicts(better, "hard negatives") == {YES}
    assert verdicts(results(untrained=0.3, hard=0.05), "hard negatives") == {UNLEARNED}


def test_only_whole_seeds_are_compared() -> None:
    found = results()
    last = list(found.scores)[-1]
    partly = replace(found, scores={run: score for run, score in found.scores.items() if run != last})
    assert partly.seeds == (0, 1)
    assert len(partly.values(lambda score: score.cr, MIXED)) == 2


def test_one_seed_of_a_kind_of_batch_differs_in_its_negatives_alone() -> None:
    runs = [run for run in cells_of(PLAN, corpus()) if run.seed == 0 and run.negatives]
    for batch in (0, MIXED.run):
        configs = [config(run, PLAN.scale) for run in runs if run.run == batch]
        assert len({repr(replace(each, objective=configs[0].objective)) for each in configs}) == 1
    assert {selection_of(run) for run in runs} == {
        All(),
        Subset(k=1),
        Subset(k=4),
        Subset(k=1, among=OtherLabels()),
        Subset(k=4, among=OtherLabels()),
    }


def test_all_negatives_of_contiguous_batches_are_quick_thoughts() -> None:
    scale = PLAN.scale
    (same,) = (run for run in quick_thoughts_cells(scale, 216) if run.arm == QT and run.seed == 0)
    assert QUICK_THOUGHTS_ARMS[QT] == (0.0, 0.0)
    (ours,) = (
        run
        for run in cells_of(PLAN, corpus())
        if (run.negatives, run.run, run.beta, run.seed) == (PLAN.counts[-1], 0, 0.0, 0)
    )
    assert repr(config(ours, scale)) == repr(config_of(same, scale))


@pytest.mark.parametrize("run", [0, 8])
def test_collisions_are_those_of_every_subset(run: int) -> None:
    data, counts = corpus(documents=3, sentences=20), (1, 3, 13)
    order = Adjacent().reading_order(data.train.documents, data.train.positions).tolist()
    hits: dict[int, list[float]] = {k: [] for k in counts}
    for rows in data.batches(run, batch_size=16, seed=1):
        for anchor in rows.tolist():
            others = [row for row in rows.tolist() if abs(order[row] - order[anchor]) > 1]
            if len(others) == 15:
                continue  # no positive: not an anchor
            same = [bool(data.train.documents[row] == data.train.documents[anchor]) for row in others]
            for k in counts:
                subsets = list(combinations(same, k))
                hits[k].append(sum(map(any, subsets)) / len(subsets))
    expected = [sum(hits[k]) / len(hits[k]) for k in counts]
    assert data.colliding(run, counts, batch_size=16, seed=1) == pytest.approx(expected)


def test_the_last_tenth_of_each_document_is_held_out() -> None:
    data = corpus(documents=2, sentences=60)
    assert (len(data.train), len(data.test)) == (108, 12)
    assert data.test.positions is not None
    assert set(data.test.positions.tolist()) == set(range(54, 60))
    with pytest.raises(ValueError, match="expected documents of 10 sentences or more"):
        corpus(sentences=9)


def test_a_larger_budget_takes_more_of_everything() -> None:
    def plan(budget: float) -> CountPlan:
        return plan_of(Request(entry=ENTRY, out=Path("out"), budget=budget, seed=0))

    plans = [plan(budget) for budget in (0.001, 0.01, 0.05, 0.2, 1.0)]
    widths = [each.scale.width for each in plans]
    assert widths == sorted(widths)
    assert all(set(each.negatives) == {k for k in each.negatives if k < each.counts[-1]} for each in plans)
    assert all(len(each.scale.seeds) >= 3 for each in plans)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_books_and_tasks(tmp_path_factory.mktemp("sentences") / "data")


def reproduce(entry: Entry, out: Path, data: Path, *, learning: bool = True) -> list[str]:
    entry.reproduce(out, budget=0.001, seed=0, seeds=2, data=data, learning=learning)
    return (out / "table.csv").read_text().splitlines(keepends=True)


def test_a_tiny_study_is_measured_and_resumes(data: Path, tmp_path: Path) -> None:
    table = reproduce(ENTRY, tmp_path / "out", data)
    assert "for adjacent sentences" in (tmp_path / "out" / "report.html").read_text()
    (tmp_path / "out" / "table.csv").write_text("".join(table[:-1]))
    again = reproduce(ENTRY, tmp_path / "out", data)
    assert again[:-1] == table[:-1]
    assert again[-1].rsplit(",", 1)[0] == table[-1].rsplit(",", 1)[0]  # all but the seconds


def test_without_learning_no_verdict_is_yes(data: Path, tmp_path: Path) -> None:
    reproduce(ENTRY, tmp_path / "out", data, learning=False)
    found = json.loads((tmp_path / "out" / "findings.json").read_text())
    assert found
    assert YES not in {finding["verdict"] for finding in found}
