"""The page of embeddings: what SimCLR and harder negatives make of the same images, in the first seed.

It is that of `tammes compare`: histograms of similarity, laid over each other, equal labels by rank, weights
on a map, the hardest negatives beside uniform ones, and the nearest images before and after training.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

import numpy as np
import torch
from markupsafe import Markup

from tammes.atomic import write_atomically
from tammes.data import Images
from tammes.papers.entry import Request
from tammes.papers.robinson_negatives.images_arms import (
    HCL,
    HCL_OT,
    SIMCLR,
    UNTRAINED,
    ImageRun,
    untrained,
    usual_arms,
)
from tammes.papers.robinson_negatives.images_scores import ImageArms
from tammes.papers.robinson_negatives.images_training import ImageScore
from tammes.report import Before, Comparison, Curve, Outcome, Pictures, Scores, write_comparison
from tammes.training import EpochMetrics, Model, TrainingConfig, embed
from tammes.training.embedding import embed_pairs
from tammes.training.views import view_seed

SHOWN = (SIMCLR, HCL, HCL_OT)
"""Arms on the page, beside the untrained encoder."""
ROWS, PAIRS = 600, 128
"""Test images on the page, and how many of them make a batch of pairs."""
CURVES = ("loss", "knn")


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """What a study keeps of some encoders while it measures them, and the pages that are made of it.

    Args:
        folder: folder of the files.
        runs: their trainings by data and arm; nothing is kept of others.
    """

    folder: Path
    runs: Mapping[tuple[str, str], ImageRun]

    @classmethod
    def of(cls, folder: Path, bases: Iterable[ImageRun]) -> Embeddings:
        """Return those of the untrained encoder and of the arms shown, of one seed; none that learn nothing.

        Args:
            folder: folder of the files.
            bases: run of SimCLR of each set.
        """
        runs: dict[tuple[str, str], ImageRun] = {}
        for base in (each for each in bases if each.epochs > 0):
            arms = {UNTRAINED: untrained(base), **usual_arms(base)}
            runs |= {(base.data, arm): arms[arm] for arm in (UNTRAINED, *SHOWN)}
        return cls(folder=folder, runs=runs)

    def keep(
        self,
        run: ImageRun,
        model: Model,
        config: TrainingConfig,
        tried: Images,
        metrics: Sequence[EpochMetrics],
    ) -> None:
        """Write what the page shows of an encoder, if it is on it.

        Args:
            run: its training.
            model: encoder and head.
            config: settings of the training.
            tried: images to measure on.
            metrics: a row for each epoch.
        """
        for (data, arm), wanted in self.runs.items():
            if wanted == run:
                self.folder.mkdir(parents=True, exist_ok=True)
                content = io.BytesIO()
                np.savez_compressed(content, **_seen(model, config, tried, metrics))
                write_atomically(self._file(data, arm), content.getvalue())

    def page(self, arms: ImageArms, command: str) -> Comparison | None:
        """Return the page of a set; None if an encoder is not kept or not measured yet.

        Args:
            arms: measured arms of the set.
            command: command that reproduces the page.
        """
        files = [self._file(arms.data, arm) for arm in (UNTRAINED, *SHOWN)]
        if (arms.data, UNTRAINED) not in self.runs or not all(file.exists() for file in files):
            return None
        first, *seen = (dict(np.load(file)) for file in files)
        sample = Pictures(
            images=first["images"], labels=first["labels"], classes=tuple(first["classes"].tolist())
        )
        seed, measured = self.runs[arms.data, UNTRAINED].seed, [arms.scores(arm) for arm in SHOWN]
        seeds = [each for each in arms.seeds if all(each in scores for scores in measured)]
        if not seeds:  # stopped before the last of them had its accuracies
            return None
        return Comparison(
            data=arms.data,
            settings={
                "seeds": f"{len(seeds)}; figures of embeddings and negatives are of seed {seed}",
                "images below": f"{sample.size} test images",
            },
            command=command,
            sample=sample,
            outcomes=tuple(
                _outcome(arm, kept, [scores[each] for each in seeds])
                for arm, kept, scores in zip(SHOWN, seen, measured, strict=True)
            ),
            test_size=int(first["tested"]),
            before=Before(features=first["features"], embeddings=first["embeddings"]),
        )

    def write(self, arms: ImageArms, request: Request) -> Markup | None:
        """Write the page of a set beside that of the study, and return a remark that leads to it.

        Args:
            arms: measured arms of the set.
            request: request of the study.
        """
        page = self.page(arms, request.command) if request.sharing.writes else None
        if page is None:
            return None
        name = f"embeddings-{_file_name(arms.data)}.html"
        write_comparison(request.out / name, page)
        return Markup(
            '<a href="{}">What the encoders of the first seed make of {}</a>: similarities of equal and of '
            "other labels, labels by rank, weights on a map, hardest negatives, nearest images."
        ).format(quote(name), arms.data)

    def _file(self, data: str, arm: str) -> Path:
        return self.folder / f"{_file_name(data)}-{_file_name(arm)}.npz"


def _file_name(name: str) -> str:
    """Return a name with what a file system may refuse replaced.

    Example:
        >>> _file_name("glyphs:40")
        'glyphs-40'
    """
    return re.sub(r"[^\w.-]", "-", name)


def _seen(
    model: Model, config: TrainingConfig, tried: Images, metrics: Sequence[EpochMetrics]
) -> dict[str, Any]:
    """Return images and their embeddings, the views of a batch, the weights of its negatives, and curves."""
    order = torch.randperm(len(tried), generator=torch.Generator().manual_seed(0))[:ROWS]
    images = tried.subset(order.tolist())
    features, embeddings = embed(model, images)
    pairs = torch.arange(min(PAIRS, len(images) // 2)).repeat(2, 1).T
    steps = metrics[-1].step if metrics else 0
    seeds = [view_seed(config, steps, number) for number in range(2)]
    views = embed_pairs(model, images, pairs, config.augmentations, seeds=seeds)
    assert images.classes is not None  # a set of the study has labels
    return {
        "images": images.batch(range(len(images))).numpy(),
        "labels": images.required_labels().numpy(),
        "classes": np.array(images.classes),
        "features": features.numpy(),
        "embeddings": embeddings.numpy(),
        "views": torch.stack(views).numpy(),
        "weights": config.objective.weights(*views).numpy(),
        "objective": str(config.objective),
        "tested": len(tried),
        **{
            f"{name} {part}": vars(curve)[part]
            for name in CURVES
            if (curve := Curve.of(metrics, name)) is not None
            for part in ("epochs", "values")
        },
    }


def _outcome(arm: str, seen: Mapping[str, Any], scores: Sequence[ImageScore]) -> Outcome:
    """Return what the page shows of an arm: curves and embeddings of the first seed, accuracies of all."""
    loss, knn = (Curve(epochs=seen[f"{name} epochs"], values=seen[f"{name} values"]) for name in CURVES)
    return Outcome(
        name=arm,
        objective=str(seen["objective"]),
        scores=_accuracies(scores),
        seeds=tuple(_accuracies([score]) for score in scores),
        seconds=fmean(score.seconds for score in scores),
        loss=loss,
        knn=knn,
        features=seen["features"],
        embeddings=seen["embeddings"],
        view_a=seen["views"][0],
        view_b=seen["views"][1],
        weights=seen["weights"],
    )


def _accuracies(scores: Sequence[ImageScore]) -> Scores:
    return Scores(
        knn=fmean(score.knn for score in scores),
        probe=fmean(score.probe for score in scores),
        probe_10_percent=fmean(score.tenth for score in scores),
        probe_1_percent=fmean(score.hundredth for score in scores),
    )
