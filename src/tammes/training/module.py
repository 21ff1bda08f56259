"""The training step, as a module for lightning's Trainer."""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.core.optimizer import LightningOptimizer
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from typing_extensions import override

from tammes.coupling import Hard
from tammes.data.graph_batch import GraphBatch
from tammes.group import Group, Single
from tammes.pairs import Pairs
from tammes.sources import ContextWindow
from tammes.temperature import LearnedTemperature
from tammes.training.active_views import ActiveViews
from tammes.training.adversarial import AdversarialStream
from tammes.training.annealing import Falling, Oscillating, Rising
from tammes.training.caching import GradientCache
from tammes.training.care import Care
from tammes.training.config import TrainingConfig
from tammes.training.distributed.batch_norm import check_chunks, has_global_batch_norm
from tammes.training.distributed.group import ProcessGroup
from tammes.training.distributed.strategy import GradientMaxima
from tammes.training.divergence import FiniteChecks, raise_for_gradient
from tammes.training.examples import Examples, FromRows, Inputs, concatenate, to_inputs, to_rows
from tammes.training.flops import counted
from tammes.training.loader import PairBatch
from tammes.training.masked import MaskedNetwork, MaskedStep
from tammes.training.model import Model
from tammes.training.momentum import KeysConfig, MomentumEncoder, ema_decay_at
from tammes.training.sampler import Shard
from tammes.training.seeds import Purpose, derive
from tammes.training.source import compares_towers, embedded_by_towers, pairs_of_batch, source_of
from tammes.training.views import augmented, views_of


class ContrastiveModule(LightningModule):
    """Lightning module that trains a model on pairs.

    Each step makes two views of every pair, or several of every image, embeds them, and computes the loss.
    Its random numbers depend only on the seed of the run and the number of the step.

    Args:
        config: configuration of the run.
        model: encoder and head.
        examples: training data; their labels are passed to the objective.
        steps_per_epoch: number of steps in an epoch.
        shard: part of each batch that this process handles; None for the whole batch.
        group: processes of the run; None for one process.
        compiled: whether `torch.compile` makes the network's kernels, from the second step on.

    Attributes:
        objective: objective of the current epoch.
        temperature: learned temperature, or None.
        source: source of the negatives: the batch, the batches of all processes, the contexts of a batch, a
            queue, or learned ones.
        keys: momentum encoder of the second views if negatives come from elsewhere than the batch.
        adversarial: second stream of the network, for attacked images; else None.
        active: active positives, which choose the second view among several candidates; else None.
        care: terms beside the objective, or None.
        terms: the values of these terms in the last step.
        masked: masks, noise and their terms, or None.
        rows: number of rows that this process had in the last step.
        means: numbers of the last step that are averaged over an epoch.
        average: moving average of the weights, or None.
        flops: floating-point operations of the first step on this process; None before it.
        local_maxima: largest gradient entries of this process, filled by the DDP strategy.
        learning_rate: learning rate of the last step; 0 before the first.
        gradient_norm: Euclidean norm of the last step's gradient, averaged over the processes and not yet
            clipped; 0 before the first step.
    """

    def __init__(
        self,
        config: TrainingConfig,
        model: Model,
        *,
        examples: Examples,
        steps_per_epoch: int,
        shard: Shard | None = None,
        group: ProcessGroup | None = None,
        compiled: bool = False,
    ) -> None:
        super().__init__()
        self.config = config
        self.model = model
        self.examples = examples
        self.steps_per_epoch = steps_per_epoch
        self.shard = shard or Shard(batch_size=config.batch_size)
        self.group = group or ProcessGroup()
        self.objective = config.objective
        self.source = source_of(config, model.dim, single=self.group.is_single)
        self.keys = MomentumEncoder(model) if isinstance(config.negatives, KeysConfig) else None
        self.active = ActiveViews.of(
            config.positives, examples, model.dim, config.seed, self.shard, self.group, steps_per_epoch
        )
        self.masked = MaskedStep.of(config.masked, model, seed=config.seed, shard=self.shard)
        self.average = None if config.ema_decay is None else MomentumEncoder(model)
        self.care = config.equivariance
        if self.care is not None:
            self.care.check(batch_size=self.shard.batch_size, processes=self.shard.processes)
        self.adversarial = AdversarialStream.of(config.attack, model, processes=self.shard.processes)
        self.terms: dict[str, Tensor] = {}
        self.means: dict[str, Tensor] = {}
        self.compiled = compiled
        self._compiled: dict[int, nn.Module] = {}  # no modules of this one: their weights are the model's
        self.flops: int | None = None
        self.local_maxima: GradientMaxima = {}
        self.finite = FiniteChecks(at_once=not self.group.is_single)
        self.labels, self.rows = examples.labels, self.shard.size
        self.learning_rate = self.gradient_norm = 0.0
        initial = config.objective.temperature
        self.temperature = LearnedTemperature(initial=initial) if config.learn_temperature else None

    @override
    def on_fit_start(self) -> None:
        self.labels = None if self.labels is None else self.labels.to(self.device)
        if self.config.chunk is not None and has_global_batch_norm(self.model):
            check_chunks(self.config.chunk, pairs=self.shard.batch_size, processes=self.shard.processes)

    @override
    def training_step(self, batch: PairBatch, batch_idx: int) -> Tensor:
        step = self.global_step
        rows = batch[2][:, 0]
        self.rows = len(rows)
        if self.active is not None:
            self.active.begin_step(step, self.model)
        # An error on one process (an image that cannot be decoded, a NaN) would leave the others waiting in
        # the next collective, so it is raised on all of them.
        with self.group.failing_together():
            views = views_of(
                self.config, batch, step=step, shard=self.shard, model=self.model, active=self.active
            )
            if self.masked is not None:
                views = self.masked.rows(self.model.encoder, views, step)
            with torch.random.fork_rng(devices=[rows.device] if rows.is_cuda else []):
                torch.manual_seed(self._seed(Purpose.STEP))  # for dropout
                embeddings = self._embed(views)
                shared = None if self.care is None else self._embed_shared(batch, self.care, embeddings)
            for each in (*embeddings, *(shared or ())):
                self.finite.add("embeddings", each, step)
        if self.active is not None:
            self.active.count_choices()
        self._anneal(step)
        # First, so that the measurements of the step are those of the images themselves.
        attacked = None if self.adversarial is None else self._attacked_loss(self.adversarial, views, rows)
        if self.masked is not None:
            loss = self._masked_loss(self.masked, embeddings, views[0], rows)
        else:
            pairs = self._pairs(embeddings, views[0], rows)
            loss = self._loss(pairs)
            if self.adversarial is not None and attacked is not None:
                loss = loss.lerp(attacked, self.adversarial.attack.weight)
            if self.care is not None and shared is not None:
                loss = self._with_terms(self.care, loss, embeddings, shared, pairs.group)
        self.finite.add("loss", loss, step)
        return loss

    def _loss(self, pairs: Pairs) -> Tensor:
        return self.objective(
            pairs,
            generator=torch.Generator().manual_seed(self._seed(Purpose.OBJECTIVE)),
            temperature=None if self.temperature is None else self.temperature(),
        )

    def _masked_loss(
        self, masked: MaskedStep, outputs: tuple[Tensor, ...], first: Inputs, rows: Tensor
    ) -> Tensor:
        """Return the weighted sum of the objective, reconstruction and denoising, and remember each."""
        embeddings, errors = masked.split(outputs)
        contrast = self._loss(self._pairs(embeddings, first, rows)) if masked.masked.contrast else None
        loss, terms = masked.losses(contrast, errors, group=self.group.step_group or Single())
        self.means = {name: term.detach() for name, term in terms.items()}
        return loss

    def _attacked_loss(self, stream: AdversarialStream, views: tuple[Inputs, ...], rows: Tensor) -> Tensor:
        """Return the loss of attacked views, in the second stream of the network."""
        images = tuple(view for view in views if isinstance(view, Tensor))
        loss = stream.loss(
            self.model,
            images,
            lambda embeddings: self._loss(self._pairs(embeddings, views[0], rows)),
            seed=self._seed(Purpose.ATTACK),
        )
        self.finite.add("loss of attacked images", loss, self.global_step)
        self.terms["attacked_loss"] = loss.detach()
        return loss

    def _embed_shared(self, batch: PairBatch, care: Care, views: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Embed two views whose groups share an augmentation: those of the objective, or two more."""
        if care.augmentation is None:
            return views
        inputs = to_inputs(batch[0])
        more = (
            augmented(inputs, care.augmentation, self.shard, self._seed(purpose), care.groups)
            for purpose in (Purpose.FIRST_SHARED_VIEW, Purpose.SECOND_SHARED_VIEW)
        )
        if self.config.chunk is not None:
            return self._embed_by(self.model, *more)
        return self.model(concatenate(*more))[1].chunk(2)

    def _with_terms(
        self, care: Care, loss: Tensor, views: tuple[Tensor, ...], shared: tuple[Tensor, ...], group: Group
    ) -> Tensor:
        """Return the weighted sum of the objective and the terms beside it, and remember these."""
        groups = care.groups // self.shard.processes
        losses = care.losses((views[0], views[1]), (shared[0], shared[1]), group=group, groups=groups)
        self.terms = {f"{name}_loss": each.detach() for name, each in losses.items()}
        return care.total(loss, losses)

    def _embed(self, views: tuple[Inputs, ...]) -> tuple[Tensor, ...]:
        """Embed all views; with a queue, the momentum encoder embeds the second view.

        With one view, embed its nodes and its graphs.
        """
        if isinstance(views[0], GraphBatch) and len(views) == 1:
            return self.model.nodes_and_graphs(views[0])
        if len(views) > 1 and compares_towers(self.config):
            return embedded_by_towers(self.model.encoder, views, chunk=self.config.chunk)
        if self.keys is not None:
            assert isinstance(self.keys.model, Model)
            first, second = views
            return *self._embed_by(self.model, first), *self._embed_by(self.keys.model, second)
        if self.config.chunk is not None:
            return self._embed_by(self.model, *views)
        # One forward pass over all views, so that BatchNorm normalizes them together.
        return self._network(self.model)(reduce(concatenate, views)).chunk(len(views))

    def _network(self, model: Model) -> nn.Module:
        """Return the network from inputs to embeddings, which with masks are followed by errors."""
        network: nn.Module = nn.Sequential(model.encoder, model.head)
        if self.masked is not None:
            network = MaskedNetwork(self.masked.masked, model, with_errors=model is self.model)
        if not self.compiled or self.flops is None:  # the operations of a compiled step cannot be counted
            return network
        if id(model) not in self._compiled:
            self._compiled[id(model)] = cast(nn.Module, torch.compile(network))
        return self._compiled[id(model)]

    def _embed_by(self, model: Model, *views: Inputs) -> tuple[Tensor, ...]:
        """Embed each view in a separate pass, in chunks if the configuration sets `chunk`."""
        network = self._network(model)
        if self.config.chunk is None:
            return tuple(network(view) for view in views)
        of_rows = nn.Sequential(FromRows(), network)
        return GradientCache(of_rows, chunk=self.config.chunk)(*(to_rows(view) for view in views))

    def _pairs(self, embeddings: tuple[Tensor, ...], first: Inputs, rows: Tensor) -> Pairs:
        numbers = rows
        if isinstance(self.source, ContextWindow):
            numbers = self.examples.reading_order(self.source.window)[rows.cpu()].to(rows.device)
        return pairs_of_batch(
            self.source,
            self.config,
            embeddings,
            numbers=numbers,
            labels=None if self.labels is None else self.labels[rows],
            owner=first.owner if isinstance(first, GraphBatch) else None,
        )

    def _anneal(self, step: int) -> None:
        """Set the annealed objective, which changes only between epochs."""
        objective = self.config.objective_at(step // self.steps_per_epoch)
        if objective != self.objective:
            self.objective = objective

    @property
    def trained(self) -> Model:
        """The network that is measured and saved: the average of the weights, if there is one."""
        if self.average is None:
            return self.model
        assert isinstance(self.average.model, Model)
        return self.average.model

    def numbers(self) -> dict[str, float]:
        """Return the metrics of the last step, with the beta, temperature and choices of the run."""
        numbers = {} if self.masked is not None and not self.masked.dim else dict(self.objective.last)
        if isinstance(self.config.annealing, Falling | Rising) and isinstance(self.objective.coupling, Hard):
            numbers["beta"] = self.objective.coupling.beta
        if isinstance(self.config.annealing, Oscillating):
            numbers["temperature"] = self.objective.temperature
        if self.temperature is not None:
            numbers["temperature"] = float(self.temperature().detach())
        if self.active is not None:
            numbers |= self.active.numbers()
        return numbers | {name: float(term) for name, term in self.terms.items()}

    @override
    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        gradients = [p.grad for p in self.parameters() if p.grad is not None]
        # The check needs this number on the host before the weights change, so recording it costs no further
        # synchronization.
        norm = self.finite.norm(gradients, self.global_step)
        if not math.isfinite(norm):
            raise_for_gradient(self.global_step, self.group, self.local_maxima)
        self.gradient_norm = norm
        self.learning_rate = float(optimizer.param_groups[0]["lr"])

    @override
    def optimizer_step(
        self,
        epoch: int,
        batch_idx: int,
        optimizer: Optimizer | LightningOptimizer,
        optimizer_closure: Callable[[], Any] | None = None,
    ) -> None:
        with counted(self.flops) as count:  # those of the first step: all are alike
            super().optimizer_step(epoch, batch_idx, optimizer, optimizer_closure)
        self.flops = count.total
        if self.keys is not None and isinstance(negatives := self.config.negatives, KeysConfig):
            steps = self.config.epochs * self.steps_per_epoch
            self.keys.update(self.model, momentum=negatives.momentum_at(step=self.global_step, steps=steps))
        if self.average is not None and self.config.ema_decay is not None:
            decay = ema_decay_at(self.config.ema_decay, step=self.global_step)
            self.average.update(self.model, momentum=decay)

    @override
    def configure_optimizers(self) -> OptimizerLRScheduler:
        settings = self.config.optimizer
        undecayed = [] if self.temperature is None else list(self.temperature.parameters())
        # Parameters that features do not depend on are frozen, and would have no state to resume from.
        parts = [self.model] if self.adversarial is None else [self.model, self.adversarial]
        trained = [each for part in parts for each in part.parameters() if each.requires_grad]
        optimizer = settings.build(trained, undecayed=undecayed)
        steps = self.config.epochs * self.steps_per_epoch
        factor = settings.rate_factor(steps=steps, steps_per_epoch=self.steps_per_epoch)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": LambdaLR(optimizer, factor), "interval": "step"},
        }

    def _seed(self, purpose: Purpose, *position: int) -> int:
        return derive(self.config.seed, purpose, self.global_step, *position)
