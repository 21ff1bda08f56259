"""Anderson mixing: half the updates of averaging, for a symmetric plan of any size."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

_DEPTH = 2
"""How many of the last changes are mixed."""
_RIDGE = 1e-8
"""Ridge of the least squares, relative to their trace: larger than rounding, so that processes that add up in
another order come to the same potential."""
_SETBACKS = 3
"""After how many steps that increased the error mixing is given up."""


class AndersonMixing:
    """Fixed-point acceleration of the symmetric update, from the last changes of potential and step.

    The residual r(v) = log(row sum / marginal) has the derivative 1 + P, with P the row-normalized plan. P is
    nearly the matrix of the mean, for which Newton's step is h(v) = mean(r)/2 - r. What P has beyond the mean
    shows in how h changed from one update to the next, dh, while v changed by dv. Mixing finds the
    combination of the last changes that explains h best and takes it out,

        gamma = argmin |h - sum_k gamma_k dh_k| ,       v <- v + h - sum_k gamma_k (dv_k + dh_k) .

    Source: Walker and Ni (2011), algorithm AA in its unconstrained form. Differs: a step that increased the
    error is not followed by another mixed one, since far from the solution mixing may diverge.
    """

    def __init__(self) -> None:
        self._last: tuple[Tensor, Tensor, float] | None = None  # potential, step h, error
        self._changes: list[tuple[Tensor, Tensor]] = []  # (dv, dh), the latest first
        self._setbacks = 0

    def update(
        self, potential: Float[Tensor, " n"], residual: Float[Tensor, " n"], error: float
    ) -> Float[Tensor, " n"] | None:
        """Return the next potential, or None where an averaged update must follow.

        Args:
            potential: v, of all anchors.
            residual: r(v).
            error: marginal error at v.

        Example:
            >>> mixing = AndersonMixing()
            >>> mixing.update(torch.zeros(2), torch.tensor([0.2, 0.4]), 0.3)  # h = mean(r)/2 - r
            tensor([-0.0500, -0.2500])
            >>> mixing.update(torch.ones(2), torch.tensor([2.0, 2.0]), 6.4) is None  # the error increased
            True
        """
        step = residual.mean() / 2 - residual
        last, self._last = self._last, (potential, step, error)
        if last is None:
            return potential + step
        last_potential, last_step, last_error = last
        self._changes = [(potential - last_potential, step - last_step), *self._changes[: _DEPTH - 1]]
        if not error < last_error:
            self._setbacks += 1
            return None
        if self._setbacks >= _SETBACKS:
            return None
        changes, step_changes = (torch.stack(each) for each in zip(*self._changes, strict=True))  # (k, n)
        # The normal equations of the least squares, k <= 2 of them, formed in float64: late changes are
        # nearly parallel, and the determinant of their products in float32 would be rounding.
        precise = step_changes.double()
        gram = precise @ precise.T
        ridge = _RIDGE * gram.trace() + torch.finfo(gram.dtype).tiny
        # Made on the device, and solved without a check: neither makes the host wait.
        gram += ridge * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
        gamma, _ = torch.linalg.solve_ex(gram, precise @ step.double())
        return potential + step - gamma.to(step) @ (changes + step_changes)
