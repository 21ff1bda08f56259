"""Quick-thoughts on six tasks: a whole study on tiny data, and verdicts that follow from the scores."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tammes.papers.entry import Request, entries
from tammes.papers.finding import NO, NOTHING, UNLEARNED, YES
from tammes.papers.robinson_negatives.sentences import (
    ARMS,
    BOTH,
    DEBIASED,
    HARD_1,
    QT,
    SentenceResults,
    cells_of,
    findings,
    numbers,
)
from tammes.papers.robinson_negatives.sentences_training import (
    FLOORS,
    TASKS,
    SentenceRun,
    SentenceScale,
    SentenceScore,
    config_of,
    read_data,
    scale_of,
)
from tammes.positives import Adjacent
from task_files import write_books_and_tasks

SCALE = SentenceScale(width=8, epochs=1, seeds=range(3))


def scores(**gains: float) -> SentenceResults:
    """Accuracies of 0.7, or 0.5 without training, with gains of some arms by the beginning of their names."""
    found: dict[SentenceRun, SentenceScore] = {}
    for run in cells_of(SCALE, 100):
        gain = next((value for name, value in gains.items() if run.arm == ARM_NAMES[name]), 0.0)
        accuracy = (
            (0.5 if run.arm in FLOORS else 0.7) + gain + 0.001 * (run.seed + (run.beta > 0) * run.seed % 2)
        )
        values = dict.fromkeys((*(task.lower() for task in TASKS), "msrp_f1"), accuracy)
        found[run] = SentenceScore(**values, loss=1.0, on_floor=0.25, steps=10, seconds=1.0)
    return SentenceResults(scores=found)


ARM_NAMES = {"quick": QT, "debiased": DEBIASED, "hard": HARD_1, "untrained": FLOORS[0]}


def verdicts(results: SentenceResults) -> dict[str, str]:
    return {finding.paper: finding.verdict for finding in findings(results)}


def test_verdicts_follow_from_the_scores() -> None:
    better = verdicts(scores(debiased=0.02, hard=-0.02))
    assert better[f"Table 3.2: {DEBIASED} over QT."] == YES
    assert better[f"Table 3.2: {HARD_1} over QT."] == NO
    nothing_learned = verdicts(scores(debiased=0.02, untrained=0.2))
    assert nothing_learned[f"Table 3.2: {DEBIASED} over QT."] == UNLEARNED


def test_what_the_thesis_could_not_train_is_told_without_a_verdict() -> None:
    (found,) = (each for each in findings(scores()) if "numerical issues" in each.paper)
    assert found.verdict == NOTHING
    assert "no NaN in 30 steps; on the floor in the last step 25.0 % of the anchors" in found.ours


def test_the_table_has_a_row_for_each_arm_and_floor() -> None:
    table = numbers(scores())
    assert [row[0] for row in table.rows] == [*ARMS, *FLOORS]
    assert all(len(row) == len(table.header) for row in table.rows)
    printed = dict(zip([row[0] for row in table.rows], [row[-3] for row in table.rows], strict=True))
    assert printed[QT] == "76.8 / 81.3 / 86.6 / 93.4 / 89.8 / 73.6 / 81.8"  # the last is F1, as in the header
    assert printed[HARD_1].endswith("73.9 / 82.2")


def test_arms_of_one_seed_differ_in_their_negatives_alone() -> None:
    runs = [run for run in cells_of(SCALE, 100) if run.seed == 0 and run.arm in ARMS]
    configs = [config_of(run, SCALE) for run in runs]
    assert len({repr(replace(config, objective=configs[0].objective)) for config in configs}) == 1
    assert configs[0].positives == Adjacent()
    assert [(run.beta, run.class_prior) for run in runs] == list(ARMS.values())
    assert ARMS[BOTH][0] > 0 < ARMS[BOTH][1]


def test_a_tiny_study_is_measured_and_resumes(tmp_path: Path) -> None:
    entry = next(entry for entry in entries() if entry.name == "sentences-quick-thoughts")
    data, out = write_books_and_tasks(tmp_path / "data"), tmp_path / "out"
    entry.reproduce(out, budget=0.001, seed=0, seeds=2, data=data)
    table = (out / "table.csv").read_text()
    assert len(table.splitlines()) == 1 + 2 * (len(ARMS) + len(FLOORS))
    assert "Hard negatives for sentences" in (out / "report.html").read_text()
    *kept, last = table.splitlines(keepends=True)
    (out / "table.csv").write_text("".join(kept))
    entry.reproduce(out, budget=0.001, seed=0, seeds=2, data=data)
    again = (out / "table.csv").read_text().splitlines(keepends=True)[-1]
    assert again.rsplit(",", 1)[0] == last.rsplit(",", 1)[0]  # all but the seconds


def test_a_trial_reads_the_first_sentences_alone(tmp_path: Path) -> None:
    entry = next(entry for entry in entries() if entry.name == "sentences-quick-thoughts")
    request = Request(entry=entry, out=tmp_path / "out", budget=0.001, seed=0)
    assert scale_of(request).sentences == 8000
    assert scale_of(replace(request, budget=0.01)).sentences is None
    data = write_books_and_tasks(tmp_path / "data")
    whole, _ = read_data(data, SCALE)
    first, _ = read_data(data, replace(SCALE, sentences=7))
    assert list(first.sentences) == list(whole.sentences)[:7]


def test_without_learning_no_verdict_is_yes(tmp_path: Path) -> None:
    entry = next(entry for entry in entries() if entry.name == "sentences-quick-thoughts")
    data, out = write_books_and_tasks(tmp_path / "data"), tmp_path / "out"
    entry.reproduce(out, budget=0.001, seed=0, seeds=3, data=data, learning=False)
    found = json.loads((out / "findings.json").read_text())
    assert found
    assert YES not in {finding["verdict"] for finding in found}


def test_missing_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found no books"):
        read_data(tmp_path, SCALE)
    data = write_books_and_tasks(tmp_path / "data")
    (data / "tasks" / "mpqa.pos").unlink()
    with pytest.raises(ValueError, match=r"MPQA is not whole in .*mpqa\.pos is missing"):
        read_data(data, SCALE)
    (data / "tasks" / "mpqa.neg").unlink()
    with pytest.raises(ValueError, match=r"expected MR, .* in .*, found no MPQA"):
        read_data(data, SCALE)
