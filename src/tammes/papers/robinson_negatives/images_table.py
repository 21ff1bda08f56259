"""The table of the study of negatives on images: every arm with its settings and measurements."""

from __future__ import annotations

import math

from tammes.coupling import Hard
from tammes.papers.page import Numbers
from tammes.papers.robinson_negatives.images_arms import OBJECTIVES, ORACLE, UNTRAINED, ImageRun
from tammes.papers.robinson_negatives.images_scores import KNN, PROBE, ImageArms, Pick


def numbers(measured: list[ImageArms]) -> Numbers:
    """Return a row for each arm of each set."""
    rows = [
        (
            f"{arms.data}, {arm}",
            setting(arms.runs[arm]),
            *(
                _percent(arms, arm, pick)
                for pick in (
                    PROBE,
                    lambda score: score.tenth,
                    lambda score: score.hundredth,
                    KNN,
                    lambda score: score.overlap,
                )
            ),
            f"{arms.mean(arm, lambda score: score.seconds).mean:.0f}",
            str(len(arms.scores(arm))),
        )
        for arms in measured
        for arm in arms.names
    ]
    return Numbers(
        header=("arm", "setting", "readout", "10 %", "1 %", "kNN", "overlap", "seconds", "seeds"),
        rows=tuple(rows),
        note="Accuracy in percent on test images, means with 95 % intervals over the seeds: linear readout "
        "with all labels, a tenth and a hundredth of them, 200 weighted nearest neighbors. Overlap: area in "
        "percent that the densities of the cosines of equal and of other labels share. Seconds: of a "
        f"training, and more beside other work. '{ORACLE}' takes only negatives of other classes, by the "
        "labels.",
    )


def _percent(arms: ImageArms, arm: str, pick: Pick) -> str:
    is_measured = not any(math.isnan(pick(score)) for score in arms.scores(arm).values())
    return arms.mean(arm, pick).percent if is_measured else "–"


def setting(run: ImageRun) -> str:
    """Return the settings of a run that its name need not tell."""
    if run.objective == UNTRAINED:
        return "–"
    words = [f"temperature {run.temperature:g}"]
    if run.hardness:
        is_hard = isinstance(OBJECTIVES[run.objective](run).coupling, Hard)
        words.append(f"{'beta' if is_hard else 'epsilon'} {run.hardness:g}")
    if run.class_prior:
        words.append(f"class prior {run.class_prior:g}")
    return ", ".join(words)
