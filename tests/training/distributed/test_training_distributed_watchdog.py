import os
import signal
import subprocess
import sys
import threading

import pytest

import tammes.training.distributed.watchdog as watchdog_module
from tammes.training.distributed.watchdog import watchdog

# The file alone: importing its package would import all of lightning.
STUCK = """
import hashlib, os, runpy, signal, sys, time
watchdog = runpy.run_path(sys.argv[1])["watchdog"]
heard = []
signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
with watchdog(lambda: bool(heard), "the other has died", seconds=0.3):
    if os.fork() == 0:
        os.kill(os.getpid(), signal.SIGTERM)
        os._exit(0)
    os.wait()
    time.sleep(1)  # what a process that it forked hears is no concern of this one
    print("still here", flush=True)
    os.system(f"(sleep 0.2; kill -TERM {os.getpid()}) &")
    hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000_000)  # for a minute, and no handler runs
"""


def test_a_signal_that_python_cannot_heed_ends_the_process_with_words() -> None:
    command = [sys.executable, "-c", STUCK, watchdog_module.__file__]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 2
    assert process.stdout == "still here\n"
    assert process.stderr.endswith("the other has died\n")


def test_a_signal_that_is_heeded_ends_nothing() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with watchdog(lambda: bool(heard), "never said", seconds=0.0):
            threads = threading.active_count()
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard == [signal.SIGTERM]
        assert threading.active_count() == threads - 1
    finally:
        signal.signal(signal.SIGTERM, before)


def test_outside_of_the_main_thread_it_says_so() -> None:
    errors: list[ValueError] = []

    def enter() -> None:
        try:
            with watchdog(lambda: True, ""):
                pass
        except ValueError as error:
            errors.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert "main thread" in str(errors[0])


@pytest.fixture(autouse=True)
def _no_wakeup_left() -> None:
    assert signal.set_wakeup_fd(-1) == -1
