"""From trained runs to what the report shows of them."""

import statistics
from dataclasses import replace

import numpy as np
import torch

from tammes.cli.measure import DRAWS, shuffled
from tammes.cli.trial import Trial
from tammes.data import Images
from tammes.objective import Objective
from tammes.report import Curve, Outcome, Sample
from tammes.training import QueueConfig, Row, Run, TrainingConfig, embed
from tammes.training.embedding import embed_pairs
from tammes.training.seeds import Purpose, derive

LARGEST_BATCH = 256
LARGEST_SAMPLE = 1000


def choose_sample(train: Images, held_out: Images | None, batch_size: int) -> tuple[Images, bool]:
    """The pictures of the report, in random order, and whether they were held out of training.

    The held-out ones, if they suffice for a batch like those of training, which the objective needs.
    """
    pairs = min(batch_size, LARGEST_BATCH)
    if held_out is not None and len(held_out) >= pairs:
        return shuffled(held_out, LARGEST_SAMPLE), True
    return shuffled(train, LARGEST_SAMPLE), False


def report_sample(images: Images) -> Sample:
    """Pictures as the report wants them."""
    return Sample(
        images=images.batch(range(len(images))).numpy(),
        labels=None if images.labels is None else images.labels.numpy(),
        classes=images.classes,
        names=images.names,
    )


def report_settings(
    config: TrainingConfig, images: Images, *, measured: bool, is_held_out: bool
) -> dict[str, str]:
    """What the report says of the training, in words and in the order to be shown.

    Args:
        config: of the training.
        images: that it learned from.
        measured: whether there are accuracies.
        is_held_out: whether the report's pictures were held out.
    """
    draws = f"means over {DRAWS} draws of labels, the same for all; their spread is not in the errors"
    return {
        "encoder": repr(config.encoder),
        "views": repr(config.augmentation),
        "images": f"{len(images)}, {images.channels}x{images.size}x{images.size}",
        "batch size": str(config.batch_size),
        "epochs": str(config.epochs),
        "optimizer": repr(config.optimizer),
        **({} if config.chunk is None else {"chunk": f"{config.chunk} views at a time"}),
        **({} if config.annealing is None else {"beta": repr(config.annealing)}),
        **({"negatives": repr(config.negatives)} if isinstance(config.negatives, QueueConfig) else {}),
        "seed": str(config.seed),
        **({"10 % and 1 %": draws} if measured else {}),
        "pictures below": "held out of training" if is_held_out else "from the training images",
    }


def report_outcome(trial: Trial, sample: Images) -> Outcome:
    """One trained objective as the report wants it; the figures are of its first seed.

    Args:
        trial: with a run for each seed.
        sample: the pictures of the report.
    """
    run = trial.runs[0]
    training = run.config.training
    objective = objective_at_the_end(run)
    learned = f", temperature {objective.temperature:.3g} at the end" if training.learn_temperature else ""
    features, embeddings = embed(run.model, sample)
    pairs = min(training.batch_size, LARGEST_BATCH, len(sample))
    step = run.metrics[-1].step
    seeds = derive(training.seed, Purpose.FIRST_VIEW, step), derive(training.seed, Purpose.SECOND_VIEW, step)
    rows = torch.arange(pairs).repeat(2, 1).T
    view_a, view_b = embed_pairs(run.model, sample, rows, training.augmentation, seeds=seeds)
    with torch.no_grad():
        labels = None if sample.labels is None else sample.labels[:pairs]
        generator = torch.Generator().manual_seed(derive(training.seed, Purpose.OBJECTIVE))
        weights = objective.weights(view_a, view_b, labels=labels, generator=generator)
    return Outcome(
        name=trial.name,
        objective=f"{training.objective!r}{learned}",
        scores=trial.mean,
        seeds=trial.scores,
        seconds=statistics.mean(run.seconds or 0.0 for run in trial.runs),
        loss=_loss_curve(run.metrics),
        knn=_knn_curve(run.metrics),
        features=features.numpy(),
        embeddings=embeddings.numpy(),
        view_a=view_a.numpy(),
        view_b=view_b.numpy(),
        weights=weights.numpy(),
    )


def objective_at_the_end(run: Run) -> Objective:
    """The objective with the beta of the last epoch and, where it is learned, the last temperature.

    Args:
        run: that has finished.
    """
    row = run.metrics[-1]
    objective = run.config.training.objective_at(row.epoch - 1)
    return replace(objective, temperature=row.last.get("temperature", objective.temperature))


def _loss_curve(rows: tuple[Row, ...]) -> Curve:
    points = [(row.epoch, row.loss) for row in rows if row.loss is not None]
    return Curve(epochs=np.array([e for e, _ in points]), values=np.array([v for _, v in points]))


def _knn_curve(rows: tuple[Row, ...]) -> Curve | None:
    points = [(row.epoch, row.knn) for row in rows if row.knn is not None]
    if not points:
        return None
    return Curve(epochs=np.array([e for e, _ in points]), values=np.array([v for _, v in points]))
