"""An encoder that was tried, once for each seed: one objective's, or a floor that any must beat."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tammes.cli.measure import LARGEST_SIDE, Measure, encoded, pixels
from tammes.data import Images
from tammes.report import Floor, Scores
from tammes.training import Run, build_model


@dataclass(frozen=True, kw_only=True, eq=False)
class Trial:
    """One objective, or a floor: its scores, one for each seed, and the runs behind them.

    Example:
        >>> Trial(name="hcl", scores=(Scores(knn=0.5), Scores(knn=0.75))).mean.knn
        0.625
    """

    name: str
    scores: tuple[Scores, ...]
    runs: tuple[Run, ...] = ()

    @property
    def mean(self) -> Scores:
        """The mean over the seeds."""

        def mean(values: list[float | None]) -> float | None:
            known = [value for value in values if value is not None]
            return statistics.mean(known) if known else None

        return Scores(
            knn=mean([score.knn for score in self.scores]),
            means=mean([score.means for score in self.scores]),
            linear=mean([score.linear for score in self.scores]),
            probe=mean([score.probe for score in self.scores]),
            probe_10_percent=mean([score.probe_10_percent for score in self.scores]),
            probe_1_percent=mean([score.probe_1_percent for score in self.scores]),
        )

    @property
    def floor(self) -> Floor:
        """The same as the report wants it."""
        return Floor(name=self.name, scores=self.mean, seeds=self.scores)


def floors(runs: Sequence[Run], measure: Measure, device: torch.device) -> tuple[Trial, ...]:
    """What costs no training: the encoder as it is made, and of images no encoder at all.

    A bag of words as it is made is a random projection of how often each word occurs, which leaves hardly
    anything for a floor without an encoder to be.

    Args:
        runs: that the floors are set beside, one for each seed.
        measure: what was measured of these runs.
        device: where to compute.
    """
    models = (build_model(run.config, run.model.vocabulary).to(device) for run in runs)
    untrained = Trial(
        name="untrained encoder", scores=tuple(measure.scores(encoded(model)) for model in models)
    )
    if not isinstance(measure.test, Images):
        return (untrained,)
    side = LARGEST_SIDE
    name = "raw pixels" if measure.test.size <= side else f"pixels at {side}x{side}"
    return (
        untrained,
        Trial(name=name, scores=(measure.scores(pixels),)),
    )
