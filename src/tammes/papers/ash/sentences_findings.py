"""Statements on the number of negatives, beside our measurements on adjacent sentences."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np
from jaxtyping import Float

from tammes.papers.ash.accuracies import Pick, in_points, mean, over_seeds
from tammes.papers.ash.optimum import best_of_others, optimum
from tammes.papers.ash.sentences_plan import CONTIGUOUS, HARD, MIXED, TRUE, Arm, CountPlan
from tammes.papers.ash.sentences_training import CountRun, CountScore
from tammes.papers.finding import Effect, Finding
from tammes.report.markup import percent
from tammes.theory import ClassDistribution, best_k, collision_probability

tasks: Pick = attrgetter("tasks")
PICKS: Mapping[str, Pick] = {"documents": mean, "tasks": tasks}
"""Accuracy of the mean classifier of held-out sentences' documents, and the mean over the tasks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CountResults:
    """Results of a plan, for the seeds that are measured whole.

    Args:
        plan: settings that were measured.
        classes: frequencies of the documents among the sentences.
        scores: scores of the runs.
        whole: number of runs of a seed.
    """

    plan: CountPlan
    classes: ClassDistribution
    scores: Mapping[CountRun, CountScore]
    whole: int

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        """Seeds all of whose runs are measured, ascending."""
        found = [run.seed for run in self.scores]
        return tuple(sorted(seed for seed in set(found) if found.count(seed) == self.whole))

    @cached_property
    def _by_setting(self) -> dict[tuple[int, int, bool, float, int], CountScore]:
        return {
            (run.negatives, run.run, run.collisions, run.beta, run.seed): score
            for run, score in self.scores.items()
        }

    def at(self, arm: Arm, k: int) -> list[CountScore]:
        """Return the scores of an arm with k negatives, by seed; empty if it was not measured."""
        keys = [(k, arm.run, arm.collisions, arm.beta, seed) for seed in self.seeds]
        return [self._by_setting[key] for key in keys if key in self._by_setting]

    def values(self, pick: Pick, arm: Arm) -> Float[np.ndarray, "seeds counts"]:
        """Return the accuracy of an arm over the k of the plan; NaN where it was not measured."""
        found = [list(map(pick, self.at(arm, k))) or [np.nan] * len(self.seeds) for k in self.plan.counts]
        return np.array(found).T

    def untrained(self, pick: Pick) -> Float[np.ndarray, " seeds"]:
        """Return the accuracy of the untrained encoder of each seed."""
        scores = {run.seed: score for run, score in self.scores.items() if not run.negatives}
        return np.array([pick(scores[seed]) for seed in self.seeds])

    def learned(self, pick: Pick, name: str, *arms: Arm) -> tuple[Effect, ...]:
        """Return the gains over the untrained encoder, averaged over k, as controls of a finding."""
        return tuple(
            in_points(
                f"{arm.name} over the untrained encoder, {name}",
                over_seeds(self.values(pick, arm) - self.untrained(pick)[:, None]),
            )
            for arm in arms
        )


def findings(results: CountResults) -> tuple[Finding, ...]:
    """Return the statements beside our numbers."""
    arms = results.plan.arms
    return (
        *(rises_and_falls(results, name, pick) for name, pick in PICKS.items()),
        theory_beside(results),
        collisions_beside(results),
        *(fewer_collisions(results, name, pick) for name, pick in PICKS.items()),
        *(no_collisions(results, name, pick) for name, pick in PICKS.items() if TRUE in arms),
        *((harder(results),) if HARD in arms else ()),
    )


def rises_and_falls(results: CountResults, name: str, pick: Pick) -> Finding:
    """Compare accuracy over k: up, then slowly down."""
    first, last = results.plan.counts[0], results.plan.counts[-1]
    effects = []
    for arm in (CONTIGUOUS, MIXED):
        values = results.values(pick, arm)
        best = best_of_others(values[:, 1:-1])
        effects += [
            in_points(f"{arm.name}, best k above k = {first}", over_seeds(best - values[:, 0])),
            in_points(f"above k = {last}", over_seeds(best - values[:, -1])),
        ]
    best_of = "; ".join(f"{arm.name}, {best_in_words(results, pick, arm)}" for arm in (CONTIGUOUS, MIXED))
    return Finding(
        paper=f"Ash et al., section 4, Fig. 3, on {name}: accuracy improves with the number of negatives and "
        "then slowly decays.",
        ours=f"Best: {best_of}.",
        effects=tuple(effects),
        controls=results.learned(pick, name, CONTIGUOUS, MIXED),
    )


def theory_beside(results: CountResults) -> Finding:
    """Compare the best k of the bounds with the measured one."""
    bounds = " and ".join(f"{best_k(results.classes, growth=growth):,}" for growth in (0.0, 0.5))
    ours = "; ".join(
        f"{arm.name}: {best_in_words(results, pick, arm)} on {name}"
        for arm, (name, pick) in itertools.product((CONTIGUOUS, MIXED), PICKS.items())
    )
    return Finding(
        paper="Ash et al., Remark 2 and Theorem 3: the bounds prefer k near the number N of classes, and "
        "near N / 2.",
        ours=f"For the frequencies of {results.classes.number} documents the bounds prefer k = {bounds}. "
        f"Measured best: {ours}.",
    )


def collisions_beside(results: CountResults) -> Finding:
    """Compare collisions of the batches with those of independent draws."""
    words = []
    for k in results.plan.counts:
        counted = ", ".join(
            f"{percent(_colliding(results, arm, k))} in {arm.name}" for arm in (CONTIGUOUS, MIXED)
        )
        drawn = percent(collision_probability(k, results.classes))
        words.append(f"k = {k}: {counted}, {drawn} by independent draws")
    return Finding(
        paper="Ash et al., Theorem 1: negatives are drawn independently of the anchor, so that tau_k is the "
        "probability of a collision.",
        ours=f"Anchors with a negative of their own document, {'; '.join(words)}.",
    )


def fewer_collisions(results: CountResults, name: str, pick: Pick) -> Finding:
    """Compare batches of many documents with contiguous ones."""
    return Finding(
        paper=f"Ash et al., Theorem 1, on {name}: at the same k, collisions cost a factor 1 / (1 - tau_k) "
        "of the bound.",
        ours="Mixed batches, with negatives of many documents, over contiguous ones, in points:",
        effects=_at_each_k(results, pick, MIXED, CONTIGUOUS),
        controls=results.learned(pick, name, CONTIGUOUS, MIXED),
    )


def no_collisions(results: CountResults, name: str, pick: Pick) -> Finding:
    """Compare negatives of other documents alone with those of all."""
    return Finding(
        paper=f"Ash et al., section 4, Fig. 3 right, on {name}: without collisions accuracy is higher.",
        ours="Negatives of other documents alone over those of all documents, in mixed batches, in points:",
        effects=_at_each_k(results, pick, TRUE, MIXED),
        controls=results.learned(pick, name, MIXED, TRUE),
    )


def harder(results: CountResults) -> Finding:
    """Compare hard negatives with uniform ones at each k."""
    return Finding(
        paper="Thesis, section 3.5.3, Table 3.2: hard negatives are better than quick-thoughts (there with "
        "all negatives of a batch), on the mean over the tasks.",
        ours="Hard negatives, beta = 1, over uniform ones, in contiguous batches, in points:",
        effects=_at_each_k(results, tasks, HARD, CONTIGUOUS),
        controls=results.learned(tasks, "tasks", CONTIGUOUS, HARD),
    )


def best_in_words(results: CountResults, pick: Pick, arm: Arm) -> str:
    """Return the best k, with the range of those that it is not resolved from."""
    counts, found = results.plan.counts, optimum(results.values(pick, arm))
    best, first, last = (counts[place] for place in (found.best, found.first, found.last))
    return f"k = {best}" if first == last else f"k = {best} ({first} to {last})"


def _colliding(results: CountResults, arm: Arm, k: int) -> float:
    return float(np.mean([score.colliding for score in results.at(arm, k)]))


def _at_each_k(results: CountResults, pick: Pick, more: Arm, less: Arm) -> tuple[Effect, ...]:
    """Return the differences of two arms at each k that both have."""
    differences = results.values(pick, more) - results.values(pick, less)
    return tuple(
        in_points(f"k = {k}", over_seeds(differences[:, at]))
        for at, k in enumerate(results.plan.counts)
        if np.isfinite(differences[:, at]).all()
    )
