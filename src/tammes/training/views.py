"""The views of a step: what the augmentations of a run make of the rows of a batch."""

from __future__ import annotations

import torch

from tammes.data.tokens import Tokens
from tammes.positives import Adjacent, GivenPairs, OwnGraph
from tammes.training.active_views import ActiveViews
from tammes.training.config import AugmentationConfig, TrainingConfig
from tammes.training.examples import Inputs, changed, to_inputs
from tammes.training.loader import PairBatch
from tammes.training.model import Model
from tammes.training.sampler import Shard
from tammes.training.seeds import Purpose, derive


def views_of(
    config: TrainingConfig,
    batch: PairBatch,
    *,
    step: int,
    shard: Shard,
    model: Model,
    active: ActiveViews | None,
) -> tuple[Inputs, ...]:
    """Return the views of each row of a batch.

    They are two, or as many as there are crops; one graph for all its nodes, one sentence that is compared
    with those around, and one image where nothing is contrasted. They are three where the data give each
    anchor its negative.

    Args:
        config: configuration of the run.
        batch: stored rows of a step.
        step: number of steps before.
        shard: part of each batch that this process handles.
        model: encoder and head, by which active positives are chosen.
        active: choice of the second view among several candidates, or None.
    """
    anchors, positives, rows_of_both = batch
    first = to_inputs(anchors)
    if isinstance(config.positives, OwnGraph | Adjacent):
        return (first,)
    second = first if positives is None else to_inputs(positives)
    if isinstance(config.positives, GivenPairs):
        assert isinstance(second, Tokens)
        places = torch.arange(len(second), device=second.offsets.device)
        return first, *(second.take(rows) for rows in places.split(len(rows_of_both)))
    of_first, of_second = config.augmentations
    # The views of the objective serve the equivariance loss, too, unless it has its own augmentation.
    care = config.equivariance
    groups = None if care is None or care.augmentation is not None else care.groups

    first = augmented(first, of_first, shard, view_seed(config, step, 0), groups)
    if config.masked is not None and not config.masked.contrast:
        return (first,)

    def candidate(number: int) -> Inputs:
        # Candidate 0 is the second view of a run without active positives.
        return augmented(second, of_second, shard, view_seed(config, step, 1 + number), groups)

    if active is None:
        return first, *(candidate(number) for number in range(config.crops - 1))
    return first, active.choose(step, model, candidate, chunk=config.chunk)


def view_seed(config: TrainingConfig, step: int, number: int) -> int:
    """Return the random seed of a view: 0 is the first, 1 the second, then further crops or candidates."""
    if number == 0:
        return derive(config.seed, Purpose.FIRST_VIEW, step)
    further = (number - 1,) if number > 1 else ()
    return derive(config.seed, Purpose.SECOND_VIEW, step, *further)


def augmented(
    inputs: Inputs,
    augmentation: AugmentationConfig | None,
    shard: Shard,
    seed: int,
    groups: int | None = None,
) -> Inputs:
    """Augment this process's rows exactly as a single process would augment the whole batch.

    Args:
        inputs: rows of this process.
        augmentation: how rows change; None for not at all.
        shard: part of each batch that this process handles.
        seed: random seed of the changes.
        groups: number of groups of the batch that share a change; None for one change per row.
    """
    if augmentation is None:
        return inputs
    first_row, batch_size = shard.first_row, shard.batch_size
    return changed(augmentation, inputs, seed=seed, first_row=first_row, batch_size=batch_size, groups=groups)
