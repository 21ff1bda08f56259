"""Negatives by entropy-regularized optimal transport of the batch onto itself."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tammes.checks import is_finite, is_number
from tammes.coupling.coupling import Coupling, Fit
from tammes.coupling.potentials import Potentials
from tammes.coupling.sinkhorn import sinkhorn, with_column
from tammes.reduce import Engine, Exponent, Negatives
from tammes.reduce.terms import Exponential


class SinkhornWarning(UserWarning):
    """The transport plan's marginals were not met within the iterations allowed."""


class Cost(ABC):
    """The ground cost of taking x to y, as a function of the similarity s = x.y of unit vectors."""

    @abstractmethod
    def exponent(self, epsilon: float) -> Exponent:
        """-cost / epsilon, up to a constant."""


@dataclass(frozen=True, kw_only=True)
class SquaredEuclidean(Cost):
    """c = |x - y|^2 / 2 = 1 - s.

    Source: Jiang et al. (2023), sec. VI-A. Differs: their code leaves out the 1/2, so that its
    regularization r is epsilon = r / 2 here.

    Example:
        >>> SquaredEuclidean()
        SquaredEuclidean()
    """

    def exponent(self, epsilon: float) -> Exponent:
        """See `Cost.exponent`."""
        return Exponent(slope=1 / epsilon)


@dataclass(frozen=True, kw_only=True)
class ExponentialEuclidean(Cost):
    """c = e^{|x - y|^2 - kappa} = e^{2 - 2s - kappa}: grows faster for what lies far from the anchor.

    Args:
        kappa: trades the cost against the entropy; subtracted from a squared distance, so of its size:
            between -100 and 100.

    Raises:
        ValueError: kappa outside that range.

    Source: Jiang et al. (2023), sec. VII-C.

    Example:
        >>> ExponentialEuclidean(kappa=1.0)
        ExponentialEuclidean(kappa=1.0)
    """

    kappa: float

    def __post_init__(self) -> None:
        if not (is_number(self.kappa) and abs(self.kappa) <= 100):
            raise ValueError(f"kappa must be a number between -100 and 100, got {self.kappa}")

    def exponent(self, epsilon: float) -> Exponent:
        """See `Cost.exponent`."""
        return Exponent(tilt=Exponential(offset=2 - self.kappa, factor=-1 / epsilon))


@dataclass(frozen=True, kw_only=True)
class Transport(Coupling):
    """P minimizes E_P[c] + epsilon KL(P || p x p) with uniform marginals; w_ij is P_ij over its row's sum.

    The solution is P_ij proportional to e^{u_i + v_j - c(s_ij)/epsilon} over the negatives (Lemma 3). Where
    the candidates are the anchors the problem is symmetric and u = v, which a few accelerated updates find
    (see `tammes.coupling.sinkhorn`); two different sets take Sinkhorn's alternating ones. The plan is a
    constant to the gradient. A random subset is drawn from the plan's negatives after the plan is fitted.

    Args:
        epsilon: weight of the entropy, in the unit of the cost; small is hard.
        cost: a `Cost`, or any function that maps similarities to costs entry by entry.
        constrained: whether the column marginals are imposed. Without them the plan is HCL's with
            beta = temperature / epsilon.
        tolerance: the mean of |sum - 1|, relative to the marginal, at which to stop: over the rows, or,
            where the candidates are not the anchors, over the columns while the rows are met.
        max_iterations: after as many, a `SinkhornWarning` says what error was reached.
        warm_start: whether the next fit begins with the potentials of the last one, if the ids are the same
            in both: for a step that calls the objective more than once on nearly the same embeddings. Where
            it ends then depends, within the tolerance, on what was called before.

    Raises:
        ValueError: a field out of its range.

    Source: Jiang et al., "Hard negative sampling via regularized optimal transport" (2023), eq. 5 and
    Lemma 3. Differs: their mask excludes the anchor "or" its positive where it must exclude both; their
    eq. 7 drops v, so the conditional is no softmax of s/epsilon.

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
    _potentials: Potentials = field(default_factory=Potentials, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (is_finite(self.epsilon) and self.epsilon > 0):
            raise ValueError(f"epsilon (entropy weight) must be a positive number, got {self.epsilon}")
        if not (isinstance(self.cost, Cost) or callable(self.cost)):
            raise ValueError(f"cost must be a Cost or a function of the similarity, got {self.cost!r}")
        if not (is_finite(self.tolerance) and self.tolerance > 0):
            raise ValueError(f"tolerance must be a positive number, got {self.tolerance}")
        if not (isinstance(self.max_iterations, int) and self.max_iterations >= 1):
            raise ValueError(f"max_iterations must be a whole number above 0, got {self.max_iterations}")

    def fit(self, negatives: Negatives, temperature: float, engine: Engine) -> Fit:
        """See `Coupling.fit`: Sinkhorn's iterations in the log domain, without gradient."""
        kernel = self._kernel()
        negatives = negatives.without_subset().detached
        if not self.constrained:
            with torch.no_grad():
                (log_sum,) = engine.log_sum_exp(negatives, (kernel,))
            if not bool(torch.isfinite(log_sum).all()):
                raise _not_finite(self)
            return Fit(weight=kernel)
        settled = sinkhorn(
            negatives,
            kernel,
            engine,
            start=self._potentials.of(negatives) if self.warm_start else None,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
        )
        largest, kind = float(settled.potential.abs().amax()), settled.potential.dtype  # NaN if one is NaN
        if math.isnan(settled.error) or not math.isfinite(largest):
            raise _not_finite(self)
        if largest * torch.finfo(kind).eps > 1:  # rounding hides every error then
            raise ValueError(
                f"epsilon = {self.epsilon} is too small for {kind}: exponents of {largest:.0e} have no digit "
                "left for what tells one plan from another. Raise epsilon (or make the cost smaller)"
            )
        if not settled.error <= self.tolerance:
            warnings.warn(
                f"Sinkhorn stopped after {settled.iterations} iterations with a marginal error of "
                f"{settled.error:.2e}, above the tolerance of {self.tolerance:.0e}: raise epsilon (now "
                f"{self.epsilon}), max_iterations or tolerance. No plan exists where more than half of the "
                "rows exclude one another.",
                SinkhornWarning,
                stacklevel=5,
            )
        if self.warm_start:
            self._potentials.keep(negatives, settled.potential)
        weight = with_column(kernel, settled.potential)
        return Fit(weight=weight, iterations=settled.iterations, error=settled.error)

    def _kernel(self) -> Exponent:
        cost = self.cost
        if isinstance(cost, Cost):
            return cost.exponent(self.epsilon)
        return Exponent(tilt=lambda similarity: _costs(cost, similarity) / -self.epsilon)


def _costs(cost: Callable[[Tensor], Tensor], similarity: Tensor) -> Tensor:
    """The costs that a user's function gives, which may work in place on what it is handed."""
    costs = cost(similarity.clone())
    if not isinstance(costs, Tensor) or costs.shape != similarity.shape:
        got = tuple(costs.shape) if isinstance(costs, Tensor) else type(costs).__name__
        raise ValueError(
            f"cost must map similarities to costs entry by entry: given shape {tuple(similarity.shape)}, it "
            f"returned {got}"
        )
    return costs


def _not_finite(transport: Transport) -> ValueError:
    return ValueError(
        f"{transport!r} gives NaN or infinity: the cost must be finite for similarities in [-1, 1], and "
        "cost / epsilon within the range of the embeddings' type"
    )
