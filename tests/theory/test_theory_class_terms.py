"""Alignment and uniformity by classes, and the cross entropy that Corollary A.2 adds them up to."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.theory import Population, class_terms, log_partition, sphere_area


@given(
    seed=st.integers(0, 10**6),
    spread=st.floats(0, 3),
    classes=st.integers(2, 6),
    temperature=st.floats(0.1, 3),
)
def test_the_parts_bound_the_uniformity_from_below(
    seed: int, spread: float, classes: int, temperature: float
) -> None:
    generator = np.random.default_rng(seed)
    centers = np.repeat(generator.standard_normal((classes, 3)), 4, axis=0)
    rows = centers + spread * generator.standard_normal(centers.shape)
    labels = np.repeat(np.arange(classes), 4)
    terms = class_terms(Population(embeddings=rows, labels=labels, temperature=temperature))
    assert terms.uniformity >= terms.split - 1e-9
    assert terms.split >= terms.means - 1e-9
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    lengths = [np.linalg.norm(units[labels == c].mean(axis=0)) ** 2 for c in range(classes)]
    assert terms.alignment == pytest.approx(-np.mean(lengths) / temperature)
    similarity = units @ units.T / temperature
    assert terms.uniformity == pytest.approx(np.log(np.exp(similarity).mean(axis=1)).mean())


def test_the_printed_equalities_hold_for_collapsed_classes_of_equal_angles_only() -> None:
    """A simplex of collapsed classes has split = means; the mixture within the logarithm stays larger."""
    simplex = (4 * np.eye(4) - 1) / 3
    terms = class_terms(
        Population(
            embeddings=np.repeat(simplex, 2, axis=0), labels=np.repeat(np.arange(4), 2), temperature=1.0
        )
    )
    assert terms.split == pytest.approx(terms.means)
    assert terms.uniformity > terms.split + 0.1


@pytest.mark.parametrize("kind", ["identity", "turned", "folded", "collapsed"])
def test_corollary_a_2_with_the_area_in_place_of_the_number_of_classes(kind: str) -> None:
    """On a circle of 720 latents, for encoders that recover them and others that do not."""
    kappa, n = 4.0, 720
    angle = 2 * np.pi * np.arange(n) / n
    recovered = {
        "identity": angle,
        "turned": angle + 1,
        "folded": np.abs(angle - np.pi),
        "collapsed": 0 * angle,
    }[kind]
    z, h = (np.column_stack([np.cos(a), np.sin(a)]) for a in (angle, recovered))
    p = np.exp(kappa * (z @ z.T - 1))
    p /= p.sum(axis=1, keepdims=True)  # probability of each latent as the positive
    similarity = kappa * h @ h.T
    log_integral = np.log(np.exp(similarity).mean(axis=1)) + math.log(2 * np.pi)
    cross_entropy = (p * (log_integral[:, None] - similarity)).sum(axis=1).mean()
    alignment = -(p * similarity).sum(axis=1).mean()
    uniformity = np.log(np.exp(similarity).mean(axis=1)).mean()
    assert cross_entropy == pytest.approx(alignment + uniformity + math.log(sphere_area(2)))
    entropy = log_partition(2, kappa) - (p * kappa * (z @ z.T)).sum(axis=1).mean()
    if kind in ("identity", "turned"):
        assert cross_entropy == pytest.approx(entropy, abs=1e-9)
    else:
        assert cross_entropy > entropy + 0.1
