"""The machine a run is computed on, and what must be equal on all processes of a run."""

import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Literal

import torch

from tammes.checks import check_integer, check_number
from tammes.training.config import RunConfig
from tammes.training.config_file import Plain, to_plain
from tammes.training.distributed.launch import Launch
from tammes.training.examples import Examples
from tammes.training.metrics import Monitor
from tammes.training.run_folder import RunFolder

Accelerator = Literal["auto", "cpu", "gpu"]
PACKAGES = ("tammes", "torch", "lightning", "kornia")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Devices and processes of a run; nothing here is part of its configuration.

    Args:
        accelerator: type of device; "auto" takes a GPU if there is one.
        workers: number of processes that decode images; 0 decodes them in the training process.
        progress: whether to show a progress bar.
        compile: whether `torch.compile` makes the network's kernels: of images and volumes, and worth its
            minute where trainings are long, above all on a GPU. Sums are rounded otherwise.
        patience: seconds to wait, at the start and within a step, for another process of the run.
        launch: rank of this process and number of processes; by default, read from torchrun's environment.

    Raises:
        ValueError: for a negative number of workers, a patience that is not positive, a GPU if there is
            none, or more processes than GPUs.

    Example:
        >>> Machine().workers
        0
    """

    accelerator: Accelerator = "auto"
    workers: int = 0
    progress: bool = False
    compile: bool = False
    patience: float = 600.0
    launch: Launch = field(default_factory=Launch.of)

    def __post_init__(self) -> None:
        check_integer("workers", self.workers, minimum=0)
        check_number("patience", self.patience, above=0, reason="it is in seconds")
        on_rank = "" if self.launch.count == 1 else f" on {self.launch.name}"
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise ValueError(
                f"no GPU that PyTorch can use was found{on_rank}: choose the accelerator cpu, or auto"
            )
        if self.device_type == "gpu" and self.launch.local_count > torch.cuda.device_count() > 0:
            raise ValueError(
                f"more processes ({self.launch.local_count}) than GPUs ({torch.cuda.device_count()})"
                f"{on_rank}: start one process for each GPU, or choose the accelerator cpu"
            )

    @property
    def device_type(self) -> Literal["cpu", "gpu"]:
        """Type of device that the run is computed on."""
        return "gpu" if self.accelerator != "cpu" and torch.cuda.is_available() else "cpu"

    @property
    def device(self) -> torch.device:
        """Device that the run is computed on."""
        return torch.device("cuda" if self.device_type == "gpu" else "cpu")

    @property
    def backend(self) -> str:
        """Backend of torch.distributed, for tensors in memory as well as on a GPU."""
        return "cpu:gloo,cuda:nccl" if self.device_type == "gpu" else "gloo"


def shared_settings(
    config: RunConfig, examples: Examples, folder: RunFolder | None, monitor: Monitor | None, machine: Machine
) -> dict[str, str]:
    """Return by name what would make processes compute different things, or wait for each other in vain.

    Args:
        config: configuration of the run.
        examples: training data; of images, names and labels are compared, not the pixels.
        folder: folder that process 0 writes; the other processes need not see it.
        monitor: measurements during the run.
        machine: devices and processes of the run.
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
        names = ("resume", "overwrite", "checkpoint_every")
        settings |= {name: str(vars(folder)[name]) for name in names}
    settings["epochs between measurements"] = "none" if monitor is None else str(monitor.every)
    settings["the device"] = machine.device_type
    settings["the number of processes on a machine"] = str(machine.launch.local_count)
    return settings


def _flat(value: Plain, path: str) -> Iterator[tuple[str, Plain]]:
    if not isinstance(value, dict):
        yield path, value
        return
    for name, part in value.items():
        yield from _flat(part, f"{path}.{name}" if path else name)
