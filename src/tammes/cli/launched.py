"""A command that a launcher such as torchrun has started several times."""

import importlib
import os


def is_launched() -> bool:
    """Whether there are other processes with the same command."""
    return "RANK" in os.environ and os.environ.get("WORLD_SIZE", "1") != "1"


def is_first_here() -> bool:
    """Whether this is the process that explains the command line; there is one on each machine."""
    return not is_launched() or os.environ.get("LOCAL_RANK", "0") == "0"


def is_first_to_say(message: str) -> bool:
    """Whether no other process has printed this line yet."""
    if not is_launched():
        return True
    # Torch knows where the processes meet; a command that never trains need not wait for it.
    try:
        launch = importlib.import_module("tammes.training.launch").Launch.of()
    except ValueError:  # it makes no sense, which the training says
        return True
    return launch.is_first_to_say(message)


def expect_one_process(command: str) -> None:
    """Refuse what several processes would do several times over, into the same files.

    Raises:
        ValueError: where a launcher has started more than one process.
    """
    if is_launched():
        raise ValueError(
            f"tammes {command} runs in one process, but {os.environ['WORLD_SIZE']} were started: leave "
            "torchrun out, or start one (only tammes train shares its work)"
        )
