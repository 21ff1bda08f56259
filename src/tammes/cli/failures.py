"""How a command ends: expected failures in one line, unexpected ones with their traceback."""

import importlib
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

PACKAGE = Path(__file__).parents[1]
FAILED = 2

_FIELDS_OF_FLAGS = {
    "--": "resume overwrite trust patience strict unchecked buffer cache files encoding text_column "
    "label_column anchor_column positive_column split prose neighbors vectors drop diagnose_every stop_on "
    "stop_patience",
    "--encoder.": "max_length minimum_count name_or_path",
    "--positives.": "candidates refresh warm_up sample freely little",
    "--positives.acceptance.": "lower_bound",
}
FLAGS = {
    name: prefix + name.replace("_", "-")
    for prefix, names in _FIELDS_OF_FLAGS.items()
    for name in names.split()
} | {"pretrained=False": "--encoder.no-pretrained", "image": "--image-column"}
"""Fields and arguments that messages of the library name, and the flags that set them."""

PARTS = {
    "SameInstance": "positives:itself",
    "SameClass": "positives:same-class",
    "Neighbors": "positives:neighbors",
    "Adjacent": "positives:adjacent",
    "OwnGraph": "positives:own-graph",
    "Photographs": "augmentation:photographs",
    "Handwriting": "augmentation:handwriting",
    "Identity": "augmentation:identity",
    "Scans": "augmentation:scans",
    "OneChange": "augmentation:one-change",
    "EdgesAndFeatures": "augmentation:edges-and-features",
    "BagOfWordsConfig": "encoder:bag-of-words",
    "GRUConfig": "encoder:gru",
    "TextTransformerConfig": "encoder:text-transformer",
    "GINEncoderConfig": "encoder:gin",
    "GCNEncoderConfig": "encoder:gcn",
    "GATEncoderConfig": "encoder:gat",
    "ResNet3DConfig": "encoder:resnet3d",
    "VisionTransformerConfig": "encoder:vit",
    "InBatch": "negatives:in-batch",
    "InfoNCE": "contrast:info-nce",
    "Uniform": "coupling:uniform",
}
"""Parts that messages of the library advise, and the words that choose them."""
_ADVISED = re.compile(rf"\b(?:[a-z]+=)?({'|'.join(PARTS)})\(\)")

# A field in a message: with a value, with an underscore in its name, or as the first word. A field of a
# config.yaml has its path before its name, and keeps it.
_FIELD = re.compile(
    r"(?P<off>with (?P<switch>[a-z_]+)=False)"
    r"|\b(?P<negated>[a-z_]+=False)\b"
    r"|\b(?P<field>[a-z_]+)=(?P<value>True|'[^']*'|\d+)"
    r"|(?<![\w.])(?P<name>[a-z]+(?:_[a-z]+)+)\b"
    r"|^(?P<first>[a-z]+)(?= must be)"
)


def in_words_of_shell(message: str) -> str:
    """Return a message of the library with flags in the place of the fields and arguments that it names.

    Example:
        >>> in_words_of_shell("there is a run already: resume it with resume=True")
        'there is a run already: resume it with --resume'
        >>> in_words_of_shell("remove them, or leave them out with strict=False")
        'remove them, or leave them out without --strict'
        >>> in_words_of_shell("give the pattern of the names, for example files='*.md'")
        "give the pattern of the names, for example --files '*.md'"
        >>> in_words_of_shell("no sentence has another one: choose positives=SameClass() or Neighbors()")
        'no sentence has another one: choose positives:same-class or positives:neighbors'
    """

    def translated(found: re.Match[str]) -> str:
        named = (found[group] for group in ("switch", "negated", "field", "name", "first"))
        flag = FLAGS.get(next(name for name in named if name is not None))
        if flag is None:
            return found[0]
        if found["off"] is not None:
            return f"without {flag}"
        return flag if found["value"] in (None, "True") else f"{flag} {found['value']}"

    advice, said = message.rpartition(": ")[2], message
    if advice != message:  # what to do comes last; before, a message shows what it got
        said = message.removesuffix(advice) + _ADVISED.sub(lambda found: PARTS[found[1]], advice)
    return _FIELD.sub(translated, said)


def exit_code_of(command: Callable[[], None], received: Callable[[], int | None] = lambda: None) -> int:
    """Run a command and turn the way it ends into an exit code.

    A ValueError that Tammes raises, and an OSError (a missing file, a full disk), are for the user to mend:
    one line on stderr, and exit code 2. Any other exception is a bug and keeps its traceback.

    Args:
        command: function to run.
        received: number of the signal that the process has received during the command, if any.

    Returns:
        0, 2, 130 after Ctrl-C, 143 after SIGTERM, or tyro's exit code.

    Example:
        >>> exit_code_of(lambda: None)
        0
    """
    try:
        with _warnings_in_a_line():
            command()
    except KeyboardInterrupt as interrupt:
        print_line(str(interrupt) or "stopped")
        return 128 + (_signal_of(interrupt) or received() or signal.SIGINT)
    except Exception as error:
        number = received()
        if number is None:
            return _failure(error)
        # Code in C and some libraries turn a KeyboardInterrupt into an error of another kind.
        print_line("stopped")
        return 128 + number
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _failure(error: Exception) -> int:
    """Print what the user can mend; raise any other error again."""
    if isinstance(error, OSError):
        print_line(_sentence(error))
    elif isinstance(error, ValueError | ImportError) and _is_ours(error.__traceback__):
        print_line(str(error))
    else:
        raise error
    return FAILED


def _signal_of(interrupt: KeyboardInterrupt) -> int | None:
    """Return the signal that ended a training; `Stopped`, which knows it, is imported by training only."""
    training = sys.modules.get("tammes.training.stop")
    if training is not None and isinstance(interrupt, training.Stopped):
        return int(interrupt.signal_number)
    return None


def _is_ours(trace: TracebackType | None) -> bool:
    """Return whether Tammes raised the error: a ValueError out of torch or numpy is a bug of ours."""
    frames = traceback.extract_tb(trace)
    return bool(frames) and PACKAGE in Path(frames[-1].filename).parents


def _sentence(error: OSError) -> str:
    if error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def print_line(message: str) -> None:
    """Print a line on stderr, once for all processes of a command, in the words of the shell."""
    line = " ".join(in_words_of_shell(message).split())
    if _is_first_to_print(line):
        sys.stderr.write(f"tammes: {line}\n")  # in one call: other processes may write there as well
        sys.stderr.flush()


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Show a warning as a line without file and line number, and each kind only once."""
    seen: set[type[Warning]] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category not in seen:
            seen.add(category)
            print_line(f"warning: {message} (further warnings of this kind are not shown)")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def is_launched() -> bool:
    """Return whether a launcher such as torchrun has started this command in several processes."""
    return "RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"


def is_first_on_machine() -> bool:
    """Return whether this process prints for all processes of its machine."""
    return not is_launched() or os.environ.get("LOCAL_RANK", "0") == "0"


def _is_first_to_print(line: str) -> bool:
    """Return whether no other process has printed this line yet."""
    if not is_launched():
        return True
    # Torch knows where the processes meet; a command that never trains need not import it.
    try:
        launch = importlib.import_module("tammes.training.distributed.launch").Launch.of()
    except ValueError:  # the environment makes no sense, which training reports
        return True
    return launch.is_first_to_say(line)
