"""The report's view of trained runs: sample, settings, curves, embeddings and weights."""

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tammes.cli.advice import advice_of_views
from tammes.cli.exhibit import Compared, Exhibit, choose_sample
from tammes.cli.rotations import measured_rotations
from tammes.cli.scores import DRAWS, Measure, Trial
from tammes.data import Images, Texts
from tammes.data.listing import listing
from tammes.encoders import UnavailableWeightsError, VisionTransformer
from tammes.objective import Objective
from tammes.report import (
    Before,
    Comparison,
    Curve,
    Outcome,
    write_comparison,
)
from tammes.report.origin import origin
from tammes.report.over_training import label_free_curves
from tammes.report.settings import SEED, data_settings, training_settings
from tammes.training import Data, Model, Run, RunConfig, build_model, embed
from tammes.training.early_stop import early_stop
from tammes.training.embedding import evaluating
from tammes.training.examples import to_inputs
from tammes.training.pictures import SHOWN
from tammes.training.rotations import Rotations


def write_report(
    path: Path,
    command: str,
    trials: Sequence[Trial],
    baselines: Sequence[Trial],
    train: Data,
    held_out: Data | None,
    measure: Measure | None,
    advice: Sequence[str],
) -> tuple[str, ...]:
    """Write the page of one or several trained objectives, and return the advice on it.

    Args:
        path: file to write.
        command: command that trained them.
        trials: trained objectives; the figures show the first seed of each.
        baselines: trials that cost no training.
        train: training data.
        held_out: data held out of training, or None.
        measure: measurements of the trials; None if nothing was measured.
        advice: sentences on which negatives suit the classes; if there are none, they are looked for in the
            views of the first objective.
    """
    runs = trials[0].runs
    config = runs[0].config
    exhibit = choose_sample(train, held_out, config.training)
    settings = report_settings(config, exhibit, measure)
    if train.skipped:
        settings["left out"] = f"{len(train.skipped):,}: {listing(train.skipped)}"
    if len(runs) > 1:
        first, last = config.training.seed, runs[-1].config.training.seed
        settings[SEED] = f"{first} to {last}; figures of embeddings and negatives are of the first"
    if (computation := computation_in_words(trials)) is not None:
        settings["computation"] = computation
    ends = [early_stop(run.config.training, run.metrics) for trial in trials for run in trial.runs]
    if any(ends):
        settings["stopped"] = " ".join(dict.fromkeys(end for end in ends if end is not None))
    outcomes = tuple(report_outcome(trial, exhibit, measure) for trial in trials)
    shown = tuple(advice) or advice_of_views(outcomes[0], [each.runs[0].config.training for each in trials])
    page = Comparison(
        data=config.data.source,
        settings=settings,
        command=command,
        sample=exhibit.sample,
        outcomes=outcomes,
        floors=tuple(trial.floor for trial in baselines),
        test_size=0 if measure is None else len(measure.test),
        before=before_training(runs[0], exhibit.data),
        advice=shown,
        origin=origin([run.environments for trial in trials for run in trial.runs]),
    )
    write_comparison(path, page)
    return shown


def report_settings(config: RunConfig, exhibit: Exhibit, measure: Measure | None) -> dict[str, str]:
    """Return the settings of the training as the report shows them, in order.

    Args:
        config: settings of the training and the description of its data.
        exhibit: rows that the figures show.
        measure: measurements of the trials; None if nothing was measured.
    """
    settings = {**data_settings(config.data, config.training.positives), **training_settings(config.training)}
    if measure is not None and measure.extent is not None:
        settings["measured"] = measure.extent
    if measure is not None and measure.knn is not None:
        temperature = measure.knn.temperature
        weighted = "" if temperature is None else f", weighted by exp(cosine / {temperature:g})"
        settings["nearest neighbors"] = f"{measure.knn.neighbors}{weighted}"
    if measure is not None and not isinstance(exhibit.data, Texts):
        alike = "the same labels, since classes are that small; " if measure.draws_alike else ""
        settings["10 % and 1 %"] = (
            f"{alike}means over {DRAWS} draws of labels, the same for all; their variation is not in the "
            "intervals"
        )
    origin = "held out of training" if exhibit.is_held_out else f"from the training {exhibit.sample.data}"
    return {**settings, f"{exhibit.sample.many} below": origin}


def computation_in_words(trials: Sequence[Trial]) -> str | None:
    """Return the floating-point operations of each trial's first run; None if they are not known."""
    words = []
    for trial in trials:
        flops = trial.runs[0].metrics[-1].last.get("flops")
        if flops is None:
            return None
        words.append(("" if len(trials) == 1 else f"{trial.name} ") + f"{flops / 1e12:,.3g}")
    return f"{', '.join(words)} TFLOP in all, forward and backward"


def report_outcome(trial: Trial, exhibit: Exhibit, measure: Measure | None) -> Outcome:
    """Return one trained objective for the report; the figures of its embeddings show its first seed.

    Args:
        trial: a run for each seed.
        exhibit: rows that the figures show.
        measure: measurements of the trial; None if nothing was measured.
    """
    loss = _curve(trial, "loss")
    assert loss is not None  # every epoch has one
    run = trial.runs[0]
    training = run.config.training
    objective = objective_at_the_end(run)
    learned = f", temperature {objective.temperature:.3g} at the end" if training.learn_temperature else ""
    features, embeddings = embed(run.model, exhibit.data)
    compared = Compared.of(run.model, embeddings, objective, exhibit, training, step=run.metrics[-1].step)
    return Outcome(
        name=trial.name,
        objective=f"{training.loss}{learned}",
        scores=trial.mean,
        seeds=trial.scores,
        seconds=statistics.mean(run.seconds or 0.0 for run in trial.runs),
        loss=loss,
        knn=_curve(trial, "knn"),
        learning_rate=_curve(trial, "learning_rate"),
        gradient_norm=_curve(trial, "gradient_norm"),
        label_free=label_free_curves([run.metrics for run in trial.runs]),
        rotations=_rotations(trial, exhibit.data),
        confusion=None if measure is None else confusion(trial.labels, measure.test),
        features=features.numpy(),
        embeddings=compared.embeddings.numpy(),
        view_a=compared.view_a.numpy(),
        view_b=compared.view_b.numpy(),
        candidates=compared.candidates,
        weights=compared.weights.numpy(),
        contrasts=training.masked is None or training.masked.contrast > 0,
        reconstructions=run.reconstructions,
        attention=attention_of(run.model, exhibit.data),
    )


def attention_of(model: Model, data: Data) -> np.ndarray | None:
    """Return how much the patches of a few images are attended to in the last block, by each head.

    The attention that a patch gets is the mean over all patches, times their number: 1 where all get as much.

    Args:
        model: encoder and head.
        data: rows of the sample, of which the first are taken.

    Returns:
        An array (images, heads, side, side); None if the encoder is no Vision Transformer.
    """
    if not isinstance(model.encoder, VisionTransformer) or not isinstance(data, Images):
        return None
    images = to_inputs(data.batch(range(min(SHOWN, len(data)))))
    assert isinstance(images, Tensor)
    device = next(model.parameters()).device
    with torch.no_grad(), evaluating(model):
        attention = model.encoder.attention(images.to(device)).float().cpu()
    received = attention.mean(dim=2) * attention.shape[-1]  # (images, heads, patches)
    side = model.encoder.size // model.encoder.patch
    return received.unflatten(2, (side, side)).numpy()


def _rotations(trial: Trial, data: Data) -> tuple[Rotations, ...]:
    """Return how far augmentations act as rotations, for each seed; empty if they are not known."""
    found = [measured_rotations(run, data).rotations for run in trial.runs]
    return tuple(each for each in found if each is not None)


def before_training(run: Run, data: Data) -> Before | None:
    """Return the rows under the network of a run before its training; None if it can no longer be built.

    Args:
        run: the run.
        data: rows of the sample.
    """
    try:
        model = build_model(run.config, run.model.assets)
    except UnavailableWeightsError:
        return None
    features, embeddings = embed(model.to(next(run.model.parameters()).device), data)
    return Before(features=features.numpy(), embeddings=embeddings.numpy())


def _curve(trial: Trial, name: str) -> Curve | None:
    """Return a number over the epochs, as the mean over the seeds."""
    return Curve.over_seeds([Curve.of(run.metrics, name) for run in trial.runs])


def confusion(labels: Sequence[Tensor], test: Data) -> np.ndarray:
    """Return the number (classes, classes) of test rows of each class that were given each label.

    Args:
        labels: labels that were given to the test rows, for each seed.
        test: labeled test data.
    """
    true, names = test.required_labels(), test.classes
    assert names is not None  # labels have names
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for found in labels:
        np.add.at(counts, (true.numpy(), found.cpu().numpy()), 1)
    return counts


def objective_at_the_end(run: Run) -> Objective:
    """Return the objective with the beta of the last epoch and the last learned temperature.

    Args:
        run: a finished run.
    """
    row = run.metrics[-1]
    objective = run.config.training.objective_at(row.epoch - 1)
    return replace(objective, temperature=row.last.get("temperature", objective.temperature))
