"""A trained run: in memory as it comes out of training, or read back from its folder."""

from dataclasses import dataclass, field
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError

from tammes.data.vocabulary import Vocabulary
from tammes.training.atomic import write_atomically
from tammes.training.config import RunConfig, TextsSummary
from tammes.training.folder import RunFolder, read_config
from tammes.training.metrics import Row, read_csv
from tammes.training.model import Model, build_model


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """What training leaves behind.

    Args:
        config: everything the run was made from.
        model: the trained encoder and head, on the CPU.
        metrics: a row for each epoch.
        seconds: wall-clock time of training, without measuring accuracies; None for a run read back.
    """

    config: RunConfig
    model: Model = field(repr=False)
    metrics: tuple[Row, ...] = field(repr=False)
    seconds: float | None = None


def save_weights(path: Path, model: Model) -> None:
    """Write the weights of encoder and head.

    Args:
        path: the .safetensors file.
        model: on any device.

    Raises:
        OSError: where the disk is full; what stood there before survives.
    """
    weights = {name: value.contiguous().cpu() for name, value in model.state_dict().items()}
    write_atomically(path, safetensors.torch.save(weights))


def load_run(path: Path) -> Run:
    """Read a run back from its folder; nothing in it is executed.

    Args:
        path: the folder that training wrote.

    Raises:
        ValueError: for a folder that holds no run, one that has not finished, or files that do not fit
            together.
    """
    folder = RunFolder(path=path)
    if not folder.config.exists():
        raise ValueError(f"there is no run in {path} (no config.yaml): name a folder that tammes train wrote")
    config = read_config(folder.config)
    if not folder.weights.exists():
        raise ValueError(
            f"the run in {path} has not finished (no model.safetensors): go on with it by --resume"
        )
    vocabulary = None
    if isinstance(config.data, TextsSummary):
        vocabulary = _vocabulary(folder)
    model = build_model(config, vocabulary)
    try:
        # Copies, because safetensors maps the file, which may be replaced while the model is in use.
        weights = {name: value.clone() for name, value in safetensors.torch.load_file(folder.weights).items()}
        model.load_state_dict(weights)
    except (SafetensorError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{folder.weights} does not fit {folder.config}: {reason}") from error
    metrics = read_csv(folder.metrics) if folder.metrics.exists() else ()
    return Run(config=config, model=model.requires_grad_(True), metrics=metrics)


def _vocabulary(folder: RunFolder) -> Vocabulary:
    try:
        return Vocabulary.load(folder.vocabulary)
    except FileNotFoundError as error:
        raise ValueError(
            f"the run in {folder.path} was trained on texts, but its {folder.vocabulary.name} is missing: "
            "put it back"
        ) from error
