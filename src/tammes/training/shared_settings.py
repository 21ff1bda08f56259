"""What must be the same on all processes of a run."""

import platform
from collections.abc import Iterator
from importlib.metadata import version

from tammes.training.config import RunConfig
from tammes.training.config_file import Plain, to_plain
from tammes.training.examples import Examples
from tammes.training.folder import RunFolder
from tammes.training.monitor import Monitor

PACKAGES = ("tammes", "torch", "lightning", "kornia")


def shared_settings(
    config: RunConfig,
    examples: Examples,
    folder: RunFolder | None,
    monitor: Monitor | None,
) -> dict[str, str]:
    """By name, what would make processes compute different things, or wait for each other in vain.

    Args:
        config: of the run.
        examples: that it learns from; of images names and labels are compared, not the pixels.
        folder: where the run is kept by process 0; the others need not see it.
        monitor: what is measured on the way.
    """
    try:
        settings = {name: str(value) for name, value in _flat(to_plain(config), "")}
    except ValueError:  # it has parts of the user's own, which no file can hold
        settings = {"the configuration": repr(config)}
    settings |= {f"the version of {package}": version(package) for package in PACKAGES}
    settings["the version of python"] = ".".join(platform.python_version_tuple()[:2])
    settings["the digest of names and labels"] = examples.digest
    settings["a run folder"] = str(folder is not None)
    if folder is not None:
        settings |= {
            "resume": str(folder.resume),
            "overwrite": str(folder.overwrite),
            "checkpoint_every": str(folder.checkpoint_every),
        }
    settings["measured every so many epochs"] = "never" if monitor is None else str(monitor.every)
    return settings


def _flat(value: Plain, where: str) -> Iterator[tuple[str, Plain]]:
    if not isinstance(value, dict):
        yield where, value
        return
    for name, part in value.items():
        yield from _flat(part, f"{where}.{name}" if where else name)
