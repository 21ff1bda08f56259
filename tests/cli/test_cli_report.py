"""`tammes report` as a user calls it, on runs that `tammes train` wrote."""

from pathlib import Path

import pytest

from tammes.cli.main import main
from tiny import write_images

SETTINGS = (
    "--temperature 0.5 --size 8 --batch-size 4 --epochs 2 --held-out 0.3 --accelerator cpu encoder:convnet "
    "--encoder.width 8 --head.dim 8"
)


def test_runs_are_laid_over_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "pets", "cat", "dog", count=9)
    for name, more in (("a", "--seed 0"), ("b", "--seed 1"), ("c", "--learning-rate 0.01")):
        assert main(f"train simclr --data pets --out runs/{name} {more} {SETTINGS}".split()) == 0
    capsys.readouterr()
    assert main(["report", "runs/a", "runs/b", "runs/c", "--out", "new/page.html"]) == 0
    assert capsys.readouterr().out == "3 runs; open new/page.html\n"
    page = (tmp_path / "new/page.html").read_text()
    assert "3 runs on pets" in page
    assert "a and b</th>" in page
    assert "optimizer learning rate</th>" in page
    assert "tammes report runs/a runs/b runs/c --out new/page.html" in page
    assert main(["report", "runs"]) == 0
    assert "3 runs on pets" in (tmp_path / "report.html").read_text()
    assert main(["report", "runs/a"]) == 0
    assert "1 run; open" in capsys.readouterr().out


def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words, message in (
        ([], "name the folder of at least one run"),
        (["nowhere"], "expected the folder of a run at nowhere, found no such folder"),
        ([str(tmp_path)], "there is no run in"),
        ([str(tmp_path), "--out", "."], "is a folder: name a file to write"),
    ):
        assert main(["report", *words]) == 2
        assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert not list(tmp_path.iterdir())
