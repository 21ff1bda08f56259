"""The linear classifier q_t of the embeddings of every run, and how far a point is from its boundary."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

_RIDGE = 1e-3
"""Penalty on the squared weights, as a part of the number of points: embeddings may lie in a subspace."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearBoundary:
    """q(f(x)) = W f(x): the class with the largest score, without an intercept as in the paper.

    Attributes:
        weight: W, (runs, classes, d).

    Source: Weber and Bachman (2022), sec. III.A.

    Example:
        >>> z = torch.tensor([[[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [-0.6, 0.8]]])
        >>> q = LinearBoundary.learned(z, torch.tensor([[0, 0, 1, 1]]), classes=2)
        >>> q.predict(z).tolist(), q.distances(z).round(decimals=3).tolist()
        ([[0, 0, 1, 1]], [[1.0, 0.6000000238418579, 1.0, 0.6000000238418579]])
    """

    weight: Float[Tensor, "runs classes d"]

    @classmethod
    def learned(
        cls, embeddings: Float[Tensor, "runs n d"], labels: Int[Tensor, "runs n"], *, classes: int
    ) -> LinearBoundary:
        """The least-squares fit of +1 for the own class and -1 for others, all runs in one solve.

        Args:
            embeddings: (runs, n, d).
            labels: (runs, n), from 0 to classes - 1.
            classes: how many there are.
        """
        targets = 2 * torch.nn.functional.one_hot(labels, classes).to(embeddings.dtype) - 1
        d = embeddings.shape[-1]
        gram = embeddings.mT @ embeddings
        ridge = _RIDGE * labels.shape[1] * torch.eye(d, dtype=gram.dtype, device=gram.device)
        return cls(weight=torch.linalg.solve(gram + ridge, embeddings.mT @ targets).mT)

    def scores(self, embeddings: Float[Tensor, "runs n d"]) -> Float[Tensor, "runs n classes"]:
        """q(f(x))."""
        return embeddings @ self.weight.mT

    def predict(self, embeddings: Float[Tensor, "runs n d"]) -> Int[Tensor, "runs n"]:
        """The class with the largest score."""
        return self.scores(embeddings).argmax(dim=-1)

    def distances(self, embeddings: Float[Tensor, "runs n d"]) -> Float[Tensor, "runs n"]:
        """How far each point is from the boundary between the two classes with the largest scores.

        With two classes and unit w = (w_1 - w_2)/|w_1 - w_2| it is the paper's |w . f(x)|.

        Differs: of more than two classes a third may be nearer than that of the second largest score, which
        `tammes.positives.Boundary` takes into account; the paper's proofs are of two.
        """
        best = self.scores(embeddings).topk(2, dim=-1)
        runs = torch.arange(len(self.weight), device=self.weight.device)[:, None]
        first, second = (self.weight[runs, best.indices[..., place]] for place in (0, 1))
        normal = torch.linalg.vector_norm(first - second, dim=-1)
        tiny = torch.finfo(normal.dtype).tiny
        return (best.values[..., 0] - best.values[..., 1]) / normal.clamp(min=tiny)
