"""Sinkhorn's algorithm in the log domain: potentials under which a plan's rows and columns have equal mass.

The plan is P_ij = e^{u_i + v_j + x_ij} over the negatives, x the kernel (-cost / epsilon). Its rows must sum
to 1/n and its columns to 1/m. Every iteration is one or two log-sum-exps over S, which an engine computes.
Where several processes hold the rows of S, each reduces its own rows and all share the potentials.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

import tammes.deferred as deferred
from tammes.coupling.coupling import Fit
from tammes.coupling.sinkhorn.mixing import AndersonMixing
from tammes.coupling.sinkhorn.scaling import KEPT, of_candidates, relaxed_scaling
from tammes.reduce import Engine, Exponent, Negatives


def sinkhorn(
    negatives: Negatives,
    kernel: Exponent,
    engine: Engine,
    *,
    start: Float[Tensor, " m"] | None = None,
    tolerance: float,
    max_iterations: int,
) -> Fit:
    """Return the weights of the transport plan, e^{v_j + x_ij} up to the normalization of each row.

    Args:
        negatives: the entries of S that may carry mass.
        kernel: x, up to constants for rows and columns; without a column.
        engine: the engine that reduces S.
        start: potential v of each candidate to begin with; None begins with the uniform one.
        tolerance: marginal error at which to stop: the mean of |sum / marginal - 1|, over the rows, or, where
            the candidates are not the anchors, over the columns while the rows are met.
        max_iterations: number of updates after which to stop in any case.

    Source: Peyré and Cuturi, "Computational Optimal Transport" (2019), eq. 4.15; the symmetric update is
    eq. 25 of Feydy et al. (2019).
    """
    negatives = negatives.keeping(KEPT)
    m = negatives.shape[1]
    potential = negatives.anchors.new_full((m,), -math.log(m)) if start is None else start
    iterations, error = 0, math.inf
    symmetric = _is_symmetric(negatives)
    with torch.no_grad():
        # Products with a kept kernel are much cheaper than log-sum-exps, where they apply and converge.
        if symmetric and not deferred.waits(potential.device):
            potential, iterations, error = relaxed_scaling(
                negatives, kernel, potential, tolerance=tolerance, max_iterations=max_iterations
            )
        if not error <= tolerance:
            updates = (_symmetric if symmetric else _alternating)(negatives, kernel, engine, potential)
            potential, error = next(updates)
            while error > tolerance and iterations < max_iterations:  # NaN ends the loop, too
                potential, error = next(updates)
                iterations += 1
    return Fit(weight=_with_column(kernel, potential), iterations=iterations, error=error)


def _symmetric(
    negatives: Negatives, kernel: Exponent, engine: Engine, potential: Tensor
) -> Iterator[tuple[Tensor, float]]:
    """Yield v and its marginal error where the candidates are the anchors: u = v, both marginals are one."""
    log_n = math.log(len(potential))
    mixing = AndersonMixing()
    while True:
        # r_i = log(row sum / marginal) = v_i + log n + log sum_j e^{v_j + x_ij}; at the solution r = 0.
        (log_sum,) = engine.log_sum_exp(negatives, (_with_column(kernel, potential),))
        residual = potential + log_n + of_candidates(negatives, log_sum)
        error = float(torch.expm1(residual).abs().mean())
        yield potential, error
        mixed = mixing.update(potential, residual, error)
        # Feydy et al., eq. 25: v <- (v + T(v)) / 2, where T(v)_i = -log n - log sum_j e^{v_j + x_ij} = v - r.
        # It always converges; the mixed update, where it can be trusted, takes half as many iterations.
        potential = potential - residual / 2 if mixed is None else mixed


def _alternating(
    negatives: Negatives, kernel: Exponent, engine: Engine, potential: Tensor
) -> Iterator[tuple[Tensor, float]]:
    """Yield v and its marginal error for two different sets: that of the columns while the rows are met."""
    group, transposed = negatives.group, negatives.transposed()
    n, m = negatives.shape
    log_n = math.log(int(group.sum(torch.tensor(n, device=potential.device))))  # the rows of all processes
    while True:
        # Peyré and Cuturi, eq. 4.15: u_i <- -log n - log sum_j e^{v_j + x_ij}, then v_j likewise from u.
        (log_row_sum,) = engine.log_sum_exp(negatives, (_with_column(kernel, potential),))
        of_rows = -log_row_sum - log_n
        (log_column_sum,) = engine.log_sum_exp(transposed, (_with_column(kernel, of_rows),))
        of_columns = -group.log_sum_exp(log_column_sum) - math.log(m)
        yield potential, float(torch.expm1(potential - of_columns).abs().mean())
        potential = of_columns


def _is_symmetric(negatives: Negatives) -> bool:
    """Return whether the candidates are the anchors, those of all processes taken together."""
    if negatives.own is None:
        return negatives.symmetric
    n, m = negatives.shape
    return int(negatives.group.sum(negatives.own.new_tensor(n))) == m


def _with_column(kernel: Exponent, potential: Tensor) -> Exponent:
    """Return the exponent v_j + x_ij."""
    return dataclasses.replace(kernel, column=potential)
