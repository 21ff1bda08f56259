"""Models of transformers without their weights: the files that say how to build one and what it reads."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from tammes.checks import in_a_line, is_finite
from tammes.data.model_tokenizer import ModelTokenizer
from tammes.data.sealed import read_sealed, seal, unseal
from tammes.host import require

T = TypeVar("T")

FORMAT = "tammes model 1"
NOUN = "description of a model"
USUAL_LENGTH = 128
"""Tokens of the longest sentence, if neither the user nor the model sets fewer."""

_INPUTS = {"input_ids": "texts", "pixel_values": "images"}
# Entries that name code, kernels that would be downloaded, or the type of the weights in a file.
_LEFT_OUT = ("auto_map", "attn_implementation", "experts_implementation", "dtype", "torch_dtype")
_MOST_NESTED = 8
"""Levels of configurations within a configuration."""


@dataclass(frozen=True, kw_only=True)
class ModelDescription:
    """What it takes to build a model of transformers again without its folder; a run keeps it.

    Args:
        architecture: content of config.json, without entries that name code or weights.
        tokenizer: tokenizer of a model of texts; None for images.
        mean: for each channel of images in [0, 1] the number that is subtracted; empty for none.
        deviation: for each channel the number that the difference is divided by; empty for none.

    Raises:
        ValueError: for an architecture that is none of transformers' own, that holds compressed weights or
            wraps a network of another library; for numbers that do not fit together.
        ImportError: if transformers is not installed, or too old.

    Example:
        >>> from transformers import ViTConfig
        >>> config = ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1)
        >>> description = ModelDescription(architecture=config.to_json_string(use_diff=False))
        >>> ModelDescription.from_json(description.to_json(), "here") == description
        True
    """

    architecture: str
    tokenizer: ModelTokenizer | None = None
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self.config()
        if len(self.mean) != len(self.deviation) or not all(map(is_finite, (*self.mean, *self.deviation))):
            raise ValueError(
                f"expected a mean and a deviation for each channel, got {self.mean} and {self.deviation}"
            )
        if not all(value > 0 for value in self.deviation):
            raise ValueError(f"expected deviations above 0, got {self.deviation}")

    @classmethod
    def of(cls, name_or_path: str, *, texts: bool, max_length: int | None = None) -> ModelDescription:
        """Read the description of a model from its folder, or from the hub.

        Args:
            name_or_path: folder of a model of transformers, or its name on the hub.
            texts: whether the model is to read texts, or else images.
            max_length: tokens of the longest sentence; None for 128, or fewer if the model takes fewer.

        Raises:
            ValueError: for a folder or name without a model, or with one of the other kind; for texts
                without a tokenizer, or a max_length above what the model takes.
            ImportError: if transformers is not installed, or too old.
        """
        config = _config_of(name_or_path)
        with torch.device("meta"):
            model = _named(name_or_path, lambda: tower(_empty(config), texts=texts))
        # The part for images of an older version of CLIP does not say what it reads.
        reads = getattr(model, "main_input_name", "pixel_values")
        reads = _INPUTS.get(reads, reads)
        wanted = "texts" if texts else "images"
        if reads != wanted:
            raise ValueError(f"{name_or_path} is a model of {reads}, but the data are {wanted}")
        architecture = json.dumps(_cleaned(config.to_dict()))
        if texts:
            tokenizer = _tokenizer_of(name_or_path, model.config, max_length)
            return cls(architecture=architecture, tokenizer=tokenizer)
        mean, deviation = _normalization_of(name_or_path)
        return cls(architecture=architecture, mean=mean, deviation=deviation)

    def config(self) -> Any:
        """Return a new configuration of transformers.

        Raises:
            ValueError: for an architecture that transformers does not have, or does not build by itself.
        """
        try:
            content = json.loads(self.architecture)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"expected the architecture of a model as JSON: {error}") from error
        return _config_from(content, "the architecture of the model")

    def build(self, *, texts: bool) -> Any:
        """Build the part of the model that reads these inputs, with weights from torch's generator.

        Raises:
            ValueError: for an architecture that transformers cannot build.
        """
        return _named("the architecture of the model", lambda: tower(_empty(self.config()), texts=texts))

    def to_json(self) -> str:
        """Return the description as JSON with a checksum."""
        content = {
            "architecture": self.architecture,
            "tokenizer": None if self.tokenizer is None else self.tokenizer.to_plain(),
            "mean": list(self.mean),
            "deviation": list(self.deviation),
        }
        return seal(content, format=FORMAT)

    @classmethod
    def load(cls, path: Path) -> ModelDescription:
        """Read a description from a file.

        Raises:
            ValueError: If the file is something else, or was changed since it was saved.
            OSError: If the file cannot be read.
        """
        return cls.from_json(read_sealed(path, noun=NOUN), str(path))

    @classmethod
    def from_json(cls, text: str, path: str) -> ModelDescription:
        """Read what `to_json` returned.

        Args:
            text: the JSON.
            path: where it was found, for the message.

        Raises:
            ValueError: If it is something else, or was changed since it was saved.
        """
        content = unseal(text, format=FORMAT, noun=NOUN, path=path)
        tokenizer, mean, deviation = (content.get(key) for key in ("tokenizer", "mean", "deviation"))
        architecture = content.get("architecture")
        if not (isinstance(architecture, str) and isinstance(mean, list) and isinstance(deviation, list)):
            raise ValueError(f"expected a {NOUN} in {path}, got values of other types")
        return cls(
            architecture=architecture,
            tokenizer=None if tokenizer is None else ModelTokenizer.of_plain(tokenizer),
            mean=tuple(mean),
            deviation=tuple(deviation),
        )


def import_transformers() -> Any:
    """Return the package transformers.

    Raises:
        ImportError: if it is not installed, too old, or does not go with other packages.
    """
    require("transformers", minimum="5.0", tested="5.23")
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(f"transformers cannot be imported: {in_a_line(error)}") from error


@contextmanager
def silent() -> Iterator[None]:
    """Hide the progress bars and the remarks of transformers within the block."""
    logging = import_transformers().utils.logging
    verbosity, has_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if has_bars:
            logging.enable_progress_bar()


def tower(model: Any, *, texts: bool) -> Any:
    """Return the part of a model that reads these inputs: of T5 the encoder, of CLIP the part for images."""
    if texts:
        return model.get_encoder() if model.config.is_encoder_decoder else model
    return model if model.main_input_name == "pixel_values" else model.get_encoder(modality="image")


def _empty(config: Any) -> Any:
    return import_transformers().AutoModel.from_config(config, trust_remote_code=False, dtype=torch.float32)


def _named(name: str, build: Callable[[], T]) -> T:
    """Call a function of transformers, whose errors may be of any kind, without its output."""
    with silent():
        try:
            return build()
        except Exception as error:
            raise ValueError(f"transformers cannot build {name}: {in_a_line(error)}") from error


def _config_of(name: str) -> Any:
    folder = Path(name)
    if folder.is_dir() and not (folder / "config.json").is_file():
        raise ValueError(
            f"there is no model of transformers in {name} (no config.json): name a folder that "
            "save_pretrained wrote, or a model on the hub"
        )
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{name} is a file: name the folder of a model, or a model on the hub")
    base = import_transformers().PretrainedConfig
    with silent():
        try:
            content, _ = base.get_config_dict(name)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{name} is neither a folder here nor a model that could be read from the hub: "
                f"{in_a_line(error)}"
            ) from error
    return _config_from(content, name)


def _config_from(content: Any, name: str) -> Any:
    """Return the configuration with this content; nothing that it names is downloaded or executed."""
    known = import_transformers().CONFIG_MAPPING
    kind = content.get("model_type") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(
            f"{name} must be one of the architectures that transformers has itself, got {kind!r} as its "
            "model_type: code from elsewhere is not executed"
        )
    content = _cleaned(content)
    _check_is_whole(content, name)
    config = _named(name, lambda: known[kind].from_dict(content))
    if hasattr(config, "use_cache"):
        config.use_cache = False  # it serves the generation of text only
    return config


def _cleaned(content: Any, depth: int = 0) -> Any:
    if not isinstance(content, dict) or depth > _MOST_NESTED:
        return content
    return {
        key: _cleaned(value, depth + 1)
        for key, value in content.items()
        if key not in _LEFT_OUT and not str(key).startswith("_")
    }


def _check_is_whole(content: dict[str, Any], name: str) -> None:
    """Refuse what transformers would complete by another library or by a download, now or when loaded."""
    for part in (content, *(each for each in content.values() if isinstance(each, dict))):
        if part.get("quantization_config"):
            raise ValueError(f"{name} has compressed weights, which cannot be trained: take the full model")
        if isinstance(part.get("backbone"), str) or str(part.get("model_type")).startswith("timm_"):
            raise ValueError(
                f"{name} wraps a network of another library: train that one as it is (TimmConfig)"
            )


def _tokenizer_of(name: str, config: Any, max_length: int | None) -> ModelTokenizer:
    missing = f"{name} has no tokenizer, which texts need: save it beside the model (tokenizer.json)"
    with silent():
        try:
            found = import_transformers().AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        except (OSError, ValueError, ImportError, KeyError, TypeError) as error:
            raise ValueError(f"{missing}; transformers says: {in_a_line(error)}") from error
    backend = getattr(found, "backend_tokenizer", None)
    if backend is None:
        raise ValueError(f"{name} has a tokenizer of an older form: save it as tokenizer.json")
    # Where there are no files, transformers makes a tokenizer of nothing but special tokens.
    if not set(backend.get_vocab()) - {*found.all_special_tokens, "▁"}:
        raise ValueError(missing)
    padding = found.eos_token_id if found.pad_token_id is None else found.pad_token_id
    if padding is None:
        raise ValueError(
            f"the tokenizer of {name} has neither a padding token nor an end token (pad_token, eos_token): "
            "set one of them in its tokenizer_config.json"
        )
    positions = getattr(config, "max_position_embeddings", None) or -1  # without a limit it is missing or -1
    most = min(found.model_max_length, positions if positions > 0 else found.model_max_length)
    if max_length is not None and max_length > most:
        raise ValueError(f"{name} takes at most {most} tokens, got max_length={max_length}")
    length = min(USUAL_LENGTH, most) if max_length is None else max_length
    return ModelTokenizer(file=backend.to_str(), padding=padding, max_length=length)


def _normalization_of(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and deviation of pixels in [0, 1] from the settings of the image processor, if any."""
    base = importlib.import_module("transformers.image_processing_base").ImageProcessingMixin
    with silent():
        try:
            settings, _ = base.get_image_processor_dict(name)
        except OSError:
            return (), ()
    mean, deviation = settings.get("image_mean"), settings.get("image_std")
    # Some models are made for bytes: x becomes (255 x factor - mean) / deviation.
    factor = 255 * settings.get("rescale_factor", 1 / 255) if settings.get("do_rescale", True) else 255
    if not settings.get("do_normalize", mean is not None):
        mean, deviation = [0.0], [1.0]
    if not (isinstance(mean, list) and isinstance(deviation, list)):
        raise ValueError(
            f"the image processor of {name} must have lists image_mean and image_std, got {mean!r} and "
            f"{deviation!r}"
        )
    if settings.get("do_flip_channel_order"):
        raise ValueError(f"{name} takes blue, green, red, but images here are red, green, blue")
    return tuple(each / factor for each in mean), tuple(each / factor for each in deviation)
