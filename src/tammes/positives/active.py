"""Positives near a boundary: of several views of the anchor, one that a classifier is unsure of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int64, Shaped
from torch import Tensor

from tammes.checks import check_integer
from tammes.positives.acceptance import Acceptance, Nearest
from tammes.positives.classes import Clusters, Labels
from tammes.positives.same_instance import SameInstance


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """Chosen view of each anchor, and the statistics of its candidates.

    Attributes:
        views: chosen view of each anchor.
        distance: distance of the chosen view from the boundary.
        drawn: mean distance of all candidates of the anchor.
        accepted: number of candidates of the anchor below the threshold.
    """

    views: Shaped[Tensor, "n ..."]
    distance: Float[Tensor, " n"]
    drawn: Float[Tensor, " n"]
    accepted: Int64[Tensor, " n"]


@dataclass(frozen=True, kw_only=True)
class Active:
    """Active positives: of several random views of each anchor, one near the boundary of a classifier.

    The classifier is fitted to the current embedding, once every `refresh` steps: that is a round. If
    candidates are below the threshold of the round, one of them is chosen at random; if none is, the nearest.
    So every anchor gets its positive after a fixed number of tries.

    Differs: Algorithm 1 draws one view, and drops the anchor if the view is rejected. Its batches then have
    no fixed size, and it trains on fewer pairs.

    Args:
        candidates: number m of views drawn for each anchor, at least 1; 1 is the ordinary positive.
        classes: classes that the boundary separates.
        acceptance: threshold of each round.
        refresh: steps from one classifier to the next, at least 1.
        warm_up: steps with ordinary positives before the first classifier, at least 0.
        sample: most images that the classifier learns from, at least 2, drawn anew for each round.

    Raises:
        ValueError: a number out of its range, or classes or an acceptance of another type.

    Source: Weber and Bachman (2022), Algorithm 1 (ii).

    Example:
        >>> active = Active(candidates=2)
        >>> views = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [0.5]])
        >>> chosen = active.choose(views, lambda view: view[:, 0], threshold=0.0, draws=torch.zeros(2, 2))
        >>> chosen.views[:, 0].tolist(), chosen.accepted.tolist()
        ([1.0, 0.5], [0, 0])
    """

    candidates: int = 4
    classes: Labels | Clusters = field(default_factory=Clusters)
    acceptance: Acceptance = field(default_factory=Nearest)
    refresh: int = 100
    warm_up: int = 0
    sample: int = 2048

    def __post_init__(self) -> None:
        check_integer("candidates", self.candidates)
        check_integer("refresh", self.refresh)
        check_integer("warm_up", self.warm_up, minimum=0)
        check_integer("sample", self.sample, minimum=2)
        if not isinstance(self.classes, Labels | Clusters):
            raise ValueError(f"classes must be Labels() or Clusters(number=...), got {self.classes!r}")
        if not isinstance(self.acceptance, Acceptance):
            raise ValueError(
                f"acceptance must be Nearest(), Halving(...) or Quantile(...), got {self.acceptance!r}"
            )

    @property
    def chooses(self) -> bool:
        """Whether there are several candidates; a single one needs no classifier."""
        return self.candidates > 1

    def round_at(self, step: int) -> int:
        """Return the round of a step, where steps count from 0 and rounds from 1; the warm-up is round 0.

        Example:
            >>> [Active(refresh=10, warm_up=5).round_at(step) for step in (4, 5, 14, 15)]
            [0, 1, 1, 2]
        """
        return 0 if step < self.warm_up else 1 + (step - self.warm_up) // self.refresh

    def choose(
        self,
        candidates: Iterable[Tensor],
        distance: Callable[[Tensor], Float[Tensor, " n"]],
        *,
        threshold: float,
        draws: Float[Tensor, "n m"],
    ) -> Chosen:
        """Choose one view of each anchor; only two candidates are in memory at a time.

        Args:
            candidates: m views (n, ...) of the anchors, one after the other.
            distance: function from views (n, ...) to their distances from the boundary.
            threshold: threshold of the round; a candidate is accepted if its distance is smaller.
            draws: uniform numbers in [0, 1) that decide between accepted candidates.
        """
        views = nearest = drawn = torch.empty(0)
        accepted = torch.zeros(len(draws), dtype=torch.int64, device=draws.device)
        for number, view in enumerate(candidates):
            far = distance(view)
            within = far < threshold
            if number == 0:
                views, nearest, drawn, accepted = view, far, far, within.long()
                continue
            # Reservoir sampling: the j-th accepted candidate replaces the choice with probability 1/j, so
            # that all accepted candidates are equally likely.
            first = (accepted == 0) & (far < nearest)
            accepted = accepted + within
            take = torch.where(within, draws[:, number] * accepted < 1, first)
            views = torch.where(take.view(-1, *(1,) * (view.ndim - 1)), view, views)
            nearest, drawn = torch.where(take, far, nearest), drawn + far
        return Chosen(views=views, distance=nearest, drawn=drawn / self.candidates, accepted=accepted)

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "pairs 2"]:
        """Return the pairs of one epoch: every row with itself, as `SameInstance` does."""
        return SameInstance().pairs(labels, seed=seed)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """Return the rows that no epoch pairs: none."""
        return SameInstance().unpaired(labels)
