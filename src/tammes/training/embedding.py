"""From images to features and embeddings, with the weights left as they are."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from tammes.data.images import Images, as_floats
from tammes.training.model import Model
from tammes.training.workers import plain_errors


def embed(model: Model, images: Images, batch_size: int = 512, workers: int = 0) -> tuple[Tensor, Tensor]:
    """What a model makes of images, in evaluation mode and without augmentation.

    Args:
        model: encoder and head, on any device.
        images: n images of the channels and size it was built for.
        batch_size: images at a time; it changes time and memory only.
        workers: processes that decode images.

    Returns:
        Features (n, features), which serve other tasks, and embeddings (n, dim), which the objective
        compares; float32 on the CPU.

    Raises:
        ValueError: for a batch size below 1, a negative number of workers, or an image that cannot be
            decoded.

    Example:
        >>> from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> model = Model(encoder, ProjectionHeadConfig(dim=16).build(encoder.features))
        >>> from tammes.data.images import TensorPixels
        >>> pixels = torch.zeros(3, 1, 8, 8, dtype=torch.uint8)
        >>> images = Images(pixels=TensorPixels(pixels), names=("a", "b", "c"))
        >>> [tuple(part.shape) for part in embed(model, images)]
        [(3, 32), (3, 16)]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1 image, got {batch_size}")
    if workers < 0:
        raise ValueError(f"workers must be 0 or more, got {workers}")
    device = next(model.parameters()).device
    # With a generator of its own the loader leaves torch's global one alone.
    loader = DataLoader(images, batch_size=batch_size, num_workers=workers, generator=torch.Generator())
    parts = []
    with torch.inference_mode(), evaluating(model), plain_errors():
        for pixels, _ in loader:
            features, embeddings = model(as_floats(pixels.to(device)))
            parts.append((features.float().cpu(), embeddings.float().cpu()))
    features, embeddings = (torch.cat(part) for part in zip(*parts, strict=True))
    return features, embeddings


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
