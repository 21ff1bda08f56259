"""Table and summary of `tammes theory negatives`: bounds and collisions over the number of negatives."""

import math
from dataclasses import dataclass
from functools import cached_property

from rich.table import Table

from tammes.theory import (
    ClassDistribution,
    Recommendation,
    best_k,
    collision_probability,
    collision_probability_in_batch,
    coverage,
    log_bound,
    logistic_floor,
    near_best_k,
    negatives_until_collision,
)

REFINED = 0.5
"""Growth of the refined bound (Theorem 3)."""


@dataclass(frozen=True, kw_only=True)
class NegativesTable:
    """Bounds over the number of negatives for a class distribution, and the negatives of a batch.

    A batch of B pairs has 2 (B - 1) negatives for each anchor, two of each other pair. Both have one class,
    so that they show as much of the classes as B - 1 independent negatives.

    Args:
        classes: distribution of the classes.
        pairs: pairs in a batch, at least 2; None for no batch.

    Raises:
        ValueError: for one class alone, or fewer than 2 pairs.

    Example:
        >>> NegativesTable(classes=ClassDistribution.uniform(100)).best
        103
        >>> round(NegativesTable(classes=ClassDistribution.uniform(1000), pairs=512).batch_collision, 4)
        0.4003
    """

    classes: ClassDistribution
    pairs: int | None = None

    def __post_init__(self) -> None:
        if self.classes.number < 2:
            raise ValueError("there is only one class: every negative is then a false negative")
        if self.pairs is not None and self.pairs < 2:
            raise ValueError(f"--batch must be at least 2 pairs, got {self.pairs}: one pair has no negatives")

    @cached_property
    def best(self) -> int:
        """Number of negatives at which the plain bound is smallest."""
        return best_k(self.classes)

    @cached_property
    def near(self) -> tuple[int, int]:
        """Range in which the plain bound is within a tenth of its smallest value."""
        return near_best_k(self.classes)

    @cached_property
    def refined_best(self) -> int:
        """Number of negatives at which the refined bound is smallest."""
        return best_k(self.classes, growth=REFINED)

    @cached_property
    def refined_near(self) -> tuple[int, int]:
        """Range in which the refined bound is within a tenth of its smallest value."""
        return near_best_k(self.classes, growth=REFINED)

    @cached_property
    def half(self) -> int:
        """Smallest number of negatives at which half of the anchors meet their class."""
        return negatives_until_collision(0.5, self.classes)

    @cached_property
    def batch_collision(self) -> float | None:
        """Share of anchors with a false negative among all negatives of the batch."""
        if self.pairs is None:
            return None
        return collision_probability_in_batch(2 * (self.pairs - 1), self.classes, pairs=self.pairs)

    @property
    def ks(self) -> list[int]:
        """Numbers of negatives in the table: powers of ten around the best one, and all of the summary."""
        numbers = {1, self.half, self.best, self.refined_best, 10 * self.best}
        numbers |= {10**power for power in range(1, len(str(self.best)))}
        if self.pairs is not None:
            numbers.add(self.pairs - 1)
        return sorted(numbers)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Paragraphs of the summary."""
        paragraphs = [self._false_negatives(), self._preference(), self._floor()]
        if not self.classes.is_uniform:
            paragraphs.append(self._uneven())
        if self.pairs is not None:
            paragraphs.append(self._of_batch(self.pairs))
        paragraphs.append(Recommendation.of(self.classes).sentences[1])
        return (*paragraphs, CAUTION)

    @property
    def numbers(self) -> dict[str, object]:
        """Numbers by name, for other programs."""
        draws = None if self.pairs is None else self.pairs - 1
        return {
            "classes": self.classes.number,
            "effective_classes": self.classes.effective_number,
            "class_prior": self.classes.class_prior,
            "best_k": self.best,
            "best_k_within_10_percent": list(self.near),
            "refined_best_k": self.refined_best,
            "refined_best_k_within_10_percent": list(self.refined_near),
            "k_with_collision_for_half": self.half,
            "logistic_floor_at_best_k": logistic_floor(self.best, self.classes),
            "batch": self.pairs,
            "batch_draws": draws,
            "batch_negatives": None if draws is None else 2 * draws,
            "batch_collision": self.batch_collision,
        }

    def table(self) -> Table:
        """Return the table for the terminal, with bounds as multiples of their smallest value."""
        table = Table(caption="bounds as multiples of their least value", caption_justify="left")
        for name in ("negatives k", "collision", "classes seen", "plain bound", "refined bound"):
            table.add_column(name, justify="right")
        classes = self.classes
        plain = log_bound(self.best, classes)
        refined = log_bound(self.refined_best, classes, growth=REFINED)
        for k in self.ks:
            shares = percent(collision_probability(k, classes)), percent(coverage(k, classes))
            ratio = multiple(log_bound(k, classes) - plain)
            refined_ratio = multiple(log_bound(k, classes, growth=REFINED) - refined)
            table.add_row(f"{k:,}", *shares, ratio, refined_ratio)
        return table

    def _false_negatives(self) -> str:
        classes = self.classes
        kind = "equally likely classes" if classes.is_uniform else "measured classes"
        return (
            f"Collisions. With {classes.number:,} {kind}, {percent(classes.class_prior)} of random negatives "
            "are false: they have the anchor's class (the class prior, "
            f"--class-prior {classes.class_prior:.3g}). From k = {self.half:,} on, half of all anchors have "
            "at least one among their negatives."
        )

    def _preference(self) -> str:
        return (
            "The bounds. Few negatives leave classes unseen, many collide. The plain bound is least at "
            f"k = {self.best:,} and within a tenth of that for {_range(self.near)}; the refined one, which "
            f"lets the loss grow as the square root of k, at k = {self.refined_best:,} "
            f"({_range(self.refined_near)})."
        )

    def _floor(self) -> str:
        floor = logistic_floor(self.best, self.classes)
        return (
            f"The floor. With k = {self.best:,} independent negatives no encoder brings the logistic loss "
            f"(InfoNCE) below {floor:.3f} on average, if positives are other examples of the class. A loss "
            "below that means that the encoder separates examples, not classes."
        )

    def _uneven(self) -> str:
        classes = self.classes
        return (
            f"Uneven classes. They collide as {classes.effective_number:,.1f} equally likely ones would. The "
            "best k of the plain bound is set by the most frequent class, "
            f"{percent(classes.largest)} of the data, which collides first; the rarest, "
            f"{percent(classes.smallest)}, makes the bound large whatever k is."
        )

    def _of_batch(self, pairs: int) -> str:
        draws = pairs - 1
        assert self.batch_collision is not None
        start = (
            f"Your batch. {pairs:,} pairs offer 2 (B - 1) = {2 * draws:,} negatives, two of each "
            f"other pair. Both have one class, so all of them collide and cover like {draws:,} "
            f"independent ones: {percent(self.batch_collision)} of anchors have a false negative."
        )
        low, high = min(self.near[0], self.refined_near[0]), max(self.near[1], self.refined_near[1])
        if draws < low:
            return (
                f"{start} Both bounds prefer more: take them all and, if memory allows, a batch of "
                f"{self.refined_best + 1:,} pairs or more, or a queue."
            )
        if draws <= high:
            return f"{start} That is in the range that the bounds prefer: take them all."
        return (
            f"{start} That is more than either bound prefers: keep about {self.best:,} at random for each "
            f"anchor (selection:subset --selection.k {self.best}), or take false negatives out by their "
            f"prior (--class-prior {self.classes.class_prior:.3g}) or by labels, if you have them "
            "(selection:other-labels)."
        )


CAUTION = (
    "What this means. These are upper bounds for positives and negatives drawn independently from classes; "
    "they say how the best k grows, not where it is. In the paper's study of text the best k grew with the "
    "number of classes, more slowly than the bound's, and too many negatives cost less than too few; its "
    "images did not follow the theory. Try a few values of k (Ash et al., 2022)."
)


def percent(share: float) -> str:
    """Format a share in per cent, with as many digits as a small share needs.

    Example:
        >>> percent(0.4003), percent(0.001), percent(0.00002), percent(0.99999)
        ('40.0 %', '0.10 %', '0.002 %', '> 99.9 %')
    """
    if share > 0.999:
        return "100 %" if share == 1 else "> 99.9 %"
    digits = ".1f" if share >= 0.01 else ".2f" if share >= 0.0001 else ".2g"
    return f"{100 * share:{digits}} %"


def _range(ends: tuple[int, int]) -> str:
    return f"k = {ends[0]:,} to {ends[1]:,}" if ends[0] < ends[1] else "no other k"


def multiple(logarithm: float) -> str:
    """Format a ratio of bounds, given its logarithm; beyond a thousand its order of magnitude.

    Example:
        >>> multiple(0.0), multiple(2.3), multiple(230.3)
        ('1.00', '9.97', '1e100')
    """
    if logarithm > math.log(1000):
        return f"1e{logarithm / math.log(10):.0f}"
    ratio = math.exp(logarithm)
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
