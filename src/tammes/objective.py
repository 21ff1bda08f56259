"""The objective: who is compared with whom, how much each negative weighs, and what is made of it.

    log w_ij  =  row_i + col_j + g(s_ij) + mask_ij ,        sum over j of w_ij = 1

One loss after another, the order is the same: a perturbation shifts logits, the coupling makes one number
of an anchor's negatives, a correction takes the false negatives out of it, the contrast sets it against
the positives.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tammes.checks import is_finite
from tammes.contrast import Contrast, InfoNCE
from tammes.contrast.contrast import Shift
from tammes.correction import Correction
from tammes.coupling import Coupling, Fit, Uniform
from tammes.layout import layout_of
from tammes.measurements import Call, Measurements
from tammes.normalization import in_full_precision
from tammes.pairs import Pairs
from tammes.perturbation import Perturbation
from tammes.reduce import Dense, Engine, Negatives, Positives, Tiled, WeightedNegatives, choose
from tammes.reduce.autograd import without_autocast
from tammes.selection import All, Selection
from tammes.small_batch import OneWay, SmallBatch
from tammes.sources import InBatch
from tammes.validation import check_kinds, check_range, check_sense


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A loss on pairs, made of parts that know nothing of each other.

    With similarities s_ij, logits l_ij = s_ij / temperature and the coupling's weights w_ij, InfoNCE is

        loss_i = -log( e^{l+} / (e^{l+} + Q sum_j w_ij e^{l_ij}) ),

    averaged over the positives of an anchor and then over the anchors.

    Args:
        temperature: positive; divides similarities.
        coupling: how the negatives are weighted: `Uniform()`, `Hard(beta=...)`, `Transport(epsilon=...)`.
        selection: who may be a negative: `All()`, `Subset(k=...)`, `OtherLabels()`.
        correction: `Debias(class_prior=...)` or None.
        perturbation: `FeatureModification(epsilon=...)` or None.
        contrast: `InfoNCE()`, `Logistic()`, `BCL()`, `Triplet(margin=...)`, `Hinge()`, `Softplus()`.
        normalize: whether embeddings are brought to unit length first.
        engine: what reduces the similarity matrix; None lets `tammes.reduce.choose` decide.

    Attributes:
        last: named numbers of the last call; see `Measurements`. Never part of the loss.

    Raises:
        ValueError: a temperature that is not positive, a part of the wrong kind, parts that make no sense
            together.

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
    contrast: Contrast = field(default_factory=InfoNCE)
    normalize: bool = True
    engine: Engine | None = None
    last: Measurements = field(default_factory=Measurements, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (is_finite(self.temperature) and self.temperature > 0):
            raise ValueError(
                f"temperature must be a positive number, got {self.temperature!r}; one that is learned "
                "is given at the call"
            )
        check_kinds(vars(self))
        check_sense(self.coupling, self.selection, self.correction, self.contrast)

    def __call__(
        self,
        *views: Tensor | Pairs,
        ids: Tensor | None = None,
        labels: Tensor | None = None,
        generator: torch.Generator | None = None,
        temperature: Tensor | None = None,
    ) -> Tensor:
        """The loss, a scalar in float32 (float64 for embeddings in float64), whatever autocast says.

        Args:
            views: two or more tensors `(batch, d)`, or the `Pairs` that a source has made.
            ids: `(batch,)` integers, with views only; rows that share an id are positives.
            labels: `(batch,)` integers, with views only; for `OtherLabels`.
            generator: where a random subset comes from; by default torch's own generator.
            temperature: a number as a tensor, to be used instead of the objective's own, and differentiated:
                `LearnedTemperature` makes one.

        Raises:
            ValueError: views that do not fit together, NaN or infinity or a zero-length row in them, an
                anchor without a positive or a negative, k above the number of negatives.
        """
        small = None
        if ids is None and labels is None and temperature is None and self._is_plain:
            self._seed(generator)  # none is needed, but what is no generator is refused
            small = self._small(views)
        if small is None:
            pairs = _as_pairs(views, ids, labels)
            with without_autocast(pairs.anchors.device):
                loss, call = self._compute(pairs, temperature, generator)
        else:
            with without_autocast(small.device):
                if isinstance(small, OneWay):
                    loss, call = self._one_way_softmax(small)
                elif self._is_softmax:
                    loss, call = self._softmax(small)
                else:
                    loss, call = self._compute_at_once(small)
        self.last.record(call)
        return loss

    def _small(self, views: tuple[Tensor | Pairs, ...]) -> SmallBatch | OneWay | None:
        """What the shorter way takes, where there is one: for small batches on a CPU."""
        small: SmallBatch | OneWay | None
        if len(views) == 1 and isinstance(views[0], Pairs):
            small = OneWay.of(views[0], normalize=self.normalize) if self._is_softmax else None
        else:
            small = SmallBatch.of(views, normalize=self.normalize)
        if small is None or (isinstance(self.engine, Tiled) and small.side > self.engine.side):
            return None  # whoever asks for smaller tiles is to have them
        return small

    @property
    def _is_plain(self) -> bool:
        """Whether nothing but log-sum-exps over all candidates is asked of the engine of a CPU."""
        return (
            self.contrast.logarithmic
            and isinstance(self.selection, All)
            and isinstance(self.engine, Tiled | None)
        )

    @property
    def _is_softmax(self) -> bool:
        """Whether the loss is the mean of -log softmax at the positive, and nothing besides."""
        return (
            self.contrast.is_softmax
            and isinstance(self.coupling, Uniform)
            and self.correction is None
            and self.perturbation is None
        )

    def _at(self, temperature: Tensor) -> tuple[Objective, Tensor]:
        """The objective at the value of `temperature`, and a 1 by which every logit is multiplied.

        Every part but the marginals of a plan, which are constants, depends on the temperature through the
        logits alone: d loss / d temperature arrives through the 1.
        """
        value = _number("temperature", temperature)
        return dataclasses.replace(self, temperature=value), value / temperature.reshape(())

    def _compute(
        self, pairs: Pairs, temperature: Tensor | None, generator: torch.Generator | None
    ) -> tuple[Tensor, Callable[[], Call]]:
        with pairs.group.failing_together():
            objective, scale = (self, None) if temperature is None else self._at(temperature)
            seed = self._seed(generator)
            anchors, candidates = in_full_precision(pairs, normalize=self.normalize)
            layout = layout_of(pairs, self.selection, anchors.rows.dtype)
        # That of all processes: whether a plan needs logarithms follows from it, and must for all alike.
        bound = _bound_of_all(pairs, anchors.longest * (candidates or anchors).longest)
        negatives = layout.negatives_of(
            _scaled(anchors.in_graph(), scale),
            None if candidates is None else _scaled(candidates.in_graph(), scale),
            bound=bound,
            seed=seed,
        )
        engine = self.engine or choose(negatives, pairs.anchors.dtype)
        weighted, fit = objective._weighted(negatives, engine)
        positives = Positives.of(negatives, layout.edges, fit.weight, objective.temperature)
        lengths: Tensor | float = 1.0
        if self.perturbation is not None and not self.normalize:
            lengths = layout.of_rows(torch.linalg.vector_norm(anchors.rows, dim=1))
        losses, on_floor = objective._perturbed(weighted, positives, lengths, scale)
        return _told(pairs.group.mean(losses), weighted, positives, fit, on_floor)

    def _compute_at_once(self, rows: SmallBatch) -> tuple[Tensor, Callable[[], Call]]:
        """The same for two plain views whose S is one tile."""
        weighted, fit = self._weighted(rows.negatives(), self.engine or Tiled())
        weighted, positives = rows.reduced(weighted)
        lengths: Tensor | float = 1.0
        if self.perturbation is not None and not self.normalize:
            lengths = torch.linalg.vector_norm(rows.given, dim=1)
        losses, on_floor = self._perturbed(weighted, positives, lengths, None)
        return _told(losses.mean(), weighted, positives, fit, on_floor)

    def _softmax(self, rows: SmallBatch) -> tuple[Tensor, Callable[[], Call]]:
        """The same where the loss is a softmax's, whose gradient is known."""
        check_range(rows.bound / self.temperature, rows.values.dtype)
        loss = rows.softmax_loss(self.temperature)
        resting = dataclasses.replace(rows, given=rows.values)
        return loss, lambda: self._compute_at_once(resting)[1]()

    def _one_way_softmax(self, rows: OneWay) -> tuple[Tensor, Callable[[], Call]]:
        """The same for anchors and other candidates."""
        check_range(rows.bound / self.temperature, rows.values[0].dtype)
        loss, resting = rows.softmax_loss(self.temperature), rows.resting()
        return loss, lambda: self._compute(resting, None, None)[1]()

    def _weighted(self, negatives: Negatives, engine: Engine) -> tuple[WeightedNegatives, Fit]:
        """The negatives under the fitted coupling, where no exponent overflows."""
        fit = self.coupling.fit(negatives, self.temperature, engine)
        steepest = abs(fit.weight.slope) + 1 / self.temperature
        check_range(steepest * negatives.bound, negatives.anchors.dtype)
        weighted = WeightedNegatives(
            negatives=negatives, weight=fit.weight, temperature=self.temperature, engine=engine
        )
        return weighted, fit

    def _perturbed(
        self,
        weighted: WeightedNegatives,
        positives: Positives,
        lengths: Tensor | float,
        scale: Tensor | None,
    ) -> tuple[Tensor, Tensor | None]:
        """The loss of each anchor, with that of the perturbed logits, and which stand on the floor."""
        losses, on_floor = self._losses(weighted, positives, 0.0, scale)
        if self.perturbation is not None:
            shift = self.perturbation.shift(lengths, self.temperature)
            shift = shift if scale is None else shift * scale
            perturbed, _ = self._losses(weighted, positives, shift, scale)
            losses = self.perturbation.combine(losses, perturbed)
        return losses, on_floor

    def weights(
        self,
        *views: Tensor | Pairs,
        ids: Tensor | None = None,
        labels: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """w_ij as a matrix `(n, m)`, to look at: rows sum to one, zero where there is no negative.

        Rows and columns are in the order of the views, one view after the other. For small batches: the
        matrix is formed whole. Arguments and errors as in a call.
        """
        pairs = _as_pairs(views, ids, labels)
        with torch.no_grad(), without_autocast(pairs.anchors.device):
            anchors, candidates = in_full_precision(pairs, normalize=self.normalize)
            layout = layout_of(pairs, self.selection, anchors.rows.dtype)
            negatives = layout.negatives_of(
                anchors.values(),
                None if candidates is None else candidates.values(),
                bound=anchors.longest * (candidates or anchors).longest,
                seed=self._seed(generator),
            )
            engine = Dense() if self.engine is None else self.engine
            weight = self.coupling.fit(negatives, self.temperature, engine).weight
            n, m = negatives.shape
            exponents = weight.value(negatives.anchors @ negatives.others.T, slice(0, m))
            mask = negatives.mask(slice(0, n), slice(0, m))
            arranged = torch.softmax(
                exponents if mask is None else exponents.masked_fill_(mask, -torch.inf), dim=1
            )
            weights = torch.empty_like(arranged)
            weights[layout.order[:, None], layout.candidate_order[None, :]] = arranged
        return weights

    def _seed(self, generator: torch.Generator | None) -> int:
        """Which random subset is drawn; 0 where none is."""
        if not isinstance(generator, torch.Generator | None):
            raise ValueError(f"generator must be a torch.Generator or None, got {generator!r}")
        if self.selection.subset_size is None:
            return 0
        device = None if generator is None else generator.device
        return int(torch.randint(2**62, (), generator=generator, device=device))

    def _losses(
        self, negatives: WeightedNegatives, positives: Positives, shift: Shift, scale: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The loss of each anchor, and which anchors stand on the correction's floor."""
        number = self.contrast.number(negatives, positives, shift)
        on_floor = None
        if self.correction is not None:
            # A false negative is perturbed as the negative it is taken for: upwards.
            least: Shift = self.correction.least_similarity / self.temperature
            if scale is not None and math.isfinite(self.correction.least_similarity):
                least = least * scale
            floor = self.contrast.least(least + shift)
            number, on_floor = self.correction(
                number,
                self.contrast.number(positives, positives, shift),
                floor,
                logarithmic=self.contrast.logarithmic,
            )
        return self.contrast.losses(number, negatives, positives, shift), on_floor


def _told(
    loss: Tensor, weighted: WeightedNegatives, positives: Positives, fit: Fit, on_floor: Tensor | None
) -> tuple[Tensor, Callable[[], Call]]:
    """The loss, and what there is to tell of it."""
    call = Call(loss, weighted, positives, fit, on_floor)
    return loss, lambda: call


def _bound_of_all(pairs: Pairs, bound: float) -> float:
    """The largest of the processes' bounds, so that none refuses alone."""
    if pairs.group.size == 1:
        return bound
    return float(pairs.group.largest(torch.tensor(bound, dtype=torch.float64, device=pairs.anchors.device)))


def _scaled(rows: Tensor, scale: Tensor | None) -> Tensor:
    """Rows whose inner products are those of `rows` times `scale`."""
    return rows if scale is None else rows * scale.sqrt().to(rows)


def _number(name: str, value: Tensor) -> float:
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.is_floating_point():
        got = f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
        raise ValueError(f"{name} must be a tensor that holds one positive number, got {got}")
    number = float(value.detach())
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {number}")
    return number


def _as_pairs(views: tuple[Tensor | Pairs, ...], ids: Tensor | None, labels: Tensor | None) -> Pairs:
    if len(views) == 1 and isinstance(views[0], Pairs):
        if ids is not None or labels is not None:
            raise ValueError("ids and labels belong to the Pairs: give them to the source that makes them")
        return views[0]
    if any(isinstance(view, Pairs) for view in views):
        raise ValueError("expected either one Pairs or views, got a mixture")
    return InBatch()(*views, ids=ids, labels=labels)  # type: ignore[arg-type]
