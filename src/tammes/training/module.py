"""One step of training, for lightning's Trainer: two views, one network, one objective."""

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from tammes.data.images import as_floats
from tammes.training.config import TrainingConfig
from tammes.training.model import Model
from tammes.training.seeds import Purpose, derive


class Contrastive(LightningModule):
    """Two augmented views of each image of the batch, embedded and handed to the objective.

    All randomness of a step comes from the seed and the number of the step.

    Args:
        config: of the run.
        model: encoder and head.
        labels: int64 (n,) of the images, for objectives that use them; or None.
        steps_per_epoch: for the learning rate schedule.
    """

    def __init__(
        self, config: TrainingConfig, model: Model, *, labels: Tensor | None, steps_per_epoch: int
    ) -> None:
        super().__init__()
        self.config = config
        self.model = model
        self.labels = labels
        self.steps_per_epoch = steps_per_epoch

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """The loss of a batch of images and their numbers."""
        pixels, rows = batch
        step = self.global_step
        images = as_floats(pixels)
        first = self.config.augmentation(images, seed=self._seed(Purpose.FIRST_VIEW))
        second = self.config.augmentation(images, seed=self._seed(Purpose.SECOND_VIEW))
        with torch.random.fork_rng(devices=[images.device] if images.is_cuda else []):
            torch.manual_seed(self._seed(Purpose.STEP))
            _, embeddings = self.model(torch.cat([first, second]))
        _expect_finite("embeddings", embeddings, step)
        view_a, view_b = embeddings.chunk(2)
        labels = None if self.labels is None else self.labels[rows.cpu()].to(embeddings.device)
        generator = torch.Generator().manual_seed(self._seed(Purpose.OBJECTIVE))
        loss = self.config.objective(view_a, view_b, labels=labels, generator=generator)
        _expect_finite("loss", loss, step)
        self.log("loss", loss.detach(), prog_bar=True, batch_size=len(rows))
        return loss

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Refuse a step that would spoil the weights."""
        gradients = [p.grad for p in self.parameters() if p.grad is not None]
        _expect_finite("gradient", torch.nn.utils.get_total_norm(gradients), self.global_step)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam, and the learning rate over the steps."""
        settings = self.config.optimizer
        optimizer = settings.build(self.parameters())
        steps = self.config.epochs * self.steps_per_epoch
        factor = settings.rate_factor(steps=steps, steps_per_epoch=self.steps_per_epoch)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": LambdaLR(optimizer, factor), "interval": "step"},
        }

    def _seed(self, purpose: Purpose) -> int:
        return derive(self.config.seed, purpose, self.global_step)


def _expect_finite(what: str, value: Tensor, step: int) -> None:
    """Raise at the step where training went wrong, before it reaches the weights or a checkpoint."""
    if not torch.isfinite(value).all():
        raise ValueError(
            f"the {what} became NaN or infinite at step {step} (steps count from 0): "
            "lower the learning rate, raise the temperature, or look for odd images; "
            "the last checkpoint is from before"
        )
