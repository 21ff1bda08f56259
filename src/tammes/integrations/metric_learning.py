"""Objectives as losses of pytorch-metric-learning."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from typing_extensions import override

from tammes.host import require
from tammes.objective import Objective
from tammes.pairs import Pairs
from tammes.temperature import LearnedTemperature

require("pytorch-metric-learning", minimum="2.6", tested="2.9")

from pytorch_metric_learning.losses import BaseMetricLossFunction  # noqa: E402


class ObjectiveLoss(BaseMetricLossFunction):
    """An objective as a loss of pytorch-metric-learning: rows of one label are positives of each other.

    With `ref_emb` the rows of the batch are compared with those, and not with each other. An objective
    compares by cosine similarity (or, with `normalize=False`, by inner products), and takes its means itself.

    pytorch-metric-learning ignores an anchor without a positive; an objective does so with
    `without_positive="skip"`, and else raises an error.

    Args:
        objective: objective to minimize.
        temperature: learned temperature, trained with the loss; None for the objective's own.
        others: `embedding_regularizer` and `embedding_reg_weight` of pytorch-metric-learning.

    Raises:
        ValueError: a distance or a reducer; in a call: no labels, the pairs of a miner (an objective chooses
            and weights its pairs itself), and what the objective refuses.

    Example:
        >>> import torch
        >>> from tammes import recipes
        >>> loss = ObjectiveLoss(recipes.hcl(temperature=0.2, beta=0.5))
        >>> loss(torch.randn(8, 16), torch.tensor([0, 1, 2, 3, 0, 1, 2, 3])).ndim
        0
    """

    def __init__(
        self, objective: Objective, *, temperature: LearnedTemperature | None = None, **others: Any
    ) -> None:
        for name in ("distance", "reducer"):
            if name in others:
                raise ValueError(
                    f"an objective has no {name}: it compares by inner products and takes its means itself; "
                    "leave it out"
                )
        if not isinstance(objective, Objective):
            raise ValueError(f"objective must be an Objective, got {objective!r}")
        super().__init__(**others)
        self.objective = objective.module(temperature=temperature)

    @override
    def compute_loss(
        self,
        embeddings: Tensor,
        labels: Tensor | None,
        indices_tuple: tuple[Tensor, ...] | None,
        ref_emb: Tensor,
        ref_labels: Tensor | None,
    ) -> dict[str, dict[str, Any]]:
        """Return the loss in the form that pytorch-metric-learning's reducers take."""
        if labels is None or ref_labels is None:
            raise ValueError("expected labels: rows of one label are positives of each other")
        if indices_tuple is not None:
            raise ValueError(
                "an objective chooses and weights its pairs itself, but a miner's came (indices_tuple): "
                "leave the miner out, and choose by the objective's coupling or selection"
            )
        if ref_emb is embeddings and torch.equal(ref_labels, labels):
            loss = self.objective(embeddings, ids=labels)
        else:
            pairs = Pairs(anchors=embeddings, ids=labels, candidates=ref_emb, candidate_ids=ref_labels)
            loss = self.objective(pairs)
        return {"loss": {"losses": loss, "indices": None, "reduction_type": "already_reduced"}}
