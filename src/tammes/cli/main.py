"""The entry point: picks the command before anything heavy is imported."""

import importlib
import io
import os
import sys
from collections.abc import Sequence

from tammes.cli.failures import exit_code_of, is_launched
from tammes.cli.output import check_text, without_reader
from tammes.cli.signals import Signals, end_stopped


def train() -> None:
    """Train an encoder on your own images, texts or graphs."""


def embed() -> None:
    """Write the features and embeddings of images, texts or graphs to a file."""


def encode() -> None:
    """Write positional encodings of the nodes of graphs to a file."""


def export() -> None:
    """Write a trained encoder for other programs: ONNX, or PyTorch's own format."""


def evaluate() -> None:
    """Measure a trained encoder: nearest neighbors, linear probes, alignment and uniformity."""


def search() -> None:
    """Find the sentences of a collection that are nearest to queries, by a trained encoder."""


def diagnose() -> None:
    """Diagnose anyone's embeddings: collapse, hubs, duplicates, label errors, and what to try next."""


def compare() -> None:
    """Train several objectives with the same settings, and compare them in a table and a report."""


def report() -> None:
    """Lay the curves of several runs over each other in a page, with the settings that differ."""


def reproduce() -> None:
    """Repeat an experiment of the papers, and show its numbers beside ours."""


def theory() -> None:
    """Compute how many negatives suit your classes, and what positives near a boundary save."""


def plan() -> None:
    """Predict what the loss will take on your data: time, memory and exchanges between devices."""


def solve() -> None:
    """Find cliques, independent sets, cuts or covers in graphs, by networks trained without solutions."""


SPINS = "GOMP_SPINCOUNT", "4000"
"""Variable that says how often threads of OpenMP ask for each other before they sleep, and our number.

By default they ask 300,000 times at the end of each operation, which beside another busy process takes many
times as long as the operations (`benchmarks/shared_machine.py`).
"""

COMMANDS = (
    *(train, embed, encode, evaluate, search, diagnose, export),
    *(compare, report, reproduce, theory, plan, solve),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `tammes` with these arguments (by default, those of the process).

    Args:
        arguments: the words after `tammes`.

    Returns:
        The exit code: 0, 2 for what the user can mend, 128 plus the signal's number after one (130 for
        Ctrl-C).

    Example:
        >>> main(["reproduce", "--list"])  # doctest: +ELLIPSIS
        features-adversarial...
        0
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(*SPINS)  # read when torch is imported
    signals = Signals()
    with signals.handled(until_exit=arguments is None):
        words = sys.argv[1:] if arguments is None else list(arguments)
        if arguments is None:
            sys.stdout, sys.stderr = without_reader(sys.stdout), without_reader(sys.stderr)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # Better a question mark for a sign that a terminal lacks than no table after hours.
                stream.reconfigure(errors="replace")
        own_process = arguments is None
        code = exit_code_of(
            lambda: _dispatch(words, signals, own_process=own_process), lambda: signals.received
        )
        # Python notes a KeyboardInterrupt that leaves an exec() of text, such as those in dataclasses, and
        # would end by SIGINT itself though it was caught. The next exec() clears the note.
        exec("")
    if arguments is None and code > 128:
        end_stopped(code)
    return code


def _dispatch(words: list[str], signals: Signals, *, own_process: bool) -> None:
    for word in words:
        check_text(word)
    if not words or words[0].startswith("-"):
        _explain(words)
        return
    command = words[0]
    # They take a tenth of a second to import, when the signals are handled already.
    from tammes.cli.options.parsing import check_word

    check_word("command", command, [each.__name__ for each in COMMANDS])
    if command != "train" and is_launched():
        raise ValueError(
            f"tammes {command} runs in one process, but {os.environ['WORLD_SIZE']} were started: leave "
            "torchrun out, or start one (only tammes train shares its work)"
        )
    choice = importlib.import_module(f"tammes.cli.options.{command}").parse(words[1:])
    # The work imports torch and lightning, which takes seconds: help and wrong words should not.
    work = importlib.import_module(f"tammes.cli.{command}")
    # Theory and the list of experiments need no torch, whose import takes a second.
    if own_process and command != "theory" and not getattr(choice, "list", False):
        from tammes.products import quick_products

        quick_products()
    signals.begin_work()
    try:
        work.main(choice)
    finally:
        signals.end_work()


def _explain(words: list[str]) -> None:
    """Print the version or the commands, or refuse an option that is neither."""
    if words == ["--version"]:
        from importlib import metadata

        print(f"tammes {metadata.version('tammes')}")
        return
    import tyro

    from tammes.cli.options.parsing import with_plain_help, wrapped

    choice = tyro.extras.SubcommandApp()
    for command in COMMANDS:
        choice.command(command)
    choice.cli(prog="tammes", args=with_plain_help(words) or ["--help"], description=wrapped(DESCRIPTION))


DESCRIPTION = (
    "Learn representations by comparing pairs, with the pairs well chosen. "
    "`tammes COMMAND --help` explains each command, `tammes --version` says which Tammes this is."
)
