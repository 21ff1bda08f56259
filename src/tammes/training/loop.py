"""The training loop, from data to a trained encoder, on lightning's Trainer."""

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch import Callback, Trainer

from tammes.data import Images, NodeSet, Volumes
from tammes.positives import Active
from tammes.sources import LostProcessError
from tammes.training.active_views import check_active
from tammes.training.checkpoint import AtomicCheckpoints, SaveCheckpoint, StopAfterStep
from tammes.training.config import RunConfig, TrainingConfig
from tammes.training.config_file import to_yaml
from tammes.training.distributed.batch_norm import with_global_batch_norm
from tammes.training.distributed.group import ProcessGroup, joined
from tammes.training.distributed.strategy import LaunchedDDPStrategy
from tammes.training.distributed.watchdog import watchdog
from tammes.training.early_stop import EarlyStop
from tammes.training.environment import EnvironmentRecorder, check_processes
from tammes.training.examples import CutWarning, Data, Examples
from tammes.training.folder_copy import CopyWarning
from tammes.training.label_free import LabelFree
from tammes.training.loader import pair_loader, plain_errors
from tammes.training.log_filters import filtered_logs
from tammes.training.loss_rules import check_contrast
from tammes.training.machine import Machine, shared_settings
from tammes.training.metrics import MetricsRecorder, Monitor
from tammes.training.model import build_model
from tammes.training.module import ContrastiveModule
from tammes.training.pairing import Pairing, UnpairedWarning
from tammes.training.pictures import PictureRecorder
from tammes.training.progress import EpochProgressBar, progress_of
from tammes.training.run import Run
from tammes.training.run_folder import RunFolder
from tammes.training.sampler import PairSampler, Shard
from tammes.training.stop import Stopped, StopRequest
from tammes.training.weights import save_weights


def train(
    config: TrainingConfig,
    data: Data | Examples,
    *,
    source: str = "data",
    folder: RunFolder | None = None,
    monitor: Monitor | None = None,
    machine: Machine | None = None,
) -> Run:
    """Train an encoder on images, texts, graphs, or the nodes of one graph.

    Labels are used only by an objective that needs them, and by positives of the same class.

    The same configuration and data give the same weights, bit for bit on a CPU with the same number of
    threads, even if the run is stopped and resumed. Processes that torchrun has started train together, each
    on its part of every batch; the result is that of one process up to rounding.

    Args:
        config: settings of the run.
        data: rows to train on, of any kind; the vocabulary of a bag of words is built from the texts. Texts
            that many encoders are trained on come as `Examples`, which are tokenized once.
        source: origin of the data, for config.yaml.
        folder: folder of the run; None keeps the run in memory.
        monitor: measurement of the accuracy over the epochs; None measures nothing.
        machine: devices and processes; None for `Machine()`.

    Returns:
        The trained run, the same on each of several processes.

    Raises:
        ValueError: for a batch larger than the data, data that the encoder does not take or that cannot be
            paired, supervised contrast of anchors with one positive, a run folder that may not be used, a
            loss that became NaN, or several tasks of SLURM without torchrun.
        OSError: for a disk that is full or cannot be written to; the last checkpoint survives.
        LostProcessError: if another process was killed; an OSError too.
        Stopped: on Ctrl-C or SIGTERM, after a checkpoint.

    Example:
        >>> import tammes, torch
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
    check_contrast(config, labeled=data.labels is not None)
    machine.launch.check_slurm()
    kept = None if folder is None else folder.kept_description(config)
    examples = data if isinstance(data, Examples) else Examples.for_training(data, config, kept)
    run_config = RunConfig(training=config, data=examples.summary(source))
    launch, settings = machine.launch, {}
    if launch.count > 1:
        settings = shared_settings(run_config, examples, folder, monitor, machine)
    # Signals are recorded until `stack` closes, so that none interrupts the message about a lost process.
    with ExitStack() as stack:
        try:
            with joined(
                launch, backend=machine.backend, patience=machine.patience, settings=settings
            ) as group:
                request = stack.enter_context(StopRequest(group))
                if not group.is_single and machine.device_type == "gpu" and request.is_active:
                    message = f"tammes: {launch.name} waits for another process, which has ended: "
                    stack.enter_context(watchdog(request.is_recorded, message + _how_to_resume(folder)))
                run = _train(run_config, examples, folder, monitor, machine, request)
                if request.is_recorded_anywhere():  # behind the last step, where nothing was left to stop
                    assert request.signal_number is not None
                    message = f"stopped at the end of the training: {_how_to_resume(folder)}"
                    raise Stopped(message, request.signal_number)
                return run
        except LostProcessError as error:
            raise LostProcessError(f"{error}: {_how_to_resume(folder)}") from error


def _train(
    run_config: RunConfig,
    examples: Examples,
    folder: RunFolder | None,
    monitor: Monitor | None,
    machine: Machine,
    request: StopRequest,
) -> Run:
    config, group = run_config.training, request.group
    _check_data(examples, machine, group)
    shard = Shard(batch_size=config.batch_size, rank=group.launch.rank, processes=group.launch.count)
    pairing = Pairing.of(examples.data, config.positives, seed=config.seed, batch_size=config.batch_size)
    steps_per_epoch = len(PairSampler(pairing, shard))  # refuses a batch larger than the data
    if isinstance(config.positives, Active) and config.positives.chooses:
        check_active(config.positives, examples, steps=config.epochs * steps_per_epoch)
    if group.is_first:
        _warn_of_rows(pairing, examples)
    is_restored = folder is not None and folder.resume and folder.has_checkpoint
    model = build_model(run_config, examples.assets, pretrained=not is_restored)
    if not group.is_single:
        with_global_batch_norm(model, on_gpu=machine.device_type == "gpu")
    module = ContrastiveModule(
        config,
        model,
        examples=examples,
        steps_per_epoch=steps_per_epoch,
        shard=shard,
        group=group,
        compiled=machine.compile,
    )
    with _open(folder, run_config, steps_per_epoch, module) as checkpoint:
        first_step = checkpoint["global_step"] if checkpoint else 0
        if checkpoint and pairing.sharded is not None:
            check_processes(checkpoint, group.launch.count)
        sampler = PairSampler(pairing, shard, first_step=first_step)
        loader = pair_loader(examples, sampler, workers=machine.workers)
        label_free = LabelFree.of(examples.data, config)
        recorder = MetricsRecorder(None if folder is None else folder.metrics, monitor, group, label_free)
        place = EnvironmentRecorder(None if folder is None else folder.environment, recorder, group)
        pictures = PictureRecorder(None if folder is None else folder.reconstructions, group)
        saver = SaveCheckpoint(
            None if folder is None else folder.checkpoint,
            every=1 if folder is None else folder.checkpoint_every,
            config="" if folder is None else to_yaml(run_config),
            request=request,
            saved=(lambda: None) if folder is None else folder.begin_copy,
        )
        trainer = _trainer(
            module,
            machine,
            checkpoint,
            recorder,
            [request, recorder, EarlyStop(recorder), place, pictures, saver],
        )
        with _stopping(trainer, folder, request), filtered_logs(), plain_errors():
            trainer.fit(module, loader, ckpt_path=saver.path if checkpoint else None, weights_only=True)
        if folder is not None:
            group.on_first(lambda: save_weights(folder.weights, module.trained, run_config))
            group.on_first(folder.finish_copy)
    return Run(
        config=run_config,
        model=module.trained if module.average is None else module.trained.requires_grad_(True),
        metrics=tuple(recorder.rows),
        seconds=recorder.seconds,
        environments=place.parts,
        reconstructions=pictures.found,
    )


def _check_data(examples: Examples, machine: Machine, group: ProcessGroup) -> None:
    """Refuse data that several processes or a compiled network cannot take."""
    if isinstance(examples.data, NodeSet) and not group.is_single:
        raise ValueError("nodes of one graph are trained on in one process, got several: start one")
    if machine.compile and not isinstance(examples.data, Images | Volumes):
        raise ValueError(f"compile is for networks of images and volumes, but the data are {examples.data!r}")


@contextmanager
def _stopping(trainer: Trainer, folder: RunFolder | None, request: StopRequest) -> Iterator[None]:
    """Turn the end of a training that was asked to stop into `Stopped`, once the checkpoint is copied."""
    try:
        yield
    except StopAfterStep:
        assert request.signal_number is not None
        if folder is not None and request.group.is_first:
            try:
                folder.finish_copy()
            except OSError as error:
                warnings.warn(str(error), CopyWarning, stacklevel=2)
        steps = "1 step" if trainer.global_step == 1 else f"{trainer.global_step} steps"
        message = f"stopped after {steps}: {_how_to_resume(folder)}"
        raise Stopped(message, request.signal_number) from None
    except SystemExit:  # lightning's answer to a second Ctrl-C
        raise KeyboardInterrupt from None


def _warn_of_rows(pairing: Pairing, examples: Examples) -> None:
    """Say how many rows training leaves out, or in part."""
    if pairing.unpaired:
        message = f"no positive for {pairing.unpaired} of {len(examples)} {pairing.noun}: left out"
        warnings.warn(message, UnpairedWarning, stacklevel=4)
    if examples.cut:
        message = (
            f"{examples.cut} of {len(examples)} {pairing.noun} are longer than the encoder takes, and their "
            "ends are left out: set a larger max_length, if the model takes it"
        )
        warnings.warn(message, CutWarning, stacklevel=4)


@contextmanager
def _open(
    folder: RunFolder | None, config: RunConfig, steps_per_epoch: int, module: ContrastiveModule
) -> Iterator[dict[str, Any] | None]:
    """Lock and prepare the folder on process 0, and yield the checkpoint to resume from, if there is one.

    A run that fails before its first checkpoint leaves no files, and one that cannot be saved says how to go
    on.
    """
    if folder is None:
        yield None
        return
    with ExitStack() as stack:

        def forget(kind: object, error: object, trace: object) -> None:
            if isinstance(error, ValueError | OSError):
                folder.forget_unstarted()

        def prepare() -> dict[str, Any] | None:
            stack.enter_context(folder.locked())
            checkpoint = folder.open(config, steps_per_epoch=steps_per_epoch, module=module)
            stack.push(forget)
            assets = module.model.assets
            if assets is not None:
                # Overwrites the file of a resumed run as well: it has the same words, unless it was damaged.
                folder.save_assets(assets)
            return checkpoint

        try:
            yield module.group.on_first(prepare)
        except LostProcessError:
            raise
        except OSError as error:
            if error.errno is None:
                raise
            what_next = _how_to_resume(folder) if folder.has_checkpoint else "start the run again"
            reason = f"{error.strerror}; mend that, then {what_next}"
            raise OSError(error.errno, reason, error.filename) from error


def _trainer(
    module: ContrastiveModule,
    machine: Machine,
    resumed: dict[str, Any] | None,
    recorder: MetricsRecorder,
    callbacks: list[Callback],
) -> Trainer:
    config, group = module.config, module.group
    launch = group.launch
    # Of a single process lightning would else ask SLURM, MPI and others how many there are.
    alone = [LightningEnvironment()] if group.is_single else []
    progress = progress_of(recorder) if machine.progress and group.is_first else None
    with filtered_logs():
        return Trainer(
            accelerator=machine.accelerator if group.is_single else machine.device_type,
            devices=launch.local_count,
            num_nodes=launch.count // launch.local_count,
            strategy="auto" if group.is_single else LaunchedDDPStrategy(group, module.local_maxima),
            use_distributed_sampler=False,  # `PairSampler` gives each process its shard
            precision=config.precision,
            gradient_clip_val=config.optimizer.clip_norm,
            max_epochs=config.epochs,
            callbacks=[*callbacks, *([progress] if progress is not None else [])],
            plugins=[AtomicCheckpoints(resumed), *alone],
            logger=False,
            enable_progress_bar=isinstance(progress, EpochProgressBar),
            enable_model_summary=False,
        )


def _how_to_resume(folder: RunFolder | None) -> str:
    if folder is None:
        return "nothing was saved"
    return f"resume the run in {folder.path} with resume=True"
