import os
from pathlib import Path

import pytest

import tammes
from tammes.checks import LARGEST_SEED, check_file, check_seed, check_seeds
from tammes.cli.main import main
from tammes.evaluation import LinearProbe
from tammes.evaluation.linear_classifier import LinearClassifier
from tammes.extensions.solvers import FitConfig
from tammes.papers import Entry


@pytest.mark.parametrize("field", ["temperature", "epsilon", "beta"])
def test_an_integer_beyond_every_float_is_no_number(field: str) -> None:
    parts = {"temperature": tammes.Objective, "epsilon": tammes.FeatureModification, "beta": tammes.Hard}
    with pytest.raises(ValueError, match=field):
        parts[field](**{field: 10**400})


@pytest.mark.parametrize("seed", [-1, 2**63, 10**25, 1.0, True, "0", None])
def test_only_integers_of_63_bits_are_seeds(seed: object) -> None:
    with pytest.raises(ValueError, match="seed must be an integer from 0 to 9223372036854775807, got"):
        check_seed("seed", seed)


def test_the_bounds_of_seeds_are_seeds() -> None:
    assert (check_seed("seed", 0), check_seed("seed", LARGEST_SEED)) == (0, 2**63 - 1)
    assert check_seeds(LARGEST_SEED - 1, 2) == range(LARGEST_SEED - 1, LARGEST_SEED + 1)


@pytest.mark.parametrize(
    ("first", "count", "message"),
    [
        (0, 0, "seeds must be an integer from 1 to 10000, got 0"),
        (0, 10**25, "seeds must be an integer from 1 to 10000"),
        (LARGEST_SEED, 2, "the last seed must be an integer from 0"),
        (-1, 2, "seed must be an integer from 0"),
    ],
)
def test_all_of_several_seeds_are_in_range(first: int, count: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_seeds(first, count)


def test_parts_refuse_seeds_that_no_generator_takes() -> None:
    for part in (FitConfig, LinearProbe, LinearClassifier):
        with pytest.raises(ValueError, match="seed must be an integer from 0"):
            part(seed=2**63)


@pytest.mark.parametrize("seed", ["12345678901234567890123456", "-1"])
@pytest.mark.parametrize(
    "words",
    [
        "train simclr --temperature 0.5 --data digits --out {0}/run",
        "compare simclr dcl --temperature 0.5 --data digits --report {0}/report.html",
        "reproduce transport-degeneracy --out {0}/out",
        "solve max-clique --graph {0}/graph",
    ],
)
def test_commands_refuse_such_seeds_before_they_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, seed: str
) -> None:
    (tmp_path / "graph").write_text("1 2\n")
    assert main([*words.format(tmp_path).split(), "--seed", seed]) == 2
    said = "".join(capsys.readouterr())
    assert "seed must be an integer from 0 to" in " ".join(said.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]


def test_reproductions_refuse_seeds_without_end(tmp_path: Path) -> None:
    entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda request: None)
    with pytest.raises(ValueError, match="seeds must be an integer from 1 to 10000"):
        entry.reproduce(tmp_path, budget=1.0, seed=0, seeds=10**25)


def test_only_regular_files_and_links_to_them_are_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    assert check_file(tmp_path / "file") == tmp_path / "file"
    assert check_file(tmp_path / "link") == tmp_path / "link"
    with pytest.raises(ValueError, match=r"expected a regular file at .*pipe, got a named pipe: save the"):
        check_file(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        check_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        check_file(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "words",
    [
        "theory negatives --labels {0}/pipe",
        "solve max-clique --graph {0}/pipe",
        "solve max-clique --graph {0}/graph --answers {0}/pipe --epochs 1",
        "embed {0}/run --data digits --out {0}/a.npz",
    ],
)
def test_commands_refuse_named_pipes(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    (tmp_path / "graph").write_text("1 2\n")
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "run" / "config.yaml")
    assert main(words.format(tmp_path).split()) == 2
    said = capsys.readouterr().err
    assert "got a named pipe" in said or "is a device, a pipe or a socket" in said
