"""A blur whose result for one image does not depend on the rest of the batch."""

from typing import Any

import kornia.augmentation as kornia
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from jaxtyping import Float
from kornia.filters import get_gaussian_kernel1d
from torch import Tensor
from typing_extensions import override


class Blur(kornia.RandomGaussianBlur):
    """Gaussian blur whose result for one image does not depend on the rest of the batch.

    kornia's blur is a convolution, and the library behind it chooses its algorithm by the size of the
    batch: a row alone may differ from the same row in a batch by a rounding error.
    """

    @override
    def generate_parameters(self, batch_shape: tuple[int, ...]) -> dict[str, Tensor]:
        # The weights are computed for the whole batch and then cut: exp also rounds by a number's place.
        drawn: dict[str, Tensor] = super().generate_parameters(batch_shape)
        drawn["weights"] = get_gaussian_kernel1d(self.flags["kernel_size"][0], drawn["sigma"][:, None])
        return drawn

    @override
    def apply_transform(
        self,
        input: Tensor,
        params: dict[str, Tensor],
        flags: dict[str, Any],
        transform: Tensor | None = None,
    ) -> Tensor:
        images = input.to(torch.promote_types(input.dtype, torch.float32))
        weights = params["weights"].to(images, non_blocking=True)
        # Pieces of about a megabyte stay in the processor's cache from one pass to the next.
        rows = max(1, 2**18 // images[0].numel()) if images.device.type == "cpu" else len(images)
        pieces = zip(images.split(rows), weights.split(rows), strict=True)
        return torch.cat([_blurred(_blurred(piece, w, -1), w, -2) for piece, w in pieces]).to(input.dtype)


def _blurred(
    images: Float[Tensor, "rows channels height width"], weights: Float[Tensor, "rows taps"], axis: int
) -> Float[Tensor, "rows channels height width"]:
    """Return the images convolved with a symmetric kernel along axis -1 or -2, reflected at the edges.

    Only single sums and products are used: IEEE arithmetic rounds each of them in one way, wherever an
    element stands and whichever instructions add it up. A fused `addcmul` would not do.
    """
    radius, size = weights.shape[1] // 2, images.shape[axis]
    padded = F.pad(images, (radius, radius, 0, 0) if axis == -1 else (0, 0, radius, radius), mode="reflect")
    # A shift along an axis is a shift of the flat image: the inner loops run over whole images, not rows of
    # pixels. Sums across two rows end up in the margin, which is cut off.
    flat, stride = padded.flatten(1), padded.stride(axis)
    length = flat.shape[1] - 2 * radius * stride
    blurred = torch.empty_like(flat)
    total = blurred[:, :length]
    torch.mul(flat[:, radius * stride :][:, :length], weights[:, radius, None], out=total)
    for tap in range(radius):
        before = flat[:, tap * stride :][:, :length]
        after = flat[:, (2 * radius - tap) * stride :][:, :length]
        total += (before + after).mul_(weights[:, tap, None])
    return blurred.view_as(padded).narrow(axis, 0, size)
