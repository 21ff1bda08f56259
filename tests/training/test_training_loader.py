import multiprocessing
import signal
import subprocess
import sys
import time
from multiprocessing.sharedctypes import RawArray
from pathlib import Path

import pytest
import torch
from PIL import Image

from tammes.data import folder
from tammes.training import ImagesSummary, Machine, RunConfig, build_model, embed, loader
from tiny import make_config


def test_a_worker_names_the_damaged_image_in_a_line(tmp_path: Path) -> None:
    for name in ("1.bmp", "2.bmp"):
        Image.new("RGB", (64, 64), "red").save(tmp_path / name)
    images = folder(tmp_path, size=8, channels=1)
    (tmp_path / "2.bmp").write_bytes((tmp_path / "2.bmp").read_bytes()[:500])
    whole = RunConfig(training=make_config(), data=ImagesSummary.of(images, ""))
    for workers in (0, 1):
        with pytest.raises(ValueError, match=r"^expected an image .*, got .*2\.bmp: [^\n]*$"):
            embed(build_model(whole), images, workers=workers)


HELD = """
import sys
import time
sys.path[:0] = {places}
from multiprocessing.process import BaseProcess
import torch
from tammes.positives import SameInstance
from tammes.training.examples import Examples
from tammes.training.loader import pair_loader
from tammes.training.pairing import Pairing
from tammes.training.sampler import PairSampler, Shard
from tiny import random_images

kill = BaseProcess.kill
BaseProcess.kill = lambda self: (kill(self), time.sleep(0.3))  # in which its parent hears of the death

if __name__ == "__main__":
    pairing = Pairing(positives=SameInstance(), labels=torch.zeros(200, dtype=torch.long), seed=0)
    order = PairSampler(pairing, Shard(batch_size=2))
    held = [iter(pair_loader(Examples.of(random_images(200)), order, workers=2))]
    next(held[0])
    held.append(held)  # a cycle, which nothing takes away before Python ends
    sys.exit(3)
"""


def test_readers_do_not_keep_an_exit_waiting() -> None:
    script = HELD.format(places=[str(Path(__file__).parents[1])])
    ended = subprocess.run([sys.executable, "-c", script], timeout=60, check=False, capture_output=True)
    assert ended.returncode == 3, ended.stderr


def test_readers_end_where_nobody_hears_of_their_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGCHLD", raising=False)  # as on Windows
    child = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,))
    child.start()
    pids = RawArray("l", 1)
    pids[0] = child.pid
    loader._kill(pids)
    child.join(timeout=30)
    assert child.exitcode == -9


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="no GPU that PyTorch can use was found"):
        Machine(accelerator="gpu")
