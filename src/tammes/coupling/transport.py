"""Negatives by entropy-regularized optimal transport of the batch onto itself."""

from __future__ import annotations

import dataclasses
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tammes.coupling.coupling import Coupling, Fit
from tammes.finite import is_finite, is_number
from tammes.reduce import Engine, Exponent, Negatives


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

        def tilt(similarity: Tensor) -> Tensor:
            return torch.exp(similarity * -2 + (2 - self.kappa)).div_(-epsilon)

        most, least = math.exp(4 - self.kappa), math.exp(-self.kappa)
        return Exponent(tilt=tilt, tilt_range=(-most / epsilon, -least / epsilon))


@dataclass(frozen=True, kw_only=True)
class Transport(Coupling):
    """P minimizes E_P[c] + epsilon KL(P || p x p) with uniform marginals; w_ij is P_ij over its row's sum.

    The solution is P_ij proportional to e^{u_i + v_j - c(s_ij)/epsilon} over the negatives (Lemma 3). Where
    the candidates are the anchors the problem is symmetric and u = v, which the averaged update
    u <- (u - log sum_j e^{u_j - c_ij/epsilon} p_j) / 2 finds quickly. The plan is a constant to the
    gradient. A random subset is drawn from the plan's negatives after the plan is fitted.

    Args:
        epsilon: weight of the entropy, in the unit of the cost; small is hard.
        cost: a `Cost`, or any function that maps similarities to costs entry by entry.
        constrained: whether the column marginals are imposed. Without them the plan is HCL's with
            beta = temperature / epsilon.
        tolerance: the mean of |row sum - 1| over rows, relative to the marginal, at which to stop.
        max_iterations: after as many, a `SinkhornWarning` says what error was reached.

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
        with torch.no_grad():
            if not self.constrained:
                (log_sum,) = engine.log_sum_exp(negatives, (kernel,))
                _check_finite(log_sum, self)
                return Fit(weight=kernel)
            sinkhorn = _symmetric_sinkhorn if negatives.symmetric else _alternating_sinkhorn
            column, iterations, error = sinkhorn(negatives, kernel, engine, self)
        if not error <= self.tolerance:
            warnings.warn(
                f"Sinkhorn stopped after {iterations} iterations with a marginal error of {error:.2e}, above "
                f"the tolerance of {self.tolerance:.0e}: raise epsilon (now {self.epsilon}), max_iterations "
                "or tolerance. No plan exists where more than half of the rows exclude one another.",
                SinkhornWarning,
                stacklevel=4,
            )
        return Fit(weight=_with_column(kernel, column), iterations=iterations, error=error)

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


def _check_finite(log_sum: Tensor, transport: Transport) -> None:
    if not bool(torch.isfinite(log_sum).all()):
        raise ValueError(
            f"{transport!r} gives NaN or infinity: the cost must be finite for similarities in [-1, 1], and "
            "cost / epsilon within the range of the embeddings' type"
        )


def _with_column(kernel: Exponent, column: Tensor) -> Exponent:
    return dataclasses.replace(kernel, column=column)


def _symmetric_sinkhorn(
    negatives: Negatives, kernel: Exponent, engine: Engine, transport: Transport
) -> tuple[Tensor, int, float]:
    """The potential u = v plus log p by the averaged update, the number of updates, and the error left."""
    log_size = math.log(negatives.shape[0])
    potential = negatives.anchors.new_full((negatives.shape[0],), -log_size)
    iterations = 0
    while True:
        (log_sum,) = engine.log_sum_exp(negatives, (_with_column(kernel, potential),))
        _check_finite(log_sum, transport)
        residual = potential + log_size + log_sum  # log of (row sum / marginal)
        error = float(torch.expm1(residual).abs().mean())
        if error <= transport.tolerance or iterations == transport.max_iterations:
            return potential, iterations, error
        potential = potential - residual / 2
        iterations += 1


def _alternating_sinkhorn(
    negatives: Negatives, kernel: Exponent, engine: Engine, transport: Transport
) -> tuple[Tensor, int, float]:
    """The potential v plus log p of the columns by turns, the number of turns, and the error left."""
    n, m = negatives.shape
    transposed = negatives.transposed()
    columns = negatives.anchors.new_full((m,), -math.log(m))
    rows: Tensor | None = None
    iterations = 0
    while True:
        (log_sum,) = engine.log_sum_exp(negatives, (_with_column(kernel, columns),))
        _check_finite(log_sum, transport)
        error = math.inf if rows is None else float(torch.expm1(rows + log_sum).abs().mean())
        if error <= transport.tolerance or iterations == transport.max_iterations:
            return columns, iterations, error
        rows = -log_sum
        (log_sum,) = engine.log_sum_exp(transposed, (_with_column(kernel, rows - math.log(n)),))
        columns = -log_sum - math.log(m)
        iterations += 1
