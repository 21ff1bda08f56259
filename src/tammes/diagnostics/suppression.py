"""Suppressed and distinguished features: how much the distribution of embeddings depends on a feature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer, check_shape
from tammes.diagnostics.blocks import SIDE, directions
from tammes.estimate import Estimate
from tammes.products import product


@dataclass(frozen=True, kw_only=True)
class Separation:
    """How far the distributions of embeddings, one for each value of a feature, are apart.

        D = (A - 1/K) / (1 - 1/K)

    with the accuracy A of the best classifier of the value from the embedding, for K equally frequent values.
    D = 0 if and only if the distributions are equal: the encoder suppresses the feature. D = 1 if and only if
    they have disjoint supports: it distinguishes the feature.

    Args:
        at_least: lower bound of D, by a classifier on held-out embeddings.
        at_most: upper bound of D, for many embeddings, by the nearest neighbor.
    """

    at_least: Estimate
    at_most: Estimate

    @property
    def is_suppressed(self) -> bool | None:
        """False if the interval shows that the feature is not suppressed; None if that is open.

        No finite sample proves that two distributions are equal.
        """
        return False if self.at_least.above_zero else None

    @property
    def is_distinguished(self) -> bool | None:
        """False if the interval shows that the feature is not distinguished; None if that is open."""
        return False if self.at_most.high < 1 else None


@torch.no_grad()
def separation(
    train: tuple[Float[Tensor, "n dim"], Int[Tensor, " n"]],
    test: tuple[Float[Tensor, "m dim"], Int[Tensor, " m"]],
    *,
    neighbors: int = 20,
) -> Separation:
    """Estimate whether an encoder suppresses or distinguishes a feature, in the sense of Definition 1.

    The lower bound comes from a vote on held-out embeddings, below whose accuracy the best classifier's A
    cannot be: of k neighbors, or of the nearest one alone where that is more accurate within `train`. The
    upper bound comes from the nearest neighbor alone (Cover and Hart): for many embeddings its D_1 satisfies

        D_1  <=  D  <=  sqrt(D_1) .

    Both have Wilson's interval over the held-out embeddings. Each value takes part with as many embeddings as
    the rarest one.

    Args:
        train: embeddings of any length above 0, and the value of the feature of each.
        test: held-out embeddings, and their values.
        neighbors: number k of neighbors that vote.

    Raises:
        ValueError: values that do not match, fewer than two, or other ones in one part than in the other;
            more neighbors than embeddings, or an embedding of length zero or that is not finite.

    Source: Robinson (2023), Definition 1; Cover and Hart (1967).

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> points = torch.randn(400, 8, generator=generator)
        >>> values = torch.arange(400) % 2
        >>> told = points + 100 * (2 * values[:, None] - 1)  # each value has its own place
        >>> found = separation((told[:200], values[:200]), (told[200:], values[200:]))
        >>> found.at_least.mean, found.is_suppressed, found.is_distinguished
        (1.0, False, None)
    """
    check_integer("neighbors", neighbors)
    known, told = _balanced("train", train)
    tried, asked = _balanced("test", test)
    values = told.unique()
    if len(values) < 2 or not torch.equal(values, asked.unique()):
        raise ValueError(
            f"expected two values of the feature at least, the same in both parts, got {values.tolist()} and "
            f"{asked.unique().tolist()}"
        )
    if neighbors > len(known):
        raise ValueError(f"{neighbors} neighbors are too many of {len(known)} embeddings, which are balanced")
    units = directions(known)
    # Chosen without the test embeddings: the better of two shares of these would be too large by chance.
    alone, many = (
        int((vote == told).sum()) for vote in _votes(units, told, units, neighbors, leave_one_out=True)
    )
    # An accuracy is a share of the test embeddings, and D is linear in it.
    single, several = (
        _over_chance(Estimate.of_share(float((vote == asked).double().mean()), len(asked)), len(values))
        for vote in _votes(units, told, directions(tried), neighbors)
    )
    return Separation(at_least=single if alone > many else several, at_most=_root(single))


def _balanced(name: str, part: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Return as many embeddings of each value as the rarest one has, the first of each."""
    embeddings, values = part
    check_shape(f"values of {name}, one for each embedding,", values.shape, (len(embeddings),))
    if len(values) == 0:
        raise ValueError(f"expected embeddings of {name} with a value of the feature each, got none")
    fewest = int(values.unique(return_counts=True)[1].amin())
    rows = torch.cat([(values == value).nonzero()[:fewest, 0] for value in values.unique()])
    return embeddings[rows], values[rows]


def _votes(
    known: Tensor, values: Tensor, tried: Tensor, neighbors: int, *, leave_one_out: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the value of the nearest embedding, and that of the majority of the nearest k."""
    kinds, index = values.unique(return_inverse=True)
    first, many = [], []
    for start in range(0, len(tried), SIDE):
        similarity = product(tried[start : start + SIDE], known.T)
        if leave_one_out:
            similarity.diagonal(start).fill_(-torch.inf)
        nearest = similarity.topk(min(neighbors, len(known) - leave_one_out), dim=1).indices
        counts = torch.zeros(len(nearest), len(kinds), device=known.device)
        counts.scatter_add_(1, index[nearest], torch.ones_like(nearest, dtype=counts.dtype))
        first.append(values[nearest[:, 0]])
        many.append(kinds[counts.argmax(dim=1)])
    return torch.cat(first), torch.cat(many)


def _over_chance(accuracy: Estimate, kinds: int) -> Estimate:
    """Return D of an accuracy."""

    def d(share: float) -> float:
        return (share - 1 / kinds) / (1 - 1 / kinds)

    return Estimate(mean=d(accuracy.mean), low=d(accuracy.low), high=d(accuracy.high))


def _root(number: Estimate) -> Estimate:
    """Return the square root; what is below zero by chance counts as zero."""
    mean, low, high = (math.sqrt(max(0.0, each)) for each in (number.mean, number.low, number.high))
    return Estimate(mean=mean, low=low, high=high)
