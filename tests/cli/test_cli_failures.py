import errno
import os
import signal
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import tammes
from tammes import contrast, coupling, encoders, positives, recipes, sources
from tammes.cli.failures import PARTS, exit_code_of, in_words_of_shell
from tammes.cli.options.parsing import words_of
from tammes.cli.options.parts import options_of
from tammes.cli.options.training import training_options
from tammes.training import Stopped


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def test_what_the_user_can_mend_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(lambda: recipes.simclr(temperature=-1) and None) == 2
    output = capsys.readouterr()
    assert output.err.startswith("tammes: temperature must be a positive number, got -1")
    assert output.err.count("\n") == 1
    assert output.out == ""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("resume it with resume=True, or name another", "resume it with --resume, or name another"),
        ("for example files='*.md'", "for example --files '*.md'"),
        ("candidates must be an integer", "--positives.candidates must be an integer"),
        ("no candidates were drawn", "no candidates were drawn"),
        ("begin later by increasing warm_up", "begin later by increasing --positives.warm-up"),
        ("leave them out with strict=False", "leave them out without --strict"),
        ("training.stop_patience was 3, now 4", "training.stop_patience was 3, now 4"),
        ("choose a minimum_count of at most 1", "choose a --encoder.minimum-count of at most 1"),
        ("an augmentation: choose Handwriting(), or", "an augmentation: choose augmentation:handwriting, or"),
        ("takes graphs: choose encoder=GINEncoderConfig()", "takes graphs: choose encoder:gin"),
        ("class_prior must be a probability", "class_prior must be a probability"),
        ("got SameClass(): choose positives=SameInstance()", "got SameClass(): choose positives:itself"),
        ("cut running text into sentences with prose=True", "cut running text into sentences with --prose"),
        ("RANK=2 is no rank, beta=1 no beta", "RANK=2 is no rank, beta=1 no beta"),
    ],
)
def test_fields_of_the_library_become_flags(message: str, expected: str) -> None:
    assert in_words_of_shell(message) == expected


def test_advised_parts_are_those_of_the_command_line() -> None:
    known = {**training_options(), **options_of(tammes.Objective)}
    for name, words in PARTS.items():
        option, _, word = words.partition(":")
        assert word in words_of(known[option][0])
        assert any(hasattr(place, name) for place in (positives, encoders, sources, contrast, coupling))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "x.png"), "x.png: No such file"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (OSError("something of the system"), "something of the system"),
    ],
)
def test_what_the_system_refuses_is_one_line(
    error: OSError, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(raising(error)) == 2
    assert capsys.readouterr().err.startswith(f"tammes: {message}")


def test_a_value_error_from_elsewhere_is_a_bug_and_keeps_its_traceback() -> None:
    with pytest.raises(ValueError, match="could not be broadcast"):
        exit_code_of(lambda: np.zeros(2) + np.zeros(3) and None)
    with pytest.raises(KeyError):
        exit_code_of(raising(KeyError("a bug")))


def test_signals_have_the_shells_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(raising(KeyboardInterrupt())) == 130
    assert exit_code_of(raising(Stopped("after step 3", signal.SIGINT))) == 130
    assert exit_code_of(raising(Stopped("after step 3", signal.SIGTERM))) == 143
    assert capsys.readouterr().err.splitlines() == ["tammes: stopped", *2 * ["tammes: after step 3"]]


def test_exits_keep_their_code() -> None:
    assert exit_code_of(lambda: sys.exit(2)) == 2
    assert exit_code_of(lambda: sys.exit(0)) == 0
    assert exit_code_of(lambda: sys.exit()) == 0
    assert exit_code_of(lambda: sys.exit("reason")) == 1


def test_each_kind_of_warning_is_a_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        for error in (0.1, 0.2):
            warnings.warn(f"error {error}", UserWarning, stacklevel=1)
        warnings.warn("another kind", RuntimeWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert exit_code_of(command) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" (")[0] for line in lines] == [
        "tammes: warning: error 0.1",
        "tammes: warning: another kind",
    ]
