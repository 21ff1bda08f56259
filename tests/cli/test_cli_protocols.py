"""`tammes evaluate --protocol`: what is measured, recorded and shown, and what is refused in one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from tammes.cli.main import main
from tammes.estimate import Estimate
from tammes.evaluation import FewShot, FineTuned, FineTuning
from tammes.report.evaluation import FILE, Result, read_results, record
from tammes.training import environment

TRAIN = (
    "train simclr --temperature 0.5 --size 8 --batch-size 4 --epochs 1 --accelerator cpu --measure-every 1 "
    "encoder:vit --encoder.patch 4 --encoder.width 8 --encoder.depth 2 --encoder.heads 1 "
    "--encoder.positions learned --head.dim 8"
)
BOTH = "--protocol finetune few-shot robustness linear --accelerator cpu"
QUICK = "--epochs 1 --shots 1 2 --draws 2 --corruption fog contrast --corrupted 5"


def write_noise(root: Path, *classes: str, count: int = 8) -> Path:
    """Colored noise, of another brightness for each class."""
    generator = torch.Generator().manual_seed(len(classes))
    for number, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        for i in range(count):
            pixels = torch.randint(0, 90, (12, 12, 3), generator=generator) + 60 * number
            Image.fromarray(pixels.to(torch.uint8).numpy()).save(root / name / f"{i}.png")
    return root


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_noise(tmp_path_factory.mktemp("data") / "pets", "ant", "bee", "cat")


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert main([*TRAIN.split(), "--data", str(data), "--out", str(out)]) == 0
    return out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def evaluate(run: Path, data: Path, words: str, *more: str) -> int:
    return main(["evaluate", str(run), "--data", str(data), "--test", str(data), *words.split(), *more])


def refused(capsys: pytest.CaptureFixture[str], run: Path, data: Path, words: str, *more: str) -> str:
    capsys.readouterr()
    assert evaluate(run, data, words, *more) == 2
    message = capsys.readouterr().err
    assert "Traceback" not in message
    return " ".join(message.split())


def test_rows_that_were_trained_on_are_named(
    trained: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_noise(tmp_path / "other", "ant", "bee", "cat", count=4)
    for words, is_said in (
        (("--data", data), False),  # the held-out part of the training
        (("--data", data, "--held-out", "0.5"), True),
        (("--data", data, "--test", data), True),
        (("--data", data, "--test", other), False),
        (("--data", other), False),
        ((), False),
    ):
        assert main(["evaluate", str(trained), "--accelerator", "cpu", *map(str, words)]) == 0
        said = capsys.readouterr()
        assert ("trained on these rows" in said.err) == is_said, words
        assert "on the test rows" in " ".join(said.out.split())


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_run_in_bfloat16_is_fine_tuned_in_float32_where_that_is_quicker(
    run: Path,
    data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_slow: bool,
) -> None:
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("precision: 32-true", "precision: bf16-mixed"))
    monkeypatch.setattr(environment, "is_slow_in_bfloat16", lambda: is_slow)
    precisions = []
    fit = FineTuning.fit

    def spied(settings: FineTuning, *rest: Any, **more: Any) -> FineTuned:
        precisions.append(settings.precision)
        return fit(settings, *rest, **more)

    monkeypatch.setattr(FineTuning, "fit", spied)
    assert evaluate(run, data, "--protocol finetune --epochs 1 --accelerator cpu") == 0
    assert precisions == ["32-true" if is_slow else "bf16-mixed"]
    assert ("Fine-tuned in float32" in capsys.readouterr().out) is is_slow


def test_all_protocols_are_measured_recorded_and_shown(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shift = write_noise(tmp_path / "sketches", "bee", "cat", count=3)
    words = f"{BOTH} {QUICK} --size 12 --seed 1 --shift {shift}"
    assert evaluate(run, data, words) == 0
    said = capsys.readouterr().out
    for text in (
        "probe, all labels",
        "fine-tuning",
        "2 images of each class",
        "mean of all corruptions",
        "learned positions interpolated from 2x2 to 3x3 patches",
        "settings that were fixed beforehand: 1 epoch of batches of 16",
        "no held-out row decided anything",
        "Corrupted 5 of 24 test images, drawn at random.",
        f"{shift} has 2 of 3 classes: logits were restricted to these, for the test images as well.",
        str(run / FILE),
    ):
        assert text in said
    results = {each.key[:2]: each for each in read_results(run)}
    assert ("linear", "kNN") in results
    assert results["few-shot", "1 image of each class"].over == "2 draws of them"
    assert results["fine-tuning", "all labels, 1 epoch, at 12 pixels"].over == "24 test images"
    fog = results["robustness, fine-tuned", "fog"]
    assert (len(fog.parts), fog.over) == (5, "5 test images")
    assert ("robustness, linear readout", f"relative fall to {shift}") in results
    page = (run / "report.html").read_text()
    assert page.count("Evaluation by several protocols") == 1
    assert "mean of all corruptions" in page

    # In JSON the same numbers; again, they take the place of the earlier ones.
    assert evaluate(run, data, f"{words} --json") == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["finetune"]["size"] == 12
    assert (
        numbers["finetune"]["accuracy"]["mean"]
        == results["fine-tuning", "all labels, 1 epoch, at 12 pixels"].mean
    )
    assert numbers["few_shot"][1]["shots"] == 2
    of_readout = numbers["robustness"]["linear readout"]
    assert of_readout["corruptions"]["fog"]["by_severity"] == list(
        results["robustness, linear readout", "fog"].parts
    )
    assert of_readout["shifts"][str(shift)]["classes"] == 2
    assert {each.key[:2]: each for each in read_results(run)} == results
    assert (run / "report.html").read_text() == page

    # On the page of several runs each result has the name of its run.
    other = shutil.copytree(run, run.with_name("other"))
    assert main(["report", str(run), str(other), "--out", str(tmp_path / "runs.html")]) == 0
    runs = (tmp_path / "runs.html").read_text()
    assert "run: few-shot" in runs
    assert "other: few-shot" in runs


def test_the_interval_of_draws_that_agree_is_over_the_rows_and_one_draw_has_none(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "--protocol few-shot --shots 1 --accelerator cpu"
    agree = Estimate.of_accuracies([0.5, 0.5], 24)
    with monkeypatch.context() as patched:
        patched.setattr(FewShot, "accuracy", lambda self, train, test: agree)
        assert evaluate(run, data, f"{words} --draws 2") == 0
    (found,) = [each for each in read_results(run) if each.protocol == "few-shot"]
    assert (found.over, found.low) == ("24 test images", agree.low)
    assert evaluate(run, data, f"{words} --draws 1") == 0
    said = capsys.readouterr().out
    assert "(no interval)" in " ".join(said.split())
    assert "one seed" not in said


def test_robustness_takes_the_place_of_all_rows_that_its_mean_is_of(run: Path, data: Path) -> None:
    words = "--protocol robustness --accelerator cpu --corrupted 5 --corruption"
    assert evaluate(run, data, f"{words} fog contrast") == 0
    assert evaluate(run, data, "--protocol few-shot --shots 1 --draws 2 --accelerator cpu") == 0
    assert evaluate(run, data, f"{words} brightness") == 0
    names = [each.name for each in read_results(run) if each.protocol == "robustness, linear readout"]
    assert names[:3] == ["clean", "brightness", "mean of all corruptions"]
    assert not {"fog", "contrast"} & set(names)
    assert any(each.protocol == "few-shot" for each in read_results(run))


def test_a_damaged_record_is_refused_before_anything_is_measured(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / FILE).write_text("{bad")
    found = refused(capsys, run, data, "--protocol finetune --epochs 1 --accelerator cpu")
    assert f"{FILE} is damaged" in found
    assert "epoch 1/1" not in found


def test_the_linear_protocol_alone_keeps_no_record(run: Path, data: Path) -> None:
    before = {file: file.read_bytes() for file in run.rglob("*") if file.is_file()}
    assert evaluate(run, data, "--accelerator cpu --protocol linear") == 0
    assert {file: file.read_bytes() for file in run.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--protocol robustness --corruption rain", "no corruption 'rain': choose from gaussian-noise"),
        ("--protocol few-shot --shots 9", "at least 9 rows of each class for the shots, got 8 of ant, 8 of"),
        ("--protocol finetune --size 10", "patches of 4 pixels divide, got 10; the nearest are 8 and 12"),
        ("--shots 3", "--shots is for few-shot, which is not among --protocol linear: add few-shot"),
        ("--protocol few-shot --epochs 3", "--epochs is for finetune"),
        ("--protocol few-shot few-shot", "one or several different protocols, got few-shot few-shot"),
        ("--protocol few-shot --shots 0", "--shots must be an integer of at least 1"),
        ("--protocol few-shot --draws 0", "--draws must be an integer of at least 1"),
        ("--protocol few-shot --outcome age", "outcomes have no protocols"),
        ("--protocol robustness --shift nowhere", "expected a folder of images at nowhere"),
    ],
)
def test_what_cannot_be_measured_is_refused_at_once(
    run: Path, data: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert message in refused(capsys, run, data, words)
    assert not (run / FILE).exists()


def test_sets_whose_classes_do_not_match_are_refused(
    run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_noise(tmp_path / "other", "bee", "wasp", count=1)
    said = refused(capsys, run, data, f"--protocol robustness --shift {other}")
    assert f"{other}: expected folders named as classes of the data (ant, bee, cat)" in said
    assert "found wasp" in said
    one = write_noise(tmp_path / "one", "bee", count=3)
    said = refused(capsys, run, data, f"--protocol robustness --shift {one}")
    assert f"{one}: expected at least two classes, got 3 images of 'bee' alone" in said


def test_texts_have_few_shots_and_no_fine_tuning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for name in ("one", "two"):
        (texts / f"{name}.txt").write_text("".join(f"{name} sentence {i}\n" for i in range(12)))
    out = tmp_path / "run"
    words = "train simclr --temperature 0.5 --batch-size 4 --epochs 1 --accelerator cpu"
    assert main([*words.split(), "--data", str(texts), "--out", str(out)]) == 0
    evaluated = ["evaluate", str(out), "--data", str(texts), "--accelerator", "cpu", "--protocol"]
    for protocol in ("finetune", "robustness"):
        capsys.readouterr()
        assert main([*evaluated, protocol]) == 2
        assert f"--protocol {protocol} is for images, but" in capsys.readouterr().err
    assert main([*evaluated, "few-shot", "--shots", "3"]) == 0
    assert "3 rows of each class" in capsys.readouterr().out


def test_a_record_of_other_weights_is_void_and_a_damaged_one_is_named(run: Path, data: Path) -> None:
    result = Result.of(
        Estimate.of_share(0.5, 4), protocol="linear", name="kNN", over="4 test images", data="pets"
    )
    unknown = Result.of(Estimate(mean=0.5), protocol="few-shot", name="3", over="1 draw", data="other")
    assert record(run, [result, unknown]) == read_results(run) == (result, unknown)
    assert unknown.low is None
    assert not unknown.estimate.is_known
    section = "Evaluation by several protocols"
    assert section in (run / "report.html").read_text()
    (run / "report.html").unlink()
    assert main([*TRAIN.split(), "--data", str(data), "--out", str(run), "--resume"]) == 0
    assert section in (run / "report.html").read_text(), "a page that is written anew shows the record"
    with (run / "model.safetensors").open("ab") as file:
        file.write(b" ")
    assert read_results(run) == ()
    (run / "report.html").unlink()
    assert record(run, [unknown]) == (unknown,)
    (run / FILE).write_text("{}")
    with pytest.raises(ValueError, match=r"evaluation\.json is damaged .*remove it"):
        read_results(run)


def test_without_data_the_split_of_the_run_is_measured(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths of the run hold in the folder where it was started, those of the command where it is given."""
    started, elsewhere = tmp_path / "started", tmp_path / "elsewhere"
    shutil.copytree(data, started / "pets")
    elsewhere.mkdir()
    monkeypatch.chdir(started)
    assert main([*TRAIN.split(), *["--data", "pets", "--held-out", "0.5", "--out", "run"]]) == 0
    shutil.move(started / "run", elsewhere / "run")
    (started / "shift").mkdir()
    write_noise(elsewhere / "shift", "ant", "bee")
    monkeypatch.chdir(elsewhere)
    capsys.readouterr()
    words = "--protocol few-shot robustness --shots 1 --corruption fog --shift shift --accelerator cpu --json"
    assert main(["evaluate", "run", *words.split()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"] == "pets"
    assert [*read_results(elsewhere / "run")] != []
    words = words.replace("--shift shift", f"--shift {elsewhere / 'shift'}")
    named = ["--data", str(started / "pets"), "--held-out", "0.5", *words.split()]
    assert main(["evaluate", "run", *named]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == {**found, "data": str(started / "pets"), "run": "run"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--held-out 0.3 --strict", "--strict, --held-out without --data: name the data too"),
        ("--text-column body", "--text-column without --data: name the data too"),
        ("--data=", "--data is empty"),
        ("", "does not say on which data it was trained: name them, tammes evaluate"),
    ],
)
def test_a_split_without_data_is_refused(
    run: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "command.json").unlink()
    capsys.readouterr()
    assert main(["evaluate", str(run), *words.split()]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]
