"""lightly's MAE: its encoder around timm's Vision Transformer, its decoder and its masks, as in its docs."""

from __future__ import annotations

from importlib.metadata import version
from importlib.util import find_spec

from torch import Tensor, nn
from torch.nn.functional import mse_loss

# The training loop needs a package `lightning`, which is another one.
IS_INSTALLED = find_spec("lightly") is not None and find_spec("timm") is not None


class MAE(nn.Module):
    """A masked autoencoder of lightly's parts.

    Args:
        side: height and width of the images, in pixels.
        patch: height and width of a patch, in pixels.
        width: width of the encoder.
        depth: number of its blocks.
        heads: heads of its attention, and of the decoder's.
        decoder_width: width of the decoder.
        decoder_depth: number of its blocks.
        rate: share of the patches that are hidden.
    """

    def __init__(
        self,
        *,
        side: int,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        decoder_width: int,
        decoder_depth: int,
        rate: float = 0.75,
    ) -> None:
        from lightly.models.modules import MAEDecoderTIMM, MaskedVisionTransformerTIMM
        from timm.models.vision_transformer import VisionTransformer

        super().__init__()
        self.patch, self.rate = patch, rate
        vit = VisionTransformer(
            img_size=side, patch_size=patch, embed_dim=width, depth=depth, num_heads=heads, num_classes=0
        )
        self.backbone = MaskedVisionTransformerTIMM(vit=vit)
        # Until lightly 1.7, which drops it: the decoder of lightly's own example.
        self.decoder = MAEDecoderTIMM(
            num_patches=(side // patch) ** 2,
            patch_size=patch,
            embed_dim=width,
            decoder_embed_dim=decoder_width,
            decoder_depth=decoder_depth,
            decoder_num_heads=heads,
        )

    def loss(self, images: Tensor) -> Tensor:
        """Return the mean squared error of the hidden patches."""
        from lightly.models import utils

        size = (len(images), self.backbone.sequence_length)
        kept, hidden = utils.random_token_mask(size=size, mask_ratio=self.rate, device=images.device)
        encoded = self.decoder.embed(self.backbone.encode(images=images, idx_keep=kept))
        tokens = utils.repeat_token(self.decoder.mask_token, size)
        tokens = utils.set_at_index(tokens, kept, encoded.type_as(tokens))
        predicted = self.decoder.predict(utils.get_at_index(self.decoder.decode(tokens), hidden))
        # The class token has place 0.
        return mse_loss(predicted, utils.get_at_index(utils.patchify(images, self.patch), hidden - 1))


def versions() -> str:
    """Return the versions of lightly and what it needs."""
    if not IS_INSTALLED:
        return "without lightly, which is not installed here, or timm is not"
    return ", ".join(f"{package} {version(package)}" for package in ("lightly", "timm"))
