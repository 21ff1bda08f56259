"""Active selection: candidates are drawn until one lies near the boundary of the classifier."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.latent.positive_samplers import PositiveSampler, SampledPositives
from tammes.latent.round_state import Anchors, RoundState
from tammes.positives import Halving, Quantile


@dataclass(frozen=True, kw_only=True)
class ActiveSelection(PositiveSampler):
    """Rejection sampling near the boundary, many candidates of every anchor at once, at most `tries`.

        x+ ~ proposal(. | x)    until    |w_t . f_t(x+)| < a_t

    An anchor whose candidates are all rejected keeps the one nearest to the boundary and counts as missed:
    the paper's loop would not end for an anchor deep inside its class.

    Args:
        proposal: sampler of the candidates.
        acceptance: threshold a_t of each round.
        tries: most candidates of an anchor, at least `at_once`.
        at_once: candidates of an anchor that are drawn together, at least 1; it changes the speed, and which
            candidates are drawn.

    Raises:
        ValueError: `at_once` below 1, or `tries` below `at_once`.

    Source: Weber and Bachman (2022), Alg. 1 (ii).

    Example:
        >>> from tammes.latent import ObservationNoise
        >>> ActiveSelection(proposal=ObservationNoise(scale=0.2), acceptance=Quantile(share=0.25)).tries
        64
    """

    proposal: PositiveSampler
    acceptance: Halving | Quantile
    tries: int = 64
    at_once: int = 16

    def __post_init__(self) -> None:
        check_integer("ActiveSelection.at_once", self.at_once)
        check_integer("ActiveSelection.tries", self.tries, minimum=self.at_once)

    @override
    @torch.no_grad()
    def __call__(self, anchors: Anchors, state: RoundState) -> SampledPositives:
        n = anchors.observations.shape[1]
        threshold = self.acceptance.threshold(state.round, state.known_distances)
        threshold = threshold.to(state.known_distances.dtype)[:, None]
        best = anchors.observations
        nearest = torch.full_like(best[..., 0], torch.inf)
        tries = torch.zeros_like(nearest, dtype=torch.int64)
        waiting = torch.ones_like(tries, dtype=torch.bool)
        for tried in range(0, self.tries, self.at_once):
            at_once = min(self.at_once, self.tries - tried)
            repeated = anchors.map(partial(torch.repeat_interleave, repeats=at_once, dim=1))
            candidates = self.proposal(repeated, state).observations
            distances = state.distances(candidates).unflatten(1, (n, at_once))
            accepted = distances < threshold[..., None]
            # The first accepted candidate wins; if all are rejected, the nearest.
            place = torch.where(accepted.any(-1), accepted.to(torch.uint8).argmax(-1), distances.argmin(-1))
            distance = distances.gather(-1, place[..., None]).squeeze(-1)
            better = waiting & (distance < nearest)
            chosen = candidates.unflatten(1, (n, at_once)).take_along_dim(place[..., None, None], 2)
            best = torch.where(better[..., None], chosen.squeeze(2), best)
            nearest = torch.where(better, distance, nearest)
            found = waiting & accepted.any(-1)
            tries += torch.where(found, place + 1, at_once * waiting)
            waiting &= ~found
            if not bool(waiting.any()):
                break
        self._check_reached(waiting, nearest, threshold)
        return SampledPositives(observations=best, tries=tries, missed=waiting)

    def _check_reached(
        self, waiting: Bool[Tensor, "runs n"], nearest: Float[Tensor, "runs n"], threshold: Tensor
    ) -> None:
        """Raise ValueError if some run accepted no candidate of any anchor."""
        unreached = waiting.all(dim=1)
        if bool(unreached.any()):
            run = int(unreached.nonzero()[0])
            raise ValueError(
                f"active selection found no positive: of {waiting.shape[1]} anchors with {self.tries} tries "
                f"each, the nearest came within {float(nearest[run].min()):.3g} of the boundary, and the "
                f"threshold is {float(threshold[run]):.3g}; raise the threshold (Quantile(share=...) follows "
                "the data), perturb more in the proposal, or allow more tries"
            )
