"""Synthetic scans of two lungs with planted outcomes, drawn on the spot; no scan of anyone is in them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tammes.checks import check_integer, check_seed
from tammes.data.outcomes import Outcomes
from tammes.data.volume_files import resized
from tammes.data.volumes import Volumes

SIZE = 24
"""Depth, height and width in voxels if none are given."""
SMALLEST_SIZE = 16
"""Below, a lung would have too few voxels for the grades to differ."""
MOST_VOLUMES = 100_000
LARGEST_SHARE = 0.4
"""Largest share of the lungs that are holes."""
GRADES, RIM_GRADES = 6, 3
"""Grades of the share and of the rim, as many as of the two emphysema scores of Table 4.2."""

# Densities, from air outside of the body to metal.
BODY, LUNG, HOLE, METAL = 0.55, 0.3, 0.08, 1.0
RIM = 0.12  # most that a rim adds to the density of a lung
NOISE = 0.02
COARSE = 8  # voxels a side of the random field whose lowest values are the holes
ROD = 0.09  # radius of the rod; lengths are in halves of the volume's width

Array = NDArray[np.float32]


def synthetic_volumes(count: int, *, size: int = SIZE, seed: int = 0) -> Volumes:
    """Draw synthetic scans: a body with two lungs, low-density holes in them, a faint rim and a bright rod.

    Each volume has three independent features, which are its outcomes:

    - `share`, uniform on [0, 0.4]: the share of the voxels of the lungs that are holes, exact to one voxel;
      `grade` cuts it into six grades of equal width, which are also the classes.
    - `rim`, uniform on [0, 1]: the density that the outermost voxels of the lungs have above the others. It
      is faint, so that a training may leave it out; `rim_grade` cuts it into three.
    - `rod`, uniform on [0.2, 1.2]: the length of a bright rod before the lungs, at a random angle: easy to
      see, and enough to tell most scans apart.

    Places and sizes of body and lungs, the pattern of the holes and the noise differ from scan to scan. A
    volume depends on the seed and its number alone.

    Args:
        count: number of volumes, from 1 to 100,000.
        size: depth, height and width in voxels, at least 16.
        seed: random seed.

    Raises:
        ValueError: If a number is out of its range.

    Example:
        >>> scans = synthetic_volumes(4, size=16)
        >>> scans, scans.outcomes
        (Volumes(4 volumes, 16x16x16, 6 classes), Outcomes(4 rows, share, grade, rim, rim_grade, rod))
    """
    check_integer("count", count, reason="it is the number of volumes")
    if count > MOST_VOLUMES:
        raise ValueError(f"count must be at most {MOST_VOLUMES:,}, got {count:,}")
    check_integer("size", size, minimum=SMALLEST_SIZE, reason="lungs of fewer voxels have no grades")
    check_seed("seed", seed)
    voxels, shares, rims, rods = [], [], [], []
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        share, rim, rod = generator.uniform((0, 0, 0.2), (LARGEST_SHARE, 1, 1.2)).tolist()
        volume, share = _drawn(share, rim, rod, size, generator)
        voxels.append(volume)
        shares.append(share)
        rims.append(rim)
        rods.append(rod)
    grades = [min(int(GRADES * share / LARGEST_SHARE), GRADES - 1) for share in shares]
    return Volumes(
        voxels=torch.stack(voxels)[:, None],
        names=tuple(f"synthetic {number}" for number in range(count)),
        labels=torch.tensor(grades),
        classes=tuple(f"grade {grade}" for grade in range(GRADES)),
        outcomes=Outcomes.of(
            {
                "share": shares,
                "grade": grades,
                "rim": rims,
                "rim_grade": [min(int(RIM_GRADES * rim), RIM_GRADES - 1) for rim in rims],
                "rod": rods,
            }
        ),
    )


def _drawn(
    share: float, rim: float, rod: float, size: int, generator: np.random.Generator
) -> tuple[Tensor, float]:
    """Return a scan and the share of the lungs that are holes in it."""
    ends = (np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1
    # (3, d, h, w) in [-1, 1]
    grid = np.stack(np.meshgrid(ends, ends, ends, indexing="ij")).astype(np.float32)

    def ellipsoid(center: tuple[float, float, float], radii: tuple[float, float, float]) -> Array:
        """Return the squared distance from the center in radii: 1 on the surface."""
        at, by = (
            np.array(each, dtype=np.float32) * generator.uniform(0.92, 1.08, 3) for each in (center, radii)
        )
        scaled = (grid - at[:, None, None, None]) / by[:, None, None, None]
        distance: Array = np.square(scaled).sum(0).astype(np.float32)
        return distance

    body = ellipsoid((0, 0, 0), (0.95, 0.8, 0.92)) < 1
    sides = [ellipsoid((0, 0.12, side), (0.72, 0.48, 0.34)) for side in (-0.43, 0.43)]
    depth = np.minimum(*sides)
    lungs = depth < 1
    volume = np.where(body, np.float32(BODY), np.float32(0))
    volume[lungs] = LUNG
    volume[lungs & (depth > 0.72)] += RIM * rim
    coarse = torch.from_numpy(generator.standard_normal((COARSE,) * 3, dtype=np.float32))
    field = resized(coarse, (size,) * 3).numpy()[lungs]
    holes = round(share * len(field))
    lowest = np.argsort(field, kind="stable")[:holes]
    inside = volume[lungs]
    inside[lowest] = HOLE
    volume[lungs] = inside
    volume[_is_rod(grid, rod, generator) & ~lungs] = METAL
    noise = generator.standard_normal(volume.shape, dtype=np.float32) * NOISE
    return torch.from_numpy((volume + noise).clip(0, 1)), holes / len(field)


def _is_rod(grid: Array, length: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Return the voxels of a rod before the lungs, which lies in a plane from left to right."""
    angle = generator.uniform(-np.pi / 2, np.pi / 2)
    center = np.array([generator.uniform(-0.4, 0.4), -0.55, generator.uniform(-0.2, 0.2)], dtype=np.float32)
    along = np.array([np.sin(angle), 0, np.cos(angle)], dtype=np.float32)
    apart = grid - center[:, None, None, None]
    place = np.tensordot(along, apart, axes=1)
    across = np.square(apart).sum(0) - np.square(place)
    found: NDArray[np.bool_] = (across < ROD**2) & (np.abs(place) < length / 2)
    return found
