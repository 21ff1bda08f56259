"""The loop, from images to a trained encoder, on lightning's Trainer."""

from dataclasses import dataclass
from typing import Literal

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import RichProgressBar
from torch import Tensor
from torch.utils.data import DataLoader

from tammes.data.images import Images
from tammes.training.checkpoint import AtomicCheckpoints, SaveCheckpoint, StopAfterStep
from tammes.training.config import ImagesSummary, RunConfig, TrainingConfig
from tammes.training.config_file import to_yaml
from tammes.training.folder import RunFolder
from tammes.training.metrics import Metrics
from tammes.training.model import build_model
from tammes.training.module import Contrastive
from tammes.training.monitor import Monitor
from tammes.training.order import Order, Share
from tammes.training.quiet import quiet
from tammes.training.run import Run, save_weights
from tammes.training.stop import Stopped, StopRequest
from tammes.training.workers import plain_errors


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a run is computed on; nothing here is part of its configuration.

    Args:
        accelerator: Where to compute; "auto" takes a GPU where there is one.
        workers: Processes that decode images; 0 decodes them in the training process.
        progress: Show a progress bar.

    Raises:
        ValueError: for a negative number of workers, or a GPU where there is none.

    Example:
        >>> Machine().workers
        0
    """

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    workers: int = 0
    progress: bool = False

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(f"workers must be 0 or more, got {self.workers}")
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise ValueError("no GPU that PyTorch can use was found: take the accelerator cpu, or auto")


def train(
    config: TrainingConfig,
    images: Images,
    *,
    source: str = "images",
    folder: RunFolder | None = None,
    monitor: Monitor | None = None,
    machine: Machine = Machine(),
) -> Run:
    """Train an encoder on images without using their labels (unless the objective asks for them).

    The same configuration and images give the same weights, bit for bit on a CPU with the same number of
    threads, whether or not the run was stopped and resumed on the way.

    Args:
        config: what determines the weights.
        images: what to learn from.
        source: where the images came from, for config.yaml.
        folder: where to keep the run; None keeps it in memory.
        monitor: measures accuracy over the epochs.
        machine: what to compute on.

    Returns:
        The trained run.

    Raises:
        ValueError: for a batch larger than the data, a run folder that may not be used, or a loss that
            became NaN.
        OSError: for a disk that is full or cannot be written to; the last checkpoint survives.
        Stopped: on Ctrl-C or SIGTERM, after a checkpoint.

    Example:
        >>> import tammes
        >>> from tammes.data import TensorPixels
        >>> from tammes.encoders import ConvNetConfig
        >>> pixels = torch.randint(0, 256, (8, 1, 8, 8), dtype=torch.uint8)
        >>> images = Images(pixels=TensorPixels(pixels), names=("",) * 8)
        >>> config = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5),
        ...     encoder=ConvNetConfig(width=8), batch_size=4, epochs=1)
        >>> train(config, images).metrics[-1].step
        2
    """
    whole = RunConfig(training=config, images=ImagesSummary.of(images, source))
    share = Share(batch_size=config.batch_size)
    Order(len(images), share, seed=config.seed)  # refuses a batch larger than the data
    model = build_model(whole)
    checkpoint = None if folder is None else folder.open(whole)
    metrics = Metrics(None if folder is None else folder.metrics, monitor)
    first_step = checkpoint["global_step"] if checkpoint else 0
    order = Order(len(images), share, seed=config.seed, first_step=first_step)
    loader = _loader(images, order, machine)
    module = Contrastive(config, model, labels=images.labels, steps_per_epoch=len(loader))
    with StopRequest() as request:
        saver = _saver(folder, whole, request)
        trainer = _trainer(config, machine, [metrics, saver])
        try:
            with quiet(), plain_errors():
                trainer.fit(module, loader, ckpt_path=saver.path if checkpoint else None, weights_only=True)
        except StopAfterStep:
            raise _stopped(request, trainer.global_step, folder) from None
        except SystemExit:  # what lightning makes of a second Ctrl-C
            raise KeyboardInterrupt from None
        except ValueError:
            if folder is not None:
                folder.forget_unstarted()
            raise
    seconds = metrics.seconds
    if folder is not None:
        save_weights(folder.weights, model)
    return Run(config=whole, model=model, metrics=tuple(metrics.rows), seconds=seconds)


def _loader(images: Images, order: Order, machine: Machine) -> DataLoader[tuple[Tensor, int]]:
    return DataLoader(
        images,
        batch_sampler=order,
        num_workers=machine.workers,
        persistent_workers=machine.workers > 0,
        generator=torch.Generator(),  # so that torch's global one is left alone
    )


def _saver(folder: RunFolder | None, config: RunConfig, request: StopRequest) -> SaveCheckpoint:
    if folder is None:
        return SaveCheckpoint(None, every=1, config="", request=request)
    return SaveCheckpoint(
        folder.checkpoint, every=folder.checkpoint_every, config=to_yaml(config), request=request
    )


def _trainer(config: TrainingConfig, machine: Machine, callbacks: list[Callback]) -> Trainer:
    bars: list[Callback] = [RichProgressBar(leave=False)] if machine.progress else []
    with quiet():
        return Trainer(
            accelerator=machine.accelerator,
            devices=1,
            precision=config.precision,
            max_epochs=config.epochs,
            callbacks=[*callbacks, *bars],
            plugins=[AtomicCheckpoints()],
            logger=False,
            enable_progress_bar=machine.progress,
            enable_model_summary=False,
        )


def _stopped(request: StopRequest, step: int, folder: RunFolder | None) -> Stopped:
    assert request.signal_number is not None
    kept = "nothing was kept" if folder is None else f"go on with the run in {folder.path} by --resume"
    return Stopped(f"stopped after {step} steps: {kept}", request.signal_number)
