"""The papers' statements on negatives on images, beside the scores of the arms."""

from __future__ import annotations

from dataclasses import replace

from tammes.estimate import Estimate
from tammes.papers.finding import Effect, Finding, effect_in_points
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
    published_readout,
)
from tammes.papers.robinson_negatives.images_gains import gain_findings
from tammes.papers.robinson_negatives.images_scores import KNN, PROBE, SEARCHED_NAME, ImageArms

LIKE_CLOCKS = 0.1
"""Largest share by which the seconds of equal trainings may differ, if seconds are to be compared."""


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
            *gain_findings(arms),
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
            effects=(effect_in_points("", nearer),),
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
            effects=(effect_in_points("", _steeper(arms)),),
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
                "theirs); the thesis has 125 in place of 400 epochs on CIFAR-100, 69 %. "
                f"{_seconds(arms, hcl, simclr)}:",
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
                effects=(effect_in_points("", grown),),
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


def _seconds(arms: ImageArms, more: str, less: str) -> str:
    """Return how the seconds of two arms compare, if trainings of equal length have taken equal seconds.

    Processor time grows beside other work. Temperature and beta change no operation, so that SimCLR as usual
    and as searched, and HCL likewise, are controls of the clock.
    """
    clocks = [_factor(arms, SEARCHED_NAME.format(name), name) for name in (SIMCLR, HCL)]
    factor = _factor(arms, more, less)
    if factor is None or None in clocks:
        return "The seconds of a training are not measured yet"
    worst = max((max(clock.mean, 1 / clock.mean) for clock in clocks if clock is not None), default=1.0)
    if worst > 1 + LIKE_CLOCKS:
        return (
            "The seconds of trainings are not compared: those of one objective at two settings differ by a "
            f"factor of {worst:.2f}, so that the machine must have had other work beside some of them"
        )
    return f"A training takes the seconds of {SIMCLR} times {factor.text(2)}"


def _factor(arms: ImageArms, more: str, less: str) -> Estimate | None:
    """Return the seconds of one arm over those of another; None if one was not measured yet."""
    ours, theirs = arms.scores(more), arms.scores(less)
    shortest = 1e-9  # of an encoder that was not trained
    return arms.over_seeds(
        lambda seed: max(ours[seed].seconds, shortest) / max(theirs[seed].seconds, shortest), ours, theirs
    )


def _points(difference: Estimate | None) -> str:
    return "not measured yet" if difference is None else difference.points


def _paper(data: str, more: str, less: str) -> str:
    """Return the difference in the papers' tables, if the set and both objectives are in them."""
    known = published_readout(data)
    more, less = (name.removesuffix(", searched") for name in (more, less))
    if more not in known or less not in known:
        return ""
    return f" (the paper {known[more] - known[less]:+.1f})"
