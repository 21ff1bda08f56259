"""Settings of the text study: the paper's, and smaller ones for less time."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from tammes.papers.ash.text_corpus import Corpus
from tammes.papers.ash.text_training import TextRun


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Settings to be measured: accuracy over N and k at a fixed B, and over B and k at fixed N.

    Args:
        least_budget: fraction of the full work from which on this plan applies.
        dim: width of the embeddings.
        epochs: epochs of each representation.
        linear_epochs: epochs of each linear classifier.
        seeds: number of seeds, unless the request has another.
        batch: fixed B.
        classes: values of N at that B.
        true: values of N for which collisions are also removed.
        batches: further values of B.
        at_classes: values of N at which B varies.
        negatives: values of k; those above 2(B - 1) are left out, and with collisions 2(B - 1) is added.
    """

    least_budget: float
    dim: int
    epochs: int
    linear_epochs: int
    seeds: int
    batch: int
    classes: tuple[int, ...]
    true: tuple[int, ...]
    batches: tuple[int, ...]
    at_classes: tuple[int, ...]
    negatives: tuple[int, ...]

    def counts(self, batch: int) -> tuple[int, ...]:
        """Return the values of k for a batch size, ascending."""
        most = 2 * (batch - 1)
        return (*(k for k in self.negatives if k < most), most)

    @property
    def columns(self) -> tuple[int, ...]:
        """Every k of some batch size, ascending."""
        return tuple(sorted({k for batch in (self.batch, *self.batches) for k in self.counts(batch)}))

    def within(self, corpus: Corpus) -> "Plan":
        """Return the plan without the settings that this corpus is too small for.

        Raises:
            ValueError: a corpus that is too small for every N.
        """

        def possible(numbers: Sequence[int]) -> tuple[int, ...]:
            return tuple(n for n in numbers if n <= corpus.classes and corpus.pairs_of_first(n) >= self.batch)

        classes = possible(self.classes)
        if not classes:
            raise ValueError(
                f"the study at this budget looks at {self.classes[0]} documents or more, with at least "
                f"{2 * self.batch} sentences to learn from in all; {corpus.name} has {corpus.classes} "
                f"documents with {len(corpus.train)} sentences to learn from"
            )
        at_classes = possible(self.at_classes)
        return dataclasses.replace(
            self,
            classes=classes,
            true=possible(self.true),
            at_classes=at_classes,
            batches=tuple(b for b in self.batches if all(corpus.pairs_of_first(n) >= b for n in at_classes)),
        )

    def fewest_steps(self, classes: int, corpus: Corpus) -> int:
        """Return how many steps the largest batch takes in all if the batch varies at this N; else 0."""
        if classes not in self.at_classes:
            return 0
        return self.epochs * (corpus.pairs_of_first(classes) // max(self.batch, *self.batches, 0))


def cells(plan: Plan, corpus: Corpus, seeds: Sequence[int]) -> list[TextRun]:
    """Return all runs of a plan, without repetition: seed by seed, the cheapest first.

    Each N begins with its untrained encoder, which has 0 epochs.

    Args:
        plan: settings to be measured, within the corpus.
        corpus: documents and their sentences.
        seeds: random seeds.
    """
    wanted: dict[TextRun, None] = {}
    for each in seeds:
        settings = [
            *((n, plan.batch, 1, True, 0) for n in sorted({*plan.classes, *plan.at_classes})),
            *((n, plan.batch, k, True, plan.epochs) for n in plan.classes for k in plan.counts(plan.batch)),
            *(
                (n, plan.batch, k, False, plan.epochs)
                for n in plan.true
                for k in plan.counts(plan.batch)[:-1]
            ),
            *(
                (n, b, k, True, plan.epochs)
                for n in plan.at_classes
                for b in plan.batches
                for k in plan.counts(b)
            ),
        ]
        for classes, batch, negatives, collisions, epochs in sorted(settings, key=itemgetter(0)):
            cell = TextRun(
                corpus=corpus.name,
                digest=corpus.digest,
                classes=classes,
                batch=batch,
                negatives=negatives,
                collisions=collisions,
                seed=each,
                dim=plan.dim,
                epochs=epochs,
                linear_epochs=plan.linear_epochs,
                early=plan.fewest_steps(classes, corpus) if epochs else 0,
            )
            wanted[cell] = None
    return list(wanted)


PAPER = Plan(
    least_budget=1.0,
    dim=768,
    epochs=50,
    linear_epochs=50,
    seeds=5,
    batch=1000,
    classes=(100, 200, 500, 1000, 2000, 3000),
    true=(100, 200, 500, 1000),
    batches=(250, 500, 2000),
    at_classes=(200, 1000),
    negatives=(1, 5, 10, 20, 50, 100, 200, 500, 1000),
)
"""Table 1. Of the grids in its figures the text names only B = 1,000, k = 50 and 1,000, N = 200.

It takes about ten days of one core, by the time of its steps; the other plans are named for their time.
"""
A_DAY = Plan(
    least_budget=0.06,
    dim=256,
    epochs=30,
    linear_epochs=20,
    seeds=3,
    batch=500,
    classes=(50, 100, 200, 500, 1000, 1800),
    true=(50, 100, 200, 500),
    batches=(125, 250, 1000),
    at_classes=(200, 500),
    negatives=(1, 5, 10, 20, 50, 100, 200, 500),
)
AN_HOUR = Plan(
    least_budget=0.004,
    dim=128,
    epochs=30,
    linear_epochs=10,
    seeds=3,
    batch=250,
    classes=(25, 50, 100, 200, 400),
    true=(25, 50, 100, 200),
    batches=(62, 125, 500),
    at_classes=(100,),
    negatives=(1, 5, 15, 50, 150, 400),
)
TEN_MINUTES = Plan(
    least_budget=0.002,
    dim=64,
    epochs=15,
    linear_epochs=5,
    seeds=3,
    batch=125,
    classes=(25, 50, 100, 200),
    true=(25, 50, 100),
    batches=(62, 250),
    at_classes=(50,),
    negatives=(1, 5, 20, 50, 150),
)
TWO_MINUTES = dataclasses.replace(
    TEN_MINUTES,
    least_budget=0.0,
    epochs=6,
    classes=(25, 50),
    true=(25,),
    batches=(62,),
    at_classes=(25,),
    negatives=(1, 10, 50),
)
PLANS = (PAPER, A_DAY, AN_HOUR, TEN_MINUTES, TWO_MINUTES)


def plan_of(budget: float) -> Plan:
    """Return the largest plan that a budget is enough for.

    Example:
        >>> plan_of(0.01) is AN_HOUR, plan_of(1e-6) is TWO_MINUTES
        (True, True)
    """
    return next(plan for plan in PLANS if plan.least_budget <= budget)
