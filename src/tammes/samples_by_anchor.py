"""Samples whose candidates are made for each anchor: moved by a perturbation, or mixed."""

from __future__ import annotations

import torch

from tammes.batch import Batch, Samples
from tammes.mixing import HardMixing
from tammes.reduce import (
    Displacement,
    Exponent,
    MixedNegatives,
    Movable,
    MovedNegatives,
    MovedPositives,
    WeightedNegatives,
    mixtures,
)

MovedSamples = tuple[MovedNegatives, MovedPositives, MovedPositives]
"""The moved negatives of each anchor, its positives moved away from it, and those moved towards it."""


def moved_samples(
    batch: Batch, weight: Exponent, displacement: Displacement, samples: Samples
) -> MovedSamples:
    """Return the negatives moved towards their anchors, and the positives moved away and towards.

    Args:
        batch: the batch of unit vectors, with a graph or without.
        weight: logarithm of the weights of the unmoved negatives.
        displacement: move of each candidate for each anchor.
        samples: the unmoved negatives and positives of the batch.

    Raises:
        ValueError: anchors and candidates of several processes.
    """
    if batch.group.size > 1:
        raise ValueError(
            f"{displacement!r} moves candidates of one process: train in one process, or use Shifted(), "
            "whose moves need no candidates"
        )
    negatives, positives = samples
    one, candidates = batch.scale.one, batch.candidates or batch.anchors
    lengths = candidates.lengths
    assert lengths is not None
    movable = Movable(
        displacement=displacement,
        anchors=batch.anchors.in_graph(),
        base=candidates.rows if displacement.of_raw else candidates.in_graph(),
        unit=candidates.values,
        lengths=(lengths if displacement.of_raw else torch.ones_like(lengths))[:, 0],
    )
    moved = MovedNegatives(
        negatives=negatives.negatives,
        weight=weight,
        temperature=batch.scale.temperature,
        engine=batch.engine,
        movable=movable,
        one=one,
    )
    away, towards = (MovedPositives.after(positives, movable, sign, one) for sign in (-1.0, 1.0))
    return moved, away, towards


def mixed_negatives(
    batch: Batch, mixing: HardMixing, negatives: WeightedNegatives, *, seed: int
) -> MixedNegatives:
    """Return the negatives of a batch with the synthetic ones that are mixed of them.

    Args:
        batch: the batch of unit vectors.
        mixing: numbers of the mixtures.
        negatives: its negatives, in the graph.
        seed: seed of the mixtures.

    Raises:
        ValueError: anchors and candidates of several processes.
    """
    if batch.group.size > 1:
        raise ValueError(
            f"{mixing!r} draws mixtures of the candidates of one process: train in one process, or leave the "
            "mixing out"
        )
    made = mixtures(
        batch.constant,
        hardest=mixing.hardest,
        pairs=mixing.pairs,
        with_anchor=mixing.with_anchor,
        seed=seed,
    )
    synthetic = torch.einsum("nd,npd->np", batch.anchors.in_graph(), made)
    one = batch.scale.one
    if one is not None:
        synthetic = synthetic * (one if one.ndim == 0 else one[:, None])
    return MixedNegatives(
        negatives=negatives.negatives,
        weight=negatives.weight,
        temperature=negatives.temperature,
        engine=negatives.engine,
        synthetic=synthetic,
    )
