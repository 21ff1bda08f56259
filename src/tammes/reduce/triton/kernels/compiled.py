# mypy: ignore-errors
# What is written here is compiled by Triton: types are the device's, and Python's checkers know none of them.
"""How functions become kernels, also where Triton is not installed."""

from __future__ import annotations

try:
    import triton
    from triton import language as tl
except ImportError:  # the engine says so, in words, when it is made
    triton = tl = None


SIZES = (
    "n", "m", "splits", "slots", "groups", "blocks_per_group", "p", "views", "k", "top", "left", "blocks"
)  # fmt: skip
"""Names of the arguments that vary from batch to batch. Triton would compile a kernel once more for a size
that is 1, and for one that 16 divides, in each combination. None of that makes the kernels quicker, whose
rows are d numbers apart."""


def kernel(function):
    """Return the function for Triton to compile, or as it is where Triton is not installed."""
    if triton is None:
        return function
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return triton.jit(function, do_not_specialize=[name for name in SIZES if name in names])


def constant(value):
    """Return a number that compiled code may read."""
    return value if triton is None else tl.constexpr(value)


LOG2_E = constant(1.4426950408889634)
NOTHING = constant(float("-inf"))
