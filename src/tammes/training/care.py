"""Terms beside the objective: augmentations that rotate all embeddings alike (CARE), and its ablation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_number
from tammes.equivariance import (
    InnerProduct,
    Minkowski,
    Symplectic,
    equivariance_loss,
    hyperboloid,
    invariance_loss,
    uniformity_loss,
)
from tammes.equivariance.loss import size_of_group
from tammes.group import Group
from tammes.positives import Handwriting, Photographs


@dataclass(frozen=True, kw_only=True)
class Care:
    """Equivariance loss beside the objective, on groups of the batch that share an augmentation.

        L  =  objective L_objective  +  weight L_equi  +  invariance L_inv  +  uniformity L_unif

    The batch is cut into groups. All rows of a group share one augmentation in the first view and another in
    the second, and each group draws its own two. The objective still compares the whole batch. A weight of 0
    leaves a term out.

    With a queue the second views are embedded by the momentum encoder, without a gradient: L_equi then turns
    the first views alone.

    Args:
        weight: Weight lambda of the equivariance loss.
        groups: Number of groups, which divides the batch; 4, 8 and 16 in the source.
        form: Bilinear form that the augmentations leave unchanged; Minkowski takes the embeddings as vectors
            below a hyperboloid.
        augmentation: Augmentation of the equivariance loss, for a network that is equivariant to it and
            invariant to that of the run: two more views are then made and embedded in each step. None
            takes the views of the objective, which costs next to nothing.
        objective: Weight of the objective; 0 measures it only.
        invariance: Weight of the invariance loss.
        uniformity: Weight of the uniformity loss.

    Raises:
        ValueError: for a negative weight, or if no term has one.

    Source: Robinson (2023), eq. 5.5 and section 5.5.4; C.3.1 for the settings. The default weight is its
    0.01 for CIFAR-10, whose term is 2 (c - 1) times ours with groups of c = 16 rows.

    Example:
        >>> Care(weight=0.5, groups=4).weight
        0.5
        >>> Care(objective=0.0, uniformity=1.0).terms    # eq. 5.3
        {'equivariance': 0.3, 'uniformity': 1.0}
    """

    weight: float = 0.3
    groups: int = 16
    form: InnerProduct | Minkowski | Symplectic = field(default_factory=InnerProduct)
    augmentation: Photographs | Handwriting | None = None
    objective: float = 1.0
    invariance: float = 0.0
    uniformity: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight", "objective", "invariance", "uniformity"):
            check_number(name, vars(self)[name], minimum=0)
        if not self.terms and self.objective == 0:
            raise ValueError(
                "expected at least one term with a weight above 0, got none: nothing would learn"
            )

    @property
    def terms(self) -> dict[str, float]:
        """Weights above 0, by the names of their terms, without the objective's."""
        weights = {
            "equivariance": self.weight,
            "invariance": self.invariance,
            "uniformity": self.uniformity,
        }
        return {name: weight for name, weight in weights.items() if weight > 0}

    def check(self, *, batch_size: int, processes: int = 1) -> None:
        """Check that the batch can be cut, and that each process takes whole groups of it.

        Raises:
            ValueError: groups that do not divide the batch or have one row; groups that processes would
                share; uniformity, which compares the whole batch, over several processes.
        """
        size_of_group(batch_size, self.groups)
        if processes > 1 and self.groups % processes:
            raise ValueError(
                f"each process takes whole groups: {self.groups} groups are no multiple of {processes} "
                "processes; choose groups that are"
            )
        if processes > 1 and self.uniformity > 0:
            raise ValueError(
                "uniformity compares the rows of one process: train in one process, or leave it out"
            )

    def losses(
        self, views: tuple[Tensor, Tensor], shared: tuple[Tensor, Tensor], *, group: Group, groups: int
    ) -> Mapping[str, Float[Tensor, ""]]:
        """Return the terms that have a weight, by name.

        Args:
            views: `(n, d)` embeddings of the two views of the objective.
            shared: `(m, d)` embeddings of two views whose groups share an augmentation.
            group: processes of the run, over which terms are averaged.
            groups: number of groups of this process.
        """
        made: dict[str, Tensor] = {}
        with group.failing_together():
            if self.weight > 0:
                made["equivariance"] = self._equivariance(*shared, groups)
            if self.invariance > 0:
                made["invariance"] = invariance_loss(*views)
            if self.uniformity > 0:
                # Keys of a momentum encoder have no gradient, and their half is then a constant.
                made["uniformity"] = (uniformity_loss(views[0]) + uniformity_loss(views[1])) / 2
        # Processes have equally many rows and groups, so that the mean of their means is the mean.
        return {name: group.mean(loss[None]) for name, loss in made.items()}

    def total(self, loss: Tensor, losses: Mapping[str, Tensor]) -> Float[Tensor, ""]:
        """Return the weighted sum of the objective's loss and the terms beside it."""
        # Not 0 times the loss: an objective that is only measured should not make a gradient at all.
        total = self.objective * loss if self.objective > 0 else torch.zeros_like(loss)
        return total + sum(weight * losses[name] for name, weight in self.terms.items())

    def _equivariance(self, view_a: Tensor, view_b: Tensor, groups: int) -> Tensor:
        if isinstance(self.form, Minkowski):
            view_a, view_b = hyperboloid(view_a), hyperboloid(view_b)
        return equivariance_loss(view_a, view_b, groups=groups, form=self.form)
