"""Sinkhorn's iterations: potentials for which a kernel's rows and columns have the sums asked for.

All in the log domain, without gradient, as log-sum-exps over S that an engine computes. Where several
processes hold the rows of S, each reduces its own and the potentials of all are put together.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tammes.reduce import Engine, Exponent, Kernel, Negatives

Update = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From a potential to the next one, and to the marginal error of the one given."""

_KEPT = 2048 * 2048
"""Up to how many entries the kernel is kept between iterations, which are then products with a vector."""
_MIXED, _RIDGE = 2, 1e-8
"""How many of the last steps are mixed, and how much their dependence on each other is damped: more than
rounding, so that processes that add up in another order come to the same potential."""
_SETBACKS = 3
"""After how many steps that made it worse, or hardly better, the accelerated ones are given up."""
_CACHED = 512
"""Up to how many rows a kernel stays in a processor's cache."""
_QUICK, _SETBACK = 0.3, 0.9
"""From which part of the error on, if an update leaves it, the next one is damped more; and from which one on
it counts as a setback."""
_STEEPEST = 60.0
"""How far apart exponents may lie so that products of their exponentials, and sums of these, are finite."""
_FIRST, _MOST = 4, 32
"""How many updates are queued on a device before the host looks at the error: at first, and at most."""


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Where the iterations ended.

    Attributes:
        potential: `(m,)`, of the candidates.
        iterations: how many updates were made.
        error: the marginal error left; NaN where the kernel is not finite.
    """

    potential: Tensor
    iterations: int
    error: float


def sinkhorn(
    negatives: Negatives,
    kernel: Exponent,
    engine: Engine,
    *,
    start: Tensor | None,
    tolerance: float,
    max_iterations: int,
) -> Settled:
    """The potential v of the candidates, plus the logarithm of their mass, in e^{u_i + v_j + x_ij}.

    Args:
        negatives: where there is mass.
        kernel: x, up to constants for rows and columns.
        engine: what reduces S.
        start: `(m,)`, a potential to begin with; None for none.
        tolerance: the mean of |sum - 1|, relative to the marginal, at which to stop: over the rows, or, where
            the candidates are not the anchors, over the columns while the rows are met.
        max_iterations: after how many updates to stop in any case.

    Source: Peyré and Cuturi, "Computational Optimal Transport" (2019), eq. 4.15; the averaged update of the
    symmetric problem: Feydy et al. (2019), eq. 25.
    """
    negatives = negatives.keeping(_KEPT)
    m = negatives.shape[1]
    if start is None:
        start = negatives.anchors.new_full((m,), -math.log(m))
    symmetric = _is_symmetric(negatives)
    update = _Symmetric if symmetric else _alternating
    with torch.no_grad():
        begun = Settled(potential=start, iterations=0, error=math.inf)
        if symmetric and start.device.type == "cpu":
            begun = scaled(negatives, kernel, start, tolerance=tolerance, max_iterations=max_iterations)
            if begun.error <= tolerance:
                return begun
        settled = settle(
            update(negatives, kernel, engine),
            begun.potential,
            tolerance=tolerance,
            max_iterations=max_iterations - begun.iterations,
            looks_each_time=start.device.type == "cpu",
        )
    return dataclasses.replace(settled, iterations=begun.iterations + settled.iterations)


def scaled(
    negatives: Negatives, kernel: Exponent, start: Tensor, *, tolerance: float, max_iterations: int
) -> Settled:
    """The symmetric problem by products with a kept kernel, without logarithms, as long as it comes nearer.

    With a = e^v and the masses m = a (K a), relative to their mean, the update is a m^{-omega}, which takes
    the residual r = m - 1 to (1 - omega (1 + P)) r. For a plan P that is nearly uniform omega = 1 is Newton's
    step. Where the error falls slowly, r . r' tells of an eigenvalue of P that is not small, and
    omega = 2 / (2 + least + largest) of those seen leaves equally little of both.

    Args:
        negatives: those of all processes taken together, symmetric.
        kernel: x.
        start: `(m,)`, a potential to begin with.
        tolerance: as in `sinkhorn`.
        max_iterations: as in `sinkhorn`.

    Returns:
        The potential of least error; not settled where the updates do not help, or where the kernel is too
        large or too steep for them.

    Example:
        >>> negatives = Negatives(anchors=torch.eye(4), keys=torch.arange(4), bound=1.0)
        >>> settled = scaled(negatives, Exponent(), torch.zeros(4), tolerance=1e-6, max_iterations=9)
        >>> round((2 * settled.potential).exp().sum().item(), 4), settled.iterations  # 4 entries of 1/12
        (0.3333, 0)
    """
    size, matrix = len(start), None
    if size * size <= _KEPT:  # no process decides by the part of S that it has
        matrix = Kernel.of(negatives.detached, kernel, most=_STEEPEST)
    if matrix is None:
        return Settled(potential=start, iterations=0, error=math.inf)
    # What were zero would have no logarithm in the end.
    factor = torch.exp((start - start.amax()).clamp_(min=-_STEEPEST))
    best, scale, iterations, least = factor, 1.0, 0, math.inf
    low = high = 0.0  # eigenvalues of the plan, but for the 1 of what the mean takes care of
    omega, error, setbacks, residual = 1.0, math.inf, 0, factor
    minus_one = factor.new_full((size,), -1.0)
    for update in range(max_iterations + 1):
        product = _of_candidates(negatives, matrix.times(factor))
        mean, before, earlier = float(product.dot(factor)) / size, error, residual
        if not 0.0 < mean < math.inf:
            break
        residual = torch.addcmul(minus_one, product, factor, value=1 / mean)
        error = float(torch.linalg.vector_norm(residual, ord=1)) / size
        if error < least:
            best, scale, iterations, least = factor, mean, update, error
        setbacks += not error <= _SETBACK * before  # NaN is one
        if error <= tolerance or setbacks == _SETBACKS:
            break
        if error > _QUICK * before:
            if size > _CACHED:  # then it is the products that take time: mixing needs fewer
                break
            left = float(residual.dot(earlier) / earlier.dot(earlier))
            eigenvalue = (1 - left) / omega - 1
            low, high = min(low, max(eigenvalue, -0.9)), max(high, min(eigenvalue, 1.0))
            omega = 2 / (2 + low + high)
        factor = product.reciprocal_() if omega == 1.0 else factor * (residual + 1).pow_(-omega)
    # With this factor in e^v, the mean mass of the rows is 1 / n.
    shift = (math.log(len(best)) + math.log(scale) + matrix.shift) / 2
    return Settled(potential=best.log() - shift, iterations=iterations, error=least)


def settle(
    update: Update, potential: Tensor, *, tolerance: float, max_iterations: int, looks_each_time: bool
) -> Settled:
    """Updates until the error is small, asking the device for it as seldom as can be.

    Reading the error makes the host wait for the device. So a block of updates is queued, within which a
    potential that is good enough is no longer changed: the result is that of looking each time. How long
    the next block should be is told by how fast the error fell in the last one.

    Args:
        update: one iteration.
        potential: where to begin.
        tolerance: the error at which to stop.
        max_iterations: the most updates.
        looks_each_time: whether looking costs nothing, as on a CPU.

    Example:
        >>> halved = settle(lambda x: (x / 2, x), torch.tensor(1.0), tolerance=0.1, max_iterations=50,
        ...                 looks_each_time=False)
        >>> halved.potential.item(), halved.iterations, halved.error
        (0.0625, 4, 0.0625)
    """
    if looks_each_time:
        for iterations in range(max_iterations + 1):
            changed, error = update(potential)
            left = float(error)
            if not left > tolerance or iterations == max_iterations:  # NaN ends it as well
                break
            potential = changed
        return Settled(potential=potential, iterations=iterations, error=left)
    begun, before, block = 0, math.inf, _FIRST
    count = torch.zeros((), dtype=torch.long, device=potential.device)
    while True:
        for _ in range(block):
            changed, error = update(potential)
            moves = (error > tolerance) & (begun < max_iterations)
            potential = torch.where(moves, changed, potential)
            count += moves
            begun += 1
        if not bool(moves):
            return Settled(potential=potential, iterations=int(count), error=float(error))
        block, before = _next_block(float(error), before, block, tolerance), float(error)


def _next_block(error: float, before: float, block: int, tolerance: float) -> int:
    """How many more updates it takes, if the error goes on to fall as it did in the last block."""
    rate = (error / before) ** (1 / block)  # 0 where there was no block before
    if not 0.0 < rate < 1.0:
        return _FIRST
    # One more evaluation tells the error of the last update.
    return max(2, min(_MOST, 1 + math.ceil(math.log(tolerance / error) / math.log(rate))))


def _is_symmetric(negatives: Negatives) -> bool:
    """Whether the candidates are the anchors, those of all processes taken together."""
    if negatives.own is None:
        return negatives.symmetric
    n, m = negatives.shape
    return int(negatives.group.sum(negatives.own.new_tensor(n))) == m


class _Symmetric:
    """u = v, where the candidates are the anchors: the residual r = log(row sum / marginal) is brought to 0.

    Its derivative is 1 + P with P the plan, whose rows sum to one. Where P is nearly uniform, the step
    mean(r) / 2 - r is nearly Newton's; Anderson's mixing of the last steps makes up for what P has beyond.
    A step after which the error is larger is followed by the averaged update -r / 2, which always converges,
    and after a few of them nothing else is done.

    Source: Feydy et al. (2019), eq. 25, for the averaged update; Walker and Ni (2011), for the mixing.
    """

    def __init__(self, negatives: Negatives, kernel: Exponent, engine: Engine) -> None:
        self.negatives, self.kernel, self.engine = negatives, kernel, engine
        self.log_size = math.log(negatives.shape[1])
        self.before: tuple[Tensor, Tensor, Tensor] | None = None  # potential, step and error
        self.steps: list[tuple[Tensor, Tensor]] = []  # by how much potential and step changed, the last times
        self.setbacks: Tensor | int = 0

    def __call__(self, potential: Tensor) -> tuple[Tensor, Tensor]:
        """See `Update`."""
        (log_sum,) = self.engine.log_sum_exp(self.negatives, (with_column(self.kernel, potential),))
        residual = potential + self.log_size + _of_candidates(self.negatives, log_sum)
        error = torch.expm1(residual).abs().mean()
        step = residual.mean() / 2 - residual
        if self.before is None:
            changed = potential + step
        else:
            changed = self._mixed(potential, residual, step, error, *self.before)
        self.before = potential, step, error
        return changed, error

    def _mixed(
        self, potential: Tensor, residual: Tensor, step: Tensor, error: Tensor, *before: Tensor
    ) -> Tensor:
        earlier, earlier_step, earlier_error = before
        self.steps = [(potential - earlier, step - earlier_step), *self.steps[: _MIXED - 1]]
        self.setbacks = self.setbacks + ~(error < earlier_error)
        trusted = (error < earlier_error) & (self.setbacks < _SETBACKS)
        of_potential, of_step = (torch.stack(each) * trusted for each in zip(*self.steps, strict=True))
        gram = (of_step @ of_step.T).double()
        # Made where it is used: bringing it there would make the host wait for the device.
        unit = torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
        gram += (_RIDGE * gram.trace() + torch.finfo(gram.dtype).tiny) * unit
        shares, _ = torch.linalg.solve_ex(gram, (of_step @ step).double())
        return (
            potential + torch.where(trusted, step, residual / -2) - shares.to(step) @ (of_potential + of_step)
        )


def _of_candidates(negatives: Negatives, values: Tensor) -> Tensor:
    """A number of each anchor, those of all processes, in the places of the candidates that they are."""
    if negatives.own is None:
        return values
    everyone = values.new_zeros(negatives.shape[1])
    everyone[negatives.own] = values
    return negatives.group.sum(everyone)


def _alternating(negatives: Negatives, kernel: Exponent, engine: Engine) -> Update:
    """The rows' marginals are met, then the columns'; the error is that of the columns between the two."""
    group, (n, m) = negatives.group, negatives.shape
    transposed = negatives.transposed()
    log_rows = math.log(int(group.sum(torch.tensor(n, device=negatives.anchors.device))))

    def update(columns: Tensor) -> tuple[Tensor, Tensor]:
        (log_sum,) = engine.log_sum_exp(negatives, (with_column(kernel, columns),))
        (back,) = engine.log_sum_exp(transposed, (with_column(kernel, -log_sum - log_rows),))
        met = -group.log_sum_exp(back) - math.log(m)
        return met, torch.expm1(columns - met).abs().mean()

    return update


def with_column(kernel: Exponent, column: Tensor) -> Exponent:
    """The kernel times e^{column_j}."""
    return dataclasses.replace(kernel, column=column)
