"""One step of training, for lightning's Trainer: two views, one network, one objective."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from tammes.coupling import Hard
from tammes.pairs import Pairs
from tammes.positives import Active, Augmentation
from tammes.sources import Gather, InBatch, Queue
from tammes.temperature import LearnedTemperature
from tammes.training.active_views import ActiveViews
from tammes.training.batch_norm import has_global_batch_norm
from tammes.training.caching import GradientCache
from tammes.training.config import TrainingConfig
from tammes.training.examples import Examples, Inputs
from tammes.training.model import Model
from tammes.training.momentum import MomentumEncoder
from tammes.training.order import Portion
from tammes.training.peers import Peers
from tammes.training.queue_config import QueueConfig
from tammes.training.seeds import Purpose, derive
from tammes.training.strategy import OwnGradients


class Batch(NamedTuple):
    """The pairs of a step as they were read.

    Attributes:
        first: the anchors.
        second: the positives; None where each is the anchor itself.
        pairs: int64 (batch, 2), the rows of both.
    """

    first: Inputs
    second: Inputs | None
    pairs: Tensor


class Contrastive(LightningModule):
    """Two views of each pair of the batch, embedded and handed to the objective.

    All randomness of a step comes from the seed and the number of the step.

    Args:
        config: of the run.
        model: encoder and head.
        examples: what the run learns from; their labels go to objectives that use them.
        steps_per_epoch: for what changes over the steps or epochs.
        portion: the rows of each batch that come here; None where these are all.
        peers: the processes that have the others; None where there are none.

    Attributes:
        objective: of the present epoch.
        temperature: the learned one, or None.
        keys: what embeds the second views where negatives come from a queue, or None.
        active: what chooses second views among several, or None.
    """

    def __init__(
        self,
        config: TrainingConfig,
        model: Model,
        *,
        examples: Examples,
        steps_per_epoch: int,
        portion: Portion | None = None,
        peers: Peers | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.model = model
        self.examples = examples
        self.steps_per_epoch = steps_per_epoch
        self.portion = portion or Portion(batch_size=config.batch_size)
        self.peers = peers or Peers()
        self.source = self._source()
        self.keys = MomentumEncoder(model) if isinstance(self.source, Queue) else None
        self.active = self._active()
        self.own_gradients = OwnGradients()
        self.objective = config.objective
        self.temperature = None
        if config.learn_temperature:
            self.temperature = LearnedTemperature(initial=config.objective.temperature)

    def on_fit_start(self) -> None:
        """Refuse chunks of which one process would take more than another where they must keep pace."""
        chunk, images, processes = self.config.chunk, self.portion.batch_size, self.portion.processes
        if chunk is None or not has_global_batch_norm(self.model):
            return
        fewest, most = images // processes, math.ceil(images / processes)
        if math.ceil(fewest / chunk) != math.ceil(most / chunk):
            raise ValueError(
                f"BatchNorm takes its statistics from a chunk of every process, but {most} images make more "
                f"chunks of {chunk} than {fewest}: choose another chunk, or a batch size that the "
                f"{processes} processes share evenly"
            )

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """The loss of a batch of pairs."""
        rows = batch.pairs[:, 0]
        step = self.global_step
        if self.active is not None:
            self.active.begin(step, self.model)
        with self.peers.failing_together():
            first, second = self._views(batch, step)
            with torch.random.fork_rng(devices=[rows.device] if rows.is_cuda else []):
                torch.manual_seed(self._seed(Purpose.STEP))
                view_a, view_b = self._embedded(first, second)
            for view in (view_a, view_b):
                _expect_finite("embeddings", view, step)
        if self.active is not None:
            self.active.count()
        labels = self.examples.labels
        labels = None if labels is None else labels[rows.cpu()].to(view_a.device)
        generator = torch.Generator().manual_seed(self._seed(Purpose.OBJECTIVE))
        temperature = None if self.temperature is None else self.temperature()
        self._anneal(step)
        pairs = self._pairs(view_a, view_b, rows, labels)
        loss = self.objective(pairs, generator=generator, temperature=temperature)
        _expect_finite("loss", loss, step)
        self.log("loss", loss.detach(), prog_bar=True, batch_size=len(rows))
        return loss

    def _views(self, batch: Batch, step: int) -> tuple[Inputs, Inputs]:
        """The two views of each pair."""
        first = self.examples.inputs(batch.first)
        second = first if batch.second is None else self.examples.inputs(batch.second)
        of_first, of_second = self.config.augmentations
        first = self._view(first, of_first, self._seed(Purpose.FIRST_VIEW))

        def candidate(number: int) -> Inputs:
            place = (number,) if number else ()  # the first is the view that there is without a choice
            return self._view(second, of_second, self._seed(Purpose.SECOND_VIEW, *place))

        if self.active is None:
            return first, candidate(0)
        return first, self.active.choose(step, self.model, candidate, chunk=self.config.chunk)

    def _view(self, inputs: Inputs, augmentation: Augmentation | None, seed: int) -> Inputs:
        """A view of each row, as it is in the batch of all processes."""
        if augmentation is None:
            return inputs
        assert isinstance(inputs, Tensor)  # the configuration has no augmentation for others
        first_row, batch_size = self.portion.first_row, self.portion.batch_size
        return augmentation(inputs, seed=seed, first_row=first_row, batch_size=batch_size)

    def _embedded(self, first: Inputs, second: Inputs) -> tuple[Tensor, ...]:
        """Both views through the network, or the second through its momentum encoder."""
        if self.keys is not None:
            return *self._through(self.model, first), *self._through(self.keys, second)
        if self.config.chunk is not None:
            return self._through(self.model, first, second)
        return self.model(self.examples.together(first, second))[1].chunk(2)

    def _through(self, network: nn.Module, *views: Inputs) -> tuple[Tensor, ...]:
        """Views through a network, each by itself."""
        if self.config.chunk is None:
            return tuple(network(view)[1] for view in views)
        return GradientCache(_Embeddings(network), chunk=self.config.chunk)(*views)

    def _source(self) -> InBatch | Gather | Queue:
        """What makes pairs of embeddings."""
        negatives, gather = self.config.negatives, None if self.peers.alone else Gather()
        if isinstance(negatives, QueueConfig):
            return Queue(size=negatives.size, dim=self.model.dim, gather=gather)
        return negatives if gather is None else gather

    def _active(self) -> ActiveViews | None:
        """What chooses second views, where there is anything to choose from."""
        positives = self.config.positives
        if not (isinstance(positives, Active) and positives.chooses):
            return None
        return ActiveViews(
            positives,
            examples=self.examples,
            dim=self.model.dim,
            seed=self.config.seed,
            portion=self.portion,
            peers=self.peers,
            steps_per_epoch=self.steps_per_epoch,
        )

    def _pairs(self, view_a: Tensor, view_b: Tensor, rows: Tensor, labels: Tensor | None) -> Pairs:
        if isinstance(self.source, Queue):  # which must know an image that comes again
            return self.source(view_a, view_b, ids=rows, labels=labels)
        return self.source(view_a, view_b, labels=labels)

    def _anneal(self, step: int) -> None:
        """Take the objective of the epoch; it changes when an epoch begins, or a run goes on."""
        objective = self.config.objective_at(step // self.steps_per_epoch)
        if objective != self.objective:
            self.objective = objective

    def numbers(self) -> dict[str, float]:
        """What the last step was like: the objective's numbers, and what changes over the run."""
        numbers = dict(self.objective.last)
        if self.config.annealing is not None and isinstance(self.objective.coupling, Hard):
            numbers["beta"] = self.objective.coupling.beta
        if self.temperature is not None:
            numbers["temperature"] = float(self.temperature().detach())
        if self.active is not None:
            numbers |= self.active.numbers()
        return numbers

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Refuse a step that would spoil the weights."""
        gradients = [p.grad for p in self.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if not self.peers.alone and not torch.isfinite(norm):
            # The average is spoiled on all processes; this names those that spoiled it.
            with self.peers.failing_together():
                if not self.own_gradients.finite:
                    _expect_finite("gradient", norm, self.global_step)
        _expect_finite("gradient", norm, self.global_step)

    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Optimizer | LightningOptimizer,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        """Move the weights, and let the momentum encoder follow."""
        super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        negatives = self.config.negatives
        if self.keys is not None and isinstance(negatives, QueueConfig):
            steps = self.config.epochs * self.steps_per_epoch
            self.keys.update(self.model, momentum=negatives.momentum_at(step=self.global_step, steps=steps))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Adam, and the learning rate over the steps."""
        settings = self.config.optimizer
        undecayed = [] if self.temperature is None else list(self.temperature.parameters())
        optimizer = settings.build(self.model.parameters(), undecayed=undecayed)
        steps = self.config.epochs * self.steps_per_epoch
        factor = settings.rate_factor(steps=steps, steps_per_epoch=self.steps_per_epoch)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": LambdaLR(optimizer, factor), "interval": "step"},
        }

    def _seed(self, purpose: Purpose, *place: int) -> int:
        return derive(self.config.seed, purpose, self.global_step, *place)


class _Embeddings(nn.Module):
    """The part of a model that the objective sees."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Tensor) -> Tensor:
        embeddings: Tensor = self.model(inputs)[1]
        return embeddings


def _expect_finite(what: str, value: Tensor, step: int) -> None:
    """Raise at the step where training went wrong, before it reaches the weights or a checkpoint."""
    if not torch.isfinite(value).all():
        raise ValueError(
            f"the {what} became NaN or infinite at step {step} (steps count from 0): "
            "lower the learning rate, raise the temperature, or look for odd data; "
            "the last checkpoint is from before"
        )
