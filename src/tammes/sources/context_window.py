"""Sentences against the contexts around them: a window of reading order says who is a positive."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer
from tammes.group import Group, Single
from tammes.pairs import Pairs
from tammes.sources.distributed import DistributedGroup
from tammes.sources.distributed_batch import DistributedBatch
from tammes.sources.gather import Gather
from tammes.sources.inbatch import check_rows, in_full_precision, stack_views


@dataclass(frozen=True, kw_only=True)
class ContextWindow:
    """Sentences as anchors, the contexts of all sentences of the batch as candidates (quick-thoughts).

    With encoders f and g, sentence i is compared with g(s_j) of every other sentence j of the batch. Its
    positives P_i are the sentences at most `window` places before or after it, all others are negatives; its
    own context is neither. With `SupCon` the loss is that of quick-thoughts, the cross-entropy of a softmax
    over all other sentences with 1/|P_i| on each positive:

        loss_i = -1/|P_i| sum_{j in P_i} log( e^{f(s_i).g(s_j)} / sum_{k != i} e^{f(s_i).g(s_k)} )

    A sentence without a positive in the batch is no anchor, but remains a candidate.

    Args:
        window: largest distance of a positive in sentences, 1 or more.
        gather: with it, the contexts of all processes are candidates of each.

    Raises:
        ValueError: a window below 1, a gather of another kind; when called: sentences and contexts of
            different shapes, ids of another length, a batch in which no sentence has a positive.

    Source: Logeswaran and Lee (2018), sec. 3; Robinson (2023), sec. 3.5.3. Differs: they set the similarity
    of a sentence with its own context to 0, which leaves e^0 in the denominator; here it is left out.

    Example:
        >>> import tammes
        >>> sentences, contexts = torch.randn(6, 8), torch.randn(6, 8)
        >>> positions = torch.tensor([0, 1, 2, 10, 11, 12])  # of two documents
        >>> pairs = ContextWindow(window=1)(sentences, contexts, ids=positions)
        >>> pairs.positives().count.tolist()
        [1, 2, 1, 1, 2, 1]
        >>> loss = tammes.Objective(temperature=1.0, contrast=tammes.SupCon(), normalize=False)(pairs)
    """

    window: int = 1
    gather: Gather | None = None

    def __post_init__(self) -> None:
        check_integer("window", self.window, reason="it counts the sentences on each side")
        if not isinstance(self.gather, Gather | None):
            raise ValueError(f"gather must be a Gather() or None, got {self.gather!r}")

    def __call__(
        self,
        sentences: Float[Tensor, "batch d"],
        contexts: Float[Tensor, "batch d"] | None = None,
        *,
        ids: Int[Tensor, " batch"],
        labels: Int[Tensor, " batch"] | None = None,
    ) -> Pairs:
        """Return the pairs.

        Args:
            sentences: embeddings f(s_i).
            contexts: embeddings g(s_i) of the same sentences; None for those of one encoder, f = g.
            ids: place of each sentence in reading order; sentences of different documents are more than the
                window apart.
            labels: class of each sentence, for selections that need classes.
        """
        views = (sentences,) if contexts is None else (sentences, contexts)
        local = stack_views(views, ids, labels)
        if self.gather is None and contexts is None:
            check_rows(local)
            pairs = Pairs(
                anchors=in_full_precision(local).anchors,
                ids=local.ids,
                labels=local.labels,
                window=self.window,
            )
            return pairs.with_positives()
        group: Group = Single()
        rows = slice(0, len(sentences))
        if self.gather is None:
            check_rows(local)
            local = in_full_precision(local)
            every, all_ids = local.anchors[-len(sentences) :], local.ids[rows]
            all_labels = None if local.labels is None else local.labels[rows]
        else:
            group = DistributedGroup(self.gather.process_group)
            also = {"window": self.window}
            batch = DistributedBatch.of(group, views, ids, labels, shared_ids=True, also=also)
            local, rows, all_ids, all_labels = batch.local, batch.rows, batch.ids, batch.labels
            every = batch.all_gather(local.anchors[-len(sentences) :], 1)
        own = torch.arange(rows.start, rows.stop, device=all_ids.device)
        pairs = Pairs(
            anchors=local.anchors[: len(sentences)],
            ids=all_ids[rows],
            candidates=every,
            candidate_ids=all_ids,
            labels=None if all_labels is None else all_labels[rows],
            candidate_labels=all_labels,
            own=own,
            group=group,
            first=rows.start,
            window=self.window,
        )
        with group.failing_together(self.window):
            return pairs.with_positives()
