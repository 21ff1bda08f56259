"""Integrals over positive numbers that range over many orders of magnitude."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

STEP = 0.05


def integrate(function: Callable[[Float[np.ndarray, " n"]], np.ndarray], low: float, high: float) -> float:
    """The integral of a function over 0 to infinity, by the trapezoidal rule in log t.

        integral f(t) dt  =  integral f(e^u) e^u du

    Smooth integrands that have vanished at both ends converge faster than any power of the step.

    Args:
        function: takes t (n,) and returns f(t) (n,).
        low: f(t) t is negligible below.
        high: f(t) t is negligible above.

    Example:
        >>> round(integrate(lambda t: np.exp(-t), 1e-18, 50), 12)
        1.0
    """
    logs = np.arange(np.log(low), np.log(high), STEP)
    t = np.exp(logs)
    return float(STEP * np.sum(function(t) * t))
