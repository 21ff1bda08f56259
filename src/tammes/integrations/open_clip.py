"""Objectives as losses of open_clip."""

from __future__ import annotations

from torch import Tensor, nn
from typing_extensions import override

from tammes.contrast import Sigmoid
from tammes.objective import Objective
from tammes.sources import Gather, TwoTowers
from tammes.sources.distributed import is_distributed


class ObjectiveLoss(nn.Module):
    """An objective in the place of open_clip's `ClipLoss`: images against texts, in both directions.

    The temperature is that of the model, 1 / `logit_scale`, which the model learns. On several processes the
    images and texts of all are candidates, with the gradient of one process that has the whole batch.

    Args:
        objective: objective to minimize; its own temperature is not used.
        source: how images and texts are compared; by default both directions, over all processes.

    Raises:
        ValueError: a source of another kind; in a call: a logit bias for another contrast than `Sigmoid`, and
            what the objective refuses.

    Source: Radford et al. (2021), fig. 3.

    Example:
        >>> import torch
        >>> from tammes import recipes
        >>> loss = ObjectiveLoss(recipes.hcl(temperature=1.0, beta=0.5))
        >>> images, texts, scale = torch.randn(8, 16), torch.randn(8, 16), torch.tensor(14.3)
        >>> sorted(loss(images, texts, scale, output_dict=True))
        ['contrastive_loss']
    """

    def __init__(self, objective: Objective, *, source: TwoTowers | None = None) -> None:
        super().__init__()
        if not isinstance(source, TwoTowers | None):
            raise ValueError(f"source must be a TwoTowers() or None, got {source!r}")
        self.objective, self.source = objective, source

    @override
    def forward(
        self,
        image_features: Tensor,
        text_features: Tensor,
        logit_scale: Tensor,
        logit_bias: Tensor | None = None,
        output_dict: bool = False,
    ) -> Tensor | dict[str, Tensor]:
        """Return the loss, in a dictionary if asked.

        Args:
            image_features: `(batch, d)`; the objective normalizes them again unless it says otherwise.
            text_features: `(batch, d)`.
            logit_scale: the inverse of the temperature, a tensor of one number.
            logit_bias: learned bias of `Sigmoid`, a tensor of one number; None for other contrasts.
            output_dict: whether to return a dictionary, as open_clip's training loop asks for.
        """
        if logit_bias is not None and not isinstance(self.objective.contrast, Sigmoid):
            raise ValueError(
                f"{self.objective.contrast!r} has no logit bias: make the model without init_logit_bias, or "
                "take an objective with Sigmoid, such as tammes.recipes.sigmoid"
            )
        if not isinstance(logit_scale, Tensor):
            raise ValueError(f"logit_scale must be a tensor of one number, got {logit_scale!r}")
        both = TwoTowers(symmetric=True, gather=Gather() if is_distributed() else None)
        pairs = (self.source or both)(image_features, text_features)
        loss = self.objective(pairs, temperature=logit_scale.reciprocal(), bias=logit_bias)
        return {"contrastive_loss": loss} if output_dict else loss
