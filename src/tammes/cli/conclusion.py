"""What a training has come to, in a sentence: learned, no better than a floor, or collapsed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from tammes.cli.scores import Trial
from tammes.estimate import Estimate
from tammes.positives import Adjacent, GivenPairs
from tammes.training import Run

COLLAPSED = 0.01
"""Similarity by which positives must exceed negatives at the end of a training that has not collapsed."""
ALIKE = 0.5
"""Similarity of negatives from which they are alike; below, a training has hardly begun."""


def conclusion(trial: Trial, baselines: Sequence[Trial]) -> str:
    """Return the sentence about a trained objective, with what to change first where it has not learned.

    It goes by the accuracy of nearest neighbors: learned means that the 95 % intervals of its differences to
    the untrained encoder and to the features without training lie above zero: that over the test rows, on
    each of which both are compared (Newcombe's), and with several seeds that over the seeds, too. Seeds share
    their test rows, and may agree to the last row by chance. Embeddings of a training that has learned may be
    close to each other: a head can bring them there, behind features that tell the rows apart.

    Args:
        trial: the trained objective, with a run for each seed.
        baselines: the encoder before training, then features without an encoder.
    """
    collapsed = collapse(trial.runs)
    if not baselines or trial.mean.knn is None:
        if collapsed is not None:
            return collapsed
        if any(isinstance(run.config.training.positives, Adjacent | GivenPairs) for run in trial.runs):
            return (
                "Not measured: tasks of sentences would say whether it has learned (tammes evaluate RUN "
                "--tasks FOLDER)."
            )
        return (
            "Not measured: labeled data held out of training would say whether it has learned (--held-out, "
            "with a folder for each class or a column of labels)."
        )
    found = f"neighbors name {_percent(trial)} % of the held-out rows"
    behind, unclear = [], []
    for floor in baselines:
        differences = _differences(trial, floor)
        if all(difference.below_zero for difference in differences):
            behind.append(floor)
        elif not all(difference.above_zero for difference in differences):
            unclear.append(floor)
    floors = ", ".join(f"{floor.name} {_percent(floor)} %" for floor in baselines)
    if not behind and not unclear:
        return f"Learned: {found} ({floors})."
    if collapsed is not None and baselines[0] in (*behind, *unclear):  # no better than before training
        return collapsed
    worst = (behind or unclear)[0]
    is_untrained = worst is baselines[0]
    if trial.mean.knn == 1:
        remedy = "No encoder could be better on these rows: measure on harder ones."
    elif worst.mean.knn == 1:
        remedy = f"No encoder could be better than the {worst.name} on these rows: measure on harder ones."
    elif is_untrained:
        remedy = "Try first another --learning-rate (a tenth, ten times), then more --epochs."
    elif any(run.config.training.augmentation is None for run in trial.runs):
        remedy = "Try first more --epochs, then a wider encoder."
    else:
        remedy = "Try first more --epochs, then a wider encoder or another augmentation."
    if behind:
        return f"Below {worst.name}: {found} ({floors}). {remedy}"
    if not is_untrained:
        first = baselines[0].name.removesuffix(" encoder")
        return f"Better than {first}, not clearly above {worst.name}: {found} ({floors}). {remedy}"
    seeds = len(trial.measured)
    told = f"{len(trial.measured[0].right)} rows" if seeds == 1 else f"{seeds} seeds"
    return f"No better than {worst.name}, as far as {told} tell: {found} ({floors}). {remedy}"


def collapse(runs: Sequence[Run]) -> str | None:
    """Return the sentence that embeddings have become equal in every run, or None.

    Those of an untrained encoder may be close to each other as well: a collapse brings them closer.
    """
    cosines = []
    for run in runs:
        known = [each.last for each in run.metrics if "negative_similarity" in each.last]
        if len(known) < 2 or not run.config.training.objective.normalize:
            return None
        positive, negative = known[-1]["positive_similarity"], known[-1]["negative_similarity"]
        are_alike = positive - negative < COLLAPSED and negative > ALIKE
        if not are_alike or negative < known[0]["negative_similarity"] - COLLAPSED:
            return None
        cosines.append(f"{positive:.3f} and {negative:.3f}")
    if not cosines:
        return None
    return (
        f"Collapsed: a positive is as similar as a negative (cosines {cosines[0]}). Try first a lower "
        "--learning-rate, then a higher --temperature."
    )


def _percent(trial: Trial) -> str:
    assert trial.mean.knn is not None
    return f"{100 * trial.mean.knn:.1f}"


def _differences(trial: Trial, floor: Trial) -> tuple[Estimate, ...]:
    """Return the difference of accuracies over the test rows and, of several seeds, over the seeds."""
    seeds = len(trial.measured)
    others = floor.measured * (seeds // len(floor.measured))
    pairs = list(zip(trial.measured, others, strict=True))
    rows = [Estimate.of_outcomes(ours.right, theirs.right) for ours, theirs in pairs]
    over_rows = Estimate(
        mean=fmean(each.mean for each in rows),
        low=fmean(each.low for each in rows),
        high=fmean(each.high for each in rows),
    )
    if seeds == 1:
        return (over_rows,)
    ours, theirs = ([float(each.scores.knn or 0) for each in side] for side in zip(*pairs, strict=True))
    return over_rows, Estimate.of_difference(ours, theirs)
