"""The linear classifiers q_t of the embeddings of all runs, and the distance from their boundaries."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

_RIDGE = 1e-3
"""Penalty on the squared weights for each point: embeddings may lie in a subspace."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearBoundary:
    """Linear classifier of each run, q(f(x)) = W f(x), without an intercept as in the paper.

    A point has the class with the largest score.

    Attributes:
        weight: W of each run.

    Source: Weber and Bachman (2022), sec. III.A.

    Example:
        >>> z = torch.tensor([[[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [-0.6, 0.8]]])
        >>> q = LinearBoundary.fit(z, torch.tensor([[0, 0, 1, 1]]), classes=2)
        >>> q.predict(z).tolist(), q.distances(z).round(decimals=3).tolist()
        ([[0, 0, 1, 1]], [[1.0, 0.6000000238418579, 1.0, 0.6000000238418579]])
    """

    weight: Float[Tensor, "runs classes d"]

    @classmethod
    def fit(
        cls, embeddings: Float[Tensor, "runs n d"], labels: Int[Tensor, "runs n"], *, classes: int
    ) -> LinearBoundary:
        """Fit +1 for the own class and -1 for others by least squares, all runs in one solve.

        Args:
            embeddings: points to fit.
            labels: class of each point, from 0 to classes - 1.
            classes: number of classes.
        """
        targets = 2 * torch.nn.functional.one_hot(labels, classes).to(embeddings.dtype) - 1
        d = embeddings.shape[-1]
        gram = embeddings.mT @ embeddings
        ridge = _RIDGE * labels.shape[1] * torch.eye(d, dtype=gram.dtype, device=gram.device)
        return cls(weight=torch.linalg.solve(gram + ridge, embeddings.mT @ targets).mT)

    def scores(self, embeddings: Float[Tensor, "runs n d"]) -> Float[Tensor, "runs n classes"]:
        """Return q(f(x))."""
        return embeddings @ self.weight.mT

    def predict(self, embeddings: Float[Tensor, "runs n d"]) -> Int[Tensor, "runs n"]:
        """Return the class with the largest score."""
        return self.scores(embeddings).argmax(dim=-1)

    def margins(
        self, embeddings: Float[Tensor, "runs n d"], labels: Int[Tensor, "runs n"]
    ) -> Float[Tensor, "runs n"]:
        """Return q_c(f(x)) - max over c' other than c of q_c'(f(x)), with c the label (A.12).

        It is positive inside the class, and zero on its boundary.
        """
        scores, own = self.scores(embeddings), labels[..., None]
        others = scores.scatter(-1, own, -torch.inf).amax(dim=-1)
        return scores.gather(-1, own).squeeze(-1) - others

    def distances(self, embeddings: Float[Tensor, "runs n d"]) -> Float[Tensor, "runs n"]:
        """Return the distance of each point from the boundary between its two highest-scoring classes.

        With two classes and unit w = (w_1 - w_2)/|w_1 - w_2| it is the paper's |w . f(x)|.

        Differs: with more than two classes, the boundary with a third class may be nearer;
        `tammes.positives.Boundary` takes all into account. The paper's proofs have two classes.
        """
        best = self.scores(embeddings).topk(2, dim=-1)
        runs = torch.arange(len(self.weight), device=self.weight.device)[:, None]
        first, second = (self.weight[runs, best.indices[..., place]] for place in (0, 1))
        normal = torch.linalg.vector_norm(first - second, dim=-1)
        tiny = torch.finfo(normal.dtype).tiny  # equal weights have equal scores: 0 / tiny, not 0 / 0
        return (best.values[..., 0] - best.values[..., 1]) / normal.clamp(min=tiny)
