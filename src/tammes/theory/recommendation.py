"""What the share of false negatives recommends: which coupling, how large a batch, which class prior."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tammes.checks import check_integer, check_number
from tammes.theory.batch import collision_probability_in_batch
from tammes.theory.class_distribution import ClassDistribution

MANY = 0.01
"""Class prior up to which harder negatives gained: that of 100 equally likely classes."""
FEW = 0.05
"""Class prior from which harder negatives gained nothing by a linear readout, or lost: 1 / 20."""
EVEN = 0.95
"""Share of the number of classes above which the effective number is not named."""
OFF = 2.0
"""Factor by which the class prior of an objective may differ from that of the data without advice on it."""


class Regime(Enum):
    """What is known about harder negatives at a class prior; docs/choosing.md has the measurements."""

    HARD = "hard"
    EASY = "easy"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Negatives for data whose share of false ones is known: counted from classes, or estimated.

        tau+  =  sum over classes c of rho(c)^2 ,        false negatives of an anchor  =  2 (B - 1) tau+

    It says what theory and the measurements in docs/choosing.md carry, and where nothing is resolved, that.

    Args:
        class_prior: probability tau+ that a random negative has the anchor's class, above 0 and below 1.
        pairs: pairs B in a batch, at least 2; None if they are not known.
        classes: distribution of the classes; None if the prior was estimated.
        between: ends of the range in which the prior lies, if it was estimated; None if it was counted.

    Raises:
        ValueError: a number is out of its range.

    Example:
        >>> Recommendation.of(ClassDistribution.uniform(400), pairs=256).regime
        <Regime.HARD: 'hard'>
        >>> round(Recommendation(class_prior=0.1, pairs=256).false_negatives)
        51
    """

    class_prior: float
    pairs: int | None = None
    classes: ClassDistribution | None = None
    between: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_number("class_prior", self.class_prior, above=0, below=1)
        low, high = self._ends
        if not 0 < low <= self.class_prior <= high <= 1:
            raise ValueError(
                f"expected `between` to be ends, above 0 and up to 1, around {self.class_prior:g}, "
                f"got {self.between}"
            )
        if self.pairs is not None:
            check_integer("pairs", self.pairs, minimum=2, reason="one pair has no negatives")

    @classmethod
    def of(cls, classes: ClassDistribution, *, pairs: int | None = None) -> Recommendation:
        """Return the recommendation for a class distribution, of two classes at least.

        Args:
            classes: distribution of the classes.
            pairs: pairs in a batch; None if they are not known.
        """
        return cls(class_prior=classes.class_prior, pairs=pairs, classes=classes)

    @property
    def false_negatives(self) -> float | None:
        """Number of false negatives of an anchor in a batch, on average."""
        return None if self.pairs is None else 2 * (self.pairs - 1) * self.class_prior

    @property
    def batch_collision(self) -> float | None:
        """Share of anchors with a false negative in their batch; None without classes or a batch."""
        if self.pairs is None or self.classes is None:
            return None
        return collision_probability_in_batch(2 * (self.pairs - 1), self.classes, pairs=self.pairs)

    @property
    def regime(self) -> Regime:
        """What is known about harder negatives at this class prior, wherever in its range it lies."""
        low, high = self._ends
        if high <= MANY:
            return Regime.HARD
        return Regime.EASY if low >= FEW else Regime.OPEN

    @property
    def sentences(self) -> tuple[str, str]:
        """How likely false negatives are, and which coupling, temperature and beta follow."""
        return self._collisions(), COUPLING[self.regime]

    def of_prior(self, given: float | None) -> str:
        """Return the sentence about the class prior of an objective.

        Args:
            given: class prior of the objective; None for one without a correction.

        Example:
            >>> Recommendation(class_prior=0.0025).of_prior(0.1)
            'Class prior: the objective has 0.1, the data 0.0025: give it that.'
        """
        known = f"{self.class_prior:.2g}" if self.between else f"{self.class_prior:.3g}"
        if not given:
            found = f"that of the data is {known}"
            if self.between:
                found = f"judged by this embedding, that of the data is about {known}"
            return f"Class prior: the objective has none; {found}."
        low, high = self._ends
        if min(low, self.class_prior / OFF) <= given <= max(high, self.class_prior * OFF):
            return f"Class prior: the objective has {given:.3g}, the data {known}."
        if self.between:  # an estimate is no reason to give up a number of classes that is known
            return (
                f"Class prior: the objective has {given:.3g}; judged by this embedding it is about {known}. "
                "One over the number of classes is better, where you know it."
            )
        return f"Class prior: the objective has {given:.3g}, the data {known}: give it that."

    @property
    def _ends(self) -> tuple[float, float]:
        return self.between or (self.class_prior, self.class_prior)

    def _collisions(self) -> str:
        """Return the sentence on the share of false negatives, and their number in a batch."""
        share = _percent(self.class_prior)
        if self.between:
            low, high = map(_percent, self.between)
            start = f"Negatives: about {share} (from {low} to {high}) are false, judged by this embedding"
        else:
            named = "" if self.classes is None else f"with {_classes(self.classes)}, "
            start = f"Negatives: {named}{share} of random ones are false, of the anchor's class"
        if self.pairs is None or self.false_negatives is None:
            return f"{start}."
        count, all_of_them = self.false_negatives, 2 * (self.pairs - 1)
        return f"{start}: {count:.{0 if count >= 10 else 1}f} of the {all_of_them:,} in a batch."


COUPLING = {
    Regime.HARD: (
        "Coupling: hard negatives, beta 1 to begin with. At so small a share they gained in the papers, in "
        "short trainings on glyphs and CIFAR-100 at temperature 0.5, and on the 1,623 characters of Omniglot "
        "after a search too; a lower temperature gains as well: try both."
    ),
    Regime.EASY: (
        "Coupling: uniform, debiased or not, to begin with. At such a share hard negatives are often false: "
        "on ten digits they gained nothing in the end, and lost with few labels; on ten classes of "
        "photographs they gained at temperature 0.5, and nothing after a search over it."
    ),
    Regime.OPEN: (
        "Coupling: compare uniform and hard negatives on your data. At temperature 0.5 hard ones gained on "
        "30 classes of photographs, and a lower temperature gains as well; on which gains more nothing is "
        "resolved here."
    ),
}
"""Sentence on the coupling for what is known."""


def _classes(classes: ClassDistribution) -> str:
    """Return the number of classes, and of how many equal ones they collide like if that is another."""
    if classes.effective_number > EVEN * classes.number:
        return f"{classes.number:,} classes"
    return f"{classes.number:,} classes (as {classes.effective_number:,.1f} equal ones)"


def _percent(share: float) -> str:
    digits = ".1f" if share >= 0.01 else ".2f" if share >= 0.0001 else ".2g"
    return f"{100 * share:{digits}} %"
