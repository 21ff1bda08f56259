"""The loop, from data to a trained encoder, on lightning's Trainer."""

import math
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from lightning.pytorch import Callback, Trainer

from tammes.positives import Active
from tammes.training.active_views import expect_possible
from tammes.training.batch_norm import with_global_batch_norm
from tammes.training.checkpoint import AtomicCheckpoints, SaveCheckpoint, StopAfterStep
from tammes.training.config import RunConfig, TrainingConfig
from tammes.training.config_file import to_yaml
from tammes.training.examples import Data, Examples, learned_from
from tammes.training.folder import RunFolder
from tammes.training.launch import Launch
from tammes.training.loader import batches
from tammes.training.metrics import Metrics
from tammes.training.model import Model, build_model
from tammes.training.module import Contrastive
from tammes.training.monitor import Monitor
from tammes.training.order import Order, Portion
from tammes.training.pairing import Pairing, UnpairedWarning
from tammes.training.peers import LostProcessError, joined
from tammes.training.progress import Progress
from tammes.training.quiet import quiet
from tammes.training.run import Run, save_weights
from tammes.training.shared_settings import shared_settings
from tammes.training.stop import Stopped, StopRequest
from tammes.training.strategy import Together
from tammes.training.stuck import leaving_if_stuck
from tammes.training.workers import plain_errors


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a run is computed on; nothing here is part of its configuration.

    Args:
        accelerator: Where to compute; "auto" takes a GPU where there is one.
        workers: Processes that decode images; 0 decodes them in the training process.
        progress: Show a progress bar.
        patience: Seconds to wait, at the start and within a step, for another process of the run.
        launch: Which of how many processes this is; by default, what torchrun has left in the environment.

    Raises:
        ValueError: for a negative number of workers, a patience that is not positive, a GPU where there is
            none, or more processes than GPUs.

    Example:
        >>> Machine().workers
        0
    """

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    workers: int = 0
    progress: bool = False
    patience: float = 600.0
    launch: Launch = field(default_factory=Launch.of)

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(f"workers must be 0 or more, got {self.workers}")
        if not (math.isfinite(self.patience) and self.patience > 0):
            raise ValueError(f"patience must be a positive number of seconds, got {self.patience}")
        on = "" if self.launch.count == 1 else f" on {self.launch.name}"
        if self.accelerator == "gpu" and not torch.cuda.is_available():
            raise ValueError(f"no GPU that PyTorch can use was found{on}: take the accelerator cpu, or auto")
        if self.device_type == "gpu" and self.launch.local_count > torch.cuda.device_count() > 0:
            raise ValueError(
                f"more processes ({self.launch.local_count}) than GPUs ({torch.cuda.device_count()}){on}: "
                "start one process for each GPU, or take the accelerator cpu"
            )

    @property
    def device_type(self) -> Literal["cpu", "gpu"]:
        """Where to compute, decided."""
        return "gpu" if self.accelerator != "cpu" and torch.cuda.is_available() else "cpu"

    @property
    def shared_settings(self) -> dict[str, str]:
        """What must be the same on all processes, by name."""
        return {
            "the device": self.device_type,
            "the number of processes on a machine": str(self.launch.local_count),
        }

    @property
    def backend(self) -> str:
        """What torch.distributed sends tensors with: what stands in memory as well as what is on a GPU."""
        return "cpu:gloo,cuda:nccl" if self.device_type == "gpu" else "gloo"


def train(
    config: TrainingConfig,
    data: Data,
    *,
    source: str = "data",
    folder: RunFolder | None = None,
    monitor: Monitor | None = None,
    machine: Machine | None = None,
) -> Run:
    """Train an encoder on images or texts.

    Labels are not used unless the objective asks for them, or pairs are made by them.

    The same configuration and data give the same weights, bit for bit on a CPU with the same number of
    threads, whether or not the run was stopped and resumed on the way. Processes that torchrun has started
    train together, each on its part of every batch; the result is that of one process up to rounding.

    Args:
        config: what determines the weights.
        data: what to learn from; the vocabulary of texts is made of them.
        source: where they came from, for config.yaml.
        folder: where to keep the run; None keeps it in memory.
        monitor: measures accuracy over the epochs.
        machine: what to compute on; None for `Machine()`.

    Returns:
        The trained run; on each of several processes the same.

    Raises:
        ValueError: for a batch larger than the data, data that the encoder does not take or that cannot be
            paired, a run folder that may not be used, or a loss that became NaN.
        OSError: for a disk that is full or cannot be written to; the last checkpoint survives.
        LostProcessError: where another process was killed; an OSError too.
        Stopped: on Ctrl-C or SIGTERM, after a checkpoint.

    Example:
        >>> import tammes
        >>> from tammes.data import Images, TensorPixels
        >>> from tammes.encoders import ConvNetConfig
        >>> pixels = torch.randint(0, 256, (8, 1, 8, 8), dtype=torch.uint8)
        >>> images = Images(pixels=TensorPixels(pixels), names=("",) * 8)
        >>> config = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5),
        ...     encoder=ConvNetConfig(width=8), batch_size=4, epochs=1)
        >>> train(config, images).metrics[-1].step
        2
    """
    machine = machine or Machine()
    examples = learned_from(data, config)
    whole = RunConfig(training=config, data=examples.summary(source))
    launch, settings = machine.launch, {}
    if launch.count > 1:
        settings = shared_settings(whole, examples, folder, monitor) | machine.shared_settings
    with ExitStack() as until_told:  # a signal must not come before the words about another process
        try:
            with joined(
                launch, backend=machine.backend, patience=machine.patience, settings=settings
            ) as peers:
                request = until_told.enter_context(StopRequest(peers))
                if not peers.alone and machine.device_type == "gpu" and request.listens:
                    words = (
                        f"tammes: {launch.name} waits for another process, which has ended: {_kept(folder)}"
                    )
                    until_told.enter_context(leaving_if_stuck(request.is_noted, words))
                return _trained(whole, examples, folder, monitor, machine, request)
        except LostProcessError as error:
            raise LostProcessError(f"{error}: {_kept(folder)}") from error


def _trained(
    whole: RunConfig,
    examples: Examples,
    folder: RunFolder | None,
    monitor: Monitor | None,
    machine: Machine,
    request: StopRequest,
) -> Run:
    config, peers = whole.training, request.peers
    launch = peers.launch
    portion = Portion(batch_size=config.batch_size, process=launch.rank, processes=launch.count)
    pairing = Pairing.of(examples.data, config.positives, seed=config.seed)
    steps_per_epoch = len(Order(pairing, portion))  # refuses a batch larger than the data
    if isinstance(config.positives, Active) and config.positives.chooses:
        expect_possible(config.positives, examples, steps=config.epochs * steps_per_epoch)
    alone = pairing.alone
    if alone and peers.first:
        words = f"no positive for {alone} of {len(examples)} {pairing.noun}: left out"
        warnings.warn(words, UnpairedWarning, stacklevel=3)
    model = build_model(whole, examples.vocabulary)
    if not peers.alone:
        with_global_batch_norm(model, on_gpu=machine.device_type == "gpu")
    checkpoint = (
        None if folder is None else peers.by_first(lambda: _opened(folder, whole, steps_per_epoch, model))
    )
    metrics = Metrics(None if folder is None else folder.metrics, monitor, peers)
    first_step = checkpoint["global_step"] if checkpoint else 0
    loader = batches(examples, Order(pairing, portion, first_step=first_step), workers=machine.workers)
    module = Contrastive(
        config, model, examples=examples, steps_per_epoch=steps_per_epoch, portion=portion, peers=peers
    )
    saver = _saver(folder, whole, request)
    trainer = _trainer(module, machine, checkpoint, [request, metrics, saver])
    try:
        with quiet(), plain_errors():
            trainer.fit(module, loader, ckpt_path=saver.path if checkpoint else None, weights_only=True)
    except StopAfterStep:
        assert request.signal_number is not None
        message = f"stopped after {trainer.global_step} steps: {_kept(folder)}"
        raise Stopped(message, request.signal_number) from None
    except SystemExit:  # what lightning makes of a second Ctrl-C
        raise KeyboardInterrupt from None
    except ValueError:
        if folder is not None and peers.first:
            folder.forget_unstarted()
        raise
    if folder is not None:
        peers.by_first(lambda: save_weights(folder.weights, model))
    return Run(config=whole, model=model, metrics=tuple(metrics.rows), seconds=metrics.seconds)


def _opened(
    folder: RunFolder, config: RunConfig, steps_per_epoch: int, model: Model
) -> dict[str, Any] | None:
    """The checkpoint to go on from, in a folder that is ready and has the vocabulary, if there is one."""
    checkpoint = folder.open(config, steps_per_epoch=steps_per_epoch)
    if model.vocabulary is not None:
        # Also over one that is there: it is the same, unless it was damaged.
        model.vocabulary.save(folder.vocabulary)
    return checkpoint


def _saver(folder: RunFolder | None, config: RunConfig, request: StopRequest) -> SaveCheckpoint:
    if folder is None:
        return SaveCheckpoint(None, every=1, config="", request=request)
    return SaveCheckpoint(
        folder.checkpoint,
        every=folder.checkpoint_every,
        config=to_yaml(config),
        request=request,
    )


def _trainer(
    module: Contrastive, machine: Machine, begun: dict[str, Any] | None, callbacks: list[Callback]
) -> Trainer:
    config, peers = module.config, module.peers
    progress = machine.progress and peers.first
    bars: list[Callback] = [Progress()] if progress else []
    launch = peers.launch
    with quiet():
        return Trainer(
            accelerator=machine.accelerator if peers.alone else machine.device_type,
            devices=launch.local_count,
            num_nodes=launch.count // launch.local_count,
            strategy="auto" if peers.alone else Together(peers, module.own_gradients),
            use_distributed_sampler=False,  # `Order` gives each process its portion
            precision=config.precision,
            gradient_clip_val=config.optimizer.clip_norm,
            max_epochs=config.epochs,
            callbacks=[*callbacks, *bars],
            plugins=[AtomicCheckpoints(begun)],
            logger=False,
            enable_progress_bar=progress,
            enable_model_summary=False,
        )


def _kept(folder: RunFolder | None) -> str:
    if folder is None:
        return "nothing was kept"
    return f"go on with the run in {folder.path} by --resume"
