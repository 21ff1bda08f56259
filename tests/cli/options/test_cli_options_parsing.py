"""What help shows of the options, and what is said of wrong words."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator

import pytest

from tammes.cli.main import main
from tammes.cli.options import parts
from tammes.encoders import ConvNetConfig
from tammes.training import TrainingConfig
from tammes.training.config_file import concrete_classes

COMMANDS = (
    "train",
    "train hcl",
    "train objective",
    "compare",
    "embed",
    "encode",
    "evaluate",
    "export",
    "reproduce",
    "solve",
    "theory",
    "theory negatives",
    "theory positives",
)


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def printed(words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    capsys.readouterr()
    assert main(words.split()) == code
    output = capsys.readouterr()
    return output.out if code == 0 else output.err


def flags(text: str) -> list[str]:
    """The options that have a line of explanation, in their order; boxes are drawn in a terminal only."""
    explained = text.partition("-h, --help")[2].partition("Further options")[0]
    return re.findall(r"^[│ ] (--[a-z][\w.-]*)", explained, re.MULTILINE)


def explanation(text: str, flag: str) -> str:
    """What a help says of an option."""
    rest = re.split(rf"^[│ ] {flag}\b", text, maxsplit=1, flags=re.MULTILINE)[1]
    said = re.split(r"^(?:[│ ] --|╰| *$)", rest, maxsplit=1, flags=re.MULTILINE)[0]
    return " ".join(said.replace("│", " ").split())


@pytest.mark.parametrize("option", ["--help", "--help-all"])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_terminal_and_speaks_of_no_none(
    command: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usage, *lines = printed(f"{command} {option}", capsys).splitlines()
    assert usage.startswith(f"usage: tammes {command}")
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    for ugly in ("{None}", "None,", "(default: None)", "(default: False)", "(default: )"):
        assert ugly not in text


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("train hcl", ["--data", "--temperature", "--beta"]),
        ("train dcl", ["--data", "--temperature", "--class-prior"]),
        ("train logistic", ["--data"]),
        ("compare", ["--data"]),
        ("embed", ["--data", "--out"]),
        ("encode", ["--out"]),
        ("export", ["--out"]),
        ("theory positives", ["--dimension"]),
    ],
)
def test_what_must_be_given_comes_first(
    command: str, first: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--help", "--help-all"):
        text = printed(f"{command} {option}", capsys)
        required = [flag for flag in flags(text) if explanation(text, flag).endswith("(required)")]
        assert flags(text)[: len(first)] == required == first


@pytest.mark.parametrize("command", ["train simclr", "compare", "embed", "encode", "evaluate", "solve"])
def test_rare_options_are_named_by_help_and_explained_by_help_all(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    brief = printed(f"{command} --help", capsys)
    whole = printed(f"{command} --help-all", capsys)
    boxes, _, further = brief.partition(f"Further options, explained by `tammes {command} --help-all`:")
    named = re.findall(r"--[\w.-]+", further.partition("Parts")[0])
    assert named
    assert not set(named) & set(flags(boxes))
    assert sorted(flags(boxes) + named) == sorted(flags(whole))
    assert "Further options" not in whole
    assert len(boxes.splitlines()) <= 70


def test_help_lists_parts_and_explains_those_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    brief = printed("train simclr --help", capsys)
    assert "encoder:convnet  encoder:resnet9" in brief.partition("Parts, in any order:")[2]
    assert "--encoder.width" not in brief
    named = printed("train simclr encoder:convnet augmentation:photographs --help", capsys)
    assert "a multiple of 8" in explanation(named, "--encoder.width")
    assert "Probability of a horizontal flip" in explanation(named, "--augmentation.flip-probability")
    assert "encoder:resnet18" not in named


def kinds(annotation: object) -> Iterator[type]:
    """The dataclasses of this package that an annotation stands for; others may derive from str."""
    yield from (kind for kind in concrete_classes(annotation) if kind.__module__.startswith("tammes."))
    for inner in typing.get_args(annotation):
        yield from kinds(inner)


def test_every_option_of_every_part_is_explained() -> None:
    every: list[type] = [TrainingConfig]
    for kind in every:  # grows
        found = (part for hint in typing.get_type_hints(kind).values() for part in kinds(hint))
        every += dict.fromkeys(part for part in found if part not in every)
    assert len(every) > 80
    silent = [
        (kind.__name__, field.name)
        for kind in every[1:]
        for field in dataclasses.fields(kind)
        if field.init and not parts._texts(kind).get(field.name)
    ]
    assert silent == []


def test_an_installation_without_sources_has_the_options_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(source: object) -> str:
        raise OSError("could not get source code")

    monkeypatch.setattr(parts.inspect, "getsource", missing)
    parts._texts.cache_clear()
    assert list(parts.options_of(ConvNetConfig)) == ["width"]
    parts._texts.cache_clear()


def test_an_objective_may_come_after_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    said = printed("train --data digits --batch-size 1 simclr --temperature 0.5", capsys, code=2)
    assert "batch_size must be an integer of at least 2" in said


@pytest.mark.parametrize(
    "recipe", ["simclr", "dcl", "hcl", "hcl-ot", "ifm", "decoupled", "supcon", "objective"]
)
def test_a_missing_temperature_is_asked_for_with_a_good_start(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in (
        printed(f"train {recipe} --help", capsys),
        printed(f"train {recipe} --data x", capsys, code=2),
    ):
        said = " ".join(text.replace("│", " ").split())
        assert "0.2 is a good start for images, 0.1 for texts" in said
        if recipe == "hcl":
            assert "1.0 is a good start" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("trian", "there is no command trian: did you mean train? There is train, embed"),
        (
            "train simcrl --data digits",
            "there is no objective simcrl: did you mean simclr? There is simclr, dcl",
        ),
        ("train xyz", "there is no objective xyz; there is simclr, dcl"),
        ("train hcl_to", "did you mean hcl-ot?"),
        (
            "train simclr --data x encoder:convent",
            "there is no part encoder:convent: did you mean encoder:convnet?",
        ),
        ("compare simclr hlc --data digits", "there is no objective hlc: did you mean hcl?"),
        ("reproduce negative-text", "there is no entry negative-text: did you mean negatives-text?"),
        ("solve max-cliques", "there is no problem max-cliques: did you mean max-clique?"),
        ("theory negative", "there is no table negative: did you mean negatives?"),
        ("train simclr --temperature 0.2 --data dgits --out nowhere", "no such folder: did you mean digits?"),
        (
            "train mae --data digits --encoder.patch 2",
            "--encoder.patch is an option of encoder:vit: write that before it",
        ),
        (
            "compare simclr hcl --data digits --positives.candidates=3 encoder:convnet",
            "--positives.candidates is an option of positives:active: write",
        ),
        ("train simclr --temperature 0.2 --data digits --epoch 3", "Perhaps you meant: --epochs"),
        ("embed run --out e.npz --data digits --batchsize 3", "Perhaps you meant: --batch-size"),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(re.sub("[│─]", " ", printed(words, capsys, code=2)).split())
    assert said in text
    assert "Traceback" not in text


def test_a_part_with_dashes_is_told_without_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = "train simclr --data digits --temperature 0.1 encoder:two-towers --encoder.tower:gru"
    assert main(words.split()) == 2
    assert "expected encoder.tower:gru, got --encoder.tower:gru" in capsys.readouterr().err
