"""The encoder of a finished run, to be used in other programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image, ImageOps
from torch import Tensor, nn

from tammes.data.folder import folder
from tammes.data.graph_batch import GraphBatch
from tammes.data.graph_packing import graphs_of
from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream
from tammes.data.image_files import as_pixels, decode
from tammes.data.images import Images, TensorPixels
from tammes.data.node_files import nodes_of
from tammes.data.node_set import NodeSet
from tammes.data.texts import Texts
from tammes.data.tokens import Tokens
from tammes.data.volume_files import volumes
from tammes.data.volumes import Volumes, windowed
from tammes.training.config import RunConfig
from tammes.training.embedding import embed
from tammes.training.examples import Data
from tammes.training.model import Model
from tammes.training.run import load_run
from tammes.training.run_folder import RunFolder
from tammes.training.summaries import GraphsSummary, ImagesSummary, NodesSummary, VolumesSummary
from tammes.training.weights import read_metadata, read_model, save_weights

try:
    from huggingface_hub import ModelHubMixin, hf_hub_download
except ImportError:

    class ModelHubMixin:  # type: ignore[no-redef]
        """In the place of huggingface_hub's, where that is not installed."""

        @classmethod
        def from_pretrained(cls, *arguments: object, **named: object) -> Any:
            """Say what to install."""
            raise ImportError("the hub needs huggingface_hub: python -m pip install huggingface_hub")

        save_pretrained = push_to_hub = from_pretrained


WEIGHTS = RunFolder(path=Path()).weights.name


def load(path: str | Path, *, trust: bool = False) -> TrainedEncoder:
    """Return the encoder of a finished run, in evaluation mode.

    Nothing in the files is executed. A run may name code that builds its network (`ModuleConfig`): that is
    executed if you say so.

    Args:
        path: folder of the run, or its model.safetensors alone, which holds the configuration as well.
        trust: whether to execute code that the run names.

    Raises:
        ValueError: nothing there; a run that has not finished; files that are damaged, or do not fit; code
            that is named, without trust.

    Example:
        >>> import tempfile, tammes
        >>> from tammes.data import digits
        >>> from tammes.encoders import ConvNetConfig
        >>> from tammes.positives import Handwriting
        >>> from tammes.training import RunFolder, TrainingConfig, train
        >>> images = digits("train").subset(range(64))
        >>> with tempfile.TemporaryDirectory() as root:
        ...     config = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), epochs=1,
        ...         encoder=ConvNetConfig(width=8), augmentation=Handwriting(), batch_size=32)
        ...     _ = train(config, images, source="digits", folder=RunFolder(path=Path(root)))
        ...     encoder = load(root)
        >>> encoder.embed(images).shape
        torch.Size([64, 32])
    """
    path = Path(path)
    if path.is_file():
        return _from_weights(path, trust)
    if not RunFolder(path=path).config.exists() and (path / WEIGHTS).is_file():
        return _from_weights(path / WEIGHTS, trust)
    run = load_run(path, trust=trust)
    return TrainedEncoder(run.model, run.config)


def _from_weights(path: Path, trust: bool) -> TrainedEncoder:
    config, assets = read_metadata(path)
    return TrainedEncoder(read_model(path, config, assets, trust=trust), config)


class TrainedEncoder(nn.Module, ModelHubMixin):
    """A trained encoder, in evaluation mode; `load` makes one.

    It is an `nn.Module` from inputs to features, without the projection head: train it further, or put a
    classifier behind it. With huggingface_hub, `push_to_hub("me/name")` and
    `TrainedEncoder.from_pretrained("me/name")` share it; only model.safetensors is needed to load it.

    Args:
        model: encoder and head.
        settings: configuration of the run.

    Attributes:
        settings: the same.
        features: width of the features.

    Example:
        >>> TrainedEncoder.__mro__[1].__name__
        'Module'
    """

    # Else the mixin would write its own view of the arguments.
    _hub_mixin_config: Any = {"library_name": "tammes"}  # noqa: RUF012

    def __init__(self, model: Model, settings: RunConfig) -> None:
        super().__init__()
        self.model, self.settings = model, settings
        self.features = model.encoder.features
        self.eval()

    def forward(self, inputs: Tensor | Tokens | GraphBatch) -> Float[Tensor, "batch features"]:
        """Return the features of images or volumes in [0, 1], tokens, or graphs."""
        features: Tensor = self.model.encoder(inputs)
        return features

    def embed(
        self, data: object, *, projected: bool = False, batch_size: int = 512, workers: int = 0
    ) -> Float[Tensor, "n features"]:
        """Return the features of n rows of data, in evaluation mode; float32 on the CPU.

        Images are scaled and cropped to the size, and converted to the channels, that the encoder was trained
        with, as in training.

        Args:
            data: for images a folder, a list of files or of Pillow images, an array of bytes
                `(n, height, width)` or `(n, height, width, 1 or 3)`, a uint8 tensor
                `(n, channels, height, width)`, or `Images`; for texts a list of strings, or `Texts`; for
                graphs a `GraphSet`, a `GraphStream`, or a list of graphs of torch_geometric; for nodes of one
                graph a `NodeSet`, or a graph of torch_geometric; for volumes a folder or a file as
                `tammes.data.volumes` takes it, an array or tensor `(n, 1, d, h, w)` of the run's size in the
                unit of its window, or `Volumes`.
            projected: whether to return the projection head's output, which the objective compared.
            batch_size: rows at a time; changes time and memory only.
            workers: number of processes that decode images.

        Raises:
            ValueError: data of another kind; an image that cannot be decoded; a blank sentence.
        """
        summary = self.settings.data
        if isinstance(summary, GraphsSummary):
            rows: Data = _graphs(data).with_columns(summary.columns)
        elif isinstance(summary, NodesSummary):
            rows = (data if isinstance(data, NodeSet) else nodes_of(data)).with_columns(summary.columns)
        elif isinstance(summary, VolumesSummary):
            rows = _volumes(data, summary)
        elif isinstance(summary, ImagesSummary):
            rows = _images(data, size=summary.size, channels=summary.channels)
        else:
            rows = _texts(data)
        return embed(self.model, rows, batch_size=batch_size, workers=workers)[int(projected)]

    def _save_pretrained(self, save_directory: Path) -> None:
        save_weights(save_directory / WEIGHTS, self.model, self.settings)

    @classmethod
    def _from_pretrained(
        cls,
        *,
        model_id: str,
        revision: str | None,
        cache_dir: str | Path | None,
        force_download: bool,
        local_files_only: bool,
        token: str | bool | None,
        trust: bool = False,
        **others: Any,
    ) -> TrainedEncoder:
        if Path(model_id).exists():
            return load(model_id, trust=trust)
        file = hf_hub_download(
            repo_id=model_id,
            filename=WEIGHTS,
            revision=revision,
            cache_dir=cache_dir,
            force_download=force_download,
            local_files_only=local_files_only,
            token=token,
        )
        return load(file, trust=trust)


def _images(data: object, *, size: int, channels: int) -> Images:
    if isinstance(data, Images):
        if (data.size, data.channels) != (size, channels):
            raise ValueError(
                f"expected images of {channels}x{size}x{size} (channels, height and width), as in training, "
                f"got {data!r}: load them in that size, or give their folder or files"
            )
        return data
    if isinstance(data, str | Path) and Path(data).is_dir():
        return folder(data, size=size, channels=channels)
    if isinstance(data, str | Path | Image.Image):
        data = [data]
    if isinstance(data, Tensor):
        data = list(_array_of(data))
    if isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.ndim in (3, 4):
        data = list(data)
    if not isinstance(data, Sequence) or len(data) == 0 or isinstance(data, Texts):
        raise ValueError(f"expected images ({_IMAGES}), got {_kind(data)}")
    pixels = [_pixels(each, size=size, channels=channels) for each in data]
    names = tuple(str(each) if isinstance(each, str | Path) else f"{row}" for row, each in enumerate(data))
    return Images(pixels=TensorPixels(torch.stack(pixels)), names=names)


_IMAGES = (
    "a folder, a list of files or Pillow images, an array of bytes (n, height, width) or (n, height, width, "
    "1 or 3), or a uint8 tensor (n, channels, height, width)"
)

_CHANNELS = ((), (1,), (3,), (4,))
"""Shapes of an image behind its height and width: gray, gray, color, and color with transparency."""


def _array_of(images: Tensor) -> np.ndarray:
    if images.dtype != torch.uint8 or images.ndim != 4:
        raise ValueError(f"expected images ({_IMAGES}), got {_kind(images)}; scale floats to bytes first")
    # n c h w -> n h w c
    return images.cpu().permute(0, 2, 3, 1).numpy()


def _pixels(image: object, *, size: int, channels: int) -> Tensor:
    if isinstance(image, str | Path):
        return decode(Path(image), size=size, channels=channels)
    if isinstance(image, np.ndarray):
        # Pillow takes other types too, and would read shares from 0 to 1 as nearly black.
        if image.dtype != np.uint8 or image.ndim < 2 or 0 in image.shape or image.shape[2:] not in _CHANNELS:
            raise ValueError(f"expected images ({_IMAGES}), got {_kind(image)} among them")
        image = Image.fromarray(image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image)
    if not isinstance(image, Image.Image):
        raise ValueError(f"expected images ({_IMAGES}), got {_kind(image)} among them")
    return as_pixels(ImageOps.exif_transpose(image), size=size, channels=channels)


def _graphs(data: object) -> GraphSet | GraphStream:
    if isinstance(data, GraphSet | GraphStream):
        return data
    if isinstance(data, str | Texts) or not isinstance(data, Sequence):
        raise ValueError(f"expected graphs (a GraphSet, or a list of torch_geometric's), got {_kind(data)}")
    return graphs_of(data, labels=False)


def _volumes(data: object, summary: VolumesSummary) -> Volumes:
    size, window = summary.size, summary.window
    if isinstance(data, str | Path):
        return volumes(data, size=size, window=window)
    if isinstance(data, np.ndarray | Tensor):
        voxels = torch.as_tensor(data).cpu().to(torch.float32)
        if voxels.ndim != 5 or not bool(voxels.isfinite().all()):
            raise ValueError(f"expected finite volumes (n, 1, d, h, w), got {_kind(data)}")
        names = tuple(str(row) for row in range(len(voxels)))
        data = Volumes(voxels=windowed(voxels, window), names=names, window=window)
    if not isinstance(data, Volumes) or data.size != size:
        wanted = f"volumes of {'x'.join(map(str, size))} voxels"
        raise ValueError(f"expected {wanted} (a folder, a file, an array, or Volumes), got {_kind(data)}")
    if data.window != window:
        raise ValueError(
            f"expected volumes whose values from {window[0]:g} to {window[1]:g} became 0 to 1, as in "
            f"training, got those from {data.window[0]:g} to {data.window[1]:g}: load them with that window"
        )
    return data


def _texts(data: object) -> Texts:
    if isinstance(data, Texts):
        return data
    sentences = data.tolist() if isinstance(data, np.ndarray) else data
    if isinstance(sentences, str) or not isinstance(sentences, Sequence):
        raise ValueError(f"expected a list of strings, got {_kind(data)}")
    if not all(isinstance(each, str) for each in sentences):
        raise ValueError("expected a list of strings, got something else among them")
    return Texts.of(sentences)


def _kind(data: object) -> str:
    if isinstance(data, Tensor | np.ndarray):
        return f"{type(data).__name__} of {data.dtype} {tuple(data.shape)}"
    return (
        repr(data)
        if isinstance(data, str | Path | Images | Texts | GraphSet | GraphStream | NodeSet | Volumes)
        else type(data).__name__
    )
