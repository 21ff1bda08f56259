"""Settings of the study on adjacent sentences: how many negatives, drawn from which batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tammes.papers.ash.sentences_corpus import SentenceCorpus
from tammes.papers.ash.sentences_training import CountRun
from tammes.papers.entry import Request
from tammes.papers.robinson_negatives.sentences import RATE
from tammes.papers.robinson_negatives.sentences_training import (
    FEWEST_SEEDS,
    SEEDS,
    TASKS,
    SentenceScale,
)

AROUND = 3
"""Sentences of a batch that are never negatives: the anchor, and those before and after it."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Where negatives come from, and how they are weighted, whatever their number.

    Args:
        name: name on the page.
        run: contiguous sentences of a batch; 0 for the whole batch, as in quick-thoughts.
        collisions: whether sentences of the anchor's document may be drawn.
        beta: concentration of hard negatives.
    """

    name: str
    run: int
    collisions: bool = True
    beta: float = 0.0


CONTIGUOUS = Arm(name="contiguous batches", run=0)
MIXED = Arm(name="mixed batches", run=8)
TRUE = Arm(name="mixed batches, no collisions", run=8, collisions=False)
HARD = Arm(name="contiguous batches, hard, beta 1", run=0, beta=1.0)
ARMS = (CONTIGUOUS, MIXED, TRUE, HARD)


@dataclass(frozen=True, kw_only=True)
class CountPlan:
    """Settings to be measured.

    Args:
        scale: size of a training, as `sentences-quick-thoughts` has it.
        sentences: first sentences of each document that are read; None for all.
        negatives: values of k, ascending; all that a batch has follow.
        arms: sources of the negatives.
        tasks: tasks that are measured.
    """

    scale: SentenceScale
    sentences: int | None = None
    negatives: tuple[int, ...]
    arms: tuple[Arm, ...] = ARMS
    tasks: tuple[str, ...] = TASKS

    @property
    def counts(self) -> tuple[int, ...]:
        """Values of k, ascending; the last is the number that every sentence of a batch has."""
        return (*self.negatives, self.scale.batch_size - AROUND)


def plan_of(request: Request) -> CountPlan:
    """Return the plan that a budget is enough for.

    The whole budget trains networks of 256 units for ten epochs, a fifth of it for two. Below, networks have
    128 units and read every second book once. Below 0.02 networks have 64 units and read 800 sentences of
    each document; below 0.005 they have 16, read 80, and are measured on two tasks.
    """
    budget = request.budget
    scale = SentenceScale(
        width=256 if budget >= 0.2 else 128 if budget >= 0.02 else 64 if budget >= 0.005 else 16,
        epochs=max(1, round(10 * budget)),
        books_step=2 if 0.02 <= budget < 0.2 else 1,
        folds=10 if budget >= 0.02 else 3,
        batch_size=256 if budget >= 0.02 else 128 if budget >= 0.005 else 64,
        seeds=request.seed_range(SEEDS, fewest=FEWEST_SEEDS),
        learning=request.learning,
    )
    if budget >= 0.2:
        return CountPlan(scale=scale, negatives=(1, 4, 16, 64))
    if budget >= 0.02:
        return CountPlan(scale=scale, negatives=(1, 8, 64))
    if budget >= 0.005:
        return CountPlan(scale=scale, negatives=(1, 8, 32), sentences=800)
    return CountPlan(
        scale=scale,
        negatives=(1, 8),
        arms=(CONTIGUOUS, MIXED, TRUE),
        sentences=80,
        tasks=("CR", "TREC"),
    )


def cells_of(plan: CountPlan, corpus: SentenceCorpus) -> list[CountRun]:
    """Return the runs: seed by seed, the untrained encoder first.

    Without collisions only those k are taken that every sentence has negatives for, in every batch of every
    seed. One hard negative would have the weight of a uniform one.

    Args:
        plan: settings to be measured.
        corpus: documents and their sentences.
    """
    scale = plan.scale
    base = CountRun(
        negatives=0,
        run=0,
        collisions=True,
        beta=0.0,
        sentences=len(corpus.train),
        documents=corpus.documents,
        batch_size=scale.batch_size,
        width=scale.width,
        epochs=0,
        rate=RATE,
        seed=scale.seeds[0],
    )
    most = {arm: _most(arm, plan, corpus, scale.seeds) for arm in plan.arms}
    return [
        cell
        for seed in scale.seeds
        for cell in (
            replace(base, seed=seed),
            *(
                replace(
                    base,
                    negatives=k,
                    run=arm.run,
                    collisions=arm.collisions,
                    beta=arm.beta,
                    epochs=scale.epochs if scale.learning else 0,
                    seed=seed,
                )
                for arm in plan.arms
                for k in plan.counts
                if k <= most[arm] and not (arm.beta and k == 1)
            ),
        )
    ]


def _most(arm: Arm, plan: CountPlan, corpus: SentenceCorpus, seeds: Sequence[int]) -> int:
    """Return the number of negatives that every sentence of every batch has."""
    scale = plan.scale
    if arm.collisions:
        return scale.batch_size - AROUND
    return min(
        corpus.fewest_true(arm.run, batch_size=scale.batch_size, seed=seed, epochs=scale.epochs)
        for seed in seeds
    )
