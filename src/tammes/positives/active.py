"""Positives near a boundary: of several views of the anchor, one that a classifier is least sure of."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tammes.positives.acceptance import Halving, Nearest, Quantile
from tammes.positives.classes import Clusters, Labels
from tammes.positives.same_instance import SameInstance


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """What was kept of the candidates of each anchor.

    Args:
        views: (n, ...), one for each anchor.
        distance: (n,), of these from the boundary.
        drawn: (n,), the mean distance of all candidates of an anchor.
        accepted: int64 (n,), how many candidates of an anchor were within the threshold.
    """

    views: Tensor
    distance: Float[Tensor, " n"]
    drawn: Float[Tensor, " n"]
    accepted: Int64[Tensor, " n"]


@dataclass(frozen=True, kw_only=True)
class Active:
    """Of several random views of each anchor, keep one that is near the boundary of a classifier.

    The classifier lives on the present embedding, and is made anew every so many steps: that is a round.
    Where candidates are within the round's threshold, one of them is kept, at random; where none is, the
    nearest. So every anchor has its positive after a number of tries that is known beforehand.

    Differs: Algorithm 1 draws one view, and goes on to the next anchor where it is not accepted; so it
    has no bound on the number of tries, and trains on fewer pairs.

    Args:
        candidates: m, the views that are drawn for each anchor; 1 is the ordinary positive.
        classes: Between which the boundary lies.
        acceptance: Which candidates are near enough.
        refresh: Steps from one classifier to the next.
        warm_up: Steps with ordinary positives, before the first classifier.
        sample: The most images that the classifier learns from, drawn anew each time.

    Raises:
        ValueError: For no candidates, rounds of no steps, a negative warm-up, fewer than two images to
            learn from, or other classes or acceptance than these.

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
    acceptance: Nearest | Halving | Quantile = field(default_factory=Nearest)
    refresh: int = 100
    warm_up: int = 0
    sample: int = 2048

    def __post_init__(self) -> None:
        _expect_whole("candidates", self.candidates, 1, "view; 1 is the ordinary positive")
        _expect_whole("refresh", self.refresh, 1, "step")
        _expect_whole("warm_up", self.warm_up, 0, "steps")
        _expect_whole("sample", self.sample, 2, "images")
        if not isinstance(self.classes, Labels | Clusters):
            raise ValueError(f"classes must be Labels() or Clusters(number=...), got {self.classes!r}")
        if not isinstance(self.acceptance, Nearest | Halving | Quantile):
            raise ValueError(
                f"acceptance must be Nearest(), Halving(...) or Quantile(...), got {self.acceptance!r}"
            )

    @property
    def chooses(self) -> bool:
        """Whether there is anything to choose from; else no classifier is needed."""
        return self.candidates > 1

    def round_at(self, step: int) -> int:
        """The round of a step, both counted: steps from 0, rounds from 1; 0 in the warm-up.

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
        """One view of each anchor; only two candidates are held at a time.

        Args:
            candidates: m views (n, ...) of the anchors, one after the other.
            distance: of views (n, ...) from the boundary, (n,).
            threshold: of the round; a candidate is accepted where its distance is below.
            draws: uniform in [0, 1), (n, m): which of the accepted is kept.
        """
        views = nearest = drawn = torch.empty(0)
        accepted = torch.zeros(len(draws), dtype=torch.int64, device=draws.device)
        for number, view in enumerate(candidates):
            far = distance(view)
            within = far < threshold
            if number == 0:
                views, nearest, drawn, accepted = view, far, far, within.long()
                continue
            # Of those accepted so far the j-th takes the place with probability 1/j: each is as likely.
            first = (accepted == 0) & (far < nearest)
            accepted = accepted + within
            take = torch.where(within, draws[:, number] * accepted < 1, first)
            views = torch.where(take.view(-1, *(1,) * (view.ndim - 1)), view, views)
            nearest, drawn = torch.where(take, far, nearest), drawn + far
        return Chosen(views=views, distance=nearest, drawn=drawn / self.candidates, accepted=accepted)

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "pairs 2"]:
        """The pairs of one epoch: every row with itself. See `SameInstance`."""
        return SameInstance().pairs(labels, seed=seed)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """The rows that are in no pair of any epoch: none."""
        return SameInstance().unpaired(labels)


def _expect_whole(name: str, value: int, least: int, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        option = name.replace("_", "-")
        raise ValueError(
            f"{name} must be an integer of at least {least} {what}, got {value!r} (--positives.{option})"
        )
