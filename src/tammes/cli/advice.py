"""The advice on negatives: from labels, from a number of classes, or from the views of a trained encoder."""

import torch

from tammes.cli.console import plain_console
from tammes.cli.options.data import Split
from tammes.correction import Debias
from tammes.data import Texts
from tammes.diagnostics import estimated_collision_share
from tammes.diagnostics.collisions import range_of_share
from tammes.positives import Adjacent, GivenPairs, Neighbors, OwnGraph, SameClass
from tammes.report import Outcome
from tammes.sources import InBatch
from tammes.theory import ClassDistribution, Recommendation
from tammes.training import Data, TrainingConfig
from tammes.training.loss_rules import compares_classes

MOST = 0.5
"""Estimated share of false negatives above which an embedding tells nothing: it has all but collapsed."""


def advice(source: Split, data: Data, configs: list[TrainingConfig]) -> tuple[str, ...]:
    """Return the sentences about negatives that the classes carry; none if the classes are not known.

    Args:
        source: options of the data, with the number of classes if it was given.
        data: training data.
        configs: settings of each training.

    Raises:
        ValueError: a number of classes for adjacent sentences.
    """
    if any(isinstance(config.positives, Adjacent) for config in configs):
        if source.classes is not None:
            raise ValueError(
                "--classes is for advice on negatives of the anchor's class, but those of adjacent sentences "
                "are all sentences outside their window: leave it out"
            )
        return ()
    classes = _classes(source, data, configs[0])
    if classes is None or classes.number < 2:
        return ()
    return _sentences(Recommendation.of(classes, pairs=_pairs_of_two_views(configs[0])), configs)


def positives_of_texts(data: Data, config: TrainingConfig) -> tuple[str, ...]:
    """Return the sentence about the pairs of texts: whether labels are trained on, or the order of the rows.

    Args:
        data: training data.
        config: settings of the training.
    """
    if not isinstance(data, Texts):
        return ()
    if isinstance(config.positives, SameClass):
        return (
            "Positives: sentences of one document or class, so the labels are trained on. With "
            "encoder:text-transformer positives:itself they are not.",
        )
    if isinstance(config.positives, Neighbors):
        return (
            "Positives: the sentence before or after, which is for sentences in reading order. For rows in "
            "no order name classes (--label-column), or take encoder:text-transformer positives:itself.",
        )
    return ()


def advice_of_views(outcome: Outcome, configs: list[TrainingConfig]) -> tuple[str, ...]:
    """Return the same, with the share of false negatives estimated from the views of a trained encoder.

    Args:
        outcome: the trained encoder with the views of a batch.
        configs: settings of each training.
    """
    if isinstance(configs[0].positives, Adjacent):  # sentences of one text have no classes that would show
        return ()
    views = torch.from_numpy(outcome.view_a), torch.from_numpy(outcome.view_b)
    share = estimated_collision_share(*views)
    if not 0 < share <= MOST:
        return ()
    known = Recommendation(
        class_prior=share, pairs=_pairs_of_two_views(configs[0]), between=range_of_share(share)
    )
    return _sentences(known, configs)


def print_advice(sentences: tuple[str, ...]) -> None:
    """Print a line for each sentence, before or after the training."""
    console = plain_console()
    for sentence in sentences:
        console.print(sentence)


def _classes(source: Split, data: Data, config: TrainingConfig) -> ClassDistribution | None:
    """Return the classes that are known: not the anchors of given pairs, nor documents of one sentence."""
    if source.classes is not None:
        return ClassDistribution.uniform(source.classes)
    if data.labels is None or isinstance(config.positives, GivenPairs):
        return None
    classes = ClassDistribution.of_labels(data.labels.tolist())
    return None if classes.number == len(data) else classes


def _pairs_of_two_views(config: TrainingConfig) -> int | None:
    """Return the pairs B of a batch whose anchors have 2 (B - 1) negatives; None for other batches."""
    are_views = config.crops == 2 and not isinstance(config.positives, OwnGraph | GivenPairs)
    return config.batch_size if are_views and isinstance(config.negatives, InBatch) else None


def _sentences(known: Recommendation, configs: list[TrainingConfig]) -> tuple[str, ...]:
    """Return the sentences that apply to objectives whose negatives may be false.

    A masked autoencoder has an objective in its settings, but no negatives, and supervised contrast has none
    of the anchor's class.
    """
    compared = (each for each in configs if each.masked is None or each.masked.contrast)
    objectives = [each.objective for each in compared if not compares_classes(each)]
    blind = [each for each in objectives if not each.selection.removes_false_negatives]
    if not blind:
        return ()
    corrections = [each.correction for each in blind]
    priors = [each.class_prior for each in corrections if isinstance(each, Debias)]
    return *known.sentences, known.of_prior(priors[0] if priors else None)
