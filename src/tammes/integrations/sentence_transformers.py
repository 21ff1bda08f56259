"""Objectives as losses of a `SentenceTransformerTrainer`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import override

from tammes.host import require
from tammes.objective import Objective
from tammes.pairs import Pairs
from tammes.sources import TwoTowers
from tammes.temperature import LearnedTemperature

require("sentence-transformers", minimum="6.0", tested="6.2")

from sentence_transformers.base.losses.gradcache import CachedLossMixin  # noqa: E402


class ObjectiveLoss(nn.Module):
    """An objective as the loss of a `SentenceTransformerTrainer`.

    The columns of the dataset say what is compared:

    | columns | comparison |
    |---|---|
    | anchor, positive | queries against the documents of the batch |
    | anchor, positive, negative, ... | the same, with one or several hard negatives for each query |
    | text, label | rows of one label are positives of each other |

    With two or more columns an integer label is the id of a pair: rows that share one are positives of each
    other, never negatives.

    Args:
        model: the SentenceTransformer.
        objective: objective to minimize.
        source: how queries and documents are compared; by default `TwoTowers()`. With
            `TwoTowers(gather=Gather())` the documents of all processes are candidates.
        temperature: learned temperature, trained with the model; None for the objective's own. Their
            checkpoints do not hold it.

    Raises:
        ValueError: a source of another kind; in a call: one column without labels, labels that are not
            integers, and what the source and the objective refuse.

    Example:
        >>> from tammes import recipes
        >>> loss = ObjectiveLoss(nn.Identity(), recipes.hcl(temperature=0.05, beta=0.5))
        >>> queries, documents, hard = torch.randn(8, 16), torch.randn(8, 16), torch.randn(8, 16)
        >>> loss.compute_loss_from_embeddings([queries, documents, hard]).ndim
        0
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        *,
        source: TwoTowers | None = None,
        temperature: LearnedTemperature | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(source, TwoTowers | None):
            raise ValueError(f"source must be a TwoTowers() or None, got {source!r}")
        self.model = model
        self.objective = objective.module(temperature=temperature)
        self.source = source or TwoTowers()

    @override
    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """Return the loss of one batch, a dictionary of features for each column."""
        embeddings = [self.model(features)["sentence_embedding"] for features in sentence_features]
        return self.compute_loss_from_embeddings(embeddings, labels)

    def compute_loss_from_embeddings(
        self, embeddings: Sequence[Tensor], labels: Tensor | None = None
    ) -> Tensor:
        """Return the loss of embeddings `(batch, d)`, one tensor for each column."""
        if labels is not None and (labels.is_floating_point() or labels.ndim != 1):
            raise ValueError(
                "expected labels that are an integer for each row, by which rows belong together, got "
                f"{labels.dtype} of shape {tuple(labels.shape)}: leave a column of scores out of the dataset"
            )
        if len(embeddings) == 1:
            if labels is None:
                raise ValueError(
                    "expected two or more columns of texts (anchor, positive, ...), or one and a column "
                    "named label; got one column without labels"
                )
            loss: Tensor = self.objective(embeddings[0], ids=labels)
            return loss
        return self.objective(self._pairs(embeddings, labels))

    def get_config_dict(self) -> dict[str, Any]:
        """Return what the model card says of this loss."""
        return {"objective": repr(self.objective.objective), "source": repr(self.source)}

    def _pairs(self, embeddings: Sequence[Tensor], ids: Tensor | None) -> Pairs:
        queries, documents, *negatives = embeddings
        return self.source(queries, documents, torch.stack(negatives, 1) if negatives else None, ids=ids)


class CachedObjectiveLoss(CachedLossMixin, ObjectiveLoss):
    """`ObjectiveLoss` for large batches: the activations of one mini-batch are in memory at a time.

    The gradient is that of the whole batch, and memory does not grow with its square: the price is a second
    forward pass (Gao et al., 2021), as in sentence-transformers' cached losses.

    Args:
        model: the SentenceTransformer.
        objective: objective to minimize.
        source: how queries and documents are compared; by default `TwoTowers()`.
        mini_batch_size: number of texts that are embedded at a time.

    Example:
        >>> from tammes import recipes
        >>> loss = CachedObjectiveLoss(nn.Identity(), recipes.simclr(temperature=0.05), mini_batch_size=16)
        >>> loss.mini_batch_size
        16
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        *,
        source: TwoTowers | None = None,
        mini_batch_size: int = 32,
    ) -> None:
        # A learned temperature would get its gradient before the loss is scaled.
        super().__init__(model, objective, source=source)
        self.mini_batch_size = mini_batch_size

    @override
    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor | None = None) -> Tensor:
        """Return the loss of one batch, whose backward pass embeds it a second time."""
        loss: Tensor = self.forward_cached(sentence_features, labels)
        return loss

    def calculate_loss(
        self, reps: list[list[Tensor]], labels: Tensor | None = None, *, with_backward: bool = False
    ) -> Tensor:
        """Return the loss of embeddings in mini-batches, after its backward pass where asked."""
        loss = self.compute_loss_from_embeddings([torch.cat(column) for column in reps], labels)
        if not with_backward:
            return loss
        loss.backward()
        return loss.detach()
