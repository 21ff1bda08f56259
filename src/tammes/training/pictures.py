"""What the decoder of a run with masks makes of a few images, after some of its epochs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from jaxtyping import UInt8
from lightning.pytorch import Callback, LightningModule, Trainer
from safetensors import SafetensorError
from torch import Generator, Tensor
from typing_extensions import override

from tammes.atomic import write_atomically
from tammes.checks import check_file
from tammes.encoders import VisionTransformer
from tammes.encoders.vit import from_patches
from tammes.masked import Corrupted
from tammes.masked.corrupted import TINY
from tammes.masked.masking import at
from tammes.training.distributed.group import ProcessGroup
from tammes.training.embedding import evaluating
from tammes.training.examples import to_inputs
from tammes.training.masked import Masked
from tammes.training.model import Model
from tammes.training.module import ContrastiveModule
from tammes.training.seeds import Purpose, derive

FILE = "reconstructions.safetensors"
SHOWN = 3
"""Images of the data that are decoded, the first ones."""
GRAY = 0.5
"""Level of the hidden patches in a picture."""
NAMES = ("clean", "seen", "reconstructed", "denoised")


@dataclass(frozen=True, kw_only=True, eq=False)
class Reconstructions:
    """Pictures of images with masks and noise, and of what the decoder made of them over the epochs.

    Args:
        epochs: finished epochs of each stage.
        clean: the images.
        seen: the same with noise, hidden patches in gray.
        reconstructed: `seen` with the predicted pixels of the hidden patches; empty if none are hidden.
        denoised: predicted pixels in the hidden patches, and the noise that was found taken off the visible
            ones; empty if nothing is denoised.
    """

    epochs: tuple[int, ...]
    clean: UInt8[Tensor, "shown channels size size"]
    seen: UInt8[Tensor, "shown channels size size"]
    reconstructed: UInt8[Tensor, "stages shown channels size size"]
    denoised: UInt8[Tensor, "others shown channels size size"]

    def to_bytes(self) -> bytes:
        """Return the content of a file."""
        tensors = {name: vars(self)[name].contiguous() for name in NAMES}
        return safetensors.torch.save({**tensors, "epochs": torch.tensor(self.epochs)})

    @classmethod
    def load(cls, path: Path) -> Reconstructions | None:
        """Read a file of a run; None if there is none.

        Raises:
            ValueError: a file that is damaged.
        """
        if not path.exists():
            return None
        try:
            return cls.of_state(safetensors.torch.load_file(check_file(path)))
        except (SafetensorError, KeyError) as error:
            raise ValueError(f"{path}: expected pictures of a run, got something else ({error})") from error

    @classmethod
    def of_state(cls, state: dict[str, Tensor]) -> Reconstructions:
        """Return the pictures of tensors by name."""
        return cls(epochs=tuple(state["epochs"].tolist()), **{name: state[name].clone() for name in NAMES})


def stages(epochs: int) -> set[int]:
    """Return the epochs after which pictures are made: the first, and after a quarter, half and all.

    Example:
        >>> sorted(stages(20))
        [1, 5, 10, 20]
    """
    return {1, max(1, epochs // 4), max(1, epochs // 2), epochs}


@torch.no_grad()
def decoded(model: Model, masked: Masked, images: Tensor, *, seed: int) -> dict[str, Tensor]:
    """Return pictures (shown, channels, size, size) of images under a model, by the names of the fields.

    Args:
        model: encoder, head and decoder.
        masked: settings of the masks.
        images: images (shown, channels, size, size) in [0, 1].
        seed: seed of the masks and of the noise.
    """
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, VisionTransformer)
    assert decoder is not None
    generator = Generator().manual_seed(seed)
    patches = encoder.patches(images)
    drawn = Corrupted.draw(patches, rate=masked.rate, noise=masked.noise, generator=generator)
    with evaluating(model):
        predicted = drawn.decoded(decoder, drawn.tokens(encoder), tell_noise=masked.tell_noise)
    predicted = predicted.to(patches.dtype)
    places = drawn.mask.hidden[..., None].expand(-1, -1, patches.shape[2])
    found = at(predicted, drawn.mask.hidden)
    if masked.normalize_targets:  # as in the pictures of He et al., with the patch's own mean and variance
        variance, mean = torch.var_mean(at(patches, drawn.mask.hidden), dim=2, keepdim=True)
        found = found * (variance + TINY).sqrt() + mean
    pictures = {"clean": patches, "seen": drawn.noisy.scatter(1, places, GRAY)}
    if masked.reconstruction:
        pictures["reconstructed"] = drawn.noisy.scatter(1, places, found)
    if masked.denoising:
        rest = drawn.noisy - predicted
        pictures["denoised"] = rest.scatter(1, places, found if masked.reconstruction else GRAY)
    return {
        name: (255 * from_patches(each, encoder.patch).clamp(0, 1)).round().to(torch.uint8).cpu()
        for name, each in pictures.items()
    }


class PictureRecorder(Callback):
    """Records what the decoder makes of the first images of the data, and keeps it in a file.

    The pictures are part of a checkpoint, so that a resumed run has those of the steps that it keeps.

    Args:
        file: file of the run; None keeps the pictures in memory only.
        group: processes of the run, of which the first writes.

    Attributes:
        found: pictures so far; None before the first, or if nothing is decoded.
    """

    def __init__(self, file: Path | None, group: ProcessGroup) -> None:
        self.file = file
        self.group = group
        self.found: Reconstructions | None = None

    @property
    @override
    def state_key(self) -> str:
        return "Reconstructions"

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, ContrastiveModule)
        masked, epoch = pl_module.config.masked, trainer.current_epoch + 1
        if masked is None or pl_module.model.decoder is None or epoch not in stages(pl_module.config.epochs):
            return
        rows = range(min(SHOWN, len(pl_module.examples)))
        images = to_inputs(pl_module.examples.batch(rows).to(pl_module.device))
        assert isinstance(images, Tensor)
        seed = derive(pl_module.config.seed, Purpose.PICTURES)
        made = decoded(pl_module.trained, masked, images, seed=seed)
        none = made["clean"].new_zeros(0, *made["clean"].shape)
        before = self.found
        stacked = {
            name: torch.cat([none if before is None else vars(before)[name], made[name][None]])
            if name in made
            else none
            for name in ("reconstructed", "denoised")
        }
        epochs = (*(() if before is None else before.epochs), epoch)
        self.found = found = Reconstructions(epochs=epochs, clean=made["clean"], seen=made["seen"], **stacked)
        file = self.file
        if file is not None:
            self.group.on_first(lambda: write_atomically(file, found.to_bytes()))

    @override
    def state_dict(self) -> dict[str, Any]:
        if self.found is None:
            return {}
        return {
            "epochs": torch.tensor(self.found.epochs),
            **{name: vars(self.found)[name] for name in NAMES},
        }

    @override
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.found = Reconstructions.of_state(state_dict) if state_dict else None
