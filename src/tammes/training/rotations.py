"""How far a network turns the augmentations of a run into rotations of its embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from torch import Tensor

from tammes.checks import check_integer
from tammes.data.images import Images, as_floats
from tammes.diagnostics import (
    alignment,
    color_followed,
    composition,
    cosine_variance,
    invariance,
    neighbors_kept,
    relative_equivariance,
    retrieved,
    wahba_error,
)
from tammes.positives import Augmentation, Photographs
from tammes.training.embedding import evaluating
from tammes.training.model import Model
from tammes.training.seeds import Purpose, derive

ROWS, AUGMENTATIONS, COMPOSITIONS = 512, 10, 3
"""Images, augmentations and pairs of them that a measurement takes."""
NEIGHBORS = 5
JITTER = Photographs(
    smallest_crop=1.0, flip_probability=0.0, jitter_probability=1.0, grayscale_probability=0.0
)
"""Change of color alone, drawn for each query."""
AT_A_TIME = 512
RETRIEVAL = 1_000_000
"""Place of the color jitter among the measured augmentations, behind all others."""


@dataclass(frozen=True, kw_only=True)
class Rotations:
    """Measurements of embeddings under augmentations, each of which is applied to all images.

    Args:
        wahba: W_f, over `rows` embeddings; see `tammes.diagnostics.wahba_error`.
        gamma: gamma_f; None if an augmentation moves no embedding.
        unexplained: share of the squared movement that the best rotation leaves; None if nothing moves.
        invariance: L_inv, the mean distance that an augmentation moves an embedding.
        cosine_variance: variance over the images of the cosine between an embedding and its augmentation.
        composition_error: distance of twice augmented embeddings from what two rotations predict; None if
            no augmentations were composed.
        composition_best: the same for the best single rotation.
        neighbors_kept: share of the five nearest images that stay when the colors of the query change.
        color_followed: slope by which the colors of the nearest images follow those of the query; None if
            no color changes.
        rows: number of images.
        dimension: dimension of the embeddings.
        augmentations: number of augmentations that the numbers are means over.
        each: W_f of each augmentation, in the order of their seeds.
    """

    wahba: float
    gamma: float | None
    unexplained: float | None
    invariance: float
    cosine_variance: float
    composition_error: float | None
    composition_best: float | None
    neighbors_kept: float
    color_followed: float | None
    rows: int
    dimension: int
    augmentations: int
    each: tuple[float, ...] = ()

    @property
    def largest_wahba(self) -> float:
        """Error of embeddings that no rotation brings nearer: sqrt(2 rows)."""
        return math.sqrt(2 * self.rows)

    @property
    def numbers(self) -> dict[str, float]:
        """Measurements that are known, by name."""
        known = {
            name: value
            for name, value in vars(self).items()
            if name not in ("rows", "dimension", "augmentations", "each") and value is not None
        }
        return {**known, "rows": self.rows, "augmentations": self.augmentations}


@torch.no_grad()
def measure_rotations(
    model: Model,
    images: Images,
    augmentation: Augmentation,
    *,
    seed: int = 0,
    augmentations: int = AUGMENTATIONS,
    compositions: int = COMPOSITIONS,
) -> Rotations:
    """Measure how a network's embeddings move under augmentations of images.

    Each augmentation is drawn once and applied to all images, in evaluation mode. The images of a run and the
    seed decide them, so that networks are measured on the same ones.

    Args:
        model: encoder and head, on any device; the embeddings behind the head are measured.
        images: at least six images.
        augmentation: distribution of the augmentations.
        seed: random seed of the augmentations.
        augmentations: number of augmentations.
        compositions: number of pairs of augmentations that are composed, fewer than `augmentations`.

    Raises:
        ValueError: too few images, numbers below 1, or embeddings of length zero.

    Example:
        >>> from tammes.data import digits
        >>> from tammes.encoders import ConvNetConfig
        >>> from tammes.positives import Handwriting
        >>> model = Model(ConvNetConfig(width=8).build(channels=1, size=8), None)
        >>> images = digits("test").subset(range(20))
        >>> measure_rotations(model, images, Handwriting(), augmentations=2, compositions=1).rows
        20
    """
    check_integer("augmentations", augmentations)
    check_integer("compositions", compositions, minimum=0)
    if compositions >= augmentations:
        raise ValueError(f"{compositions} compositions need more than {augmentations} augmentations")
    if len(images) <= NEIGHBORS:
        raise ValueError(f"retrieval needs more than {NEIGHBORS} images, got {len(images)}")
    plain = as_floats(images.batch(range(len(images))))
    seeds = [derive(seed, Purpose.MEASURED_AUGMENTATION, number) for number in range(augmentations)]
    before = _embedded(model, plain)
    once = [augmentation(plain, seed=each, groups=1) for each in seeds[: compositions + 1]]
    after = [_embedded(model, view) for view in once]
    # The views themselves are needed for compositions only.
    after += [
        _embedded(model, augmentation(plain, seed=each, groups=1)) for each in seeds[compositions + 1 :]
    ]
    composed = []
    for first in range(compositions):
        both = _embedded(model, augmentation(once[first], seed=seeds[first + 1], groups=1))
        composed.append(composition(before, after[first], after[first + 1], both))
    kept, followed = _retrieval(model, plain, before, seed)
    each = tuple(wahba_error(before, moved) for moved in after)
    gammas = [_gamma(before, moved) for moved in after]
    known = [gamma for gamma in gammas if gamma is not None]
    moved = len(images) * fmean(alignment(before, moved) for moved in after)
    return Rotations(
        wahba=fmean(each),
        gamma=fmean(known) if known else None,
        unexplained=fmean(error**2 for error in each) / moved if moved > 0 else None,
        invariance=fmean(invariance(before, moved) for moved in after),
        cosine_variance=fmean(cosine_variance(before, moved) for moved in after),
        composition_error=_mean([each.error for each in composed]),
        composition_best=_mean([each.best for each in composed]),
        neighbors_kept=kept,
        color_followed=followed,
        rows=len(images),
        dimension=before.shape[1],
        augmentations=augmentations,
        each=each,
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _gamma(before: Tensor, after: Tensor) -> float | None:
    """Return gamma_f, or None if no embedding moves."""
    return None if torch.equal(before, after) else relative_equivariance(before, after)


def _embedded(model: Model, images: Tensor) -> Tensor:
    device = next(model.parameters()).device
    with evaluating(model):
        parts = [model(part.to(device))[1].float().cpu() for part in images.split(AT_A_TIME)]
    return torch.cat(parts)


def _retrieval(model: Model, plain: Tensor, before: Tensor, seed: int) -> tuple[float, float | None]:
    """Return how many neighbors stay when the colors of a query change, and how their colors follow."""
    queries = JITTER(plain, seed=derive(seed, Purpose.MEASURED_AUGMENTATION, RETRIEVAL))
    found = retrieved(before, before, neighbors=NEIGHBORS)
    changed = retrieved(before, _embedded(model, queries), neighbors=NEIGHBORS)
    colors, jittered = plain.mean(dim=(2, 3)), queries.mean(dim=(2, 3))
    answers = colors[found].mean(dim=1), colors[changed].mean(dim=1)
    return neighbors_kept(found, changed), color_followed((colors, jittered), answers)
