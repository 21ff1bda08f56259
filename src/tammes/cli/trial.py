"""An encoder that was tried, once for each seed: one objective's, or a floor that any must beat."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tammes.cli.measure import LARGEST_SIDE, Measure, encoded, pixels
from tammes.report import Floor, Scores
from tammes.training import Run, RunConfig, build_model


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
            probe=mean([score.probe for score in self.scores]),
            probe_10_percent=mean([score.probe_10_percent for score in self.scores]),
            probe_1_percent=mean([score.probe_1_percent for score in self.scores]),
        )

    @property
    def floor(self) -> Floor:
        """The same as the report wants it."""
        return Floor(name=self.name, scores=self.mean, seeds=self.scores)


def floors(configs: Sequence[RunConfig], measure: Measure, device: torch.device) -> tuple[Trial, Trial]:
    """What costs no training: the encoder as it is made, and no encoder at all.

    Args:
        configs: of the runs that the floors are set beside, one for each seed.
        measure: what was measured of these runs.
        device: where to compute.
    """
    untrained = [measure.scores(encoded(build_model(config).to(device))) for config in configs]
    side = LARGEST_SIDE
    name = "raw pixels" if measure.test.size <= side else f"pixels at {side}x{side}"
    return (
        Trial(name="untrained encoder", scores=tuple(untrained)),
        Trial(name=name, scores=(measure.scores(pixels),)),
    )
