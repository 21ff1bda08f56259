"""What several processes do together, one case after the other; run as `process_cases.py FOLDER CASE...`.

Each case hands back tensors, numbers or words, which are saved for each process.
"""

import errno
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import process_runner
import torch
import torch.distributed as dist
from torch import Tensor, nn

from killed import Killed
from tammes import OtherLabels, atomic, recipes
from tammes.data import Images, shards
from tammes.encoders import (
    BagOfWordsConfig,
    ProjectionHeadConfig,
    ResNetConfig,
    VisionTransformerConfig,
)
from tammes.positives import Active, Adjacent, Neighbors, Photographs, Quantile, SameClass, Targeted
from tammes.sources import Gather
from tammes.training import (
    Adam,
    Care,
    Data,
    Machine,
    Masked,
    Monitor,
    QueueConfig,
    Run,
    RunFolder,
    TrainingConfig,
    examples,
    loop,
    module,
    train,
)
from tammes.training.distributed import strategy
from tammes.training.distributed.batch_norm import with_global_batch_norm
from tammes.training.distributed.group import joined
from tammes.training.distributed.launch import Launch
from tammes.training.loader import PairBatch
from tammes.training.module import ContrastiveModule
from tammes.training.quick_thoughts import quick_thoughts
from tammes.training.sampler import Shard
from tiny import make_config, make_text_config, random_images, random_texts, write_shards

RANK = int(os.environ.get("RANK", "0"))
NUMBERS = ("knn", "gradient_norm")
CONFIG = replace(make_config(), batch_size=5)  # of which two processes take three and two


def train_in(folder: Path | None, config: TrainingConfig = CONFIG, workers: int = 0, **how: Any) -> Run:
    images = random_images(22)
    run_folder = None if folder is None else RunFolder(path=folder, **how)
    monitor = Monitor(bank=images, held_out=random_images(8, seed=1))
    machine = Machine(accelerator="cpu", patience=60, workers=workers)
    return train(config, images, folder=run_folder, monitor=monitor, machine=machine)


def weights(run: Run) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in run.model.state_dict().items()}


@contextmanager
def in_float64() -> Iterator[None]:
    """Training in double precision, in which rounding cannot be mistaken for anything else."""
    build, as_floats = loop.build_model, examples.as_floats
    loop.build_model = lambda *config, **how: build(*config, **how).double()
    examples.as_floats = lambda pixels: pixels.double() / 255
    try:
        yield
    finally:
        loop.build_model, examples.as_floats = build, as_floats


HCL = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
ORACLE = recipes.simclr(temperature=0.5, selection=OtherLabels())
EXACT = {
    "hard, a subset": CONFIG,
    "transport": replace(CONFIG, objective=recipes.hcl_ot(temperature=0.5, epsilon=0.5, class_prior=0.1)),
    "labels": replace(
        CONFIG, objective=recipes.simclr(temperature=0.5, selection=OtherLabels()), batch_size=9
    ),
    "classes": replace(CONFIG, objective=recipes.supcon(temperature=0.5), batch_size=9),
    "chunks": replace(CONFIG, objective=HCL, chunk=2, learn_temperature=True),
    "batch norm": replace(CONFIG, encoder=ResNetConfig(), epochs=1, optimizer=Adam(learning_rate=1e-4)),
    "crops": replace(CONFIG, crops=3),
    "a queue": replace(CONFIG, objective=HCL, negatives=QueueConfig(size=7)),
    "active": replace(
        CONFIG, positives=Active(candidates=3, acceptance=Quantile(share=0.5), refresh=4, warm_up=2)
    ),
    "equivariance": replace(CONFIG, batch_size=8, equivariance=Care(weight=2.0, groups=4, invariance=1.0)),
    "masks": replace(
        CONFIG,
        objective=HCL,
        encoder=VisionTransformerConfig(patch=2, width=12, depth=1, heads=3),
        head=ProjectionHeadConfig(dim=8, batch_norm=True),
        masked=Masked(contrast=0.3, decoder_width=12, decoder_depth=1),
        epochs=1,
    ),
    "targeted": replace(CONFIG, positives=Targeted(freely=("noise",)), epochs=1),
    "other images": replace(CONFIG, positives=SameClass(), epochs=1),
    "texts": replace(make_text_config(), batch_size=5),
    "neighbors": replace(make_text_config(), batch_size=5, positives=Neighbors()),
    "whole documents": replace(  # each batch is a document of nine sentences
        make_text_config(),
        objective=quick_thoughts(),
        batch_size=11,
        positives=Adjacent(whole_documents=True),
    ),
}


def exact(name: str) -> dict[str, Tensor]:
    """The weights after training in double precision; nothing is measured, which would take floats.

    Without the biases of keys: a softmax does not change with them, so that their gradients are rounding.
    """
    config = EXACT[name]
    data: Data = random_texts() if isinstance(config.encoder, BagOfWordsConfig) else random_images(22)
    with in_float64():
        found = weights(train(config, data, machine=Machine(accelerator="cpu", patience=60)))
    for key, value in found.items():
        if key.endswith("attention.inputs.bias"):
            value.unflatten(0, (3, -1))[1] = 0
    return found


@contextmanager
def at_step(
    step: int, action: Callable[[ContrastiveModule], None], *, ranks: tuple[int, ...] = (1,)
) -> Iterator[None]:
    """Do something at the beginning of a step on some of the processes."""
    whole = ContrastiveModule.training_step

    def training_step(self: ContrastiveModule, batch: PairBatch, batch_idx: int) -> Tensor:
        if self.global_step == step and RANK in ranks:
            action(self)
        return whole(self, batch, batch_idx)

    ContrastiveModule.training_step = training_step
    try:
        yield
    finally:
        ContrastiveModule.training_step = whole


def error_of(work: Callable[[], object]) -> str:
    try:
        work()
    except (ValueError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def kill(module: ContrastiveModule) -> None:
    raise Killed


def spoil_weights(module: ContrastiveModule) -> None:
    next(module.parameters()).data.fill_(torch.nan)


def spoil_gradient(module: ContrastiveModule) -> None:
    next(module.parameters()).register_hook(lambda gradient: gradient * torch.inf)


def whole(folder: Path) -> dict[str, Tensor]:
    """A run that nothing interrupts; every process has its weights and its numbers."""
    run = train_in(folder / "whole")
    return weights(run) | {
        name: torch.tensor([vars(row)[name] for row in run.metrics[1:]], dtype=torch.float64)
        for name in NUMBERS
    }


def a_few_steps(folder: Path) -> dict[str, Tensor]:
    return weights(train_in(None, replace(CONFIG, epochs=1)))


def stopped_and_resumed(folder: Path) -> dict[str, Tensor]:
    with at_step(7, kill, ranks=(0, 1)), suppress(Killed):
        train_in(folder / "resumed", checkpoint_every=2)
    return weights(train_in(folder / "resumed", checkpoint_every=2, resume=True))


def begun_for_another_number(folder: Path) -> None:
    """What one process will go on with."""
    with at_step(7, kill, ranks=(0, 1)), suppress(Killed):
        train_in(folder / "begun", checkpoint_every=2)


def ended_outright(folder: Path) -> dict[str, Tensor]:
    """Go on with the runs that other tests have killed before, where they have."""
    found = {}
    for name in ("killed", "terminated"):
        if (folder / name).exists():
            found |= {
                f"{name} {key}": value for key, value in weights(train_in(folder / name, resume=True)).items()
            }
    return found


def reductions(folder: Path) -> list[int]:
    """How often gradients are averaged in four steps: of the whole batch at once, and of chunks of it."""
    counts, average = [], strategy.average_gradients
    for chunk in (None, 1):
        calls: list[int] = []
        strategy.average_gradients = lambda averaging, bucket, calls=calls: (
            calls.append(1),
            average(averaging, bucket),
        )[1]
        try:
            train_in(None, replace(CONFIG, objective=HCL, chunk=chunk, epochs=1))
        finally:
            strategy.average_gradients = average
        counts.append(len(calls))
    return counts


def nan_in_embeddings(folder: Path) -> str:
    with at_step(7, spoil_weights):
        return error_of(lambda: train_in(folder / "nan"))


def infinite_gradient(folder: Path) -> str:
    with at_step(7, spoil_gradient):
        return error_of(lambda: train_in(folder / "infinite"))


class Broken:
    """Pixels of which one image cannot be decoded."""

    def __init__(self, pixels: Any) -> None:
        self.pixels, self.channels, self.size = pixels, pixels.channels, pixels.size

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, row: int) -> Tensor:
        if row == 3:
            raise ValueError("cat.png is cut off")
        return self.pixels[row]


def broken_image(folder: Path) -> str:
    images = replace(random_images(22), pixels=Broken(random_images(22).pixels))
    return error_of(lambda: train(CONFIG, images, machine=Machine(accelerator="cpu", patience=60)))


def full_disk(folder: Path) -> str:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = atomic.os.fsync
    with at_step(7, lambda module: setattr(atomic.os, "fsync", full), ranks=(0,)):
        try:
            return error_of(lambda: train_in(folder / "full", checkpoint_every=2))
        finally:
            atomic.os.fsync = before


def other_settings(folder: Path) -> str:
    images: Images = random_images(22 + RANK)
    config = replace(CONFIG, seed=RANK)
    machine = Machine(accelerator="cpu", patience=60)
    return error_of(lambda: train(config, images, folder=RunFolder(path=folder / "other"), machine=machine))


def an_existing_run(folder: Path) -> str:
    return error_of(lambda: train_in(folder / "whole"))


def too_small_a_batch(folder: Path) -> str:
    return error_of(lambda: train_in(None, replace(CONFIG, batch_size=3)))


def agreements(folder: Path) -> list[object]:
    with joined(Launch.of(), backend="gloo", patience=60, settings={}) as group:
        return [
            group.maximum(RANK),
            group.on_first(lambda: f"from rank {RANK}"),
            group.means({"number": float(RANK)}, weight=1 + 2 * RANK),
            error_of(lambda: group.on_first(fail)),
        ]


def fail() -> None:
    raise ValueError(f"rank {RANK} cannot")


def step(folder: Path) -> dict[str, Tensor]:
    """Gradients, statistics and embeddings of one step in double precision, with batch normalization."""
    launch = Launch.of()
    shard = Shard(batch_size=11, rank=launch.rank, processes=launch.count)
    with joined(launch, backend="gloo", patience=60, settings={}):
        return one_step(shard, with_global_batch_norm)


def one_step(shard: Shard, normalized: Callable[[nn.Module], nn.Module]) -> dict[str, Tensor]:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 6, 3, bias=False)]
    # Without the ReLU the last bias but one would have a gradient of zero, of which only rounding is left.
    head = [nn.ReLU(), nn.Flatten(), nn.Linear(96, 12, bias=False), nn.BatchNorm1d(12)]
    model = normalized(nn.Sequential(*layers, nn.BatchNorm2d(6), *head)).double()
    images = torch.randn(shard.batch_size, 1, 8, 8, dtype=torch.float64)[shard.rows]
    views = torch.cat([images, images.flip(3) + 1])
    embeddings = model(views)
    source = Gather() if shard.processes > 1 else None
    pair = embeddings.chunk(2)
    loss = HCL(*pair) if source is None else HCL(source(*pair))
    loss.backward()
    found = dict(model.named_buffers())
    for name, weight in model.named_parameters():
        assert weight.grad is not None
        if shard.processes > 1:
            dist.all_reduce(weight.grad)
            weight.grad /= shard.processes
        found[f"gradient of {name}"] = weight.grad
    return {**found, "loss": loss.detach()}


def sharded(folder: Path) -> list[list[int]]:
    """Rows that this process reads in each step of a run on shards, which is killed in its second epoch."""
    images = shards(write_shards(folder / f"pets {RANK}", 6, 6, 6, 6), size=8, buffer=4)
    config = replace(CONFIG, augmentation=Photographs())
    seen: list[list[int]] = []
    read = module.views_of

    def views_of(config: TrainingConfig, batch: PairBatch, **more: Any) -> Any:
        seen.append(batch[2][:, 0].tolist())
        return read(config, batch, **more)

    module.views_of = views_of
    try:
        with at_step(6, kill, ranks=(0, 1)), suppress(Killed):
            run_folder = RunFolder(path=folder / "sharded", checkpoint_every=2)
            train(config, images, folder=run_folder, machine=Machine(accelerator="cpu", patience=60))
    finally:
        module.views_of = read
    return seen


CASES: dict[str, Callable[[Path], Any]] = {
    "whole": whole,
    "a_few_steps": a_few_steps,
    "stopped_and_resumed": stopped_and_resumed,
    "begun_for_another_number": begun_for_another_number,
    "ended_outright": ended_outright,
    "reductions": reductions,
    "nan_in_embeddings": nan_in_embeddings,
    "infinite_gradient": infinite_gradient,
    "broken_image": broken_image,
    "full_disk": full_disk,
    "other_settings": other_settings,
    "an_existing_run": an_existing_run,
    "too_small_a_batch": too_small_a_batch,
    "agreements": agreements,
    "step": step,
    "sharded": sharded,
    **{name: lambda folder, name=name: exact(name) for name in EXACT},  # type: ignore[misc]
}


if __name__ == "__main__":
    faulthandler.dump_traceback_later(
        process_runner.LIMIT - 10, exit=True
    )  # who waits for another says where
    torch.set_num_threads(1)
    place = Path(sys.argv[1])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    torch.save({name: CASES[name](place) for name in sys.argv[2:]}, place / f"found {RANK}.pt")
