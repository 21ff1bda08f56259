"""A fine-tuned classifier of images, and encoders for images of another size than they were trained on."""

from __future__ import annotations

import copy

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer, in_a_line
from tammes.data.images import Images, as_floats
from tammes.encoders import Encoder, VisionTransformer


class FineTuned(nn.Module):
    """Classifier of images: an encoder and a linear head.

        logits = W f(x) + b

    Args:
        encoder: the encoder f.
        head: W and b.
        classes: label of each logit, ascending.

    Example:
        >>> from tammes.encoders import ConvNetConfig
        >>> from tammes.evaluation import FineTuning
        >>> start = FineTuning().start(ConvNetConfig(width=8).build(channels=1, size=8), torch.tensor([3, 7]))
        >>> start(torch.rand(5, 1, 8, 8)).shape
        torch.Size([5, 2])
    """

    classes: Tensor

    def __init__(self, encoder: Encoder, head: nn.Linear, classes: Int[Tensor, " classes"]) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.register_buffer("classes", classes)

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch classes"]:
        """Return the logits of images in [0, 1]."""
        logits: Tensor = self.head(self.encoder(images))
        return logits

    @torch.inference_mode()
    def logits(self, images: Images, batch_size: int = 512) -> Float[Tensor, "n classes"]:
        """Return the logits of all images, in evaluation mode; float32 on the CPU.

        Raises:
            ValueError: a batch size below 1.
        """
        check_integer("batch_size", batch_size)
        was_training, device = self.training, device_of(self)
        self.eval()
        try:
            parts = [
                self(as_floats(images.batch(rows).to(device))).float().cpu()
                for start in range(0, len(images), batch_size)
                if (rows := range(start, min(start + batch_size, len(images))))
            ]
        finally:
            self.train(was_training)
        return torch.cat(parts)


def encoder_for_size(encoder: Encoder, *, channels: int, size: int) -> tuple[Encoder, str]:
    """Return an encoder for images of another size with the same weights, and what was done to it.

    Args:
        encoder: the encoder.
        channels: channels of the images.
        size: height and width of the images, in pixels.

    Returns:
        The encoder, and a clause such as "learned positions interpolated from 8x8 to 12x12 patches".

    Raises:
        ValueError: patches that do not divide the size; a network that takes no other size.

    Example:
        >>> from tammes.encoders import VisionTransformerConfig
        >>> encoder = VisionTransformerConfig(width=8, heads=1, positions="learned").build(channels=1, size=8)
        >>> encoder_for_size(encoder, channels=1, size=16)[1]
        'learned positions interpolated from 2x2 to 4x4 patches'
    """
    if isinstance(encoder, VisionTransformer):
        old, new = encoder.size // encoder.patch, size // encoder.patch
        other = encoder.with_size(size)
        if isinstance(encoder.position, nn.Parameter):
            return other, f"learned positions interpolated from {old}x{old} to {new}x{new} patches"
        return other, f"sine-cosine positions computed anew for {new}x{new} patches instead of {old}x{old}"
    trial = copy.deepcopy(encoder).eval()
    try:
        with torch.no_grad():
            trial(torch.zeros(1, channels, size, size, device=device_of(encoder)))
    except (RuntimeError, ValueError, AssertionError) as error:
        reason = in_a_line(error)
        raise ValueError(
            f"{type(encoder).__name__} takes no images of {size} pixels ({reason}): leave the size of the run"
        ) from error
    return encoder, "the same weights, since the network takes any size"


def device_of(module: nn.Module) -> torch.device:
    """Return the device of a module; the CPU for one without parameters."""
    return next((each.device for each in module.parameters()), torch.device("cpu"))
