"""One encoder of the study of active positives: trained by the loop of the package, and measured."""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tammes import recipes
from tammes.data import Images
from tammes.encoders import ConvNetConfig
from tammes.evaluation import KNN, LabeledFeatures, LinearProbe
from tammes.papers.ash.vision_training import Parts, balanced
from tammes.papers.weber.active_settings import (
    SETTINGS,
    TEMPERATURE,
    Scale,
    arms,
    augmentation_for,
)
from tammes.positives import SameInstance
from tammes.training import Machine, Run, RunFolder, TrainingConfig, embed, train


@dataclass(frozen=True, kw_only=True)
class ActiveRun:
    """One encoder to be trained, with all that its numbers depend on.

    Args:
        data: the set of images.
        positives: the name of the arm.
        seed: of the images, the weights and the views.
        images: how many are trained on.
        epochs: of training.
        longer: random positives are trained for so many times the epochs besides.
    """

    data: str
    positives: str
    seed: int
    images: int
    epochs: int
    longer: float


@dataclass(frozen=True, kw_only=True)
class ActiveScore:
    """What an encoder is worth on test images, after equally many updates and after equal time.

    Args:
        probe: accuracy of the linear probe that learns from all labels, after equally many updates.
        few: of the linear probe that learns from a tenth of them.
        knn: of the 20 nearest neighbors.
        probe_as_long: of the first, after about the time that active positives take.
        few_as_long: likewise.
        knn_as_long: likewise.
        loss: the mean training loss of the last of the equally many epochs.
        steps: of training.
        steps_as_long: likewise, after that time.
        seconds: of processor time, for the equally many updates.
        seconds_as_long: likewise, for all.
    """

    probe: float
    few: float
    knn: float
    probe_as_long: float
    few_as_long: float
    knn_as_long: float
    loss: float
    steps: int
    steps_as_long: int
    seconds: float
    seconds_as_long: float


class ActiveRuns:
    """Trains and measures cells, one after the other.

    Args:
        sets: the sets of images by name, whole.
        scale: of the study.
    """

    def __init__(self, sets: Mapping[str, Parts], scale: Scale) -> None:
        self.sets = sets
        self.scale = scale

    def measure(self, cell: ActiveRun) -> ActiveScore:
        """Train the encoder of a cell and measure it; with random positives, also after a longer training."""
        whole, scale = self.sets[cell.data], self.scale
        images = balanced(whole.train, cell.images, seed=cell.seed)
        test = balanced(whole.test, scale.test_images, seed=cell.seed)
        config = self._config(cell, images)
        with tempfile.TemporaryDirectory() as folder:
            kept = RunFolder(path=Path(folder, "run"))
            run, seconds = _timed(config, images, kept)
            probe, few, knn = _accuracies(run, images, test)
            late, seconds_late = run, 0.0
            if isinstance(config.positives, SameInstance):
                # Nothing is spread over the epochs, so that this is the longer run from its beginning.
                more = replace(config, epochs=round(cell.longer * cell.epochs))
                late, seconds_late = _timed(more, images, replace(kept, resume=True))
            long = _accuracies(late, images, test)
        last, at_the_end = run.metrics[-1], late.metrics[-1]
        return ActiveScore(
            probe=probe,
            few=few,
            knn=knn,
            probe_as_long=long[0],
            few_as_long=long[1],
            knn_as_long=long[2],
            loss=last.loss or 0.0,
            steps=last.step,
            steps_as_long=at_the_end.step,
            seconds=seconds,
            seconds_as_long=seconds + seconds_late,
        )

    def _config(self, cell: ActiveRun, images: Images) -> TrainingConfig:
        scale = self.scale
        steps = cell.epochs * (len(images) // scale.batch_size)
        return TrainingConfig(
            objective=recipes.simclr(temperature=TEMPERATURE),
            encoder=ConvNetConfig(width=scale.width),
            augmentation=augmentation_for(cell.data, images),
            positives=arms(cell.data, steps=steps)[cell.positives],
            optimizer=scale.optimizer,
            batch_size=scale.batch_size,
            epochs=cell.epochs,
            seed=cell.seed,
        )


def wanted_cells(sets: Mapping[str, Parts], scale: Scale, *, seed: int) -> list[ActiveRun]:
    """All cells, those of the first seed first: after it a stopped study is a whole one, with fewer seeds."""
    return [
        ActiveRun(
            data=data,
            positives=positives,
            seed=each,
            images=min(scale.images, len(parts.train)),
            epochs=max(1, round(scale.part * SETTINGS[data].epochs)),
            longer=SETTINGS[data].longer,
        )
        for each in range(seed, seed + scale.seeds)
        for data, parts in sets.items()
        for positives in arms(data, steps=1)
    ]


def _timed(config: TrainingConfig, images: Images, folder: RunFolder) -> tuple[Run, float]:
    start = time.process_time()
    run = train(config, images, folder=folder, machine=Machine(accelerator="auto"))
    return run, time.process_time() - start


def _accuracies(run: Run, images: Images, test: Images) -> tuple[float, float, float]:
    """Of the probe with all labels, with a tenth, and of nearest neighbors."""
    learned, tried = (
        LabeledFeatures(features=embed(run.model, part)[0], labels=part.required_labels())
        for part in (images, test)
    )
    few = LinearProbe(fraction=0.1, seed=run.config.training.seed)
    return (
        LinearProbe().accuracy(learned, tried),
        few.accuracy(learned, tried),
        KNN(neighbors=min(20, len(learned))).accuracy(learned, tried),
    )
