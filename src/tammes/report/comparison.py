"""Contents of a page: plain numbers and numpy arrays, checked when they are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tammes.checks import check_indices, check_integer, check_number, check_shape
from tammes.report.curve import Curve
from tammes.report.sample import Sample
from tammes.report.scores import Floats, Floor, Integers, Scores, check_finite
from tammes.training.pictures import Reconstructions
from tammes.training.rotations import Rotations


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """What the first views of a batch are compared with, where this is not the two views.

    Sentences are compared with contexts, the anchors of given pairs with positives and negatives, nodes with
    graphs, and the first of several crops with all crops.

    Args:
        embeddings: (c, dim) embeddings of the candidates.
        rows: (c,) row of the sample that each is of.
        negatives: largest number of them that are negatives of one anchor.

    Raises:
        ValueError: If shapes do not match, an embedding has length zero or is not finite, or there are no
            negatives.

    Example:
        >>> Candidates(embeddings=np.eye(4), rows=np.arange(4), negatives=3).are_batch
        True
    """

    embeddings: Floats = field(repr=False)
    rows: Integers = field(repr=False)
    negatives: int

    def __post_init__(self) -> None:
        check_shape("Candidates.embeddings", self.embeddings.shape, (len(self.rows), None))
        check_shape("Candidates.rows", self.rows.shape, (None,))
        check_integer("Candidates.negatives", self.negatives, reason="no anchor has a negative")
        _check_directions("Candidates.embeddings", self.embeddings)

    @property
    def are_batch(self) -> bool:
        """Whether they are the batch itself, the first rows of the sample."""
        return np.array_equal(self.rows, np.arange(len(self.rows)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """Objective after training, with everything that was measured.

    Args:
        name: the user's name for it: "hcl", or "hcl-ot epsilon=0.3" to distinguish two settings.
        objective: its repr, which shows all parts.
        scores: accuracies on the test images; means if there are several seeds.
        seeds: accuracies of each seed; their variation is known only with two or more. Curves are means over
            them, embeddings and weights are those of one seed.
        seconds: wall-clock time of the training alone.
        loss: training loss over epochs.
        knn: nearest-neighbor accuracy over epochs, starting at epoch 0 if possible; or None.
        learning_rate: learning rate over epochs; or None.
        gradient_norm: norm of the gradient over epochs; or None.
        label_free: measures without labels over epochs, by name; empty if they were not taken.
        confusion: (classes, classes) test rows of each class that the linear probe (for texts, the linear
            classifier) with all labels classifies as each class, summed over the seeds; or None.
        rotations: how far augmentations act as rotations, for each seed; empty if they are not known.
        features: (n, features) the encoder's features of the sample, which are used downstream.
        embeddings: (n, dim) embeddings of the same sample behind the projection head, which the objective
            compares.
        view_a: (b, dim) embeddings of the first views of b pairs: of the first b rows of the sample, b <= n.
        view_b: (b, dim) embeddings of the second views: of the same rows, or of the sample's `partners`.
        candidates: what the first views are compared with, where this is not the two views; or None.
        weights: (2b, 2b) result of `objective.weights(view_a, view_b)`, or (b, c) of the first views against
            c candidates: rows sum to one, 0 for anything but negatives. For an objective that needs labels,
            pass them; for a random selection, use one draw.
        contrasts: whether the objective had a weight in the training; a masked autoencoder has weights of
            negatives that nothing was trained with, and its page leaves them out.
        reconstructions: what the decoder of a run with masks made of a few images; or None.
        attention: (images, heads, side, side) how much each patch of the sample's first images is attended to
            in the last block, 1 on average; or None.

    Raises:
        ValueError: If shapes do not match, numbers are not finite, an embedding has length zero, or rows of
            weights do not sum to one.

    Example:
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
    learning_rate: Curve | None = field(default=None, repr=False)
    gradient_norm: Curve | None = field(default=None, repr=False)
    label_free: Mapping[str, Curve] = field(default_factory=dict, repr=False)
    confusion: Integers | None = field(default=None, repr=False)
    rotations: tuple[Rotations, ...] = field(default=(), repr=False)
    features: Floats = field(repr=False)
    embeddings: Floats = field(repr=False)
    view_a: Floats = field(repr=False)
    view_b: Floats = field(repr=False)
    candidates: Candidates | None = field(default=None, repr=False)
    weights: Floats = field(repr=False)
    contrasts: bool = True
    reconstructions: Reconstructions | None = field(default=None, repr=False)
    attention: Floats | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        where = f"Outcome({self.name!r})"
        check_number(f"{where}.seconds", self.seconds, minimum=0)
        check_shape(f"{where}.embeddings", self.embeddings.shape, (None, None))
        size, dim = self.embeddings.shape
        check_shape(f"{where}.features", self.features.shape, (size, None))
        check_shape(f"{where}.view_a", self.view_a.shape, (None, dim))
        check_shape(f"{where}.view_b", self.view_b.shape, (self.pairs, dim))
        if self.candidates is not None:
            check_shape(f"{where}.candidates", self.candidates.embeddings.shape, (None, dim))
        check_shape(f"{where}.weights", self.weights.shape, tuple(map(len, self.sides)))
        if not 2 <= self.pairs <= size:
            raise ValueError(f"{where}.view_a expected the first 2 to {size} rows, got {self.pairs}")
        check_finite(f"{where}.features", self.features)
        _check_directions(f"{where}.embeddings", self.embeddings)
        _check_directions(f"{where}.view_a", self.view_a)
        _check_directions(f"{where}.view_b", self.view_b)
        check_finite(f"{where}.weights", self.weights)
        sums = self.weights.sum(axis=1)
        if np.any(self.weights < 0) or np.any(np.abs(sums - 1) > 1e-3):
            raise ValueError(
                f"{where}.weights expected non-negative rows that sum to one, got sums from {sums.min():.4g} "
                f"to {sums.max():.4g}: pass objective.weights(view_a, view_b)"
            )
        if self.attention is not None:
            check_shape(f"{where}.attention", self.attention.shape, (None, None, None, None))
        if self.confusion is not None:
            _check_confusion(f"{where}.confusion", self.confusion)

    @property
    def pairs(self) -> int:
        """Number b of pairs."""
        return len(self.view_a)

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """Embeddings of the anchors and of the candidates, the rows and columns of the weights."""
        if self.candidates is not None:
            return self.view_a, self.candidates.embeddings
        views = np.concatenate([self.view_a, self.view_b])
        return views, views

    @property
    def batch(self) -> int:
        """Number of rows in the batch, or of pairs where two rows make a pair."""
        are_batch = self.candidates is not None and self.candidates.are_batch
        return len(self.sides[1]) if are_batch else self.pairs

    @property
    def most_negatives(self) -> int:
        """Largest number of negatives of an anchor: of views, all but itself and its positive."""
        return len(self.sides[1]) - 2 if self.candidates is None else self.candidates.negatives

    @property
    def relative_weights(self) -> np.ndarray:
        """Weights (2b, 2b) as multiples of the weight that all negatives of an anchor would share equally."""
        return self.weights * np.count_nonzero(self.weights, axis=1)[:, None]

    @property
    def is_uniform(self) -> bool:
        """Whether all negatives of an anchor have the same weight."""
        relative = self.relative_weights
        return bool(np.all(np.abs(relative[relative > 0] - 1) < 1e-3))


@dataclass(frozen=True, kw_only=True, eq=False)
class Before:
    """The sample under the encoder before training.

    Args:
        features: (n, features) the encoder's features.
        embeddings: (n, dim) embeddings behind the projection head.

    Raises:
        ValueError: If numbers are not finite, or the two have different numbers of rows.
    """

    features: Floats = field(repr=False)
    embeddings: Floats = field(repr=False)

    def __post_init__(self) -> None:
        check_shape("Before.features", self.features.shape, (None, None))
        check_shape("Before.embeddings", self.embeddings.shape, (len(self.features), None))
        check_finite("Before.features", self.features)
        check_finite("Before.embeddings", self.embeddings)


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One or more objectives on the same data, with the same seeds and budget: the content of a page.

    Args:
        data: name of the data, such as "digits" or the name of the folder.
        settings: settings that all objectives share ("encoder": "convnet", "epochs": "20", "seed": "0"), in
            the order of the page.
        command: command that reproduces the page.
        sample: held-out pictures or sentences; if nothing is held out, those of training, which `settings`
            should mention.
        outcomes: one outcome for each objective, with different names, in the user's order.
        floors: the untrained encoder and, for images, raw pixels; may be empty.
        test_size: number of test rows behind each accuracy, for its interval; 0 without labels.
        before: the sample under the encoder before training; or None.
        advice: sentences on which negatives suit the classes; may be empty.
        origin: when, for how long, on which machine and with which versions the runs were trained, a
            sentence each; may be empty.

    Raises:
        ValueError: If there is no outcome, two have the same name, or one belongs to another sample.
    """

    data: str
    settings: Mapping[str, str]
    command: str
    sample: Sample
    outcomes: tuple[Outcome, ...]
    floors: tuple[Floor, ...] = ()
    test_size: int = 0
    before: Before | None = None
    advice: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()

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
        if self.before is not None:
            check_shape("Comparison.before.features", self.before.features.shape, (self.sample.size, None))
        if len({outcome.pairs for outcome in self.outcomes}) > 1:
            pairs = {outcome.name: outcome.pairs for outcome in self.outcomes}
            raise ValueError(
                f"Comparison.outcomes expected views of the same rows for each objective, got {pairs} "
                "rows: use one batch for all"
            )


def _check_outcome(outcome: Outcome, sample: Sample, test_size: int) -> None:
    """Raise ValueError for an outcome of another sample, or accuracies without a number of test rows."""
    where = f"Outcome({outcome.name!r})"
    check_shape(f"{where}.embeddings, one for each row,", outcome.embeddings.shape, (sample.size, None))
    if sample.partners is not None:
        check_shape(
            f"{where}.view_b, one for each partner,", outcome.view_b.shape, (len(sample.partners), None)
        )
    if outcome.candidates is not None:
        check_indices(f"{where}.candidates.rows", outcome.candidates.rows, sample.size)
    if outcome.scores != Scores() or outcome.confusion is not None:
        check_integer("test_size", test_size, reason=f"{outcome.name!r} has accuracies on test rows")
    if outcome.confusion is not None and sample.classes is not None:
        count = len(sample.classes)
        check_shape(f"{where}.confusion, a row for each class,", outcome.confusion.shape, (count, count))


def _check_confusion(name: str, counts: Integers) -> None:
    """Raise ValueError for anything but a square matrix of counts."""
    check_shape(name, counts.shape, (None, None))
    check_shape(name, counts.shape, (len(counts), len(counts)))
    if not np.issubdtype(counts.dtype, np.integer) or counts.min() < 0:
        raise ValueError(f"{name} expected counts, got {counts.dtype} from {counts.min()}: count test rows")


def _check_directions(name: str, vectors: Floats) -> None:
    """Raise ValueError for vectors (n, dim) without a direction: not finite, or of length zero."""
    check_finite(name, vectors)
    zero = ~vectors.any(axis=1)
    if zero.any():
        raise ValueError(f"{name} expected vectors of positive length, got zeros in row {zero.argmax()}")
