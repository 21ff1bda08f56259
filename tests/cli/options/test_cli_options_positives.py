"""Positives from the shell: which there are, what they are made of, and what is refused."""

from pathlib import Path

import pytest

from tammes.cli.main import main
from tammes.positives import Active, Clusters, Halving, Labels, Quantile, Targeted
from tammes.training import load_run
from tiny import write_images

SMALL = "train simclr --temperature 0.5 --size 8 --epochs 1 --batch-size 4 --accelerator cpu encoder:convnet"


def train(folder: Path, words: str, *, labels: bool = True) -> int:
    root = write_images(folder / "images", "cats", "dogs") if labels else folder / "images"
    if not labels:
        write_images(folder, "images", count=12)
    place = ["--data", str(root), "--out", str(folder / "run")]
    return main([*SMALL.split(), *place, *words.split()])


@pytest.mark.parametrize(
    ("words", "positives"),
    [
        (
            "positives:active --positives.candidates 2 --positives.refresh 2 positives.classes:labels "
            "positives.acceptance:quantile --positives.acceptance.share 0.5",
            Active(candidates=2, refresh=2, classes=Labels(), acceptance=Quantile(share=0.5)),
        ),
        (
            "positives:active --positives.warm-up 1 --positives.sample 8 positives.classes:clusters "
            "--positives.classes.number 3 "
            "positives.acceptance:halving --positives.acceptance.lower-bound 0.1",
            Active(warm_up=1, sample=8, classes=Clusters(number=3), acceptance=Halving(lower_bound=0.1)),
        ),
        (
            "positives:targeted --positives.freely brightness hue --positives.little 0.5",
            Targeted(freely=("brightness", "hue"), little=0.5),
        ),
    ],
)
def test_positives_are_spelled_out(tmp_path: Path, words: str, positives: Active | Targeted) -> None:
    assert train(tmp_path, words) == 0
    assert load_run(tmp_path / "run").config.training.positives == positives
    assert "positives" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "labels", "reason"),
    [
        ("positives:active positives.classes:labels", False, "the data have none"),
        ("positives:active --positives.candidates 0", True, "candidates must be an integer of at least 1"),
        ("positives:active positives.classes:clusters --positives.classes.number 99", True, "got 99"),
        (
            "positives:active positives.acceptance:halving --positives.acceptance.lower-bound 0",
            True,
            "must be a finite number above 0",
        ),
        ("positives:active --positives.warm-up 2 positives.classes:labels", True, "takes the whole run"),
        ("positives:targeted --positives.freely noise", True, "factors of Photographs, which has"),
        ("positives:targeted --positives.freely hue augmentation:identity", True, "needs an augmentation"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, labels: bool, reason: str
) -> None:
    assert train(tmp_path, words, labels=labels) == 2
    captured = capsys.readouterr()
    assert reason in " ".join(captured.err.replace("│", " ").split())
    assert "Traceback" not in captured.err
    assert not (tmp_path / "run").exists()
