"""Linear readout with implicit feature modification, on SimCLR and on MoCo (Figure 4-7, Table 4.1, B.2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from matplotlib.figure import Figure as Drawing

from tammes.evaluation import KNN, LabeledFeatures, LinearProbe
from tammes.papers.entry import Request
from tammes.papers.figures import dots
from tammes.papers.finding import Finding
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.page import Figure, PaperPage, panel
from tammes.papers.robinson_features.methods import (
    IFM,
    MOCO,
    MOCO_IFM,
    SIMCLR,
    UNTRAINED,
    FeatureRun,
    arm_of,
)
from tammes.papers.robinson_features.results import ArmScores
from tammes.papers.robinson_features.rivals import (
    EPSILONS,
    PROBE,
    TEMPERATURES,
    beside_other_forms,
    beside_rivals,
    modified_arm,
    other_forms,
    rivals,
)
from tammes.papers.robinson_features.studies import SECONDS, number, page_of, percent, study_of
from tammes.papers.robinson_features.training import (
    FeatureScale,
    fitted,
    queued_run,
    scale_of,
    untrained_run,
)
from tammes.papers.study import Study
from tammes.training import embed

TABLE_B_1: Mapping[str, tuple[float, float]] = {"CIFAR-100": (69.0, 70.3), "CIFAR-10": (91.8, 92.4)}
"""Table B.1: MoCo-v2, and the best IFM-MoCo-v2 over epsilon of 0.05, 0.1, 0.2 and 0.5."""
NEIGHBORS = 20
REMARKS = (
    "Runs of one seed have the same images, first weights and order, so that differences are taken seed by "
    "seed.",
    "A rival has three values of one setting, as IFM has of epsilon; the first is the published one. None is "
    "chosen: what is said of a rival must hold for each epsilon over each value. All other settings of a "
    "rival are published ones, and none was tuned for this size.",
    "In equal time: a step of AdCo costs what one of MoCo costs, a step of MoCHi 1.25 times as much, and one "
    "of ACL, with five steps of its attack, 5.5 times as much as one of SimCLR. So MoCHi and ACL have their "
    "hosts' epochs divided by that; the table has the time that each training took. With their published "
    "values they also have all epochs of their hosts.",
    "Figure 4-7 shows bars without numbers: ResNet-50 after 400 epochs, five-fold cross-validation on CIFAR. "
    "Table 4.1 is of ImageNet100: there MoCo-v2 has 80.4 %, AdCo 78.9 % with the best of eight settings, and "
    "IFM 81.1, 80.9 and 80.7 % at epsilon 0.05, 0.1 and 0.2.",
    "Table B.1 has the best of four values of epsilon, and nothing says on which part of the data it was "
    "chosen; here every epsilon has its own interval, and none is chosen.",
)


@dataclass(frozen=True, kw_only=True)
class ReadoutScore:
    """Measurements of an encoder on test images.

    Args:
        probe: accuracy of the linear readout from the features.
        knn: accuracy of the 20 nearest neighbors.
        loss: mean training loss of the last epoch.
        seconds: processor time of the training.
    """

    probe: float
    knn: float
    loss: float
    seconds: float


def run(request: Request) -> None:
    """Train and measure every encoder."""
    scale = scale_of(request)
    study(image_sets(request.required_data(), size=scale.side), scale).run(request)


def study(sets: Mapping[str, Parts], scale: FeatureScale) -> Study[FeatureRun, ReadoutScore]:
    """Return the study of sets of images.

    Args:
        sets: sets by name.
        scale: size of the study.
    """
    return study_of(sets, scale, arms=arms, scores=ReadoutScore, measure=scored, page=page)


def scored(run: FeatureRun, scale: FeatureScale, parts: Parts) -> ReadoutScore:
    """Train an encoder, and measure its features on test images."""
    (fit,) = fitted(run, scale, parts[0])
    known, tried = (
        LabeledFeatures(features=embed(fit.model, part)[0], labels=part.required_labels()) for part in parts
    )
    return ReadoutScore(
        probe=LinearProbe(iterations=500).accuracy(known, tried),
        knn=KNN(neighbors=min(NEIGHBORS, len(known))).accuracy(known, tried),
        loss=fit.loss,
        seconds=fit.seconds,
    )


def arms(base: FeatureRun) -> list[FeatureRun]:
    """Return the untrained encoder, each host without modification and with each epsilon, and the rivals."""
    queued = queued_run(base)
    return [
        untrained_run(base),
        base,
        *(replace(base, method=IFM, epsilon=epsilon) for epsilon in EPSILONS),
        queued,
        *(replace(queued, method=MOCO_IFM, epsilon=epsilon) for epsilon in EPSILONS),
        *other_forms(base, queued),
        *rivals(base, queued),
    ]


HOSTS = {SIMCLR: IFM, MOCO: MOCO_IFM}
"""Each host, and feature modification on it."""


def host_arm(host: str) -> str:
    """Return the arm of a host."""
    return arm_of(host, temperature=TEMPERATURES[host])


def page(results: Mapping[FeatureRun, ReadoutScore], scale: FeatureScale) -> PaperPage | None:
    """Return the page of what has been measured; None before the first trained arm of a set."""
    return page_of(
        results,
        scale,
        title="Linear readout with implicit feature modification",
        needed=lambda data: {UNTRAINED, host_arm(SIMCLR)},
        overview=_readouts,
        findings=findings,
        figures=_figures,
        columns={
            "readout": percent(PROBE),
            "kNN": percent(attrgetter("knn")),
            "over its host": _gain,
            "seconds": number(SECONDS, 0),
            "time of its host": _times,
        },
        note="Accuracy in percent from the features, means over the seeds with 95 % intervals; differences "
        "seed by seed; seconds of processor time of a training, and how many times those of "
        "its host they are.",
        remarks=REMARKS,
    )


def _figures(measured: Mapping[str, ArmScores[ReadoutScore]]) -> list[Figure]:
    return [
        Figure(
            title="Linear readout (Figure 4-7)",
            words="On test images, mean and 95 % interval over the seeds.",
            panels=tuple(
                panel(_readouts(scores), f"Linear readout of every arm on {data}.", name=data)
                for data, scores in measured.items()
            ),
            wide=True,
        )
    ]


def findings(scores: ArmScores[ReadoutScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers on one set."""
    found = []
    for host, method in HOSTS.items():
        arms = {epsilon: modified_arm(method, epsilon) for epsilon in EPSILONS}
        found.append(
            Finding(
                paper=f"Figure 4-7, {scores.data}: IFM improves the readout of {host} at every epsilon."
                + _published(scores.data, host),
                ours="IFM over its host in points:",
                effects=tuple(
                    scores.points(f"epsilon {epsilon:g}", arm, host_arm(host), PROBE)
                    for epsilon, arm in arms.items()
                ),
                controls=scores.learned(PROBE, host_arm(host), *arms.values()),
            )
        )
    return (*found, *beside_other_forms(scores), *beside_rivals(scores))


def _published(data: str, host: str) -> str:
    """Return the numbers of Table B.1 for a set, in words; empty for others."""
    letters = "".join(letter for letter in data.lower() if letter.isalnum())
    for name, (plain, best) in TABLE_B_1.items():
        if host == MOCO and name.lower().replace("-", "") in letters:
            return f" (Table B.1: {plain:g} % and, at the best epsilon, {best:g} %.)"
    return ""


def _host(scores: ArmScores[ReadoutScore], arm: str) -> str:
    """Return the arm of the host of another arm, which is the arm itself if it has none."""
    run = scores.runs[arm]
    return arm if run.method == UNTRAINED else host_arm(MOCO if run.queue else SIMCLR)


def _gain(scores: ArmScores[ReadoutScore], arm: str) -> str:
    host = _host(scores, arm)
    found = None if host == arm else scores.difference(arm, host, PROBE)
    return "–" if found is None else found.points


def _times(scores: ArmScores[ReadoutScore], arm: str) -> str:
    host = _host(scores, arm)
    found = None if host == arm else scores.ratio(arm, host, SECONDS)
    return "–" if found is None else f"{found.mean:.2f}"


def _readouts(scores: ArmScores[ReadoutScore]) -> Drawing:
    return dots({arm: scores.mean(arm, PROBE) for arm in scores.names}, {}, label="linear readout")
