"""The environment variables through which torchrun describes the processes that it starts."""

import functools
import hashlib
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from torch.distributed import TCPStore  # type: ignore[attr-defined]
from torch.distributed.distributed_c10d import PrefixStore, Store

# A launcher that keeps the store answers at once; a process 0 that has to start may take longer.
LAUNCHER_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Rank of this process, number of processes, and the address where they meet.

    Args:
        rank: rank of this process, from 0 (RANK).
        count: number of processes on all machines (WORLD_SIZE).
        local_rank: rank among the processes of this machine, from 0 (LOCAL_RANK).
        local_count: number of processes on this machine (LOCAL_WORLD_SIZE).
        address: host name of process 0's machine (MASTER_ADDR).
        port: port on that machine (MASTER_PORT).
        launcher_serves: whether the launcher, and not process 0, keeps the store where they meet.
        restart: number of times that the launcher has restarted the processes.

    Raises:
        ValueError: for numbers that do not fit together.

    Example:
        >>> Launch().count
        1
    """

    rank: int = 0
    count: int = 1
    local_rank: int = 0
    local_count: int = 1
    address: str = ""
    port: int = 0
    launcher_serves: bool = False
    restart: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.rank < self.count and 0 <= self.local_rank < self.local_count <= self.count):
            raise ValueError(
                f"RANK={self.rank}, WORLD_SIZE={self.count}, LOCAL_RANK={self.local_rank}, "
                f"LOCAL_WORLD_SIZE={self.local_count} in the environment do not fit together: start the "
                "processes by torchrun, which sets them"
            )

    @classmethod
    def of(cls, environment: Mapping[str, str] = os.environ) -> "Launch":
        """Read the environment variables of a launcher; without them, there is one process.

        Example:
            >>> Launch.of({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
            ...     "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}).name
            'rank 1 of 2'
        """
        if not {"RANK", "WORLD_SIZE", "LOCAL_RANK"} <= set(environment) or environment["WORLD_SIZE"] == "1":
            return cls()

        def number(name: str, default: str) -> int:
            value = environment.get(name, default)
            if not value.isdecimal():
                raise ValueError(f"{name} in the environment must be an integer, got {value!r}")
            return int(value)

        for name in ("MASTER_ADDR", "MASTER_PORT"):
            if name not in environment:
                raise ValueError(
                    f"RANK is in the environment, but no {name}: start the processes by torchrun"
                )
        return cls(
            rank=number("RANK", ""),
            count=number("WORLD_SIZE", ""),
            local_rank=number("LOCAL_RANK", ""),
            local_count=number("LOCAL_WORLD_SIZE", environment["WORLD_SIZE"]),
            address=environment["MASTER_ADDR"],
            port=number("MASTER_PORT", ""),
            launcher_serves=environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
            restart=number("TORCHELASTIC_RESTART_COUNT", "0"),
        )

    def check_slurm(self, environment: Mapping[str, str] = os.environ) -> None:
        """Raise ValueError if SLURM started several tasks that no launcher made one training of.

        Args:
            environment: environment variables; srun sets SLURM_STEP_NUM_TASKS to the number of tasks that it
                starts. SLURM_NTASKS, the tasks that a job may have, is also set where one runs alone.

        Example:
            >>> Launch().check_slurm({"SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "1"})
        """
        tasks = environment.get("SLURM_STEP_NUM_TASKS", "1")
        if self.count == 1 and "RANK" not in environment and tasks != "1":
            raise ValueError(
                f"srun started {tasks} tasks, but there is no RANK in the environment: each would train by "
                "itself. Train together with `srun torchrun ...` (docs/scale.md has a script), or in one "
                "process with `srun --nodes 1 --ntasks 1 ...`"
            )

    @property
    def name(self) -> str:
        """Name of this process in messages."""
        return f"rank {self.rank} of {self.count}"

    def store(self, patience: timedelta) -> Store:
        """Connect to the store through which the processes exchange messages before they form a group.

        Args:
            patience: longest time to wait for process 0 if it keeps the store, and then for any key.

        Raises:
            ValueError: if the store cannot be reached.
        """
        is_keeper = self.rank == 0 and not self.launcher_serves
        if not is_keeper:
            self._await_answer(min(patience, LAUNCHER_TIMEOUT) if self.launcher_serves else patience)
        try:
            store = _connected(self.address, self.port, is_keeper)
            store.set_timeout(patience)
            return PrefixStore(f"tammes/{self.restart}", store)
        except RuntimeError as error:
            raise self._unreachable(str(error).partition("\n")[0]) from error

    def is_first_to_say(self, message: str) -> bool:
        """Return whether no other process has printed this message, apart from the name of its rank.

        If the store cannot be reached, every process counts as the first.

        Example:
            >>> Launch().is_first_to_say("the disk is full")
            True
        """
        if self.count == 1:
            return True
        try:
            self._await_answer(timedelta(seconds=1))
            store = _connected(self.address, self.port, False)
            key = hashlib.sha256(message.replace(self.name, "").encode()).hexdigest()
            return store.add(f"tammes/{self.restart}/said/{key}", 1) == 1
        except (RuntimeError, ValueError):
            return True

    def _await_answer(self, patience: timedelta) -> None:
        """Wait until the port is open. Torch would wait as well, but print a page at every attempt."""
        end = time.monotonic() + patience.total_seconds()
        while True:
            try:
                with socket.create_connection((self.address, self.port), timeout=patience.total_seconds()):
                    return
            except OSError as error:
                if time.monotonic() > end:
                    raise self._unreachable(str(error)) from error
                time.sleep(0.2)

    def _unreachable(self, reason: str) -> ValueError:
        return ValueError(
            f"{self.name} could not reach the others at MASTER_ADDR={self.address}, "
            f"MASTER_PORT={self.port}: check the name, the port and the firewall ({reason})"
        )


@functools.cache  # until the process ends: process 0 must not close the store while others use it
def _connected(address: str, port: int, is_keeper: bool) -> TCPStore:
    return TCPStore(
        address,
        port,
        is_master=is_keeper,
        timeout=timedelta(seconds=20),
        wait_for_workers=False,
        multi_tenant=True,
    )
