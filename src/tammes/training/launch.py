"""What a launcher such as torchrun tells each of the processes that it starts."""

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
ANSWER = timedelta(seconds=60)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Which of how many processes this is, and where they meet.

    Args:
        rank: which process, from 0.
        count: how many there are, on all machines.
        local_rank: which process of this machine, from 0.
        local_count: how many there are on this machine.
        address: of the machine of process 0, its MASTER_ADDR.
        port: where the processes meet there, its MASTER_PORT.
        launcher_serves: whether the launcher, and not process 0, keeps the store where they meet.
        restart: how often the launcher has started the processes anew.

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
        """What stands in the environment; one process where no launcher left word.

        Example:
            >>> Launch.of({"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2",
            ...     "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}).name
            'rank 1 of 2'
        """
        if not {"RANK", "WORLD_SIZE", "LOCAL_RANK"} <= set(environment) or environment["WORLD_SIZE"] == "1":
            return cls()

        def number(name: str, usual: str) -> int:
            value = environment.get(name, usual)
            if not value.isdecimal():
                raise ValueError(f"expected a whole number as {name} in the environment, got {value!r}")
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

    @property
    def name(self) -> str:
        """This process, for messages."""
        return f"rank {self.rank} of {self.count}"

    def store(self, patience: timedelta) -> Store:
        """Where the processes leave word for each other before they are a group.

        Args:
            patience: how long to wait for process 0, where it keeps the store, and then for any word.

        Raises:
            ValueError: where nobody answers.
        """
        keeper = self.rank == 0 and not self.launcher_serves
        if not keeper:
            self._expect_answer(min(patience, ANSWER) if self.launcher_serves else patience)
        try:
            store = _connected(self.address, self.port, keeper)
            store.set_timeout(patience)
            return PrefixStore(f"tammes/{self.restart}", store)
        except RuntimeError as error:
            raise self._unreachable(str(error).partition("\n")[0]) from error

    def is_first_to_say(self, message: str) -> bool:
        """Whether no other process has said this before, but for its own name.

        Where they cannot be asked, everyone is the first.

        Example:
            >>> Launch().is_first_to_say("the disk is full")
            True
        """
        if self.count == 1:
            return True
        try:
            self._expect_answer(timedelta(seconds=1))
            store = _connected(self.address, self.port, False)
            key = hashlib.sha256(message.replace(self.name, "").encode()).hexdigest()
            return store.add(f"tammes/{self.restart}/said/{key}", 1) == 1
        except (RuntimeError, ValueError):
            return True

    def _expect_answer(self, patience: timedelta) -> None:
        """Wait until someone listens. Torch would wait as well, and print a page at every try."""
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


@functools.cache  # for as long as the process lives: process 0 must not take the store from under the others
def _connected(address: str, port: int, keeper: bool) -> TCPStore:
    return TCPStore(
        address,
        port,
        is_master=keeper,
        timeout=timedelta(seconds=20),
        wait_for_workers=False,
        multi_tenant=True,
    )
