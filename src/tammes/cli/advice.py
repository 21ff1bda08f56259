"""What the theory of the number of negatives says of some classes, in numbers and in plain words."""

import math
from dataclasses import dataclass

from rich.table import Table

from tammes.theory import (
    ClassDistribution,
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
"""The growth of the refined bound (Theorem 3)."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number of negatives.

    Example:
        >>> Row.of(100, ClassDistribution.uniform(100)).collision
        0.6339676587267705
    """

    k: int
    collision: float
    """The share of anchors with at least one negative of their own class."""
    coverage: float
    """The share of the classes that k draws show."""
    plain: float
    """Natural logarithm of the plain bound's coefficient."""
    refined: float
    """The same of the refined bound."""

    @classmethod
    def of(cls, k: int, classes: ClassDistribution) -> "Row":
        return cls(
            k=k,
            collision=collision_probability(k, classes),
            coverage=coverage(k, classes),
            plain=log_bound(k, classes),
            refined=log_bound(k, classes, growth=REFINED),
        )


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a batch of B pairs offers: up to 2(B-1) negatives, two of each other pair.

    Example:
        >>> round(Batch.of(512, ClassDistribution.uniform(1000)).collision, 4)
        0.4003
    """

    pairs: int
    collision: float
    """The share of anchors with at least one false negative if they take them all."""

    @classmethod
    def of(cls, pairs: int, classes: ClassDistribution) -> "Batch":
        if pairs < 2:
            raise ValueError(f"--batch must be at least 2 pairs, got {pairs}: one pair has no negatives")
        every = 2 * (pairs - 1)
        return cls(pairs=pairs, collision=collision_probability_in_batch(every, classes, pairs=pairs))

    @property
    def negatives(self) -> int:
        """Of each anchor."""
        return 2 * (self.pairs - 1)

    @property
    def draws(self) -> int:
        """How many independent negatives show as much of the classes."""
        return self.pairs - 1


@dataclass(frozen=True, kw_only=True)
class Advice:
    """All that is said of a class distribution, and of a batch if there is one.

    Example:
        >>> Advice.of(ClassDistribution.uniform(100), pairs=None).best
        103
    """

    classes: ClassDistribution
    best: int
    near: tuple[int, int]
    refined_best: int
    refined_near: tuple[int, int]
    half: int
    """The least k at which half of the anchors meet their own class."""
    batch: Batch | None

    @classmethod
    def of(cls, classes: ClassDistribution, *, pairs: int | None) -> "Advice":
        if classes.number < 2:
            raise ValueError("there is one class alone: with nothing to tell apart, every negative is false")
        return cls(
            classes=classes,
            best=best_k(classes),
            near=near_best_k(classes),
            refined_best=best_k(classes, growth=REFINED),
            refined_near=near_best_k(classes, growth=REFINED),
            half=negatives_until_collision(0.5, classes),
            batch=None if pairs is None else Batch.of(pairs, classes),
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """Powers of ten around the best, and every number that the words name."""
        numbers = {1, self.half, self.best, self.refined_best, 10 * self.best}
        numbers |= {10**power for power in range(1, len(str(self.best)))}
        if self.batch is not None:
            numbers.add(self.batch.draws)
        return tuple(Row.of(k, self.classes) for k in sorted(numbers))

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The words, a paragraph each."""
        said = [self._false_negatives(), self._preference(), self._floor()]
        if not self.classes.is_uniform:
            said.append(self._uneven())
        if self.batch is not None:
            said.append(self._of_batch(self.batch))
        return (*said, CAUTION)

    @property
    def numbers(self) -> dict[str, object]:
        """For other programs."""
        batch = self.batch
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
            "batch": None if batch is None else batch.pairs,
            "batch_draws": None if batch is None else batch.draws,
            "batch_negatives": None if batch is None else batch.negatives,
            "batch_collision": None if batch is None else batch.collision,
        }

    def table(self) -> Table:
        """Bounds are given as multiples of their least value: on their own they mean little."""
        table = Table(caption="bounds as multiples of their least value", caption_justify="left")
        for name in ("negatives k", "collision", "classes seen", "plain bound", "refined bound"):
            table.add_column(name, justify="right")
        least, refined = (
            log_bound(self.best, self.classes),
            log_bound(self.refined_best, self.classes, growth=REFINED),
        )
        for row in self.rows:
            table.add_row(
                f"{row.k:,}",
                percent(row.collision),
                percent(row.coverage),
                multiple(row.plain - least),
                multiple(row.refined - refined),
            )
        return table

    def _false_negatives(self) -> str:
        classes = self.classes
        kind = "equally likely classes" if classes.is_uniform else "classes as they were measured"
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
            "below that says that examples are told apart, not classes."
        )

    def _uneven(self) -> str:
        classes = self.classes
        return (
            f"Uneven classes. They collide as {classes.effective_number:,.1f} equally likely ones would. The "
            "best k of the plain bound is set by the most frequent class, "
            f"{percent(classes.largest)} of the data, which collides first; the rarest, "
            f"{percent(classes.smallest)}, makes the bound large whatever k is."
        )

    def _of_batch(self, batch: Batch) -> str:
        start = (
            f"Your batch. {batch.pairs:,} pairs offer 2 (B - 1) = {batch.negatives:,} negatives, two of each "
            f"other pair. Both have one class, so all of them collide and cover like {batch.draws:,} "
            f"independent ones: {percent(batch.collision)} of anchors have a false negative."
        )
        low, high = min(self.near[0], self.refined_near[0]), max(self.near[1], self.refined_near[1])
        if batch.draws < low:
            return (
                f"{start} Both bounds would like more: take them all and, if memory allows, a batch of "
                f"{self.refined_best + 1:,} pairs or more, or a queue."
            )
        if batch.draws <= high:
            return f"{start} That is in the range the bounds like: take them all."
        return (
            f"{start} That is more than either bound likes: keep about {self.best:,} at random for each "
            f"anchor (selection:subset --selection.k {self.best}), or take false negatives out by their "
            f"prior (--class-prior {self.classes.class_prior:.3g}) or by labels, if you have them "
            "(selection:other-labels)."
        )


CAUTION = (
    "What this means. These are upper bounds for positives and negatives drawn independently from classes; "
    "they tell how the best k grows, not where it is. In the paper's study of text the best k grew with the "
    "number of classes, more slowly than the bound's, and too many negatives cost less than too few; its "
    "images did not follow the theory. Try a few values of k (Ash et al., 2022)."
)


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it takes to see it.

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
    """A ratio of bounds, given its logarithm; beyond a thousand its order of magnitude.

    Example:
        >>> multiple(0.0), multiple(2.3), multiple(230.3)
        ('1.00', '9.97', '1e100')
    """
    if logarithm > math.log(1000):
        return f"1e{logarithm / math.log(10):.0f}"
    ratio = math.exp(logarithm)
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
