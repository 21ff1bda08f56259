import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tammes.training.stop import StopRequest


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """Ctrl-C raises, also where the tests themselves run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noted(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopRequest() as request:
        assert request.signal_number is None
        os.kill(os.getpid(), number)
        assert request.signal_number == number
    assert signal.getsignal(number) is before


def test_the_second_ctrl_c_acts_at_once() -> None:
    with StopRequest() as request:
        os.kill(os.getpid(), signal.SIGINT)
        assert request.signal_number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StopRequest() as request:
        os.kill(os.getpid(), signal.SIGINT)
        assert request.signal_number is None


def test_outside_of_the_main_thread_nothing_is_set() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def enter() -> None:
        with StopRequest():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]
