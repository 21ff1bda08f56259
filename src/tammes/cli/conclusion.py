"""What a training has come to, in a sentence: learned, no better than a floor, or collapsed."""

from __future__ import annotations

from collections.abc import Sequence

from tammes.cli.scores import Trial
from tammes.estimate import Estimate
from tammes.training import Run

COLLAPSED = 0.01
"""Similarity by which positives must exceed negatives at the end of a training that has not collapsed."""


def conclusion(trial: Trial, baselines: Sequence[Trial]) -> str:
    """Return the sentence about a trained objective, with what to change first where it has not learned.

    It goes by the accuracy of nearest neighbors: learned means that the 95 % intervals of its differences to
    the untrained encoder and to the features without training lie above zero. With one seed these are over
    the test rows, on each of which both are compared (Newcombe's), with several over the seeds.

    Args:
        trial: the trained objective, with a run for each seed.
        baselines: the encoder before training, then features without an encoder.
    """
    collapsed = collapse(trial.runs)
    if collapsed is not None:
        return f"Collapsed: {collapsed}. Try first a lower --learning-rate, then a higher --temperature."
    if not baselines or trial.mean.knn is None:
        return (
            "Not measured: labeled data held out of training would say whether it has learned (--held-out, "
            "with a folder for each class or a column of labels)."
        )
    found = f"neighbors name {_percent(trial)} % of the held-out rows"
    behind, unclear = [], []
    for floor in baselines:
        difference = _difference(trial, floor)
        if difference.below_zero:
            behind.append(floor)
        elif not difference.above_zero:
            unclear.append(floor)
    floors = ", ".join(f"{floor.name} {_percent(floor)} %" for floor in baselines)
    if not behind and not unclear:
        return f"Learned: {found} ({floors})."
    worst = (behind or unclear)[0]
    is_untrained = worst is baselines[0]
    remedy = (
        "Try first another --learning-rate (a tenth, ten times), then more --epochs."
        if is_untrained
        else "Try first more --epochs, then a wider encoder or another augmentation."
    )
    if behind:
        return f"Below {worst.name}: {found} ({floors}). {remedy}"
    if not is_untrained:
        first = baselines[0].name.removesuffix(" encoder")
        return f"Better than {first}, not clearly above {worst.name}: {found} ({floors}). {remedy}"
    seeds = len(trial.measured)
    told = f"{len(trial.measured[0].right)} rows" if seeds == 1 else f"{seeds} seeds"
    return f"No better than {worst.name}, as far as {told} tell: {found} ({floors}). {remedy}"


def collapse(runs: Sequence[Run]) -> str | None:
    """Return the sign that embeddings have become equal in every run, or None."""
    signs = []
    for run in runs:
        last = run.metrics[-1].last if run.metrics else {}
        positive, negative = last.get("positive_similarity"), last.get("negative_similarity")
        if positive is None or negative is None or not run.config.training.objective.normalize:
            return None
        if not positive - negative < COLLAPSED:
            return None
        signs.append(f"a positive is as similar as a negative (cosines {positive:.3f} and {negative:.3f})")
    return signs[0] if signs else None


def _percent(trial: Trial) -> str:
    assert trial.mean.knn is not None
    return f"{100 * trial.mean.knn:.1f}"


def _difference(trial: Trial, floor: Trial) -> Estimate:
    """Return the difference of accuracies: paired over seeds, or over the rows of one seed."""
    if len(trial.measured) == 1:
        return Estimate.of_outcomes(trial.measured[0].right, floor.measured[0].right)
    ours, theirs = ([score.knn for score in each.scores if score.knn is not None] for each in (trial, floor))
    return Estimate.of_difference(ours, theirs * (len(ours) // len(theirs)))
