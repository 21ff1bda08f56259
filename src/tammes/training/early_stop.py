"""Early stopping by a measure that needs no labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lightning.pytorch import Callback, LightningModule, Trainer
from typing_extensions import override

from tammes.training.config import TrainingConfig
from tammes.training.kind_rules import BETTER

if TYPE_CHECKING:
    from tammes.training.metrics import EpochMetrics, MetricsRecorder


def early_stop(config: TrainingConfig, rows: Sequence[EpochMetrics]) -> str | None:
    """Return why a training stops before its last epoch, in a sentence; None if it goes on.

    It stops once the measure has not exceeded its best value in `stop_patience` measurements. The one before
    training does not count: the rank of an untrained network says nothing of a trained one.

    Args:
        config: settings of the run.
        rows: metrics of the epochs so far.

    Example:
        >>> import tammes
        >>> from tammes.training import EpochMetrics
        >>> config = TrainingConfig(objective=tammes.recipes.simclr(temperature=0.5), stop_on="rankme",
        ...     stop_patience=2, epochs=9)
        >>> ranks = (10.0, 12.0, 11.0, 11.5)
        >>> rows = [EpochMetrics(epoch=e, step=e, last={"rankme": r}) for e, r in enumerate(ranks, 1)]
        >>> early_stop(config, rows)
        'Stopped after epoch 4 of 9: rankme was best after epoch 2 (12) and not in 2 measurements since.'
        >>> early_stop(config, rows[:3]) is None
        True
    """
    name = config.stop_on
    if name is None:
        return None
    known = [(row.epoch, row.last[name]) for row in rows if row.epoch > 0 and name in row.last]
    if not known or known[-1][0] >= config.epochs:
        return None
    place = max(range(len(known)), key=lambda number: BETTER[name] * known[number][1])
    since = len(known) - 1 - place
    if since < config.stop_patience:
        return None
    epoch, value = known[place]
    return (
        f"Stopped after epoch {known[-1][0]} of {config.epochs}: {name} was best after epoch {epoch} "
        f"({value:.4g}) and not in {since} measurement{'s' if since > 1 else ''} since."
    )


class EarlyStop(Callback):
    """Ends a training whose measure has stopped improving.

    It decides by the recorded rows alone, which are part of a checkpoint: a resumed run stops where one that
    was never interrupted does, and one that has stopped takes no further step.

    Args:
        recorder: records the numbers of each epoch; comes before this among the callbacks.
    """

    def __init__(self, recorder: MetricsRecorder) -> None:
        self.recorder = recorder

    @override
    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._decide(trainer, pl_module)

    @override
    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._decide(trainer, pl_module)

    def _decide(self, trainer: Trainer, module: LightningModule) -> None:
        config = module.config
        assert isinstance(config, TrainingConfig)
        if early_stop(config, self.recorder.rows) is not None:
            trainer.should_stop = True
