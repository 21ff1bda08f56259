"""From data to features and embeddings, with the weights left as they are."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from tammes.positives import Augmentation
from tammes.training.examples import Data, Examples, Inputs, examples_of
from tammes.training.model import Model
from tammes.training.workers import plain_errors


def embed(model: Model, data: Data, batch_size: int = 512, workers: int = 0) -> tuple[Tensor, Tensor]:
    """What a model makes of images or texts, in evaluation mode and without augmentation.

    Args:
        model: encoder and head, on any device.
        data: n images of the channels and size it was built for, or n sentences where it reads texts.
        batch_size: rows at a time; it changes time and memory only.
        workers: processes that decode images.

    Returns:
        Features (n, features), which serve other tasks, and embeddings (n, dim), which the objective
        compares (the same where there is no head); float32 on the CPU.

    Raises:
        ValueError: for a batch size below 1, a negative number of workers, data of the other kind, or an
            image that cannot be decoded.

    Example:
        >>> from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> model = Model(encoder, ProjectionHeadConfig(dim=16).build(encoder.features))
        >>> from tammes.data import Images, TensorPixels
        >>> pixels = torch.zeros(3, 1, 8, 8, dtype=torch.uint8)
        >>> images = Images(pixels=TensorPixels(pixels), names=("a", "b", "c"))
        >>> [tuple(part.shape) for part in embed(model, images)]
        [(3, 32), (3, 16)]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1 row, got {batch_size}")
    if workers < 0:
        raise ValueError(f"workers must be 0 or more, got {workers}")
    device = next(model.parameters()).device
    rows = _Rows(examples_of(data, model.vocabulary))
    # With a generator of its own the loader leaves torch's global one alone.
    loader = DataLoader(
        rows,
        batch_size=batch_size,
        num_workers=workers,
        collate_fn=_as_read,
        generator=torch.Generator(),
    )
    parts = []
    with torch.inference_mode(), evaluating(model), plain_errors():
        for stored in loader:
            features, embeddings = model(rows.examples.inputs(stored.to(device)))
            parts.append((features.float().cpu(), embeddings.float().cpu()))
    features, embeddings = (torch.cat(part) for part in zip(*parts, strict=True))
    return features, embeddings


def embed_pairs(
    model: Model,
    data: Data,
    pairs: Tensor,
    augmentations: tuple[Augmentation | None, Augmentation | None],
    *,
    seeds: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """Embeddings of the two views of pairs, made as in training, in evaluation mode and in one batch.

    Args:
        model: encoder and head, on any device.
        data: images or texts.
        pairs: int64 (b, 2), rows of anchors and their positives.
        augmentations: how the first views are made, and the second; None takes the rows as they are.
        seeds: of the first views, and of the second.

    Returns:
        Two tensors (b, dim); float32 on the CPU.
    """
    device = next(model.parameters()).device
    examples = examples_of(data, model.vocabulary)
    views = []
    with torch.inference_mode(), evaluating(model):
        for rows, augmentation, seed in zip(pairs.T.tolist(), augmentations, seeds, strict=True):
            inputs = examples.inputs(examples.batch(rows).to(device))
            if augmentation is not None:
                assert isinstance(inputs, Tensor)
                inputs = augmentation(inputs, seed=seed)
            views.append(model(inputs)[1].float().cpu())
    return views[0], views[1]


class _Rows(Dataset[Inputs]):
    """Rows as a DataLoader wants them: it asks for whole batches."""

    def __init__(self, examples: Examples) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, rows: Sequence[int]) -> Inputs:
        return self.examples.batch(rows)


def _as_read(batch: Any) -> Any:
    """The batch: it comes as a whole, and there is nothing to collate."""
    return batch


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode for a while; every module gets back the mode it was in, frozen ones included."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
