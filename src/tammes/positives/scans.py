"""Positives by augmentation of volumes: two random views of one scan that mean the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from tammes.checks import check_number
from tammes.positives.augmentation import rows_of_groups

DRAWN = 15
"""Uniform numbers that a change is made of."""
STRIDE = 0x9E3779B97F4A7C15  # seeds of neighboring rows lie far apart
LARGEST_BLUR = 0.25
"""Weight of each of the two neighbors in a full blur along an axis; the middle has the rest."""


@dataclass(frozen=True, kw_only=True)
class Scans:
    """Crops, flips, rotations, changes of density, blur and noise, for volumes such as CT scans.

    A view is made in one resampling: voxel p of the view shows the place

        s R F p + t

    with the crop's side s and place t, a rotation R about all three axes, and flips F. Places outside of the
    volume have the value of its border. Then density v becomes (1 + c) v + b, is blurred, and noise is added.

    A call is a function of the volumes, their place in the batch and the seed alone. Each volume has numbers
    drawn by the seed and its row in the batch, or one for each group of volumes that share a change.

    Raises:
        ValueError: a strength or probability is out of its range.

    Example:
        >>> volumes = torch.rand(4, 1, 8, 12, 12)
        >>> scans = Scans()
        >>> torch.equal(scans(volumes, seed=0), scans(volumes, seed=1))
        False
        >>> torch.equal(scans(volumes, seed=0)[2:], scans(volumes[2:], seed=0, first_row=2, batch_size=4))
        True
    """

    smallest_crop: float = 0.5
    """Smallest share of the volume that a crop keeps, from 0.001 to 1."""

    flip_depth: float = 0.0
    """Probability of a flip along the depth: upside down."""

    flip_height: float = 0.0
    """Probability of a flip along the height: back to front."""

    flip_width: float = 0.5
    """Probability of a flip along the width: left to right."""

    rotation: float = 10.0
    """Largest rotation about each axis in either direction, in degrees, from 0 to 180."""

    shift: float = 0.05
    """Largest change of the density, up or down, from 0 to 1 like the voxels."""

    contrast: float = 0.1
    """Largest relative change of the density, up or down, from 0 to 1."""

    blur_probability: float = 0.5
    """Probability of a blur over three voxels along each axis, of random strength."""

    noise: float = 0.03
    """Largest standard deviation of the noise on each voxel, from 0 to 1."""

    def __post_init__(self) -> None:
        check_number("smallest_crop", self.smallest_crop, minimum=1e-3, maximum=1)
        for name, value in vars(self).items():
            check_number(name, value, minimum=0, maximum=180 if name == "rotation" else 1)

    @torch.no_grad()
    def __call__(
        self,
        volumes: Float[Tensor, "rows 1 d h w"],
        seed: int,
        *,
        first_row: int = 0,
        batch_size: int | None = None,
        groups: int | None = None,
    ) -> Float[Tensor, "rows 1 d h w"]:
        """Return a random view of each volume.

        Args:
            volumes: volumes with values in [0, 1], floating point, on any device.
            seed: random seed of the call.
            first_row: place of the first volume in the batch, from 0.
            batch_size: number of volumes in the whole batch; None if these are all.
            groups: number of consecutive groups of equal size into which the whole batch is cut; the volumes
                of a group share one change. None for one change per volume.

        Returns:
            The views, of the volumes' shape, type and device, with values in [0, 1].

        Raises:
            ValueError: volumes of another shape, type or range, or outside the batch; groups that do not
                divide the batch.
        """
        _check(volumes)
        rows = slice(first_row, first_row + len(volumes))
        whole = rows.stop if batch_size is None else batch_size
        chosen, _ = rows_of_groups(rows, whole, groups)
        numbers = range(whole)[chosen] if isinstance(chosen, slice) else chosen.tolist()
        changes = [self._change(seed, number, volumes.shape[1:]) for number in numbers]
        maps = torch.stack([change.map for change in changes]).to(volumes)
        factor, shift, blur, noise = (
            each[:, None, None, None, None]
            for each in torch.tensor([change.strengths for change in changes]).to(volumes).unbind(1)
        )
        grid = affine_grid(maps, list(volumes.shape), align_corners=False)
        views = grid_sample(volumes, grid, padding_mode="border", align_corners=False)
        views = views * factor + shift
        if self.blur_probability > 0:
            views = _blurred(views, blur)
        if self.noise > 0:
            views += torch.stack([change.noise for change in changes]).to(volumes) * noise
        return views.clamp(0, 1)

    def _change(self, seed: int, number: int, shape: Sequence[int]) -> _Change:
        """Draw the change of one row.

        All is computed row by row on the CPU: vectorized functions may round the last rows of a batch
        otherwise, and a part of a batch would not have the views of the whole.
        """
        generator = torch.Generator().manual_seed((seed + (number + 1) * STRIDE) % 2**63)
        u = torch.rand(DRAWN, generator=generator, dtype=torch.float64).tolist()
        noise = torch.randn(tuple(shape), generator=generator) if self.noise > 0 else torch.zeros(())
        # Coordinates of a map run along width, height and depth, each from -1 to 1.
        half = np.array(shape[:0:-1]) / 2
        side = (self.smallest_crop + (1 - self.smallest_crop) * u[0]) ** (1 / 3)
        place = (2 * np.array(u[1:4]) - 1) * (1 - side)
        probabilities = self.flip_width, self.flip_height, self.flip_depth
        flips = np.array([-1 if x < p else 1 for x, p in zip(u[4:7], probabilities, strict=True)])
        turn = _rotation([math.radians(self.rotation * (2 * x - 1)) for x in u[7:10]])
        # In units of half a side a rotation R of voxels is H^-1 R H.
        linear = turn * half / half[:, None] * side * flips
        blur = LARGEST_BLUR * u[13] if u[12] < self.blur_probability else 0.0
        return _Change(
            map=torch.from_numpy(np.column_stack([linear, place])),
            strengths=(
                1 + self.contrast * (2 * u[10] - 1),
                self.shift * (2 * u[11] - 1),
                blur,
                self.noise * u[14],
            ),
            noise=noise,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Change:
    """Change of one volume.

    Args:
        map: (3, 4) affine map from the coordinates of the view to those of the volume.
        strengths: factor and shift of the density, weight of the blur, standard deviation of the noise.
        noise: (1, d, h, w) noise of standard deviation 1.
    """

    map: Tensor
    strengths: tuple[float, float, float, float]
    noise: Tensor


def _blurred(views: Tensor, weight: Tensor) -> Tensor:
    """Return each view with the weights (weight, 1 - 2 weight, weight) along each axis."""
    for axis in (2, 3, 4):
        count = views.shape[axis]
        ends = views.narrow(axis, 0, 1), views, views.narrow(axis, count - 1, 1)
        around = torch.cat(ends, dim=axis)
        sides = around.narrow(axis, 0, count) + around.narrow(axis, 2, count)
        views = views + weight * (sides - 2 * views)
    return views


def _rotation(angles: Sequence[float]) -> NDArray[np.float64]:
    """Return the product of rotations about the first, the second and the third axis."""
    product = np.eye(3)
    for axis, angle in enumerate(angles):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[one, one] = turn[other, other] = math.cos(angle)
        turn[one, other], turn[other, one] = -math.sin(angle), math.sin(angle)
        product = product @ turn
    return product


def _check(volumes: Tensor) -> None:
    shape = tuple(volumes.shape)
    if len(shape) != 5 or shape[1] != 1 or volumes.numel() == 0 or not volumes.is_floating_point():
        raise ValueError(
            f"expected volumes (batch, 1, d, h, w) as floating-point numbers, got {volumes.dtype} {shape}"
        )
    smallest, largest = (float(end) for end in volumes.detach().aminmax())
    if not (smallest >= 0 and largest <= 1):  # true for NaN as well
        raise ValueError(f"expected volumes with values in [0, 1], got {smallest:g} to {largest:g}")
