"""When harder negatives help on images: tables and ablations of two documents, with an equal search.

Robinson (2023), sections 3.5.1 and 3.6, and Jiang et al. (2023), section VII-A. All objectives are compared
at the papers' temperature, and four of them once more with the best of nine settings each, which successive
halving chooses on validation images (Jamieson and Talwalkar, 2016). Each trend has its own arms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup
from matplotlib.figure import Figure as Drawing

from tammes.estimate import Estimate
from tammes.papers.claim import claim
from tammes.papers.entry import Request
from tammes.papers.figures import curves, dots
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.page import Figure, PaperPage, panel, write_page
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_negatives.images_arms import (
    SEARCHED,
    SIMCLR,
    UNTRAINED,
    ImageRun,
    further_arms,
    published_readout,
    settings_of,
    space_in_words,
    untrained,
    usual_arms,
)
from tammes.papers.robinson_negatives.images_axes import varied_arms
from tammes.papers.robinson_negatives.images_embeddings import Embeddings
from tammes.papers.robinson_negatives.images_gains import gains_figures, in_points
from tammes.papers.robinson_negatives.images_results import betas_of, findings
from tammes.papers.robinson_negatives.images_scores import SEARCHED_NAME, ImageArms
from tammes.papers.robinson_negatives.images_table import numbers, setting
from tammes.papers.robinson_negatives.images_training import (
    ImageScale,
    ImageScore,
    measurer,
    scale_of,
)
from tammes.papers.study import Results, complete
from tammes.papers.unfinished import Unfinished

APART = 1000
"""The search has the first seed plus this, which no arm has."""
FEWEST_CLASSES = 3
SIDE = 32
"""Height and width that the images of a folder are scaled to, in pixels."""
KEPT = 3
"""One in three settings is kept for the next round, with three times as many epochs."""
REMARKS = (
    "Runs of one seed have the same images, first weights, order and views, so that differences are taken "
    "seed by seed. All arms have the same epochs, learning rate and schedule.",
    "The search has one seed, which no arm has. A fifth of the images to train on validates. Each objective "
    "has nine settings: all are trained for a ninth of the epochs, the best three, by nearest neighbors on "
    "validation images, for a third. Short rounds favor settings that learn quickly. The intervals do not "
    "hold the luck of the search.",
    "The objective takes about the same time under every coupling, so that equal epochs are equal seconds up "
    "to the factor that is given with the speed. Without such a factor the seconds are of no use.",
    "The papers train ResNet-50 for 400 epochs and report the best of a grid, and nothing says on which part "
    "of the data it was searched.",
)
Chosen = Mapping[str, ImageRun]


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageStudy:
    """The study of some sets of images, which grows with each block of arms.

    Args:
        sets: sets by name, whole.
        scale: size of the study.
    """

    sets: Mapping[str, Parts]
    scale: ImageScale

    def base(self, data: str) -> ImageRun:
        """Return the run of SimCLR that all arms of a set are changes of.

        Raises:
            ValueError: images of fewer than three classes.
        """
        train_part = self.sets[data][0]
        labels = train_part.required_labels()
        classes = len(labels.unique())
        # Each class has an image at least; see `balanced`.
        images = min(max(self.scale.images or len(labels), classes), len(labels))
        if classes < FEWEST_CLASSES:
            raise ValueError(
                f"expected images of at least {FEWEST_CLASSES} classes in {data}, got {classes}: the search "
                "also tries twice the class prior of the data, which must be below 1"
            )
        # The search has fewer images, and some steps an epoch all the same.
        fitting = 2 ** int(math.log2(max(8, images // 5)))
        return ImageRun(
            data=data,
            objective=SIMCLR,
            temperature=0.5,
            hardness=0.0,
            class_prior=0.0,
            batch_size=min(self.scale.batch_size, fitting),
            classes=classes,
            images=images,
            epochs=self.scale.epochs if self.scale.learning else 0,
            encoder=self.scale.encoder,
            seed=self.scale.seeds[0],
        )

    def search(
        self,
        results: Results[ImageRun, ImageScore],
        measure: Callable[[ImageRun], ImageScore],
        data: str,
        name: str,
    ) -> ImageRun:
        """Return the run with the best of the nine settings of an objective.

        Args:
            results: known scores; each measured cell is appended.
            measure: function that trains and measures one encoder.
            data: name of the set.
            name: objective, one of `SEARCHED`.
        """
        validated = replace(
            self.base(data), seed=self.scale.seeds[0] + APART, measured_on="validation images"
        )
        candidates = settings_of(name, validated)
        for part in (9, 3):
            epochs = min(validated.epochs, max(1, round(validated.epochs / part)))
            cells = [replace(run, epochs=epochs) for run in candidates]
            scores = complete(results, cells, measure, name=_name)
            candidates = sorted(cells, key=lambda run, scores=scores: -scores[run].knn)  # type: ignore[misc]
            candidates = candidates[: max(1, len(candidates) // KEPT)]
        return replace(
            candidates[0],
            seed=validated.seed - APART,
            measured_on="test images",
            epochs=validated.epochs,
        )

    def arms(self, data: str, chosen: Chosen) -> list[dict[str, ImageRun]]:
        """Return the arms of a set by name, in blocks: the tables, then the trends.

        Args:
            data: name of the set.
            chosen: run with the best setting of each searched objective.
        """
        base = self.base(data)
        searched = {SEARCHED_NAME.format(name): run for name, run in chosen.items()}
        blocks = [{UNTRAINED: untrained(base), **usual_arms(base), **searched}]
        if self.scale.trends:
            blocks.append(further_arms(base))
        return blocks

    def varied(self, data: str) -> dict[str, ImageRun]:
        """Return the arms along temperature, width and other settings by name; none without the trends.

        Args:
            data: name of the set.
        """
        return varied_arms(self.base(data)) if self.scale.trends else {}


def run(request: Request) -> None:
    """Search, then train and measure every arm on each set; the table resumes, and the page grows.

    No `Study`: which cells are measured depends on the scores of earlier ones.
    """
    scale = scale_of(request)
    study = ImageStudy(sets=image_sets(request.required_data(), size=SIDE), scale=scale)
    protocol = Protocol(
        seeds=scale.seeds,
        controls=["untrained encoder"],
        measured_on="test images",
        search=space_in_words(),
        searched_on="validation images, a part of the training images",
    )
    claim(request, protocol)
    results = Results(request.out / "table.csv", ImageRun, ImageScore, request.sharing)
    unfinished = Unfinished(study=request.out, alone=request.sharing.writes) if scale.on_gpu else None
    embeddings = Embeddings.of(request.out / "embeddings", map(study.base, study.sets))
    measure = measurer(study.sets, scale, unfinished, embeddings.keep)
    runs: dict[str, dict[str, ImageRun]] = {data: {} for data in study.sets}
    shown: dict[str, ImageArms] = {}
    links: dict[str, Markup | None] = {}

    def add(data: str, block: Mapping[str, ImageRun]) -> None:
        """Measure a block of arms, and write the page of all that is measured."""
        runs[data] |= block
        # Arm by arm, so that a study that is stopped has all seeds of some arms.
        cells = [replace(run, seed=seed) for run in block.values() for seed in scale.seeds]
        try:
            complete(results, list(dict.fromkeys(cells)), measure, name=_name)
        finally:
            arms = ImageArms(data=data, runs=runs[data], results=results.known, seeds=scale.seeds)
            if arms.scores(SIMCLR) and arms.scores(UNTRAINED):
                shown[data] = arms
                links[data] = embeddings.write(arms, request)
                found = page(list(shown.values()), scale, (*REMARKS, *filter(None, links.values())))
                write_page(found, request, protocol)

    for data in study.sets:
        chosen = {name: study.search(results, measure, data, name) for name in SEARCHED}
        for block in study.arms(data, chosen):
            add(data, block)
    # After those of all sets, so that a table that lacks them is completed in the order in which it began.
    for data in study.sets:
        if varied := study.varied(data):
            add(data, varied)


def page(measured: list[ImageArms], scale: ImageScale, remarks: Sequence[str] = REMARKS) -> PaperPage:
    """Return the page of all sets that have been measured.

    Args:
        measured: arms of each set.
        scale: size of the study.
        remarks: paragraphs at its end.
    """
    return PaperPage(
        title="When harder negatives help, on images",
        overview=_gains(measured[0]),
        findings=tuple(found for arms in measured for found in findings(arms)),
        figures=tuple(figure for arms in measured for figure in _figures(arms)),
        numbers=numbers(measured),
        remarks=tuple(remarks),
        settings={
            **{
                arms.data: f"{run.images:,} training images of {run.classes} classes, at most "
                f"{scale.test_images:,} test images, batches of {run.batch_size} pairs"
                for arms in measured
                for run in [arms.runs[SIMCLR]]
            },
            "encoder": scale.encoder,
            "training": f"{scale.epochs} epochs, Adam along half a cosine",
            **{
                f"{name} of {arms.data}": setting(arms.runs[SEARCHED_NAME.format(name)])
                for arms in measured
                for name in SEARCHED
            },
        },
    )


def _gains(arms: ImageArms) -> Drawing:
    # The figure of the settings has the others, each beside SimCLR at the same value.
    usual = arms.runs[SIMCLR]
    others = {UNTRAINED, SIMCLR, *varied_arms(usual)}
    others |= {
        arm
        for arm, run in arms.runs.items()
        if (run.classes, run.batch_size) != (usual.classes, usual.batch_size)
    }
    gains = {
        arm: in_points(difference)
        for arm in arms.names
        if arm not in others and (difference := arms.difference(arm, SIMCLR)) is not None
    }
    paper = published_readout(arms.data)
    known = {arm: paper[arm] - paper[SIMCLR] for arm in gains if arm in paper}
    ends = [0.0, *known.values()]
    for gain in gains.values():
        ends += [gain.low, gain.high] if gain.is_known else [gain.mean]
    return dots(gains, known, label="readout over SimCLR, points", limits=(min(ends) - 1, max(ends) + 1))


def _figures(arms: ImageArms) -> list[Figure]:
    """Return the gains of all arms, accuracy over the epochs, the readout over beta, and where gains turn."""
    figures = [
        Figure(
            title=f"{arms.data}: over SimCLR",
            words="Linear readout over that of SimCLR at temperature 0.5, mean and 95 % interval over the "
            "seeds, in points. Rings are the papers'.",
            panels=(panel(_gains(arms), f"Gain of every arm on {arms.data}."),),
            wide=True,
        ),
        Figure(
            title=f"{arms.data}: over the epochs (Figure 3-12)",
            words="Accuracy of 200 weighted nearest neighbors on test images, in percent.",
            panels=tuple(
                panel(
                    curves(series, across="epoch", up="nearest neighbors, %", width=5.2),
                    f"Accuracy over the epochs on {arms.data}, {words}.",
                    name=words,
                )
                for words, pattern in (("temperature 0.5", "{}"), ("searched", SEARCHED_NAME))
                if (series := _over_epochs(arms, [pattern.format(name) for name in SEARCHED]))
            ),
            wide=True,
        ),
    ]
    by_beta = {
        words: (list(named), [_percent(arms, arm) for arm in named.values()])
        for words, ending in (("views", ""), ("same class", ", same class"))
        if len(named := betas_of(arms, ending)) > 2
    }
    if by_beta:
        drawn = curves(by_beta, across="beta", up="linear readout, %", width=5.2)
        figures.append(
            Figure(
                title=f"{arms.data}: over beta (Figure 3-6)",
                words="Linear readout in percent; beta 0 is SimCLR. Positives are two views of an image, or "
                "views of two images of a class.",
                panels=(panel(drawn, f"Readout over beta on {arms.data}."),),
                wide=True,
            )
        )
    return [*figures, *gains_figures(arms)]


def _over_epochs(arms: ImageArms, names: list[str]) -> dict[str, tuple[list[float], list[Estimate]]]:
    series = {}
    for arm in names:
        measured = [score.over_epochs for score in arms.scores(arm).values()]
        if measured and len(measured[0]) > 1:
            epochs = list(measured[0])
            series[arm] = (
                [float(epoch) for epoch in epochs],
                [Estimate.over_seeds([100 * curve[epoch] for curve in measured]) for epoch in epochs],
            )
    return series


def _percent(arms: ImageArms, arm: str) -> Estimate:
    return Estimate.over_seeds([100 * score.probe for score in arms.scores(arm).values()])


def _name(run: ImageRun) -> str:
    where = "searching" if run.measured_on != "test images" else f"seed {run.seed}"
    more = "".join(
        f", {words}"
        for words, is_there in (
            (run.positives, run.positives != "views"),
            (f"{run.annealing} beta", run.annealing != "none"),
            ("queue", run.queue),
            (f"{run.batch_size} pairs", True),
            (f"{run.classes} classes", True),
            (run.encoder, True),
        )
        if is_there
    )
    return f"{run.data}, {run.objective}, {setting(run)}{more}, {run.epochs} epochs, {where}"
