"""Scores of the arms of the study of negatives on images, and the papers' statements beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter

from tammes.estimate import Estimate
from tammes.papers.finding import Effect, Finding
from tammes.papers.robinson_negatives.images_arms import (
    BCL_HARD,
    BCL_TRANSPORT,
    BETAS,
    DCL,
    EXPONENTIAL,
    HARD,
    HCL,
    HCL_OT,
    ORACLE,
    SIMCLR,
    TRANSPORT,
    UNTRAINED,
    ImageRun,
    published_readout,
)
from tammes.papers.robinson_negatives.images_training import ImageScore

Pick = Callable[[ImageScore], float]
PROBE, KNN = attrgetter("probe"), attrgetter("knn")
SEARCHED_NAME = "{}, searched"


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageArms:
    """Scores by arm and seed of one set of images.

    Args:
        data: name of the set.
        runs: run of each arm by its name, whatever its seed.
        results: scores of all runs.
        seeds: random seeds.
    """

    data: str
    runs: Mapping[str, ImageRun]
    results: Mapping[ImageRun, ImageScore]
    seeds: Sequence[int]

    def scores(self, arm: str) -> dict[int, ImageScore]:
        """Return the scores of an arm by seed; none for an arm that was not measured or does not exist."""
        if arm not in self.runs:
            return {}
        cells = {seed: replace(self.runs[arm], seed=seed) for seed in self.seeds}
        return {seed: self.results[cell] for seed, cell in cells.items() if cell in self.results}

    @property
    def names(self) -> list[str]:
        """Arms that were measured, in the order of the study."""
        return [arm for arm in self.runs if self.scores(arm)]

    def mean(self, arm: str, pick: Pick) -> Estimate:
        """Return the mean of a measurement over the seeds."""
        return Estimate.over_seeds([pick(score) for score in self.scores(arm).values()])

    def difference(self, more: str, less: str, pick: Pick = PROBE) -> Estimate | None:
        """Return by how much an arm is above another, seed by seed; None if one was not measured yet."""
        ours, theirs = self.scores(more), self.scores(less)
        return self.over_seeds(lambda seed: pick(ours[seed]) - pick(theirs[seed]), ours, theirs)

    def over_seeds(self, value: Callable[[int], float], *needed: Mapping[int, ImageScore]) -> Estimate | None:
        """Return the mean of a value over the seeds that all needed arms have; None if there is none."""
        common = [seed for seed in self.seeds if all(seed in scores for scores in needed)]
        return Estimate.over_seeds([value(seed) for seed in common]) if common else None

    def points(self, name: str, more: str, less: str, pick: Pick = PROBE) -> Effect:
        """Return a difference as an effect in percentage points."""
        return Effect(name=name, difference=self.difference(more, less, pick), digits=1, scale=100)

    def learned(self, *arms: str) -> tuple[Effect, ...]:
        """Return the gains of the readout over the untrained encoder, as controls."""
        return tuple(self.points(f"{arm} over untrained, in points", arm, UNTRAINED) for arm in arms)

    def sooner(self, more: str, less: str) -> Estimate | None:
        """Return the share of the epochs by which one arm reaches the other's last accuracy sooner.

        Where it never does, minus the share by which the other one is sooner: exchanging the arms changes the
        sign, so that two equal arms give zero on average.
        """
        ours, theirs = self.scores(more), self.scores(less)

        def saved(seed: int) -> float:
            one, other = ours[seed].over_epochs, theirs[seed].over_epochs
            if len(one) < 2:  # nothing was trained
                return 0.0
            if one[max(one)] >= other[max(other)]:
                return 1 - _reached(one, other[max(other)]) / max(other)
            return _reached(other, one[max(one)]) / max(one) - 1

        return self.over_seeds(saved, ours, theirs)


def _reached(curve: Mapping[int, float], accuracy: float) -> float:
    """Return the first epoch at which a curve, drawn with straight lines, has an accuracy that it reaches."""
    epochs = sorted(curve)
    if curve[epochs[0]] >= accuracy:
        return epochs[0]
    for before, after in pairwise(epochs):
        if curve[after] >= accuracy:
            part = (accuracy - curve[before]) / (curve[after] - curve[before])
            return before + part * (after - before)
    raise AssertionError("the last accuracy of a curve is reached")


def findings(arms: ImageArms) -> tuple[Finding, ...]:
    """Return the papers' statements beside our measurements on one set of images."""
    return tuple(
        replace(found, paper=f"{arms.data}: {found.paper}")
        for found in (
            *_headline(arms),
            *_trends(arms),
            *_speed(arms),
            *_many_negatives(arms),
            *_other_losses(arms),
        )
        if any(effect.difference is not None for effect in found.effects)
    )


def _headline(arms: ImageArms) -> list[Finding]:
    """Return the gains of hard and transported negatives, at the papers' temperature and after a search."""
    found = []
    for words, pattern in (
        ("all at temperature 0.5", "{}"),
        ("each with the best of nine settings", SEARCHED_NAME),
    ):
        simclr, dcl, hcl, transport = (pattern.format(name) for name in (SIMCLR, DCL, HCL, HCL_OT))
        for statement, more, less in (
            ("3.5.1, hard negatives improve on SimCLR", hcl, simclr),
            ("Tables II to IV, transported negatives improve on SimCLR", transport, simclr),
            ("3.5.1, hard negatives improve on debiasing alone", hcl, dcl),
        ):
            found.append(
                Finding(
                    paper=f"{statement} ({words}).",
                    ours=f"{more} over {less}, linear readout; beside it nearest neighbors "
                    f"{_points(arms.difference(more, less, KNN))}{_paper(arms.data, more, less)}:",
                    effects=(arms.points("", more, less),),
                    controls=arms.learned(more, less),
                )
            )
    return found


def _trends(arms: ImageArms) -> list[Finding]:
    """Return the statements on debiasing, beta and annealing."""
    simclr, dcl, oracle = (arms.scores(name) for name in (SIMCLR, DCL, ORACLE))
    nearer = arms.over_seeds(
        lambda seed: abs(oracle[seed].probe - simclr[seed].probe) - abs(oracle[seed].probe - dcl[seed].probe),
        simclr,
        dcl,
        oracle,
    )
    steepest = f"{HCL}, beta {BETAS[-1]:g}"
    return [
        Finding(
            paper="Figure 3-2, debiased negatives are nearer to those of other labels than biased ones.",
            ours="Distance of the readout from the oracle's, biased over debiased, in points; the oracle is "
            f"above SimCLR by {_points(arms.difference(ORACLE, SIMCLR))}:",
            effects=(Effect(name="", difference=nearer, digits=1, scale=100),),
            controls=arms.learned(SIMCLR, DCL, ORACLE),
        ),
        Finding(
            paper="Figure 3-6, right: hardness and debiasing together are best.",
            ours=f"{HCL} over each, in points:",
            effects=tuple(arms.points(less, HCL, less) for less in (SIMCLR, DCL, HARD)),
            controls=arms.learned(HCL, SIMCLR, DCL, HARD),
        ),
        Finding(
            paper="Figure 3-6, middle: with true positives larger beta is better, with views it is not.",
            ours="Change of the readout from beta 0 to 6, with positives of the same class over that with "
            f"views, in points; best beta by the mean readout: {_best_betas(arms)}:",
            effects=(Effect(name="", difference=_steeper(arms), digits=1, scale=100),),
            controls=arms.learned(SIMCLR, steepest, f"{SIMCLR}, same class", f"{steepest}, same class"),
        ),
        Finding(
            paper="3.6.1, A.4.1: annealing makes a large beta less harmful, in either direction.",
            ours="Over constant beta 6, in points:",
            effects=tuple(
                arms.points(f"{way} beta", f"{steepest}, {way}", steepest) for way in ("falling", "rising")
            ),
            controls=arms.learned(steepest, *(f"{steepest}, {way}" for way in ("falling", "rising"))),
        ),
    ]


def _speed(arms: ImageArms) -> list[Finding]:
    """Return the statement on speed, at the papers' temperature and after a search."""
    found = []
    for words, pattern in (
        ("all at temperature 0.5", "{}"),
        ("each with the best of nine settings", SEARCHED_NAME),
    ):
        hcl, simclr = pattern.format(HCL), pattern.format(SIMCLR)
        found.append(
            Finding(
                paper=f"Figure 3-12, hard negatives reach SimCLR's last accuracy in fewer epochs ({words}).",
                ours="Share of the epochs that are saved, in percent (below zero: what SimCLR saves to reach "
                "theirs); the thesis has 125 in place of 400 epochs on CIFAR-100, 69 %. A training takes the "
                f"seconds of SimCLR times {_factor(arms, hcl, simclr)}:",
                effects=(Effect(name="", difference=arms.sooner(hcl, simclr), digits=0, scale=100),),
                controls=arms.learned(simclr, hcl),
            )
        )
    return found


def _many_negatives(arms: ImageArms) -> list[Finding]:
    """Return the statements on numbers of negatives and of classes."""
    counts = [arm for arm in arms.names if arm.startswith(f"{HCL}, ") and arm.endswith("negatives")]
    classes = [arm for arm in arms.names if arm.startswith(f"{HCL}, ") and arm.endswith("classes")]
    found = []
    if counts:
        found.append(
            Finding(
                paper="Figure 3-4: hard negatives improve on SimCLR at every number of negatives.",
                ours="In points:",
                effects=(
                    *(arms.points(arm.removeprefix(f"{HCL}, "), arm, _plain(arm)) for arm in counts),
                    arms.points("the usual number", HCL, SIMCLR),
                ),
                controls=arms.learned(*counts, *map(_plain, counts)),
            )
        )
    for arm in classes:
        few, many = (arms.scores(arm), arms.scores(_plain(arm))), (arms.scores(HCL), arms.scores(SIMCLR))
        grown = arms.over_seeds(
            lambda seed, few=few, many=many: (  # type: ignore[misc]  # bound for the loop
                many[0][seed].probe - many[1][seed].probe - few[0][seed].probe + few[1][seed].probe
            ),
            *few,
            *many,
        )
        found.append(
            Finding(
                paper="3.5.1, the gain is larger with more classes.",
                ours=f"Gain of {HCL} over {SIMCLR} with all classes over that with "
                f"{arm.removeprefix(f'{HCL}, ')} ({_points(arms.difference(arm, _plain(arm)))}), in points:",
                effects=(Effect(name="", difference=grown, digits=1, scale=100),),
                controls=arms.learned(HCL, SIMCLR),
            )
        )
    return found


def _other_losses(arms: ImageArms) -> list[Finding]:
    """Return the statements on other losses, costs and MoCo."""
    return [
        Finding(
            paper="Tables I to III: under the basic contrastive loss transport improves on hard negatives.",
            ours=f"In points{_paper(arms.data, BCL_TRANSPORT, BCL_HARD)}:",
            effects=(arms.points("", BCL_TRANSPORT, BCL_HARD),),
            controls=arms.learned(BCL_HARD, BCL_TRANSPORT),
        ),
        Finding(
            paper="VII-C, Figure 1: the exponential cost is consistently better than the squared distance.",
            ours="Nearest neighbors, in points:",
            effects=(arms.points("", EXPONENTIAL, TRANSPORT, KNN),),
            controls=arms.learned(EXPONENTIAL, TRANSPORT),
        ),
        Finding(
            paper="IV: harder negatives improve the triplet loss.",
            ours="Over uniform ones, in points:",
            effects=tuple(arms.points(kind, f"triplet, {kind}", "triplet") for kind in ("hard", "transport")),
            controls=arms.learned("triplet, hard", "triplet, transport"),
        ),
        Finding(
            paper="A.3.1, Figure A-1: hard negatives improve MoCo (88.47 over 88.08 on CIFAR-10, beta 0.2).",
            ours="In points:",
            effects=(arms.points("beta 0.2", "MoCo, hard, beta 0.2", "MoCo"),),
            controls=arms.learned("MoCo, hard, beta 0.2", "MoCo"),
        ),
    ]


def betas_of(arms: ImageArms, ending: str = "") -> dict[float, str]:
    """Return the measured arms over beta, that of SimCLR as beta 0, with views or other positives.

    Args:
        arms: scores.
        ending: end of the arms' names, ", same class" or nothing.
    """
    named = {0.0: f"{SIMCLR}{ending}"}
    for beta in BETAS:
        usual = HCL if beta == 1 and not ending else f"{HCL}, beta {beta:g}{ending}"
        named[beta] = usual
    return {beta: arm for beta, arm in named.items() if arm in arms.names}


def _steeper(arms: ImageArms) -> Estimate | None:
    """Return how much more the readout gains from beta 0 to the largest beta with true positives."""
    steepest = f"{HCL}, beta {BETAS[-1]:g}"
    four = [
        arms.scores(name) for name in (f"{steepest}, same class", f"{SIMCLR}, same class", steepest, SIMCLR)
    ]
    return arms.over_seeds(
        lambda seed: four[0][seed].probe - four[1][seed].probe - four[2][seed].probe + four[3][seed].probe,
        *four,
    )


def _best_betas(arms: ImageArms) -> str:
    said = []
    for words, ending in (("views", ""), ("the same class", ", same class")):
        means = {beta: arms.mean(arm, PROBE).mean for beta, arm in betas_of(arms, ending).items()}
        if means:
            said.append(f"{max(means, key=lambda beta: means[beta]):g} with {words}")
    return ", ".join(said) or "not measured yet"


def _plain(arm: str) -> str:
    return arm.replace(HCL, SIMCLR, 1)


def _factor(arms: ImageArms, more: str, less: str) -> str:
    ours, theirs = arms.scores(more), arms.scores(less)
    ratio = arms.over_seeds(lambda seed: ours[seed].seconds / max(theirs[seed].seconds, 1e-9), ours, theirs)
    return "–" if ratio is None else ratio.text(2)


def _points(difference: Estimate | None) -> str:
    return "not measured yet" if difference is None else difference.points


def _paper(data: str, more: str, less: str) -> str:
    """Return the difference in the tables of Jiang et al., if the set and both objectives are in them."""
    known = published_readout(data)
    more, less = (name.removesuffix(", searched") for name in (more, less))
    if more not in known or less not in known:
        return ""
    return f" (the paper {known[more] - known[less]:+.1f})"
