"""The page of runs that were trained before: groups of seeds, settings that differ, curves."""

from dataclasses import replace
from pathlib import Path

import pytest
from test_report_page import check_accessible, check_self_contained, read

import tammes
from tammes.report.runs import RunGroup, grouped, run_table, write_runs
from tammes.training import EpochMetrics, ImagesSummary, RunConfig, TrainingConfig
from tammes.training.environment import Environment
from tammes.training.history import History

SIMCLR = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), epochs=2)
HCL = replace(SIMCLR, objective=tammes.recipes.hcl(temperature=0.5, beta=2.0))
DATA = ImagesSummary(source="digits", count=1437, channels=1, size=8)
HERE = Environment(
    began="2026-01-31T12:00:00+00:00",
    seconds=41.3,
    processor="Xeon",
    cores=8,
    threads=1,
    device="CPU",
    python_version="3.12.1",
    torch_version="2.13.0",
    tammes_version="0.1.0",
)


def history(
    path: str, training: TrainingConfig = SIMCLR, *, knn: float | None = 0.9, epochs: int = 2, seed: int = 0
) -> History:
    """A run whose loss and gradient fall, and whose accuracy rises to `knn`."""
    rows = [EpochMetrics(epoch=0, step=0, knn=None if knn is None else knn / 2)]
    for epoch in range(1, epochs + 1):
        now = None if knn is None else knn * (epoch / epochs)
        norm = 1 / epoch + 0.1 * seed
        row = EpochMetrics(epoch=epoch, step=5 * epoch, loss=5 - epoch, knn=now, gradient_norm=norm)
        rows.append(replace(row, learning_rate=1e-3 / epoch))
    config = RunConfig(training=replace(training, seed=seed), data=DATA)
    return History(path=Path(path), config=config, metrics=tuple(rows), environments=(HERE,))


SEEDS = [
    history("/runs/hcl/seed-0", HCL, knn=0.9),
    history("/runs/hcl/seed-1", HCL, knn=0.92, seed=1),
    history("/runs/simclr", knn=0.8),
]


def names(*histories: History) -> list[str]:
    return [group.name for group in grouped(histories)]


def test_seeds_are_one_group_and_named_by_their_folder() -> None:
    hcl, simclr = grouped(SEEDS)
    assert (hcl.name, simclr.name) == ("hcl", "simclr")
    assert (len(hcl.runs), len(simclr.runs)) == (2, 1)


def test_names_tell_groups_apart() -> None:
    assert names(SEEDS[2]) == ["simclr"]
    assert names(history("/runs/a"), history("/runs/b", seed=1)) == ["a and b"]
    three = [history(f"/runs/{name}", seed=seed) for seed, name in enumerate("abc")]
    assert names(*three) == ["a and 2 more"]
    # Both groups lie in the folder x.
    mixed = [history("/r/x/a0"), history("/r/x/a1", seed=1), history("/r/x/b0", HCL)]
    assert names(*mixed, history("/r/y", replace(HCL, batch_size=64))) == ["x/a0 and x/a1", "x/b0", "y"]
    both = [*mixed, history("/r/x/b1", HCL, seed=1), history("/r/y", replace(HCL, batch_size=64))]
    assert names(*both) == ["x/a0 and x/a1", "x/b0 and x/b1", "y"]


def test_a_run_that_was_repeated_is_no_second_seed() -> None:
    groups = grouped([history("/runs/a"), history("/runs/b"), history("/runs/c", seed=1)])
    assert [[run.path.name for run in group.runs] for group in groups] == [["a", "c"], ["b"]]


def test_the_table_has_the_end_and_the_settings_that_differ() -> None:
    table = run_table(grouped(SEEDS))
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert table.first == "run"
    assert table.leading == ("kNN", "training loss", "seeds", "epochs", "seconds")
    assert table.trailing == ("coupling", "coupling beta")
    assert cells == [
        ["91.0", "3.000", "2", "2", "41.3", "hard", "2"],
        ["80.0", "3.000", "1", "2", "41.3", "uniform", "–"],
    ]
    assert table.rows[0].cells[0].interval == "78.3, 100.0"
    assert table.rows[1].cells[0].interval == ""


def test_what_was_not_recorded_has_no_column_or_a_dash() -> None:
    older = replace(history("/runs/a", knn=None, epochs=1), environments=())
    bare = [older, history("/runs/b", HCL, knn=None)]
    table = run_table(grouped(bare))
    assert table.leading == ("training loss", "seeds", "epochs", "seconds")
    assert [cell.text for cell in table.rows[0].cells[:4]] == ["4.000", "1", "1 of 2", "–"]
    alone = run_table(grouped(bare[:1]))
    assert alone.leading == ("training loss", "seeds", "epochs")
    assert alone.trailing == ()
    some = run_table(grouped([bare[0], history("/runs/c", HCL)]))
    assert [row.cells[0].text for row in some.rows] == ["–", "90.0"]


def test_a_number_is_shown_where_all_seeds_have_it() -> None:
    older = replace(SEEDS[1], metrics=(replace(SEEDS[1].metrics[1], gradient_norm=None),))
    group = RunGroup(name="hcl", runs=(SEEDS[0], older))
    assert group.curve("gradient_norm") is None
    assert group.last("gradient_norm") is None
    assert group.epochs == 1


def test_the_page_shows_the_runs_over_each_other(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs.html", SEEDS, "tammes report /runs")
    reader = read(tmp_path / "runs.html")
    check_self_contained(reader)
    check_accessible(reader)
    assert "Runs 3 runs on digits" in reader.words
    interval = "91.0 [78.3, 100.0] % for hcl and 80.0 % for simclr"
    assert f"At the end nearest neighbors name {interval} of the held-out rows" in reader.words
    assert "Runs that differ in their seed alone are drawn as one" in reader.words
    assert "Losses of different objectives or batches are different quantities" in reader.words
    assert "seed 0" not in reader.words
    assert "tammes report /runs" in reader.words
    assert "3 runs, trained on 2026-01-31 at 12:00 UTC in 123.9 seconds in all, on Xeon" in reader.words
    labels = [drawing["aria-label"] for drawing in reader.of("svg")]
    assert [label.split(" over epochs")[0] for label in labels] == [
        "kNN accuracy",
        "Training loss of hcl",
        "Training loss of simclr",
        "Gradient norm of hcl",
        "Learning rate of hcl",
    ]


def test_losses_of_one_kind_share_a_figure(tmp_path: Path) -> None:
    other = replace(SIMCLR, encoder=tammes.encoders.ConvNetConfig(width=8))
    runs = [history("/runs/a"), history("/runs/b", other)]
    write_runs(tmp_path / "runs.html", runs, "")
    reader = read(tmp_path / "runs.html")
    losses = [d["aria-label"] for d in reader.of("svg") if d["aria-label"].startswith("Training loss")]
    assert len(losses) == 1
    assert "Training loss of a over epochs, from 4 to 3; Training loss of b " in losses[0]
    assert "different quantities" not in reader.words
    write_runs(tmp_path / "runs.html", [*runs, history("/runs/c", HCL)], "")
    assert "a and b" in read(tmp_path / "runs.html").words


def test_one_run_is_named(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs.html", SEEDS[2:], "")
    words = read(tmp_path / "runs.html").words
    assert "Run simclr on digits" in words
    assert "nearest neighbors name 80.0 % of the held-out rows. One seed has no interval" in words
    assert "all runs" not in words


@pytest.mark.parametrize(
    ("accuracies", "shown"),
    [((0.98, 1.0), "99.0 [86.3, 100.0] %"), ((0.9, 0.9), "90.0 %"), ((0.9, 0.92), "91.0 [78.3, 100.0] %")],
)
def test_an_accuracy_of_several_seeds_is_none_above_1_and_has_no_interval_without_a_width(
    tmp_path: Path, accuracies: tuple[float, ...], shown: str
) -> None:
    runs = [history(f"/runs/{seed}", knn=knn, seed=seed) for seed, knn in enumerate(accuracies)]
    write_runs(tmp_path / "runs.html", runs, "")
    assert f"nearest neighbors name {shown} of the held-out rows." in read(tmp_path / "runs.html").words


def test_many_groups_are_summed_up(tmp_path: Path) -> None:
    many = [history(f"/runs/{k}", replace(SIMCLR, batch_size=64 + k), knn=0.5 + 0.05 * k) for k in range(6)]
    write_runs(tmp_path / "runs.html", many, "")
    assert "name from 50.0 % for 0 to 75.0 % for 5 of the held-out" in read(tmp_path / "runs.html").words


def test_without_labels_or_with_other_data_the_page_says_so(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs.html", [history("/runs/a", knn=None, epochs=1)], "")
    words = read(tmp_path / "runs.html").words
    assert "There are no labels, so there is no accuracy" in words
    assert "Over training" not in words
    other = history("/runs/b")
    data = replace(DATA, source="pets", count=99)
    other = replace(other, config=replace(other.config, data=data))
    write_runs(tmp_path / "runs.html", [history("/runs/a"), other], "")
    words = read(tmp_path / "runs.html").words
    assert "2 runs on digits and pets" in words
    assert "trained on different data, so accuracies cannot be compared" in words


@pytest.mark.parametrize("name", ["learning rate", "gradient norm"])
def test_equal_curves_are_drawn_once(tmp_path: Path, name: str) -> None:
    runs = [history("/runs/a"), history("/runs/b", HCL)]
    write_runs(tmp_path / "runs.html", runs, "")
    (drawing,) = (d for d in read(tmp_path / "runs.html").of("svg") if name in d["aria-label"].lower())
    assert "of a over epochs" in drawing["aria-label"]
    assert "of b over epochs" in drawing["aria-label"]
