"""What the page needs to know: plain numbers and numpy arrays, checked when made."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tammes.report.expect import expect_directions, expect_finite, expect_shape
from tammes.report.sample import Sample
from tammes.report.scores import Curve, Floats, Floor, Scores


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """One objective, trained and measured.

    Args:
        name: as the user wrote it: "hcl", or "hcl-ot epsilon=0.3" where one name stands twice.
        objective: its repr, which shows all parts.
        scores: its accuracies on the test images; means if there are several seeds.
        seeds: the accuracies of each seed; a single one, or none, says nothing of how much they vary. Curves,
            embeddings and weights are those of one of them.
        seconds: wall-clock time of its training alone.
        loss: the training loss over epochs.
        knn: nearest-neighbor accuracy over epochs, starting at epoch 0 where possible; or None.
        features: (n, features) what the encoder gives for the sample: used downstream, drawn as the map.
        embeddings: (n, dim) what the objective compares (behind the projection head) for the same sample.
        view_a: (b, dim) embeddings of the first views of b pairs: of the first b rows of the sample, b <= n.
        view_b: (b, dim) embeddings of the second views: of the same rows, or of the sample's `partners`.
        weights: (2b, 2b) of `objective.weights(view_a, view_b)`: rows sum to one, 0 where no negative. For an
            objective that needs labels hand them to it; for a selection that draws, one draw will do.

    Raises:
        ValueError: where shapes do not fit, numbers are not finite, an embedding has length zero, or rows of
            weights do not sum to one.

    >>> rng = np.random.default_rng(0)
    >>> view, uniform = rng.normal(size=(3, 2)), np.kron(np.ones((2, 2)), 1 - np.eye(3)) / 4
    >>> outcome = Outcome(name="simclr", objective="Objective(...)", scores=Scores(knn=0.9), seconds=2.0,
    ...     loss=Curve(epochs=np.array([1]), values=np.array([4.2])), features=rng.normal(size=(5, 8)),
    ...     embeddings=rng.normal(size=(5, 2)), view_a=view, view_b=view, weights=uniform)
    >>> outcome.pairs
    3
    """

    name: str
    objective: str
    scores: Scores
    seeds: tuple[Scores, ...] = ()
    seconds: float
    loss: Curve = field(repr=False)
    knn: Curve | None = field(default=None, repr=False)
    features: Floats = field(repr=False)
    embeddings: Floats = field(repr=False)
    view_a: Floats = field(repr=False)
    view_b: Floats = field(repr=False)
    weights: Floats = field(repr=False)

    def __post_init__(self) -> None:
        where = f"Outcome({self.name!r})"
        if not math.isfinite(self.seconds) or self.seconds < 0:
            raise ValueError(f"{where}.seconds expected a time of 0 or more, got {self.seconds}")
        expect_shape(f"{where}.embeddings", self.embeddings, (None, None))
        size, dim = self.embeddings.shape
        expect_shape(f"{where}.features", self.features, (size, None))
        expect_shape(f"{where}.view_a", self.view_a, (None, dim))
        expect_shape(f"{where}.view_b", self.view_b, (self.pairs, dim))
        expect_shape(f"{where}.weights", self.weights, (2 * self.pairs, 2 * self.pairs))
        if not 2 <= self.pairs <= size:
            raise ValueError(
                f"{where}.view_a expected views of 2 to {size} rows (the first ones), got {self.pairs}"
            )
        expect_finite(f"{where}.features", self.features)
        expect_directions(f"{where}.embeddings", self.embeddings)
        expect_directions(f"{where}.view_a", self.view_a)
        expect_directions(f"{where}.view_b", self.view_b)
        expect_finite(f"{where}.weights", self.weights)
        sums = self.weights.sum(axis=1)
        if np.any(self.weights < 0) or np.any(np.abs(sums - 1) > 1e-3):
            raise ValueError(
                f"{where}.weights expected non-negative rows that sum to one, got sums from {sums.min():.4g} "
                f"to {sums.max():.4g}: hand in objective.weights(view_a, view_b)"
            )

    @property
    def pairs(self) -> int:
        """The number b of pairs."""
        return len(self.view_a)


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One objective or several on the same data, seeds and budget: what `write_comparison` writes down.

    Args:
        data: in words, "digits" or the name of the folder.
        settings: what all objectives share, in words ("encoder": "convnet", "epochs": "20", "seed": "0"),
            in the order to be shown.
        command: the exact command that does it again.
        sample: held-out pictures or sentences (or, where nothing is held out, those of training: say so in
            `settings`).
        outcomes: one per objective, with different names, in the order given by the user.
        floors: the untrained encoder, and of images raw pixels; may be empty.
        test_size: the number of test rows behind each accuracy, for its standard error; 0 without labels.

    Raises:
        ValueError: without an outcome, with two of one name, or where an outcome is about another sample.
    """

    data: str
    settings: Mapping[str, str]
    command: str
    sample: Sample
    outcomes: tuple[Outcome, ...]
    floors: tuple[Floor, ...] = ()
    test_size: int = 0

    def __post_init__(self) -> None:
        if not self.outcomes:
            raise ValueError("Comparison.outcomes expected at least one objective, got none: train one first")
        names = [outcome.name for outcome in self.outcomes]
        if len(set(names)) < len(names):
            raise ValueError(
                f"Comparison.outcomes expected different names, got {names}: "
                "add what distinguishes them, as in 'hcl beta=2'"
            )
        for outcome in self.outcomes:
            _check_outcome(outcome, self.sample, self.test_size)
        if len({outcome.pairs for outcome in self.outcomes}) > 1:
            pairs = {outcome.name: outcome.pairs for outcome in self.outcomes}
            raise ValueError(
                f"Comparison.outcomes expected views of the same rows for each objective, got {pairs} "
                "rows: use one batch for all"
            )


def _check_outcome(outcome: Outcome, sample: Sample, test_size: int) -> None:
    """Raise where an outcome does not belong to this sample or to this number of test images."""
    if len(outcome.embeddings) != sample.size:
        raise ValueError(
            f"Outcome({outcome.name!r}).embeddings expected {sample.size} rows, one per row of the "
            f"sample, got {len(outcome.embeddings)}"
        )
    if sample.partners is not None and len(sample.partners) != outcome.pairs:
        raise ValueError(
            f"Outcome({outcome.name!r}).view_b expected {len(sample.partners)} rows, one per partner in the "
            f"sample, got {outcome.pairs}"
        )
    if outcome.scores != Scores() and test_size < 1:
        raise ValueError(
            f"test_size expected the number of test rows behind the accuracies of {outcome.name!r}, "
            f"got {test_size}"
        )
