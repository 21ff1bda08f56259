"""Objectives in the `Trainer` of transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from typing_extensions import override

from tammes.host import require
from tammes.objective import Objective
from tammes.pairs import Pairs

require("transformers", minimum="5.0", tested="5.23")

from transformers import Trainer  # noqa: E402

Embed = Callable[[nn.Module, dict[str, Any]], Pairs | Sequence[Tensor]]


class ObjectiveTrainer(Trainer):
    """A `Trainer` of transformers that minimizes an objective.

    A batch may hold what you like (two views of each text, queries and documents, ids), as long as `embed`
    makes of it what the objective takes; say `remove_unused_columns=False` in the arguments. With gradient
    accumulation, and in an evaluation, the loss is the mean over the batches: each is compared within itself.

    Args:
        objective: objective to minimize.
        embed: function from the model and a batch to views `(batch, d)`, or to the Pairs of a source.
        others: arguments of `Trainer`, by name, but for `compute_loss_func`.

    Raises:
        ValueError: a `compute_loss_func`; in training, an `embed` that returns something else, and what the
            objective refuses.

    Example:
        >>> def embed(model, batch):
        ...     return [model(**batch[name]).last_hidden_state[:, 0] for name in ("query", "document")]
        >>> issubclass(ObjectiveTrainer, Trainer)
        True
    """

    objective: Objective
    embed: Embed

    def __init__(self, *, objective: Objective, embed: Embed, **others: Any) -> None:
        if others.get("compute_loss_func") is not None:
            raise ValueError("expected no compute_loss_func: the objective is the loss")
        super().__init__(**others)
        self.objective, self.embed = objective, embed
        # The loss of a batch is a mean over its anchors, which the trainer must divide by the number of
        # batches that it accumulates. It would not for models that count their tokens.
        self.model_accepts_loss_kwargs = False
        # Batches have no labels, and an evaluation measures the objective all the same.
        self.can_return_loss = True
        if self.args.label_names is None:
            self.label_names = []

    @override
    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Return the loss of a batch; with `return_outputs` also the embeddings, view by view."""
        embedded = self.embed(model, inputs)
        views = (embedded,) if isinstance(embedded, Pairs) else embedded
        if isinstance(views, Tensor | Mapping) or not all(isinstance(each, Tensor | Pairs) for each in views):
            raise ValueError(
                "embed must return Pairs, or a list of tensors (batch, d), one for each view; got "
                f"{type(embedded).__name__}"
            )
        loss = self.objective(*views)
        if not return_outputs:
            return loss
        tensors = [view.anchors if isinstance(view, Pairs) else view for view in views]
        return loss, {"loss": loss, **{f"view_{number}": each for number, each in enumerate(tensors)}}
