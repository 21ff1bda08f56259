"""A part of the data that is held out of training, class by class, for measuring."""

from __future__ import annotations

import torch

from tammes.data import GraphSet, GraphStream, NodeSet, Texts, Volumes
from tammes.training import Data
from tammes.training.seeds import Purpose, derive


def hold_out(data: Data, fraction: float) -> tuple[Data, Data]:
    """Split labeled data, class by class, in the same way every time.

    Args:
        data: labeled data.
        fraction: share of each class to hold out, in (0, 1), rounded; at least one row of each class that
            keeps enough for training: an image, or a pair of sentences.

    Returns:
        The training data, and the data held out.

    Raises:
        ValueError: for a fraction outside (0, 1), or if one of the two would be empty.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must be above 0 and below 1, got {fraction}")
    labels = data.required_labels()
    kept = 2 if isinstance(data, Texts) else 1
    held: list[int] = []
    for label in labels.unique().tolist():
        rows = (labels == label).nonzero()[:, 0]
        generator = torch.Generator().manual_seed(derive(0, Purpose.HOLDOUT, label))
        count = max(0, min(max(1, round(fraction * len(rows))), len(rows) - kept))
        held += rows[torch.randperm(len(rows), generator=generator)[:count]].tolist()
    chosen = set(held)
    if len(labels[held].unique()) < 2:
        if isinstance(data, Texts):
            raise ValueError(
                "too few sentences of one document or class to hold some out of each: name the column of "
                "documents or classes with --label-column, labeled texts with --test, or use --held-out 0"
            )
        graphs = {GraphSet: "graphs", GraphStream: "graphs", NodeSet: "nodes"}
        noun = {Volumes: "volumes", **graphs}.get(type(data), "images")
        raise ValueError(
            f"too few {noun} to hold some out of each class: name others by --test, or use --held-out 0"
        )
    rest = [row for row in range(len(data)) if row not in chosen]
    return data.subset(rest), data.subset(sorted(held))
