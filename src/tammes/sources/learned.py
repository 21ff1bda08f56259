"""Negatives that are learned against the encoder (AdCo)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.pairs import Pairs
from tammes.reduce.autograd import through_unit_length, without_autocast
from tammes.sources.inbatch import check_rows, in_full_precision, stack_views

_ENTRIES = 1 << 22
"""Logits in memory at a time while the adversary is updated."""


class LearnedNegatives(nn.Module):
    """Learned negatives, which climb the loss that the encoder descends, as candidates of the queries.

    The anchors are the queries; the candidates are the keys of their batch, followed by the learned rows w_j.
    Row r of the keys is the positive of row r of the queries. In training mode each call then moves the
    rows, by one step of SGD with momentum up the InfoNCE of that batch at a temperature t' of the adversary:

        dL/dw_j  =  1/n sum_i p_ij q_i / t' ,        p_ij the softmax of q_i over all keys and all w_j ,

    taken through the unit length of w_j. The pairs of the call hold the rows before the step. No gradient
    of the loss reaches the rows, and no other optimizer should.

    Args:
        size: number of learned negatives, at least 1.
        dim: dimension of the embeddings, at least 1.
        temperature: temperature t' of the adversary; positive.
        learning_rate: step size of the adversary; positive. A row's gradient falls with their number.
        momentum: momentum of its SGD, in [0, 1).
        weight_decay: weight of the L2 penalty on the rows, at least 0.
        generator: generator of the initial rows, uniform on the sphere; None for torch's own.

    Raises:
        ValueError: numbers out of their ranges; when called: whatever `InBatch` would refuse, another
            dimension or device, ids or labels below 0.

    Source: Hu et al. (2021), eq. 4 to 6; the defaults are those of the authors' code (github.com/
    maple-research-lab/AdCo). Differs: the authors' code may start from the keys of a first pass over the
    data; here the rows start uniform on the sphere.

    Example:
        >>> import tammes
        >>> source, objective = LearnedNegatives(size=32, dim=16), tammes.recipes.simclr(temperature=0.2)
        >>> before = source.rows.clone()
        >>> pairs = source(torch.randn(8, 16), torch.randn(8, 16))
        >>> loss = objective(pairs)
        >>> len(pairs.candidates), bool((source.rows != before).any())
        (40, True)
    """

    rows: Float[Tensor, "size dim"]
    velocity: Float[Tensor, "size dim"]

    def __init__(
        self,
        *,
        size: int,
        dim: int,
        temperature: float = 0.02,
        learning_rate: float = 3.0,
        momentum: float = 0.9,
        weight_decay: float = 1e-4,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_integer("size", size)
        check_integer("dim", dim)
        check_number("temperature", temperature, above=0)
        check_number("learning_rate", learning_rate, above=0)
        check_number("momentum", momentum, minimum=0, below=1)
        check_number("weight_decay", weight_decay, minimum=0)
        self.temperature, self.learning_rate = temperature, learning_rate
        self.momentum, self.weight_decay = momentum, weight_decay
        self.register_buffer("rows", normalize(torch.randn(size, dim, generator=generator), dim=1))
        self.register_buffer("velocity", torch.zeros(size, dim))

    @override
    def forward(
        self, queries: Tensor, keys: Tensor, ids: Tensor | None = None, labels: Tensor | None = None
    ) -> Pairs:
        """Return the pairs of queries and candidates, and move the learned rows in training mode.

        Args:
            queries: `(batch, d)`, floating point.
            keys: `(batch, d)`, likewise.
            ids: `(batch,)` integers of at least 0; rows that share one are positives.
            labels: `(batch,)` integers of at least 0, for selections that need classes; a learned negative
                has none, and is a negative of every class.
        """
        both = stack_views((queries, keys), ids, labels)
        check_rows(both)
        both = in_full_precision(both)
        n = len(queries)
        self._check(both)
        fresh_queries, fresh_keys = both.anchors[:n], both.anchors[n:]
        # Below 0 no id or label is the user's, so that a learned row is nobody's positive.
        none = -1 - torch.arange(len(self.rows), device=self.rows.device)
        pairs = Pairs(
            anchors=fresh_queries,
            ids=both.ids[:n],
            labels=None if both.labels is None else both.labels[:n],
            candidates=torch.cat([fresh_keys, normalize(self.rows, dim=1).to(fresh_keys.dtype)]),
            candidate_ids=torch.cat([both.ids[:n], none]),
            candidate_labels=None if both.labels is None else torch.cat([both.labels[:n], none]),
        )
        if self.training:
            # In half precision the adversary's logits, divided by a small temperature, have few digits left.
            with without_autocast(self.rows.device):
                self._climb(fresh_queries, fresh_keys)
        return pairs

    @override
    def extra_repr(self) -> str:
        size, dim = self.rows.shape
        return f"size={size}, dim={dim}, temperature={self.temperature}, learning_rate={self.learning_rate}"

    def _check(self, both: Pairs) -> None:
        """Raise ValueError for views that the learned rows cannot be compared with."""
        if both.anchors.shape[1] != self.rows.shape[1]:
            raise ValueError(
                f"the learned negatives have dimension {self.rows.shape[1]}, these embeddings "
                f"{both.anchors.shape[1]}"
            )
        if both.anchors.device != self.rows.device:
            raise ValueError(
                f"the learned negatives are on {self.rows.device}, the embeddings on {both.anchors.device}: "
                "move one of them"
            )
        for name, numbers in (("ids", both.ids), ("labels", both.labels)):
            if numbers is not None and bool((numbers < 0).any()):
                raise ValueError(
                    f"{name} given to learned negatives must be 0 or above, got {int(numbers.min())}"
                )

    @torch.no_grad()
    def _climb(self, queries: Tensor, keys: Tensor) -> None:
        """Take one step of gradient ascent on the rows."""
        lengths = torch.linalg.vector_norm(self.rows, dim=1, keepdim=True)
        unit = self.rows / lengths
        q, k = (normalize(each, dim=1).to(unit) for each in (queries, keys))
        candidates = torch.cat([k, unit])
        found = torch.zeros_like(unit)
        for part in q.split(max(1, _ENTRIES // len(candidates))):
            shares = torch.softmax(part @ candidates.T / self.temperature, dim=1)
            found += shares[:, len(k) :].T @ part
        upwards = through_unit_length(unit, lengths, found / (len(q) * self.temperature))
        self.velocity.mul_(self.momentum).add_(upwards).add_(self.rows, alpha=-self.weight_decay)
        self.rows.add_(self.velocity, alpha=self.learning_rate)
