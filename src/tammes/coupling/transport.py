"""Negatives weighted by entropy-regularized optimal transport of the batch onto itself."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.coupling.coupling import Coupling, Fit
from tammes.coupling.sinkhorn import WarmStart, sinkhorn
from tammes.reduce import Engine, Exponent, Negatives
from tammes.reduce.terms import Exponential


class SinkhornWarning(UserWarning):
    """The warning that the plan's marginals are not met within the iterations allowed."""


class Cost(ABC):
    """Ground cost of moving x to y, as a function of the similarity s = <x, y> of unit vectors."""

    @abstractmethod
    def exponent(self, epsilon: float) -> Exponent:
        """Return -cost / epsilon, up to a constant.

        Args:
            epsilon: weight of the entropy, in the unit of the cost.
        """


@dataclass(frozen=True, kw_only=True)
class SquaredEuclidean(Cost):
    """Half the squared distance, c = |x - y|^2 / 2 = 1 - s.

    Source: Jiang et al. (2023), sec. VI-A. Differs: their code leaves out the factor 1/2, so that its
    regularization r is epsilon = r / 2 here.

    Example:
        >>> SquaredEuclidean()
        SquaredEuclidean()
    """

    @override
    def exponent(self, epsilon: float) -> Exponent:
        return Exponent(slope=1 / epsilon)  # -(1 - s) / epsilon, without the constant


@dataclass(frozen=True, kw_only=True)
class ExponentialEuclidean(Cost):
    """Exponential of the squared distance, c = e^{|x - y|^2 - kappa} = e^{2 - 2s - kappa}.

    It grows faster than the squared distance for candidates far from the anchor.

    Args:
        kappa: offset of the squared distance, between -100 and 100; the larger, the weaker the cost beside
            the entropy.

    Raises:
        ValueError: kappa is out of this range.

    Source: Jiang et al. (2023), sec. VII-C.

    Example:
        >>> ExponentialEuclidean(kappa=1.0)
        ExponentialEuclidean(kappa=1.0)
    """

    kappa: float

    def __post_init__(self) -> None:
        check_number("kappa", self.kappa, minimum=-100, maximum=100)

    @override
    def exponent(self, epsilon: float) -> Exponent:
        return Exponent(tilt=Exponential(offset=2 - self.kappa, factor=-1 / epsilon))


@dataclass(frozen=True, kw_only=True)
class Transport(Coupling):
    """Weights from the entropic transport plan of the batch onto itself.

    The plan P minimizes E_P[c] + epsilon KL(P || p x p) over the couplings with uniform marginals p that put
    no mass on an anchor itself or on its positives. An anchor's weights are its row of the plan,

        P_ij ~ e^{u_i + v_j - c(s_ij) / epsilon} over the negatives (Lemma 3),    w_ij = P_ij / sum_k P_ik .

    Sinkhorn's algorithm finds the potentials u and v. Where the candidates are the anchors, the problem is
    symmetric and u = v. No gradient flows through the plan. A random subset of the negatives is drawn after
    the plan is fitted to all of them.

    Args:
        epsilon: weight of the entropy, in the unit of the cost, above 0; the smaller, the harder the
            negatives.
        cost: a `Cost`, or a function that maps similarities to costs entry by entry.
        constrained: whether the columns must have equal mass, too. Without this constraint the weights are
            those of `Hard` with beta = temperature / epsilon.
        tolerance: marginal error at which Sinkhorn's algorithm stops: the mean of |sum / marginal - 1|, over
            the rows, or, where the candidates are not the anchors, over the columns while the rows are met.
        max_iterations: number of updates after which it stops in any case, with a `SinkhornWarning`.
        warm_start: whether a fit begins with the potentials of the last one if the ids are the same. It saves
            iterations where one step calls the objective several times on nearly the same embeddings; the
            result then depends, within the tolerance, on the calls before.

    Raises:
        ValueError: a field is out of its range; when fitted: the cost is not finite or changes the shape of
            its argument, or epsilon is so small that rounding would decide the plan.

    Source: Jiang et al., "Hard negative sampling via regularized optimal transport" (2023), eq. 5 and
    Lemma 3. Differs: their mask excludes the anchor "or" its positive where it must exclude both; their
    eq. 7 drops v, so that it is a softmax of s / epsilon, which the plan's conditional is not.

    Example:
        >>> Transport(epsilon=0.3).cost
        SquaredEuclidean()
    """

    epsilon: float
    cost: Cost | Callable[[Tensor], Tensor] = field(default_factory=SquaredEuclidean)
    constrained: bool = True
    tolerance: float = 1e-5
    max_iterations: int = 500
    warm_start: bool = False
    _last: WarmStart = field(default_factory=WarmStart, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon, above=0, reason="it is the weight of the entropy")
        if not (isinstance(self.cost, Cost) or callable(self.cost)):
            raise ValueError(f"cost must be a Cost or a function of the similarity, got {self.cost!r}")
        check_number("tolerance", self.tolerance, above=0)
        check_integer("max_iterations", self.max_iterations)

    @property
    @override
    def of_logits(self) -> bool:
        return False

    @override
    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        kernel = self._kernel()
        negatives = negatives.all_by_keys().detached
        if not self.constrained:
            with torch.no_grad():
                (log_sum,) = engine.log_sum_exp(negatives, (kernel,))
            self._check_finite(bool(torch.isfinite(log_sum).all()))
            return Fit(weight=kernel)
        fit = sinkhorn(
            negatives,
            kernel,
            engine,
            start=self._last.potential_for(negatives) if self.warm_start else None,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
        )
        potential = fit.weight.column
        assert potential is not None
        self._check(fit, potential)
        if self.warm_start:
            self._last.keep(negatives, potential)
        return fit

    def _kernel(self) -> Exponent:
        """Return -cost / epsilon."""
        cost = self.cost
        if isinstance(cost, Cost):
            return cost.exponent(self.epsilon)
        return Exponent(tilt=lambda similarity: _costs(cost, similarity) / -self.epsilon)

    def _check(self, fit: Fit, potential: Tensor) -> None:
        """Raise ValueError for a plan of NaN, infinity or rounding; warn of marginals that are not met."""
        error = fit.error
        assert error is not None
        largest, kind = float(potential.abs().amax()), potential.dtype  # NaN if any entry is NaN
        self._check_finite(math.isfinite(largest) and not math.isnan(error))
        # Beyond, rounding is larger than the differences, and any plan would seem to meet its marginals.
        if largest * torch.finfo(kind).eps > 1:
            raise ValueError(
                f"epsilon = {self.epsilon} is too small for {kind}: potentials of size {largest:.0e} have no "
                "digits left to tell one plan from another. Raise epsilon, or make the cost smaller"
            )
        if not error <= self.tolerance:
            warnings.warn(
                f"Sinkhorn stopped after {fit.iterations} iterations with a marginal error of {error:.2e}, "
                f"above the tolerance of {self.tolerance:.0e}: raise epsilon (now {self.epsilon}), "
                "max_iterations or tolerance. No plan exists where more than half of the rows exclude one "
                "another.",
                SinkhornWarning,
                stacklevel=5,  # where the objective was called
            )

    def _check_finite(self, finite: bool) -> None:
        if not finite:
            raise ValueError(
                f"{self!r} gives NaN or infinity: the cost must be finite for similarities in [-1, 1], "
                "cost / epsilon within the range of the embeddings' type, and every candidate a negative of "
                "some anchor"
            )


def _costs(cost: Callable[[Tensor], Tensor], similarity: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the costs by a user's function, which may work in place on its argument."""
    costs = cost(similarity.clone())
    if not isinstance(costs, Tensor) or costs.shape != similarity.shape:
        got = tuple(costs.shape) if isinstance(costs, Tensor) else type(costs).__name__
        raise ValueError(
            f"cost must map similarities to costs entry by entry: given shape {tuple(similarity.shape)}, it "
            f"returned {got}"
        )
    return costs
