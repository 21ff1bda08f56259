"""When, on which machine and with which versions a run was computed: the record in environment.yaml."""

import dataclasses
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from typing_extensions import override

from tammes.atomic import write_atomically
from tammes.checks import check_file, check_integer, check_number
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.distributed.group import ProcessGroup
from tammes.training.metrics import MetricsRecorder

FILE = "environment.yaml"
STATE_KEY = "Environment"
"""Name of the record in checkpoints."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Machine and versions of a run, or of its part since it was resumed.

    Args:
        began: date and time at the start, in ISO 8601.
        first_step: number of steps that the run had taken before.
        seconds: wall-clock time of training, without measuring accuracies, from the beginning of the run to
            the end of this part; None while the part goes on, or if it was stopped and not resumed.
        processor: name of the processor.
        cores: number of cores that the process may use.
        threads: number of threads that PyTorch uses.
        device: name of the GPU, or "CPU".
        processes: number of processes that train together.
        python_version: version of Python.
        torch_version: version of PyTorch.
        tammes_version: version of Tammes.

    Raises:
        ValueError: for a date that is none, or a number outside its range.

    Example:
        >>> Environment.here(torch.device("cpu")).device
        'CPU'
    """

    began: str
    first_step: int = 0
    seconds: float | None = None
    processor: str
    cores: int
    threads: int
    device: str
    processes: int = 1
    python_version: str
    torch_version: str
    tammes_version: str

    def __post_init__(self) -> None:
        _ = self.date
        check_integer("first_step", self.first_step, minimum=0)
        for name in ("cores", "threads", "processes"):
            check_integer(name, vars(self)[name])
        if self.seconds is not None:
            check_number("seconds", self.seconds, minimum=0)

    @staticmethod
    def here(device: torch.device, *, processes: int = 1) -> "Environment":
        """Return the environment of this process, from now on.

        Args:
            device: device that the run is computed on.
            processes: number of processes that train together.
        """
        return Environment(
            began=datetime.now(UTC).isoformat(timespec="seconds"),
            processor=processor(),
            cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            threads=torch.get_num_threads(),
            device=torch.cuda.get_device_name(device) if device.type == "cuda" else device.type.upper(),
            processes=processes,
            python_version=platform.python_version(),
            torch_version=version("torch"),
            tammes_version=version("tammes"),
        )

    @property
    def date(self) -> datetime:
        """Date and time at the start."""
        try:
            return datetime.fromisoformat(self.began)
        except ValueError as error:
            raise ValueError(f"began must be a date in ISO 8601, got {self.began!r}") from error

    @property
    def machine(self) -> str:
        """Machine and versions in words.

        Example:
            >>> Environment(began="2026-01-31T12:00:00+00:00", processor="Xeon", cores=8, threads=1,
            ...     device="CPU", python_version="3.12.1", torch_version="2.13.0",
            ...     tammes_version="0.1.0").machine
            'Xeon (8 cores, 1 thread) with Python 3.12.1, torch 2.13.0 and tammes 0.1.0'
        """
        used = ", ".join(_counted(vars(self)[name], name) for name in ("cores", "threads"))
        place = f"{self.processor} ({used})"
        if self.device != "CPU":
            place = f"{self.device} and {place}"
        together = "" if self.processes == 1 else f" in {self.processes} processes,"
        return (
            f"{place}{together} with Python {self.python_version}, torch {self.torch_version} and tammes "
            f"{self.tammes_version}"
        )


def _counted(count: int, plural: str) -> str:
    return f"{count} {plural if count > 1 else plural.removesuffix('s')}"


def processor() -> str:
    """Return the processor's name as the system reports it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


QUICK, SLOW = 0.75, 2.0
"""Times of a product in float32 below which one in bfloat16 is called quick, and above which slow."""


def seconds_of_product(dtype: torch.dtype, *, rows: int = 512) -> float:
    """Return the shortest of five times of a product of two square matrices, on the CPU."""
    left = right = torch.ones(rows, rows, dtype=dtype)
    left @ right  # the first call chooses a kernel
    times = []
    for _ in range(5):
        started = time.perf_counter()
        left @ right
        times.append(time.perf_counter() - started)
    return min(times)


def is_quick_in_bfloat16(
    cpuinfo: Path = Path("/proc/cpuinfo"), *, seconds: Callable[[torch.dtype], float] = seconds_of_product
) -> bool:
    """Return whether the processor multiplies matrices in bfloat16 clearly quicker than in float32.

    It needs instructions for them, which do not suffice: AMX is several times as quick as float32, but a
    processor that has those of AVX-512 alone may be slower, as an Intel Xeon was. So both are tried.

    Args:
        cpuinfo: file in which the system lists the instructions of the processor.
        seconds: time of a product in a type.
    """
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    flags = {flag for line in lines if line.startswith("flags") for flag in line.partition(":")[2].split()}
    if flags.isdisjoint({"amx_bf16", "avx512_bf16"}):
        return False
    return seconds(torch.bfloat16) < QUICK * seconds(torch.float32)


def seconds_of_small_product(dtype: torch.dtype) -> float:
    """Return the time of a product of matrices of 128 rows, which takes no second where it is slow."""
    return seconds_of_product(dtype, rows=128)


def is_slow_in_bfloat16(*, seconds: Callable[[torch.dtype], float] = seconds_of_small_product) -> bool:
    """Return whether the processor multiplies matrices in bfloat16 far more slowly than in float32.

    Without AVX-512 torch has no kernels for it, and computes it entry by entry.

    Args:
        seconds: time of a product in a type.
    """
    return seconds(torch.bfloat16) > SLOW * seconds(torch.float32)


def is_slower_in(precision: Literal["32-true", "bf16-mixed"], device: torch.device) -> bool:
    """Return whether a network would be trained in far less time in float32.

    Args:
        precision: precision of the training.
        device: where it is.
    """
    return precision != "32-true" and device.type == "cpu" and is_slow_in_bfloat16()


@dataclass(frozen=True, kw_only=True)
class EnvironmentFile:
    """Content of environment.yaml.

    Args:
        parts: environment of each part of the run, of which every one but the first begins with a resume.
    """

    parts: tuple[Environment, ...] = ()


def read_environments(path: Path) -> tuple[Environment, ...]:
    """Read an environment.yaml; nothing if there is no such file, as in the run of an older version.

    Raises:
        ValueError: naming the file and the key that is wrong.
    """
    if not path.exists():
        return ()
    try:
        return from_yaml(EnvironmentFile, check_file(path).read_text(encoding="utf-8")).parts
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}; the run is whole without this file") from error


class EnvironmentRecorder(Callback):
    """Records where each part of a run is computed, and keeps it in a file.

    Like the metrics, the record is part of a checkpoint: a resumed run adds to that of the steps it keeps.

    Args:
        file: environment.yaml of the run; None keeps the record in memory only.
        metrics: recorder of the run's time; comes before this among the callbacks.
        group: processes of the run, of which the first writes.
    """

    def __init__(self, file: Path | None, metrics: MetricsRecorder, group: ProcessGroup) -> None:
        self.file = file
        self.metrics = metrics
        self.group = group
        self.before: tuple[Environment, ...] = ()
        self.now: Environment | None = None

    @property
    def parts(self) -> tuple[Environment, ...]:
        """Environment of each part of the run so far."""
        if self.now is None:
            return self.before
        return *self.before, dataclasses.replace(self.now, seconds=self.metrics.seconds)

    @property
    @override
    def state_key(self) -> str:
        return STATE_KEY

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        here = Environment.here(pl_module.device, processes=self.group.launch.count)
        self.now = dataclasses.replace(here, first_step=trainer.global_step)
        self._write((*self.before, self.now))

    @override
    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._write(self.parts)

    @override
    def state_dict(self) -> dict[str, Any]:
        return {FILE: to_yaml(EnvironmentFile(parts=self.parts))}

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.before = from_yaml(EnvironmentFile, state_dict[FILE]).parts

    def _write(self, parts: tuple[Environment, ...]) -> None:
        file = self.file
        if file is not None:
            content = to_yaml(EnvironmentFile(parts=parts)).encode()
            self.group.on_first(lambda: write_atomically(file, content))


def check_processes(checkpoint: dict[str, Any], count: int) -> None:
    """Raise ValueError unless a run on shards resumes with as many processes as it was stopped with.

    Each process has shards for itself, so that another number of processes would be at another place.

    Args:
        checkpoint: the checkpoint to resume from.
        count: number of processes that resume.
    """
    before = from_yaml(EnvironmentFile, checkpoint["callbacks"][STATE_KEY][FILE]).parts[-1].processes
    if before != count:
        raise ValueError(
            f"the run deals the shards of its data to {_counted(before, 'processes')}, and its place in them "
            f"is unknown to {count}: resume it with {before}, or start a new run"
        )
