"""The file of the weights, which says by itself which network they belong to."""

import hashlib
import json
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError

from tammes.atomic import write_atomically
from tammes.checks import check_file, in_a_line
from tammes.encoders import ModelDescription, ModuleConfig, TimmConfig, TransformersConfig
from tammes.training.assets import Assets, assets_kind
from tammes.training.config import RunConfig
from tammes.training.config_file import from_yaml, to_yaml
from tammes.training.model import Model, build_model

METADATA = "tammes"
"""Key of the configuration in the metadata of the weights."""


def save_weights(path: Path, model: Model, config: RunConfig) -> None:
    """Write the weights of encoder and head, with what is needed to build them again in the metadata.

    Args:
        path: the .safetensors file.
        model: encoder and head, on any device.
        config: configuration of the run.

    Raises:
        OSError: if the disk is full; the old file survives.
    """
    weights = {name: value.contiguous().cpu() for name, value in model.state_dict().items()}
    content = {"config": to_yaml(config), "vocabulary": None}
    if model.assets is not None:
        key = "description" if isinstance(model.assets, ModelDescription) else "vocabulary"
        content[key] = model.assets.to_json()
    # One entry, because safetensors writes several in an order that differs from one process to the next.
    metadata = {METADATA: json.dumps(content)}
    write_atomically(path, safetensors.torch.save(weights, metadata=metadata))


def weights_digest(file: Path) -> str:
    """Return the checksum of a file of weights; empty without one.

    Example:
        >>> weights_digest(Path("no/such/file"))
        ''
    """
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""


def read_metadata(weights: Path) -> tuple[RunConfig, Assets | None]:
    """Read the configuration that `save_weights` wrote beside the weights, and the vocabulary or description.

    Raises:
        ValueError: for a file that is damaged, or was not written by `save_weights`.
        ImportError: if transformers is not installed, and the run's model is one of its.
    """
    try:
        with safetensors.safe_open(check_file(weights), framework="pt") as file:
            content = json.loads((file.metadata() or {})[METADATA])
        config = from_yaml(RunConfig, content["config"])
        kind = assets_kind(config)
        if kind is None:
            return config, None
        key = "description" if kind is ModelDescription else "vocabulary"
        return config, kind.from_json(content[key], str(weights))
    except (SafetensorError, KeyError, TypeError, json.JSONDecodeError, RecursionError) as error:
        reason = in_a_line(error)
        raise ValueError(
            f"expected weights with the configuration of their run in {weights}, got something else "
            f"({type(error).__name__}: {reason}): name the folder of the run"
        ) from error


def read_model(weights: Path, config: RunConfig, assets: Assets | None, *, trust: bool = False) -> Model:
    """Build the network of a run and read its weights.

    Args:
        weights: the .safetensors file.
        config: configuration of the run.
        assets: vocabulary of a run on texts, or description of its model.
        trust: whether code that the configuration names may be executed.

    Raises:
        ValueError: for a file that is damaged, or holds the weights of another network; for a network that
            is built by named code, without trust.
    """
    encoder = config.training.encoder
    if isinstance(encoder, ModuleConfig) and not trust:
        raise ValueError(
            f"{weights} belongs to a network that {encoder.factory} builds, and loading it executes that "
            "code: if you trust it, say trust=True"
        )
    if isinstance(encoder, TimmConfig) and ":" in encoder.name and not trust:
        raise ValueError(
            f"{weights} belongs to timm's {encoder.name!r}, whose description timm would download: if "
            "you trust it, say trust=True"
        )
    foreign = isinstance(encoder, ModuleConfig | TimmConfig | TransformersConfig)
    try:
        # Without memory until the weights fill it, because a damaged file may ask for a network of any size.
        # Other people's networks may keep numbers that are no weights, and would lose them.
        with torch.device("cpu" if foreign else "meta"):
            # The weights are in the file: nothing is downloaded.
            model = build_model(config, assets, pretrained=False)
        # Copies, because safetensors maps the file, which may be replaced while the model is in use.
        loaded = safetensors.torch.load_file(check_file(weights))
        types = {name: value.dtype for name, value in model.state_dict().items()}
        state = {name: value.to(types.get(name), copy=True) for name, value in loaded.items()}
        model.load_state_dict(state, assign=True)
    except (SafetensorError, RuntimeError, TypeError, OverflowError) as error:
        reason = in_a_line(error)
        raise ValueError(f"{weights} does not fit the configuration of its run: {reason}") from error
    return model.requires_grad_(True)
