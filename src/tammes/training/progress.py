"""The progress bar of training."""

from lightning.pytorch.callbacks import RichProgressBar


class Progress(RichProgressBar):
    """lightning's bar, with epochs counted from 1, as in metrics.csv: the last of three is 3/3, not 2/2."""

    def __init__(self) -> None:
        super().__init__(leave=False)

    # lightning has no public way to say it; without this method it counts from 0 as before.
    def _get_train_description(self, current_epoch: int) -> str:
        return f"Epoch {current_epoch + 1}/{self.trainer.max_epochs}"
