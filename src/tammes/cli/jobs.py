"""A team of processes that do pieces of a command's work, each with its share of the processor's threads."""

import io
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, NoReturn, TextIO, TypeVar, cast

from typing_extensions import override

from tammes.cli.failures import exit_code_of
from tammes.cli.signals import Signals

Result = TypeVar("Result")
THREADS = "OMP_NUM_THREADS"
"""Variable of the environment that gives a process its number of threads, for torch as for NumPy."""
DEVICES = "CUDA_VISIBLE_DEVICES"
"""Variable of the environment that names the GPUs of a process."""


class Team:
    """Context with several processes that do the pieces of a round, each the next one when it has ended one.

    All processes call the same function, in which `Member.round` stands where the pieces are done. Several
    GPUs are dealt out to them, one to each in turn. Ctrl-C and SIGTERM reach each of them as a SIGTERM, and
    its end is waited for.

    Args:
        work: function of a module, called in each process with a `Member` behind the arguments.
        arguments: its first arguments, which are pickled.
        jobs: number of processes.
    """

    def __init__(self, work: Callable[..., None], *arguments: Any, jobs: int) -> None:
        self.work, self.arguments, self.jobs = work, arguments, jobs
        self.processes: dict[Connection, SpawnProcess] = {}

    def __enter__(self) -> "Team":
        import torch  # which takes a second: `tammes reproduce --list` needs none of it

        from tammes.products import are_quick

        context = multiprocessing.get_context("spawn")
        shared = {THREADS: str(max(1, torch.get_num_threads() // self.jobs))}
        gpus = _gpus(torch.cuda.device_count())
        try:
            for number in range(self.jobs):
                gpu = {DEVICES: gpus[number % len(gpus)]} if len(gpus) > 1 else {}
                with _as_for_members({**shared, **gpu}):
                    ours, theirs = context.Pipe()
                    process = context.Process(
                        target=_member, args=(self.work, self.arguments, theirs, are_quick())
                    )
                    process.start()
                    self.processes[ours] = process
                    theirs.close()  # so that the end of the process ends the pipe
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def round(self, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Have pieces done, and yield the number and the result of each as it comes.

        Args:
            names: name of each piece.

        Raises:
            SystemExit: a process failed, which has said why, with its exit code.
            ChildProcessError: a process was killed.
        """
        for process in self.processes:
            self._receive(process)  # it is ready
        numbers = iter(range(len(names)))
        results: dict[int, Any] = {}

        def begins(process: Connection) -> bool:
            number = next(numbers, None)
            if number is not None:
                self._send(process, (number, names[number]))
            return number is not None

        at_work = {process for process in self.processes if begins(process)}
        while at_work:
            for process in cast(list[Connection], wait(at_work)):
                number, results[number] = self._receive(process)
                if not begins(process):
                    at_work.remove(process)
                yield number, results[number]
        for process in self.processes:
            self._send(process, [results[number] for number in range(len(names))])

    def _send(self, process: Connection, message: Any) -> None:
        try:
            process.send_bytes(pickle.dumps(message))
        except BrokenPipeError:
            self._fail(process)

    def _receive(self, process: Connection) -> Any:
        try:
            return pickle.loads(process.recv_bytes())
        except (EOFError, ConnectionResetError):
            self._fail(process)

    def _fail(self, process: Connection) -> NoReturn:
        """Raise the error that says how a process has ended."""
        self.processes[process].join()
        code = self.processes[process].exitcode or 0
        if code > 0:
            raise SystemExit(code)
        raise ChildProcessError(
            f"a process of the team ended early (by signal {-code}), perhaps since memory ran out: "
            "choose fewer jobs"
        )

    def _end(self) -> None:
        for connection, process in self.processes.items():
            process.terminate()
            connection.close()  # which ends a process that waits for a message, should the signal be lost
        for process in self.processes.values():
            process.join()


class Member:
    """A process of a `Team`, as the function sees it that does the work.

    Args:
        leader: the way to the process that gives out the pieces.
        lines: output, on which the name of the piece precedes each line.
    """

    def __init__(self, leader: Connection, lines: "NamedLines") -> None:
        self.leader, self.lines = leader, lines

    def round(self, function: Callable[[int], Result]) -> list[Result]:
        """Do pieces of a round until none is left, and return the results of all, in the order of the pieces.

        Args:
            function: function that does the piece with a number.
        """
        self._send(None)
        while not isinstance(message := self._receive(), list):
            number, self.lines.name = message
            self._send((number, function(number)))
        return message

    def _send(self, message: Any) -> None:
        try:
            # As bytes: torch would share a tensor's memory, which ends with the process.
            self.leader.send_bytes(pickle.dumps(message))
        except BrokenPipeError:
            raise KeyboardInterrupt from None  # the leader was killed

    def _receive(self) -> Any:
        try:
            return pickle.loads(self.leader.recv_bytes())
        except (EOFError, ConnectionResetError):
            raise KeyboardInterrupt from None


def _member(work: Callable[..., None], arguments: tuple[Any, ...], leader: Connection, quick: bool) -> None:
    """Run the function of a team in a new process, with its leader's products; say in a line what fails."""
    if quick:
        from tammes.products import quick_products

        quick_products()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    lines = NamedLines(sys.stdout)

    def until_stopped() -> None:
        with redirect_stdout(lines), suppress(KeyboardInterrupt):
            work(*arguments, Member(leader, lines))

    signals = Signals()
    with signals.handled():
        signals.begin_work()
        code = exit_code_of(until_stopped)
    sys.exit(code)


def _stop_with_parent() -> None:
    """Stop as at SIGTERM once the process that started this one has ended, which may have been killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _gpus(count: int) -> list[str]:
    """Return the names of the GPUs that this process sees."""
    named = os.environ.get(DEVICES)
    return [str(number) for number in range(count)] if named is None else named.split(",")[:count]


@contextmanager
def _as_for_members(variables: Mapping[str, str]) -> Iterator[None]:
    """Give processes that are started within these variables, and let them ignore Ctrl-C."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if in_main else None
    try:
        yield
    finally:
        if in_main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class NamedLines(io.TextIOBase):
    """Text stream that writes whole lines to another one, each after a name.

    Args:
        stream: where the lines go.

    Example:
        >>> lines = NamedLines(sys.stdout)
        >>> lines.name = "hcl, seed 0"
        >>> print("epoch 1/2", file=lines)
        hcl, seed 0: epoch 1/2
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.name, self._rest = stream, "", ""

    @override
    def write(self, text: str, /) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        if lines:
            # In one call: other processes write there as well.
            self.stream.write("".join(f"{self.name}: {line}\n" for line in lines))
            self.stream.flush()
        return len(text)
