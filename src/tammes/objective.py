"""The objective: which rows are compared, how much each negative weighs, and the loss made of both.

    log w_ij  =  row_i + col_j + g(s_ij) + mask_ij ,        sum over j of w_ij = 1

The order is fixed: fit the coupling; the contrast makes one statistic of each anchor's negatives, the
correction subtracts the false negatives from it, the contrast sets it against the positives; with a
perturbation the same is done for the shifted logits; and the losses are averaged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

import tammes.deferred as deferred
from tammes.batch import Batch, batch_of
from tammes.checks import is_finite
from tammes.citation import citation_of
from tammes.closed_form import closed_form, form_of
from tammes.contrast import Contrast, InfoNCE, Sigmoid, SupCon
from tammes.correction import Correction
from tammes.coupling import Coupling, Fit, Uniform
from tammes.deferred import DeferredCheck
from tammes.losses_of_samples import LossesOfSamples
from tammes.measurements import Call, Measurements
from tammes.mixing import HardMixing
from tammes.module import ObjectiveModule
from tammes.pairs import Pairs
from tammes.perturbation import Perturbation
from tammes.reduce import Dense, Engine, SoftmaxLoss, SoftplusLoss
from tammes.reduce.autograd import without_autocast
from tammes.samples_by_anchor import mixed_negatives
from tammes.selection import All, Selection
from tammes.temperature import LearnedTemperature
from tammes.traced import is_traced
from tammes.validation import check_combination, check_kinds, check_range, check_temperatures, weightless


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Contrastive loss made of parts that know nothing of each other.

    With similarities s_ij, logits l_ij = s_ij / temperature and the coupling's weights w_ij, InfoNCE is

        loss_i = -log( e^{l+} / (e^{l+} + Q sum_j w_ij e^{l_ij}) ),

    averaged over the positives of an anchor and then over the anchors.

    Args:
        temperature: divisor of the similarities; positive. 0.2 is a good start for images, 0.1 for texts.
        coupling: weights of the negatives: `Uniform()`, `Hard(beta=...)`, `Transport(epsilon=...)`.
        selection: rule for the negatives: `All()`, `Subset(k=...)`, `OtherLabels()`, `NotAbove(...)`.
        correction: `Debias(class_prior=...)` or None.
        perturbation: `FeatureModification(epsilon=...)` or None.
        mixing: `HardMixing(hardest=...)`, which makes further negatives, or None.
        contrast: `InfoNCE()`, `SupCon()`, `Sigmoid()`, `Logistic()`, `BCL()`, `Triplet(margin=...)`,
            `Hinge()`, `Softplus()`.
        normalize: whether embeddings are brought to unit length first.
        without_positive: "error" raises for an anchor without a positive; "skip" leaves it out of the mean
            over the anchors, as a candidate like any other, and counts it in `last["skipped_anchors"]`.
        engine: engine that reduces the similarity matrix; None lets `tammes.reduce.choose` decide.

    Attributes:
        last: named numbers of the last call; see `Measurements`. Never part of the loss.

    Raises:
        ValueError: a temperature that is not positive, a part of the wrong kind, parts that contradict each
            other.

    Source: Robinson (2023), chapters 3 and 4; Jiang et al. (2023); Ash et al. (2022).

    Example:
        >>> from tammes import Debias, Hard
        >>> debias = Debias(class_prior=0.1)
        >>> objective = Objective(temperature=0.5, coupling=Hard(beta=1.0), correction=debias)
        >>> view_a, view_b = torch.eye(8), torch.eye(8)
        >>> round(objective(view_a, view_b).item(), 4)
        0.438
        >>> round(objective.last["effective_negatives"], 4)
        14.0
    """

    temperature: float
    coupling: Coupling = field(default_factory=Uniform)
    selection: Selection = field(default_factory=All)
    correction: Correction | None = None
    perturbation: Perturbation | None = None
    mixing: HardMixing | None = None
    contrast: Contrast = field(default_factory=InfoNCE)
    normalize: bool = True
    without_positive: Literal["error", "skip"] = "error"
    engine: Engine | None = None
    last: Measurements = field(default_factory=Measurements, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (is_finite(self.temperature) and self.temperature > 0):
            raise ValueError(
                f"temperature must be a positive number, got {self.temperature!r}; one that is learned "
                "is given at the call"
            )
        check_kinds(vars(self))
        check_combination(
            self.coupling,
            self.selection,
            self.correction,
            self.perturbation,
            self.contrast,
            normalize=self.normalize,
            mixing=self.mixing,
        )

    def __call__(
        self,
        *views: Float[Tensor, "batch d"] | Pairs,
        ids: Integer[Tensor, " batch"] | None = None,
        labels: Integer[Tensor, " batch"] | None = None,
        generator: torch.Generator | None = None,
        temperature: Float[Tensor, ""] | Float[Tensor, " k"] | None = None,
        bias: Float[Tensor, ""] | Float[Tensor, " 1"] | None = None,
    ) -> Float[Tensor, ""]:
        """Return the loss, a scalar in float32 (float64 for embeddings in float64) even under autocast.

        Args:
            views: two or more `(batch, d)` tensors, or the `Pairs` that a source has made.
            ids: `(batch,)` integers, with views only; rows that share an id are positives.
            labels: `(batch,)` integers, with views only; for `OtherLabels`.
            generator: generator of a random subset; by default torch's own.
            temperature: learned temperature, used instead of the objective's own, and differentiated: one
                number, such as `LearnedTemperature` makes, or `(batch,)`, one for each row of the views or
                each anchor of the pairs.
            bias: learned bias of `Sigmoid`, a tensor of one number that is used instead of the contrast's
                own, and differentiated.

        Raises:
            ValueError: views that do not fit together, labels without ids for `SupCon`, NaN or infinity or a
                zero-length row in them, an anchor without a positive or a negative, k above the number of
                negatives, an anchor whose negatives all have a weight of zero.
        """
        if is_traced():
            from tammes.compiled import evaluate

            return evaluate(
                self,
                *views,
                ids=ids,
                labels=labels,
                generator=generator,
                temperature=temperature,
                bias=bias,
            )
        if bias is not None:
            return self._with_bias(bias)(
                *views, ids=ids, labels=labels, generator=generator, temperature=temperature
            )
        self.last.check()
        reverse = views[0].reverse if len(views) == 1 and isinstance(views[0], Pairs) else None
        directions: tuple[tuple[Tensor | Pairs, ...], ...] = (
            (views,) if reverse is None else (views, (reverse,))
        )
        losses, calls = [], []
        for direction in directions:
            batch = self._batch(direction, self.engine, ids, labels, generator, temperature, defers=True)
            seed = 0 if self.mixing is None else self.mixing.seed(generator)
            with without_autocast(batch.constant.anchors.device):
                fit = self._fitted(batch)
                loss = self._mean_loss(batch, fit, seed)
            losses.append(loss)
            calls.append(self._call(batch, fit, loss))
        self.last.record(*calls)
        return losses[0] if reverse is None else (losses[0] + losses[1]) / 2

    def weights(
        self,
        *views: Float[Tensor, "batch d"] | Pairs,
        ids: Integer[Tensor, " batch"] | None = None,
        labels: Integer[Tensor, " batch"] | None = None,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "n m"]:
        """Return w_ij as a matrix `(n, m)`, to look at: rows sum to one, zero where no negative stands.

        Rows and columns are in the order of the views, one view after the other. For small batches: the
        matrix is formed whole. Anchors that are skipped have a row of zeros. Of pairs in both directions
        these are the weights of the first. Arguments and errors as in a call.
        """
        with torch.no_grad():
            batch = self._batch(views, self.engine or Dense(), ids, labels, generator, None)
            with without_autocast(batch.constant.anchors.device):
                weight = self._fitted(batch).weight
                weights = batch.weights(weight)
                if bool(weights.isnan().any()):
                    raise weightless(batch.detached_samples(weight), self.coupling)
                return weights

    def module(
        self, *, temperature: LearnedTemperature | None = None, bias: nn.Parameter | None = None
    ) -> ObjectiveModule:
        """Return this objective as an `nn.Module`, for hosts that need `.to`, `ModuleList` or `state_dict`.

        Args:
            temperature: learned temperature, used in place of the objective's own at every call.
            bias: learned bias of `Sigmoid`, a parameter of one number, used in place of the contrast's own.

        Raises:
            ValueError: a temperature that is no LearnedTemperature; a bias that is no parameter of one
                number, or for another contrast than `Sigmoid`.

        Example:
            >>> loss = Objective(temperature=0.5).module(temperature=LearnedTemperature(initial=0.1))
            >>> [name for name, _ in loss.named_parameters()]
            ['temperature.log_scale']
        """
        if bias is not None:
            self._with_bias(bias)  # refuses another contrast
        return ObjectiveModule(self, temperature=temperature, bias=bias)

    @property
    def citation(self) -> str:
        """BibTeX entries of the papers whose methods this objective is made of.

        Example:
            >>> from tammes import Hard
            >>> print(Objective(temperature=0.5, coupling=Hard(beta=1.0)).citation.splitlines()[0])
            @inproceedings{robinson2021hard,
        """
        parts = (self.coupling, self.selection, self.correction, self.perturbation, self.mixing)
        return citation_of((*parts, self.contrast))

    def _with_bias(self, bias: Tensor) -> Objective:
        """Return this objective with a learned bias, which writes its numbers into the same `last`."""
        if not isinstance(self.contrast, Sigmoid):
            raise ValueError(f"bias came with {self.contrast!r}, which has none: only Sigmoid has one")
        other = replace(self, contrast=self.contrast.with_bias(bias))
        object.__setattr__(other, "last", self.last)
        return other

    def _mean_loss(self, batch: Batch, fit: Fit, seed: int) -> Float[Tensor, ""]:
        """Return the loss of a batch."""
        if self._closed_form is not None:
            loss = closed_form(batch, self._closed_form, fit.weight)
            if loss is not None:
                factor = 1.0 if self.perturbation is None else self.perturbation.factor
                return loss if factor == 1.0 else factor * loss
        negatives, positives = batch.samples(fit.weight)
        if self.mixing is not None:
            negatives = mixed_negatives(batch, self.mixing, negatives, seed=seed)
        mean = batch.group.mean(self._of_samples(batch, fit, negatives, positives))
        # The loss is the same on all processes, so that all raise or none.
        if fit.weight.may_vanish and not self._defers(batch) and not bool(mean.isfinite()):
            raise weightless(batch.detached_samples(fit.weight), self.coupling)
        return mean

    def _defers(self, batch: Batch) -> bool:
        """Return whether the host reads checks of a batch at the next call."""
        return batch.group.size == 1 and deferred.waits(batch.constant.anchors.device)

    def _checks(self, batch: Batch, fit: Fit, loss: Float[Tensor, ""]) -> tuple[DeferredCheck, ...]:
        """Return the checks of a call that the host has yet to read."""
        if not self._defers(batch):
            return ()
        if not fit.weight.may_vanish:
            return batch.checks
        samples, coupling = batch.detached_samples(fit.weight), self.coupling

        def failure(numbers: list[float]) -> ValueError | None:
            return None if math.isfinite(numbers[0]) else weightless(samples, coupling)

        return *batch.checks, DeferredCheck(loss.detach().reshape(1), failure)

    def _call(self, batch: Batch, fit: Fit, loss: Float[Tensor, ""]) -> Call:
        """Return what the numbers of a call are computed from."""
        return Call(
            loss=loss.detach(),
            make_samples=batch.detached_samples(fit.weight),
            fit=fit,
            scale=batch.scale.detached,
            on_floor=None if self.correction is None else self._of_samples.on_floor,
            overtaken=None if self.perturbation is None else self._of_samples.overtaken(batch, fit),
            skipped=batch.skipped if self.without_positive == "skip" else None,
            checks=self._checks(batch, fit, loss),
        )

    def _batch(
        self,
        views: tuple[Tensor | Pairs, ...],
        engine: Engine | None,
        ids: Tensor | None,
        labels: Tensor | None,
        generator: torch.Generator | None,
        temperature: Tensor | None,
        *,
        defers: bool = False,
    ) -> Batch:
        reads_ids_alone = isinstance(self.contrast, SupCon) and self.selection.keys_are_ids
        if reads_ids_alone and labels is not None and ids is None:
            raise ValueError(
                "labels came with SupCon, whose positives are decided by ids: write ids=labels for rows of a "
                "class that are positives; labels alone choose negatives (OtherLabels)"
            )
        return batch_of(
            views,
            ids=ids,
            labels=labels,
            generator=generator,
            learned=temperature,
            temperature=self.temperature,
            selection=self.selection,
            normalize=self.normalize,
            engine=engine,
            skip=self.without_positive == "skip",
            defers=defers,
            # Processes may have different engines, but a given one makes other exchanges than a closed form.
            caller=self if self.engine is None else f"{replace(self, engine=None)} by a given engine",
        )

    def _fitted(self, batch: Batch) -> Fit:
        """Return the coupling fitted to the batch, after a check that no exponent overflows."""
        temperature, shift = batch.scale.temperature, 0.0
        check_temperatures(self.coupling, batch.scale)
        fit = self.coupling.fit(batch.constant, temperature, batch.engine)
        if self.perturbation is not None:
            longest = (self.perturbation.stretch or 1.0) * batch.anchors.longest
            shift = float(self.perturbation.shift(longest, temperature))
        check_range(fit.weight, batch.constant, temperature, shift)
        return fit

    @cached_property
    def _closed_form(self) -> SoftmaxLoss | SoftplusLoss | None:
        if self.mixing is not None:
            return None
        parts = self.contrast, self.correction, self.perturbation
        return form_of(*parts, temperature=self.temperature, normalize=self.normalize)

    @cached_property
    def _of_samples(self) -> LossesOfSamples:
        return LossesOfSamples(
            contrast=self.contrast, correction=self.correction, perturbation=self.perturbation
        )
