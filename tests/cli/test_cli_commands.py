"""The commands as a user types them: exit codes, what is printed, and what is written."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import safetensors.torch

from tammes import Hard, atomic
from tammes.cli.main import main
from tammes.cli.outcome import objective_at_the_end
from tammes.training import Stopped, load_run
from tammes.training.environment import processor
from tammes.training.lock import LOCK, locked
from tiny import write_images

SETTINGS = {
    "--temperature": "0.5",
    "--size": "8",
    "--batch-size": "4",
    "--epochs": "2",
    "--accelerator": "cpu",
    "--measure-every": "2",
}
SIMCLR = " ".join(["simclr", *(f"{flag} {value}" for flag, value in SETTINGS.items())])
NETWORK = "encoder:convnet --encoder.width 8 --head.dim 8"


def run(words: str, *more: str | Path) -> int:
    return main([*words.split(), *map(str, more)])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_images(tmp_path_factory.mktemp("data") / "pets", "cat", "dog", count=9)


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert run(f"train {SIMCLR} {NETWORK}", "--data", data, "--out", out) == 0
    return out


def fails(capsys: pytest.CaptureFixture[str], words: str, *more: str | Path) -> str:
    """What a command says that must fail as something the user can mend."""
    capsys.readouterr()
    assert run(words, *more) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return " ".join(message.replace("│", " ").split())


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"tammes {version('tammes')}\n"


def test_one_class_alone_can_be_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_images(tmp_path / "pets", "cat")
    said = fails(capsys, f"train {SIMCLR}", "--data", data, "--out", tmp_path / "run")
    assert "got 6 images of 'cat' alone; to train on all of them and measure nothing, --held-out 0" in said


def test_train_leaves_a_whole_run(trained: Path) -> None:
    assert sorted(file.name for file in trained.iterdir()) == [
        "checkpoints",
        "command.json",
        "config.yaml",
        "environment.yaml",
        "metrics.csv",
        "model.safetensors",
        "report.html",
    ]
    config = load_run(trained).config
    assert (config.data.count, config.data.size, config.training.epochs) == (16, 8, 2)
    page = (trained / "report.html").read_text()
    assert "tammes train simclr" in page
    assert "The untrained encoder: " in page
    assert "The raw pixels: " in page


def test_a_recipe_may_be_spelled_with_underscores(data: Path, tmp_path: Path) -> None:
    words = SIMCLR.replace("simclr", "hcl_ot --epsilon 0.5") + f" {NETWORK}"
    assert run(f"train {words}", "--data", data, "--out", tmp_path / "run") == 0
    assert "hcl-ot on" in (tmp_path / "run/report.html").read_text()


def test_the_page_names_the_objective_and_no_folder(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(f"train --out dcl --data {data} {SIMCLR} {NETWORK}") == 0
    assert "simclr on" in Path("dcl/report.html").read_text()


def test_the_folder_is_named_after_the_data(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(f"train {SIMCLR} {NETWORK}", "--data", data) == 0
    assert (tmp_path / "runs/pets/report.html").exists()
    assert "The run is in runs/pets" in " ".join(capsys.readouterr().out.split())


def test_a_run_that_exists_is_kept(trained: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"train {SIMCLR} {NETWORK} --data {data} --out {trained}"
    before = (trained / "model.safetensors").read_bytes()
    assert "there is a run in" in fails(capsys, command)
    # That is said before the data are read, which may take long.
    assert "there is a run in" in fails(capsys, f"train {SIMCLR} {NETWORK} --data nowhere --out {trained}")
    assert "training.seed was 0, now 5" in fails(capsys, f"{command} --seed 5 --resume")
    assert "exclude each other" in fails(capsys, f"{command} --resume --overwrite")
    assert (trained / "model.safetensors").read_bytes() == before
    assert run(f"{command} --resume") == 0
    assert (trained / "model.safetensors").read_bytes() == before


def test_a_run_resumes_by_its_folder_alone(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(data.parent)
    words = f"train {SIMCLR} {NETWORK} --data pets --out {tmp_path / 'run'} schedule:constant"
    assert run(words) == 0
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run("train --resume ../run --epochs=3 encoder:convnet") == 0
    assert Path.cwd() == data.parent
    assert load_run(tmp_path / "run").metrics[-1].epoch == 3
    assert "was started with encoder:convnet, got encoder:resnet9" in fails(
        capsys, f"train --resume {tmp_path / 'run'} encoder:resnet9"
    )
    assert run(f"train --resume={tmp_path / 'run'}") == 0  # to the three epochs that were asked for last
    assert load_run(tmp_path / "run").metrics[-1].epoch == 3
    assert "there is no run to resume in ../other" in fails(capsys, "train --resume ../other")
    command = json.loads((tmp_path / "run/command.json").read_text())
    for content, said in (
        ("{", "expected the words and the folder"),
        ('{"words": [1], "folder": ""}', "other types"),
        (json.dumps({**command, "folder": "/no/where"}), "cannot be entered"),
    ):
        (tmp_path / "run/command.json").write_text(content)
        assert said in fails(capsys, f"train --resume {tmp_path / 'run'}")
    (tmp_path / "run/command.json").unlink()
    assert "repeat that command and add --resume" in fails(capsys, f"train --resume {tmp_path / 'run'}")


def test_a_run_goes_on_elsewhere_from_the_copy_at_an_address(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    address = f"file://{tmp_path}/bucket/pets"
    words = f"train {SIMCLR} {NETWORK} --data {data} schedule:constant"
    assert run(f"{words} --out here/run --copy-to {address}") == 0
    (tmp_path / "here").rename(tmp_path / "a machine that is gone")
    assert run(f"train --resume {address} --epochs 3") == 0
    assert load_run(tmp_path / "runs/pets").metrics[-1].epoch == 3
    assert run("train --resume runs/pets") == 0  # the folder of the other machine is no longer needed
    copied, trained = (Path(place, "report.html").read_bytes() for place in ("bucket/pets", "runs/pets"))
    assert copied == trained
    assert "is not empty: resume the run that is there" in fails(capsys, f"train --resume {address}")
    assert run(f"train --resume {address} --out=again --epochs 4") == 0
    assert load_run(tmp_path / "again").metrics[-1].epoch == 4
    assert "already: resume it" in fails(capsys, f"{words} --out new --copy-to {address}")
    assert "expected an address" in fails(capsys, f"{words} --out new --copy-to bucket/pets")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "expected one process" in fails(capsys, f"train --resume {address} --out new")


def test_images_without_labels_train_too(tmp_path: Path) -> None:
    flat = write_images(tmp_path / "flat", ".", count=9)
    assert run(f"train {SIMCLR} {NETWORK}", "--data", flat, "--out", tmp_path / "run") == 0
    assert "knn" in (tmp_path / "run/metrics.csv").read_text().splitlines()[0]
    assert load_run(tmp_path / "run").metrics[-1].knn is None


def test_every_setting_reaches_the_config(data: Path, tmp_path: Path) -> None:
    words = (
        "train objective --temperature 0.2 coupling:hard --coupling.beta 0.5 selection:subset "
        "--selection.k 2 correction:debias --correction.class-prior 0.1 encoder:resnet18 "
        "--encoder.zero-init-residual "
        "augmentation:photographs --augmentation.hue 0 schedule:cosine --schedule.warmup-epochs 1 "
        "--head.dim 16 --head.batch-norm --learning-rate 0.002 --weight-decay 0 --seed 3 --channels 1 "
        "--size 8 --batch-size 5 --epochs 1 --held-out 0 --accelerator cpu"
    )
    assert run(words, "--data", data, "--out", tmp_path / "run") == 0
    config = load_run(tmp_path / "run").config
    training = config.training
    assert repr(training.objective).startswith("Objective(temperature=0.2, coupling=Hard(beta=0.5")
    assert (config.data.count, config.data.channels) == (18, 1)
    assert repr(training.encoder) == "ResNetConfig(depth=18, small_image_stem=True, zero_init_residual=True)"
    assert "hue=0.0" in repr(training.augmentation)
    assert repr(training.optimizer.schedule) == "Cosine(warmup_epochs=1.0)"
    assert (
        repr(training.head)
        == "ProjectionHeadConfig(dim=16, hidden=None, layers=2, batch_norm=True, output_norm=True)"
    )
    assert (training.optimizer.learning_rate, training.seed) == (0.002, 3)


def test_what_changes_over_a_run_is_asked_for_and_shown(data: Path, tmp_path: Path) -> None:
    words = (
        "train hcl --temperature 0.5 --beta 1 --chunk 3 annealing:falling --annealing.changes 2 "
        "negatives:queue --negatives.size 9 --negatives.momentum 0.5 "
        f"--learn-temperature {NETWORK} --size 8 --batch-size 4 --epochs 2 --accelerator cpu"
    )
    assert run(words, "--data", data, "--out", tmp_path / "run") == 0
    trained = load_run(tmp_path / "run")
    training = trained.config.training
    assert (training.chunk, training.learn_temperature) == (3, True)
    assert repr(training.annealing) == "Falling(changes=2)"
    assert repr(training.negatives) == "QueueConfig(size=9, momentum=0.5, rising=False)"
    assert [row.last["beta"] for row in trained.metrics[-2:]] == [1.0, 0.5]
    objective = objective_at_the_end(trained)
    assert isinstance(objective.coupling, Hard)
    assert objective.coupling.beta == 0.5
    assert objective.temperature == trained.metrics[-1].last["temperature"] != 0.5
    page = (tmp_path / "run/report.html").read_text()
    assert f"temperature {objective.temperature:.3g} at the end" in page
    assert "falling: changes 2" in page
    assert "3 views at a time" in page
    assert "queue: size 9, momentum 0.5, rising no" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--chunk 0", "chunk must be an integer of at least 1"),
        ("negatives:queue --negatives.size 0", "size must be an integer of at least 1"),
        ("annealing:rising --annealing.changes 1", "annealing changes the beta of Hard"),
        ("--temperature 0", "temperature must be a positive number, got 0.0"),
        ("--batch-size 500", "the batch (500) is larger than the data (16 images)"),
        ("--batch-size 1", "batch_size must be an integer of at least 2"),
        ("--epochs 0", "epochs must be an integer of at least 1"),
        ("--held-out 1", "--held-out must be a finite number at least 0 and below 1, got 1.0"),
        ("--learning-rate -1", "learning_rate must be a finite number above 0"),
        ("--size 2", "expected images of at least"),
        ("--data nowhere", "expected a folder of images at nowhere, found no such folder"),
        ("selection:subset --selection.k 100", "k = 100 negatives were asked for"),
        ("--epoch 3", "Unrecognized options: --epoch"),
        ("--beta 1", "simclr has no --beta, which is an option of hcl, jsd, quick-thoughts: leave it out"),
        ("--class-prior 0.1", "simclr has no --class-prior, which is an option of dcl, hcl"),
        ("--channels 2", "2"),
    ],
)
def test_bad_settings_are_refused_and_leave_nothing(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    out = tmp_path / "run"
    flags = {**SETTINGS, "--data": str(data), "--out": str(out), **dict([words.split(" ", 1)])}
    given = " ".join(f"{flag} {value}" for flag, value in flags.items())
    assert message in fails(capsys, f"train simclr {NETWORK} {given}")
    assert not out.exists() or not list(out.iterdir())


@pytest.mark.filterwarnings("default")
def test_files_that_are_no_images_are_counted_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pets = write_images(tmp_path / "pets", "cat", "dog", count=9)
    (pets / "cat/broken.png").write_bytes(b"no image")
    command = f"train {SIMCLR} {NETWORK} --data {pets} --out {tmp_path / 'run'}"
    message = fails(capsys, f"{command} --strict")
    assert "cat/broken.png" in message
    assert run(command) == 0
    assert "tammes: warning: 1 of 19 files in" in capsys.readouterr().err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "found no files" in fails(capsys, f"train {SIMCLR} --data {empty} {NETWORK}")


def test_a_full_disk_is_one_line(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(atomic.os, "fsync", full)
    message = fails(capsys, f"train {SIMCLR} {NETWORK} --data {data} --out {tmp_path / 'run'}")
    what = "No space left on device; mend that, then start the run again"
    assert message == f"tammes: {tmp_path / 'run/config.yaml'}: {what}"


def test_a_folder_in_which_another_process_trains_is_refused(
    trained: Path, data: Path, tmp_path: Path
) -> None:
    out = shutil.copytree(trained, tmp_path / "run")
    files = {file: file.stat().st_mtime_ns for file in out.rglob("*")}
    words = f"train {SIMCLR} {NETWORK} --data {data} --out {out} --overwrite".split()
    with locked(out):
        ended = subprocess.run(
            [sys.executable, "-m", "tammes", *words], capture_output=True, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"tammes: {out} is in use by process {os.getpid()}: wait")
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*") if file.name != LOCK} == files


def test_ctrl_c_leaves_a_checkpoint_that_goes_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    words = f"train {SIMCLR} {NETWORK} --data {data} --out {out} schedule:constant"
    words = words.replace("--epochs 2", "--epochs 3000")
    script = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"from tammes.cli.main import main; sys.exit(main({words.split()!r}))"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not (out / "checkpoints/last.ckpt").exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "no checkpoint in two minutes"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert errors.splitlines()[-1].startswith("tammes: stopped after")
    assert "Traceback" not in errors
    before = (out / "checkpoints/last.ckpt").stat().st_mtime_ns
    steps = int(errors.split("stopped after ")[1].split()[0])
    more = words.replace("--epochs 3000", f"--epochs {steps // 4 + 1}")
    assert main([*more.split(), "--resume"]) == 0
    assert (out / "checkpoints/last.ckpt").stat().st_mtime_ns > before
    assert load_run(out).metrics[-1].step == 4 * (steps // 4 + 1)


def test_embed_writes_a_row_for_each_image(trained: Path, data: Path, tmp_path: Path) -> None:
    assert run("embed", trained, "--data", data, "--out", tmp_path / "new/e.parquet") == 0
    table = pq.read_table(tmp_path / "new/e.parquet").to_pydict()
    assert table["name"][:2] == ["cat/0.png", "cat/1.png"]
    assert table["label"] == ["cat"] * 9 + ["dog"] * 9
    assert run("embed", trained, "--data", data, "--out", tmp_path / "e.npz") == 0
    with np.load(tmp_path / "e.npz") as arrays:
        assert arrays["features"].shape == (18, load_run(trained).model.encoder.features)
        assert arrays["projection"].shape == (18, 8)
        assert np.array_equal(np.array(table["features"], dtype=np.float32), arrays["features"])
        assert np.array_equal(np.array(table["projection"], dtype=np.float32), arrays["projection"])
        assert arrays["classes"][arrays["label"]].tolist() == table["label"]


def test_embed_without_labels(trained: Path, tmp_path: Path) -> None:
    flat = write_images(tmp_path / "flat", ".", count=3)
    assert run("embed", trained, "--data", flat, "--out", tmp_path / "e.parquet") == 0
    assert pq.read_table(tmp_path / "e.parquet")["label"].null_count == 3
    assert run("embed", trained, "--data", flat, "--out", tmp_path / "e.npz") == 0
    with np.load(tmp_path / "e.npz") as arrays:
        assert set(arrays) == {"name", "features", "projection"}


def test_embed_refuses(trained: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = f"embed --data {data} --out"
    assert ".parquet or .npz, got e.txt" in fails(capsys, f"{command} e.txt {trained}")
    assert "there is no run in" in fails(capsys, f"{command} {tmp_path / 'e.npz'} {tmp_path}")
    digits = f"embed --data digits --out {tmp_path / 'e.npz'} {trained}"
    assert "the digits are 8x8 pixels and gray" in fails(capsys, digits)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.yaml").write_text((trained / "config.yaml").read_text())
    assert "has not finished" in fails(capsys, f"{command} {tmp_path / 'e.npz'} {tmp_path / 'run'}")


@pytest.mark.parametrize(("part", "name"), [("encoder", "features"), ("head", "embeddings")])
def test_nan_weights_are_refused(
    trained: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str, name: str
) -> None:
    damaged = shutil.copytree(trained, tmp_path / "run")
    weights = safetensors.torch.load_file(damaged / "model.safetensors")
    next(value for key, value in weights.items() if key.startswith(part)).fill_(float("nan"))
    safetensors.torch.save_file(weights, damaged / "model.safetensors")
    for command in (f"embed --out {tmp_path / 'e.npz'}", "evaluate"):
        said = fails(capsys, command, damaged, "--data", data)
        assert f"expected finite {name}, got NaN or infinity" in said
    assert not (tmp_path / "e.npz").exists()


def test_evaluate_prints_a_table_or_json(
    trained: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("evaluate --json --accelerator cpu", trained, "--data", data, "--test", data) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert set(numbers) == {
        "run", "data", "knn", "probe", "probe_10_percent", "probe_1_percent", "alignment", "uniformity",
        "left_out", "wahba", "gamma", "invariance", "cosine_variance", "composition_error",
        "unexplained", "composition_best", "neighbors_kept", "color_followed", "rows", "augmentations",
    }  # fmt: skip
    assert all(0 <= numbers[name] <= 1 for name in ("knn", "probe", "probe_10_percent", "probe_1_percent"))
    assert 0 <= numbers["alignment"] <= 4
    assert run("evaluate", trained, "--data", data, "--test", data) == 0
    assert f"{100 * numbers['probe']:.1f}" in capsys.readouterr().out


def test_evaluate_refuses_what_has_no_labels(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flat = write_images(tmp_path / "flat", ".", count=3)
    one = write_images(tmp_path / "one", "cat")
    assert "has no labels" in fails(capsys, f"evaluate {trained} --data {flat}")
    assert "at least two classes" in fails(capsys, f"evaluate {trained} --data {one}")


def test_compare_sets_objectives_side_by_side(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    words = "compare simclr hcl-ot --size 8 --batch-size 4 --epochs 1 --held-out 0.3 --seeds 2 --epsilon 0.5"
    report = tmp_path / "new/report.html"
    assert run(f"{words} {NETWORK}", "--data", data, "--report", report) == 0
    table = capsys.readouterr().out
    for name in ("simclr", "hcl-ot", "untrained encoder", "raw pixels", "95 % intervals"):
        assert name in table
    page = report.read_text()
    assert "Transport(epsilon=0.5" in page
    assert "0 to 1; figures of embeddings and negatives are of the first" in page
    assert "Trained 2 times, with different seeds" in page
    # The curve ends at the number of the table, which is a mean over the seeds.
    rows = re.findall(r"</span>(simclr|hcl-ot)</th><td[^>]*>([\d.]+)<", page)[:2]  # another table follows
    assert [name for name, _ in rows] == ["simclr", "hcl-ot"]
    ends = ", ".join(f"{name} ends at {accuracy}\xa0%" for name, accuracy in rows)
    assert f"kNN accuracy over epochs: {ends}." in page
    assert "on the 6 test images of the table" in page
    assert "Confusion matrix of hcl-ot" in page
    assert "4 runs, trained " in page  # on one minute, or between two


def test_the_page_names_the_machine_that_trained(
    trained: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = shutil.copytree(trained, tmp_path / "run")
    monkeypatch.setattr("tammes.training.environment.processor", lambda: "Abacus")
    (out / "report.html").unlink()
    assert run(f"train {SIMCLR} {NETWORK} --data {data} --out {out} --resume") == 0
    page = (out / "report.html").read_text()
    assert f"on {processor()} (" in page
    assert "Abacus" not in page


def test_compare_goes_on_where_it_was_stopped(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = " ".join(f"{flag} {value}" for flag, value in SETTINGS.items() if flag != "--measure-every")
    more = f"{settings} {NETWORK} --data {data} --seeds 2 --out {tmp_path / 'runs'}"
    page = f"--report {tmp_path / 'report.html'}"
    assert run(f"compare simclr {more} {page}") == 0
    said = capsys.readouterr().out
    assert said.count("epoch 2/2") == 2
    assert said.index("simclr, seed 0\n") < said.index("epoch 2/2") < said.index("simclr, seed 1\n")
    assert run(f"compare simclr bcl {more} {page}") == 0
    said = capsys.readouterr().out
    assert said.count("epoch 2/2") == 2, "simclr has finished"
    kept = {file.parent.relative_to(tmp_path / "runs").as_posix() for file in tmp_path.rglob("config.yaml")}
    assert kept == {"simclr/seed-0", "simclr/seed-1", "bcl/seed-0", "bcl/seed-1"}
    assert "training.batch_size was 4, now 8" in fails(
        capsys, f"compare simclr {more} {page}".replace("--batch-size 4", "--batch-size 8")
    )


def test_a_stopped_comparison_says_how_it_goes_on(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise Stopped("stopped after 2 steps", signal.SIGINT)

    monkeypatch.setattr("tammes.cli.compare.train", stop)
    words = f"compare simclr bcl --epochs 1 --batch-size 4 --data {data} --report {tmp_path / 'report.html'}"
    assert main(words.split()) == 130
    assert "nothing was saved: with --out FOLDER" in capsys.readouterr().err
    assert main(f"{words} --out {tmp_path / 'runs'}".split()) == 130
    assert f"the same command goes on from here, by what {tmp_path / 'runs'} holds" in capsys.readouterr().err


def test_a_stop_after_the_training_says_how_it_is_measured(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    words = f"train {SIMCLR} {NETWORK} --data {data} --out {tmp_path / 'run'}".split()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tammes.cli.train.write_report", stop)
        assert main(words) == 130
    said = capsys.readouterr().err
    assert f"after the training, which {tmp_path / 'run'} holds: the same command with --resume" in said
    assert not (tmp_path / "run/report.html").exists()
    assert main([*words, "--resume"]) == 0
    assert (tmp_path / "run/report.html").exists()


def test_care_is_trained_resumed_and_compared(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = f"--data {data} --batch-size 4 --temperature 0.5 {NETWORK}"
    words = f"train care {more} --epochs 1 --out {tmp_path / 'run'} --overwrite"
    assert "choose groups from 1, 2" in fails(capsys, words)
    assert run(f"{words} --equivariance.groups 2 --equivariance.weight 0.5") == 0
    assert run(f"train --resume {tmp_path / 'run'}") == 0
    config = (tmp_path / "run/config.yaml").read_text()
    assert "kind: Care" in config
    assert "weight: 0.5" in config
    assert "equivariance_loss" in (tmp_path / "run/metrics.csv").read_text()
    assert "care" in (tmp_path / "run/report.html").read_text()
    hosted = f"train dcl {more} --class-prior 0.1 --epochs 1 --out {tmp_path / 'dcl'} equivariance:care"
    assert run(f"{hosted} --equivariance.groups 2 equivariance.augmentation:handwriting") == 0
    assert "Handwriting" in (tmp_path / "dcl/config.yaml").read_text()
    page = tmp_path / "page.html"
    assert run(f"compare simclr care {more} --epochs 1 --groups 2 --report {page}") == 0
    text = page.read_text()
    assert "Care(weight=0.3, groups=2" in text
    assert "there is no objective crae: did you mean care?" in fails(capsys, f"compare crae {more}")


def test_compare_refuses_before_the_first_training(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"compare simclr dcl --epochs 1 --batch-size 4 --data {data} --report"
    message = fails(capsys, f"{command} {tmp_path / 'new.html'} --class-prior 1.2")
    assert message.startswith("tammes: class_prior must be a probability")
    assert "is a folder: name a file" in fails(capsys, f"{command} {tmp_path}")
    main(f"{command} {tmp_path}".split())
    assert "simclr (1 of 2)" not in capsys.readouterr().out


def test_compare_without_labels_still_writes_the_page(tmp_path: Path) -> None:
    flat = write_images(tmp_path / "flat", ".", count=9)
    words = f"compare simclr --size 8 --batch-size 4 --epochs 1 {NETWORK}"
    assert run(words, "--data", flat, "--report", tmp_path / "r.html") == 0
    assert "simclr" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare --data digits", "name at least one objective"),
        ("compare simclr simclr --data digits", "simclr was named twice"),
        ("compare simclr --seeds 0 --data digits", "seeds must be an integer from 1 to 10000"),
        ("compare simcrl --data digits", "simcrl"),
        ("compare simclr", "--data"),
        ("compare simclr --data digits --size 16", "the digits are 8x8 pixels"),
        ("compare hcl --class-prior 1.5 --data digits", "class_prior must be a probability"),
        ("reproduce", "name an experiment"),
        (
            "reproduce riemann-hypothesis",
            "there is no entry riemann-hypothesis; there is ",
        ),
        ("reproduce transport-degeneracy --budget 2", "above 0 and at most 1"),
        ("nonsense", "nonsense"),
    ],
)
def test_wrong_words_end_with_a_line_and_2(
    words: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, words)


def test_reproduce_lists_and_redoes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("reproduce --list") == 0
    assert "transport-degeneracy" in capsys.readouterr().out
    assert run("reproduce transport-degeneracy --budget 0.01", "--out", tmp_path / "out") == 0
    assert (tmp_path / "out/report.html").exists()


@pytest.mark.parametrize(
    "command",
    [
        "",
        "train",
        "embed",
        "encode",
        "evaluate",
        "search",
        "compare",
        "report",
        "reproduce",
        "theory",
        "plan",
        "solve",
    ],
)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{command} --help") == 0
    assert f"usage: tammes {command}".strip() in capsys.readouterr().out


def test_a_terminal_without_our_signs_gets_question_marks() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tammes", "reproduce", "--list"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert ended.returncode == 0
    assert b"transport-degeneracy" in ended.stdout
    assert b"?" in ended.stdout
