"""What runs have recorded is read from their folders, finished or not."""

from dataclasses import replace
from pathlib import Path

import pytest

from tammes.training import EpochMetrics, ImagesSummary, RunConfig, RunFolder
from tammes.training.config_file import to_yaml
from tammes.training.history import UnstartedRunWarning, read_histories, read_history
from tammes.training.metrics import to_csv
from tiny import make_config

CONFIG = RunConfig(training=make_config(), data=ImagesSummary(source="noise", count=22, channels=1, size=8))
ROWS = (
    EpochMetrics(epoch=0, step=0, knn=0.5),
    EpochMetrics(epoch=1, step=5, loss=1.5, knn=0.6, learning_rate=1e-3, gradient_norm=2.0),
)


def write_run(path: Path, rows: tuple[EpochMetrics, ...] = ROWS, *, seed: int = 0) -> Path:
    """A folder with what a run records, without weights."""
    path.mkdir(parents=True)
    folder = RunFolder(path=path)
    folder.config.write_text(to_yaml(replace(CONFIG, training=replace(CONFIG.training, seed=seed))))
    if rows:
        folder.metrics.write_text(to_csv(rows))
    return path


def test_a_run_without_weights_is_read(tmp_path: Path) -> None:
    history = read_history(write_run(tmp_path / "run"))
    assert (history.config, history.metrics, history.epochs) == (CONFIG, ROWS, 1)
    assert history.environments == ()


def test_runs_below_a_folder_are_found_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b/seed-1", "b/seed-0", "a"):
        write_run(tmp_path / name)
    write_run(tmp_path / "a/checkpoints/old")  # what lies in a run is its own business
    (tmp_path / "notes").mkdir()
    found = read_histories([tmp_path / "b/seed-1", tmp_path])
    names = [history.path.relative_to(tmp_path).as_posix() for history in found]
    assert names == ["b/seed-1", "a", "b/seed-0"]


def test_a_run_without_an_epoch_is_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", ())
    with pytest.warns(UnstartedRunWarning, match=r"the run in .*b has not finished an epoch: left out"):
        (history,) = read_histories([tmp_path])
    assert history.path == tmp_path / "a"
    with pytest.raises(ValueError, match=r"no run has finished an epoch yet \(.*b\): wait"):
        read_histories([tmp_path / "b"])


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no run in .* or below it"):
        read_histories([tmp_path])
    with pytest.raises(ValueError, match="found no such folder"):
        read_histories([tmp_path / "nothing"])
    with pytest.raises(ValueError, match=r"there is no run in .* \(no config\.yaml\)"):
        read_history(tmp_path)
    write_run(tmp_path / "a")
    (tmp_path / "a/metrics.csv").write_text("epoch,step\nlow,5\n")
    with pytest.raises(ValueError, match=r"metrics\.csv: expected numbers"):
        read_histories([tmp_path])
