"""Filters for those of lightning's messages that say nothing about a run; all others come through."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# At level INFO these list the accelerators, advertise, and say "max_epochs reached", "restored states" and
# "Received SIGTERM", of which `Stopped` says more.
LOGGERS = (
    "lightning.pytorch.utilities.rank_zero",
    "lightning.fabric.utilities.rank_zero",
    "lightning.pytorch.trainer.connectors.signal_connector",
)

WARNINGS = (
    # Images in memory need no worker processes; for folders our documentation explains the setting.
    r"The '.*' does not have many workers",
    # True of lightning's own loaders. Our `PairSampler` knows where to begin, which lightning cannot see.
    r"You're resuming from a checkpoint that ended before the epoch ended",
    # Lightning 2.6 flattens its loaders in a way that torch 2.13 deprecates.
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
)


@contextmanager
def filtered_logs() -> Iterator[None]:
    """Silence the messages listed above within the block."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    with warnings.catch_warnings():
        for message in WARNINGS:
            warnings.filterwarnings("ignore", message=message)
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.WARNING)
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
