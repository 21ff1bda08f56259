"""Measures of a training's embeddings that need no labels, on a fixed part of the data, after epochs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import normalize

from tammes.diagnostics.alignment import alignment, uniformity
from tammes.diagnostics.hubness import hubness, k_occurrence
from tammes.diagnostics.lidar import lidar
from tammes.diagnostics.moments import Moments
from tammes.diagnostics.nearest import nearest_neighbors
from tammes.diagnostics.rank import alpha_req, dimensions_for, rankme
from tammes.training.config import TrainingConfig
from tammes.training.embedding import embed, embed_pairs
from tammes.training.examples import Data, readable
from tammes.training.model import Model
from tammes.training.pairing import Pairing
from tammes.training.seeds import Purpose, derive
from tammes.training.source import both_sides

ROWS = 2_000
"""Rows at most, drawn once from the training data."""
PAIRS = 1_000
"""Pairs at most, of these rows."""
AT_ONCE = 250
"""Pairs that are embedded at a time."""
OCCURRENCE = 10
"""Neighbors of the k-occurrence, as in a diagnosis."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelFree:
    """Label-free measures of the model of a run, always on the same rows and the same views of them.

    Args:
        data: rows of the training data, 2,000 at most.
        pairs: numbers of rows that make a pair, as in training; 1,000 pairs at most.
        config: settings of the run, which has the augmentations of the pairs.

    Example:
        >>> import tammes
        >>> from tammes.positives import Handwriting
        >>> config = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5),
        ...     augmentation=Handwriting(), diagnose_every=5)
        >>> measure = LabelFree.of(tammes.data.digits("train"), config)
        >>> len(measure.data), tuple(measure.pairs.shape), measure.is_due(5), measure.is_due(6)
        (1437, (1000, 2), True, False)
    """

    data: Data
    pairs: Int64[Tensor, "pairs 2"]
    config: TrainingConfig

    @staticmethod
    def of(data: Data, config: TrainingConfig) -> LabelFree | None:
        """Return the measures that the settings ask for; None if they ask for none.

        Args:
            data: training data; of a stream the rows are read once, into memory.
            config: settings of the run.
        """
        if config.measures_every is None:
            return None
        pairs = Pairing.of(data, config.positives, seed=config.seed).epoch(0)[:PAIRS]
        generator = torch.Generator().manual_seed(derive(config.seed, Purpose.DIAGNOSIS))
        others = torch.randperm(len(data), generator=generator)[: 2 * ROWS].tolist()
        rows = list(dict.fromkeys([*pairs.T.flatten().tolist(), *others]))[: max(ROWS, 2 * len(pairs))]
        place = {row: number for number, row in enumerate(rows)}
        return LabelFree(
            data=readable(data.subset(rows)),
            pairs=torch.tensor([[place[row] for row in pair] for pair in pairs.tolist()]),
            config=config,
        )

    def is_due(self, epoch: int) -> bool:
        """Return whether to measure after an epoch; 0 is before the first."""
        every = self.config.measures_every
        return every is not None and (epoch % every == 0 or epoch == self.config.epochs)

    def measure(self, model: Model) -> dict[str, float]:
        """Return the measures by name, as columns of metrics.csv.

        Spectrum and hubness are those of the features, which later tasks use; alignment, uniformity, LiDAR
        and `projection_rankme` those of the embeddings, which the objective compares.

        Args:
            model: encoder and head, on any device.
        """
        features, embeddings = embed(model, self.data)
        found = spectrum(features) | {"hubness": _hubness(features)}
        if not isinstance(model.head, torch.nn.Identity):
            found["projection_rankme"] = rankme(Moments.of(embeddings).singular_values)
        found |= {"uniformity": _uniformity(embeddings)}
        if self.config.views_differ:
            found |= _of_pairs(*self._views(model))
        return found

    def _views(self, model: Model) -> tuple[Tensor, Tensor]:
        parts = []
        for number, pairs in enumerate(self.pairs.split(AT_ONCE)):
            seeds = (
                derive(self.config.seed, Purpose.DIAGNOSIS, number, 0),
                derive(self.config.seed, Purpose.DIAGNOSIS, number, 1),
            )
            views = embed_pairs(model, self.data, pairs, self.config.augmentations, seeds=seeds)
            parts.append(both_sides(self.config, *views))
        first, second = zip(*parts, strict=True)
        return torch.cat(first), torch.cat(second)


def spectrum(features: Float[Tensor, "n dim"]) -> dict[str, float]:
    """Return RankMe, alpha-ReQ and the dimensions with 99 % of the variance, as a diagnosis has them.

    Args:
        features: n embeddings.

    Example:
        >>> spectrum(torch.eye(4))["dimensions_99"]
        3.0
    """
    moments = Moments.of(features)
    rank = min(features.shape)
    found = {
        "rankme": rankme(moments.singular_values[:rank]),
        "dimensions_99": float(dimensions_for(moments.eigenvalues[:rank])),
    }
    exponent = alpha_req(moments.eigenvalues[:rank])
    return found if exponent is None else found | {"alpha_req": exponent}


def _hubness(features: Tensor) -> float:
    # Features of length zero, as of a collapsed encoder, stay zero, and are each other's neighbors.
    units = normalize(features, dim=1)
    k = min(OCCURRENCE, len(units) - 1)
    return hubness(k_occurrence(nearest_neighbors(units, k).indices, len(units)))


def _uniformity(embeddings: Tensor) -> float:
    usable = embeddings[embeddings.abs().amax(dim=1) > 0]
    # Rows of length zero have no direction: if only such rows are left, all coincide.
    return uniformity(usable) if len(usable) > 1 else 0.0


def _of_pairs(first: Tensor, second: Tensor) -> dict[str, float]:
    usable = (first.abs().amax(dim=1) > 0) & (second.abs().amax(dim=1) > 0)
    if int(usable.sum()) < 2:
        return {}
    return {
        "alignment": alignment(first[usable], second[usable]),
        "lidar": lidar(first[usable], second[usable]),
    }
