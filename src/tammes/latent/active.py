"""Active selection: candidates are drawn until one lies near the boundary of the classifier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from tammes.checks import check_integer
from tammes.latent.positives import Drawn, Positives
from tammes.latent.stage import Anchors, Stage
from tammes.latent.thresholds import Threshold


@dataclass(frozen=True, kw_only=True)
class Active(Positives):
    """Rejection sampling near the boundary, many candidates of every anchor at once, and never forever.

        x+ ~ proposal(. | x)    until    |w_t . f_t(x+)| < a_t

    An anchor whose candidates are all rejected keeps the one nearest to the boundary, and is counted: the
    paper's "until one is found" has no end for an anchor deep inside its class.

    Args:
        proposal: draws candidates.
        threshold: a_t.
        tries: most candidates for an anchor.
        at_once: candidates drawn together; it changes the time it takes, and which candidates are drawn.

    Raises:
        ValueError: less than one try, more at once than tries.

    Source: Weber and Bachman (2022), Alg. 1 (ii).

    Example:
        >>> from tammes.latent import Observed, Quantile
        >>> Active(proposal=Observed(scale=0.2), threshold=Quantile(share=0.25)).tries
        64
    """

    proposal: Positives
    threshold: Threshold
    tries: int = 64
    at_once: int = 16

    def __post_init__(self) -> None:
        check_integer("Active.at_once", self.at_once, minimum=1)
        check_integer("Active.tries", self.tries, minimum=self.at_once)

    @torch.no_grad()
    def __call__(self, anchors: Anchors, stage: Stage) -> Drawn:
        """See `Positives`.

        Raises:
            ValueError: in some run no candidate of any anchor was accepted; the model has no classes.
        """
        bar = self.threshold(stage)[:, None]
        n = anchors.observations.shape[1]
        best = anchors.observations
        nearest = torch.full_like(best[..., 0], torch.inf)
        tries = torch.zeros_like(nearest, dtype=torch.int64)
        waiting = torch.ones_like(tries, dtype=torch.bool)
        for at_once in _batches(self.tries, self.at_once):
            repeated = anchors.each(partial(torch.repeat_interleave, repeats=at_once, dim=1))
            candidates = self.proposal(repeated, stage).observations
            distances = stage.distances(candidates).unflatten(1, (n, at_once))
            accepted = distances < bar[..., None]
            # The first that is accepted counts; of those that are not, the nearest.
            place = torch.where(accepted.any(-1), accepted.to(torch.uint8).argmax(-1), distances.argmin(-1))
            here = distances.gather(-1, place[..., None]).squeeze(-1)
            better = waiting & (here < nearest)
            chosen = candidates.unflatten(1, (n, at_once)).take_along_dim(place[..., None, None], 2)
            best = torch.where(better[..., None], chosen.squeeze(2), best)
            nearest = torch.where(better, here, nearest)
            found = waiting & accepted.any(-1)
            tries += torch.where(found, place + 1, at_once * waiting)
            waiting &= ~found
            if not bool(waiting.any()):
                break
        self._check_reached(waiting, nearest, bar)
        return Drawn(observations=best, tries=tries, missed=waiting)

    def _check_reached(self, waiting: Tensor, nearest: Tensor, bar: Tensor) -> None:
        unreached = waiting.all(dim=1)
        if bool(unreached.any()):
            run = int(unreached.nonzero()[0])
            raise ValueError(
                f"active selection found no positive: of {waiting.shape[1]} anchors with {self.tries} tries "
                f"each, the nearest came within {float(nearest[run].min()):.3g} of the boundary, and "
                f"{float(bar[run]):.3g} is asked for; raise the threshold (Quantile(share=...) follows the "
                "data), perturb more in the proposal, or allow more tries"
            )


def _batches(tries: int, at_once: int) -> list[int]:
    """How many candidates are drawn each time, `tries` in all."""
    whole, rest = divmod(tries, at_once)
    return [at_once] * whole + [rest] * bool(rest)
