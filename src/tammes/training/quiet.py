"""Lightning's messages that say nothing about a run, silenced by name; all others come through."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# What these say at level INFO: which accelerators exist, an advertisement, "max_epochs reached", "restored
# states"; and "Received SIGTERM", of which `Stopped` tells more.
CHATTY = (
    "lightning.pytorch.utilities.rank_zero",
    "lightning.fabric.utilities.rank_zero",
    "lightning.pytorch.trainer.connectors.signal_connector",
)

MESSAGES = (
    # Images that lie in memory need no worker processes; for folders the setting is ours to document.
    r"The '.*' does not have many workers",
    # True of lightning's own loaders. `Order` is told where to begin, which lightning cannot see.
    r"You're resuming from a checkpoint that ended before the epoch ended",
    # Lightning 2.6 flattens its loaders in a way that torch 2.13 wants written otherwise.
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the known messages for a while."""
    levels = {name: logging.getLogger(name).level for name in CHATTY}
    with warnings.catch_warnings():
        for message in MESSAGES:
            warnings.filterwarnings("ignore", message=message)
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
        try:
            yield
        finally:
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
