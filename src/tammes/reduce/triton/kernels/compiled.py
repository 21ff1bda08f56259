# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""How functions become kernels, also where Triton is not installed."""

from __future__ import annotations

try:
    import triton
    from triton import language as tl
except ImportError:  # the engine says so, in words, when it is made
    triton = tl = None


def kernel(function):
    """Return the function for Triton to compile, or as it is where Triton is not installed."""
    return function if triton is None else triton.jit(function)


def constant(value):
    """Return a number that compiled code may read."""
    return value if triton is None else tl.constexpr(value)


LOG2_E = constant(1.4426950408889634)
NOTHING = constant(float("-inf"))
