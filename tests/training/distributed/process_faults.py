"""A run that ends badly or is asked to stop, as `tammes train` would: `process_faults.py KIND FOLDER`."""

import faulthandler
import os
import signal
import sys
from pathlib import Path

import process_runner
import torch
from process_cases import at_step, train_in

from tammes.cli.failures import exit_code_of
from tammes.training.module import ContrastiveModule


def kill(module: ContrastiveModule) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def terminate_launcher(module: ContrastiveModule) -> None:
    os.kill(os.getppid(), signal.SIGTERM)


def terminate(module: ContrastiveModule) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


ACTIONS = {
    "killed": kill,
    "killed, with workers": kill,
    "launcher terminated, with workers": terminate_launcher,
    "terminated": terminate,
}

if __name__ == "__main__":
    faulthandler.dump_traceback_later(process_runner.FAULT_LIMIT - 10, exit=True)  # who waits says where
    torch.set_num_threads(1)
    kind, folder = sys.argv[1], Path(sys.argv[2])
    with at_step(8, ACTIONS[kind]):
        code = exit_code_of(
            lambda: train_in(folder, workers=int("workers" in kind), checkpoint_every=3) and None
        )
    sys.stderr.write(f"rank {os.environ['RANK']} exits with {code}\n")
    sys.exit(code)
