"""Ctrl-C and SIGTERM while a command starts, works and ends."""

import _thread
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tammes.cli.failures import exit_code_of
from tammes.cli.signals import Signals

COMMANDS = {
    "help": "train --help",
    "theory": "theory negatives --classes 100000 --batch 512 --figure {folder}/bounds.svg",
    "train": "train simclr --temperature 0.5 --data digits --out {folder}/run --epochs 1000 --overwrite",
}
# Seconds after the command has its handlers. The first two end soon; at least one run is to be stopped.
LATEST = {"help": 0.5, "theory": 0.8, "train": 3.0}


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """Ctrl-C raises, also where the tests themselves run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Wait until the command handles SIGTERM, which it does as its first lines have run.

    Before them Python ends as it always does, and a busy machine may take a second to come to them.
    """
    status = Path(f"/proc/{process.pid}/status")
    if not status.exists():
        time.sleep(0.15)
        return
    while process.poll() is None:
        (caught,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigCgt"))
        if int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_can_be_stopped_at_any_time(command: str, number: signal.Signals, tmp_path: Path) -> None:
    stopped = 0
    draw = random.Random(f"{command} {number}")
    for _ in range(2):
        words = COMMANDS[command].format(folder=tmp_path).split()
        process = subprocess.Popen(
            [sys.executable, "-m", "tammes", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for_handlers(process)
        time.sleep(draw.uniform(0, LATEST[command]))
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:  # it has not ended before the signal
            assert process.returncode == 128 + number, errors
            assert [line for line in errors.splitlines() if line.startswith("tammes: ")], errors
            assert "Traceback" not in errors
            assert "ignored in" not in errors
            stopped += 1
    assert stopped > 0


def interrupted(signals: Signals, command: object) -> int:
    with signals.handled():
        signals.begin_work()
        return exit_code_of(command, lambda: signals.received)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_work_ends_by_an_exception_so_that_files_are_removed(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    removed = []

    def command() -> None:
        try:
            os.kill(os.getpid(), number)
            time.sleep(10)
        finally:
            removed.append(True)

    before = signal.getsignal(number)
    assert interrupted(Signals(), command) == 128 + number
    assert capsys.readouterr().err == "tammes: stopped\n"
    assert removed
    assert signal.getsignal(number) is before


def test_an_error_that_a_signal_turned_into_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except KeyboardInterrupt as interrupt:
            raise ImportError("no module, says a library") from interrupt

    assert interrupted(Signals(), command) == 143
    assert capsys.readouterr().err == "tammes: stopped\n"


class Late:
    """Object whose destructor is interrupted, which Python can only print."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)


def test_an_interrupt_lost_in_a_destructor_is_raised_again(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        late = Late()
        del late
        for _ in range(100):
            time.sleep(0.1)

    begin = time.monotonic()
    assert interrupted(Signals(), command) == 130
    assert time.monotonic() - begin < 5
    assert capsys.readouterr().err == "tammes: stopped\n"


def test_an_interrupt_of_code_made_from_text_ends_with_the_same_code(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import sys; from tammes.cli import main\n"
        "main._dispatch = lambda words, signals, own_process: exec('raise KeyboardInterrupt')\n"
        "sys.exit(main.main([]))\n"
    )
    command = [sys.executable, "-m", "interrupted"]  # only with -m does Python look at its note
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "tammes: stopped\n")


def test_a_stopped_command_ends_without_the_end_of_python(tmp_path: Path) -> None:
    """What a signal left half imported may abort there; the exit handlers run."""
    (tmp_path / "stopped.py").write_text(
        "import atexit, os, sys; from tammes.cli import main\n"
        "class Fatal:\n"
        "    def __del__(self, abort=os.abort): abort()\n"
        "def stopped(words, signals, own_process): raise KeyboardInterrupt\n"
        "fatal, main._dispatch = Fatal(), stopped\n"
        "atexit.register(print, 'tidied')\n"
        "sys.exit(main.main())\n"
    )
    command = [sys.executable, "stopped.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "tidied\n", "tammes: stopped\n")


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert interrupted(Signals(), lambda: _thread.interrupt_main(signal.SIGINT)) == 0


def test_the_library_itself_handles_no_signals() -> None:
    code = "import signal, tammes.cli.main; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout == "True\n"
