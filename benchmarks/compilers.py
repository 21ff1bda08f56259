"""The same losses as a skilled user would write them today: by torch.compile, by JAX, and by torch's newest.

In JAX once by whole matrices, and once in blocks of rows under `jax.checkpoint` (rematerialization): the
backward pass computes each block again, so that no matrix of the size of S is kept.

Each formula is written the way that its compiler handles best, of those that were tried: a filled diagonal
and log-sum-exps for NT-Xent; for HCL one exponential, squared, since the compiler keeps matrices between
forward and backward pass, and a second exponential costs more than a product of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import normalize, softplus

from method import BETA, CLASS_PRIOR, TEMPERATURE, Loss, Step, by_autograd


def compiled(loss: Loss) -> Step:
    """Return the step of a compiled loss; the first call compiles, before the clock."""
    return by_autograd(torch.compile(loss, dynamic=False))


def nt_xent(a: Tensor, b: Tensor) -> Tensor:
    """Return NT-Xent by log-sum-exps."""
    z = normalize(torch.cat([a, b]), dim=1)
    itself = torch.eye(len(z), dtype=torch.bool)
    logits = torch.where(itself, -torch.inf, z @ z.T / TEMPERATURE)
    positive = (z * z.roll(len(a), 0)).sum(1) / TEMPERATURE
    return (logits.logsumexp(1) - positive).mean()


def one_way(a: Tensor, b: Tensor) -> Tensor:
    """Return InfoNCE of the rows of one view against those of the other, by log-sum-exps."""
    a, b = normalize(a, dim=1), normalize(b, dim=1)
    return ((a @ b.T / TEMPERATURE).logsumexp(1) - (a * b).sum(1) / TEMPERATURE).mean()


def linear_cross_entropy(a: Tensor, b: Tensor) -> Tensor:
    """Return the same by torch's fused linear layer and cross-entropy, which never forms all logits."""
    anchors, candidates = normalize(a, dim=1) / TEMPERATURE, normalize(b, dim=1)
    options = torch.nn.LinearCrossEntropyOptions()
    found: Tensor = functional.linear_cross_entropy(
        anchors, candidates, torch.arange(len(a)), options=options
    )
    return found


def has_linear_cross_entropy() -> bool:
    """Return whether this torch has it, which came with 2.13."""
    return hasattr(functional, "linear_cross_entropy") and hasattr(torch.nn, "LinearCrossEntropyOptions")


def hcl_exponential(a: Tensor, b: Tensor) -> Tensor:
    """Return HCL with debiasing at beta = 1 with one exponential: weight times e^l is its square."""
    assert BETA == 1
    z, row, positive = _anchors(a, b)
    shift = 1 / TEMPERATURE
    e = torch.exp(z @ z.T / TEMPERATURE - shift).masked_fill(row[:, None] == row, 0.0)
    log_mean = torch.log((e * e).sum(1) / e.sum(1)) + shift
    return _debiased(log_mean, positive, count=len(z) - 2)


def hcl_log_sum_exp(a: Tensor, b: Tensor) -> Tensor:
    """Return HCL with debiasing by two log-sum-exps."""
    z, row, positive = _anchors(a, b)
    logits = (z @ z.T / TEMPERATURE).masked_fill(row[:, None] == row, -torch.inf)
    log_mean = ((1 + BETA) * logits).logsumexp(1) - (BETA * logits).logsumexp(1)
    return _debiased(log_mean, positive, count=len(z) - 2)


def _anchors(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    z = normalize(torch.cat([a, b]), dim=1)
    return z, torch.arange(len(a)).repeat(2), (z * z.roll(len(a), 0)).sum(1) / TEMPERATURE


def _debiased(log_mean: Tensor, positive: Tensor, *, count: int) -> Tensor:
    corrected = (log_mean.exp() - CLASS_PRIOR * positive.exp()) / (1 - CLASS_PRIOR)
    floor = math.exp(-1 / TEMPERATURE)
    return softplus(math.log(count) + corrected.clamp(min=floor).log() - positive).mean()


_BLOCK = 1024
"""The most rows of a block of S."""
JaxLoss = Callable[[Any, Any, Any], Any]
"""From jax.numpy and the raw embeddings of two views to a scalar."""


def jax_nt_xent(numpy: Any, a: Any, b: Any) -> Any:
    """Return NT-Xent in JAX."""
    z, positive = _jax_anchors(numpy, a, b)
    itself = numpy.eye(len(z), dtype=bool)
    logits = numpy.where(itself, -numpy.inf, z @ z.T / TEMPERATURE)
    return (_jax_log_sum_exp(logits) - positive).mean()


def jax_one_way(numpy: Any, a: Any, b: Any) -> Any:
    """Return InfoNCE of one view among the other in JAX."""
    a, b = (each / numpy.linalg.norm(each, axis=1, keepdims=True) for each in (a, b))
    return (_jax_log_sum_exp(a @ b.T / TEMPERATURE) - (a * b).sum(1) / TEMPERATURE).mean()


def jax_hcl(numpy: Any, a: Any, b: Any) -> Any:
    """Return HCL with debiasing in JAX."""
    z, positive = _jax_anchors(numpy, a, b)
    row = numpy.arange(len(z)) % len(a)
    logits = numpy.where(row[:, None] == row, -numpy.inf, z @ z.T / TEMPERATURE)
    log_mean = _jax_log_sum_exp((1 + BETA) * logits) - _jax_log_sum_exp(BETA * logits)
    return _jax_debiased(numpy, log_mean, positive)


def _jax_debiased(numpy: Any, log_mean: Any, positive: Any) -> Any:
    import jax

    corrected = (numpy.exp(log_mean) - CLASS_PRIOR * numpy.exp(positive)) / (1 - CLASS_PRIOR)
    corrected = numpy.maximum(corrected, math.exp(-1 / TEMPERATURE))
    return jax.nn.softplus(math.log(len(positive) - 2) + numpy.log(corrected) - positive).mean()


def jax_nt_xent_in_blocks(numpy: Any, a: Any, b: Any) -> Any:
    """Return NT-Xent in JAX, rows in checkpointed blocks."""
    z, positive = _jax_anchors(numpy, a, b)

    def log_sums(rows: Any) -> Any:
        itself = rows[:, None] == numpy.arange(len(z))
        return _jax_log_sum_exp(numpy.where(itself, -numpy.inf, z[rows] @ z.T / TEMPERATURE))

    return (_jax_in_blocks(numpy, log_sums, len(z)) - positive).mean()


def jax_one_way_in_blocks(numpy: Any, a: Any, b: Any) -> Any:
    """Return InfoNCE of one view among the other in JAX, rows in checkpointed blocks."""
    a, b = (each / numpy.linalg.norm(each, axis=1, keepdims=True) for each in (a, b))

    def log_sums(rows: Any) -> Any:
        return _jax_log_sum_exp(a[rows] @ b.T / TEMPERATURE)

    return (_jax_in_blocks(numpy, log_sums, len(a)) - (a * b).sum(1) / TEMPERATURE).mean()


def jax_hcl_in_blocks(numpy: Any, a: Any, b: Any) -> Any:
    """Return HCL with debiasing in JAX, rows in checkpointed blocks."""
    z, positive = _jax_anchors(numpy, a, b)

    def log_means(rows: Any) -> Any:
        excluded = rows[:, None] % len(a) == numpy.arange(len(z)) % len(a)
        logits = numpy.where(excluded, -numpy.inf, z[rows] @ z.T / TEMPERATURE)
        return _jax_log_sum_exp((1 + BETA) * logits) - _jax_log_sum_exp(BETA * logits)

    return _jax_debiased(numpy, _jax_in_blocks(numpy, log_means, len(z)), positive)


def _jax_in_blocks(numpy: Any, of_rows: Callable[[Any], Any], count: int) -> Any:
    """Return a number of each row, from a function of the indices of a block of rows."""
    import jax

    blocks = numpy.arange(count).reshape(-1, math.gcd(count, _BLOCK))
    return jax.lax.map(jax.checkpoint(of_rows), blocks).reshape(-1)


def _jax_anchors(numpy: Any, a: Any, b: Any) -> tuple[Any, Any]:
    z = numpy.concatenate([a, b])
    z = z / numpy.linalg.norm(z, axis=1, keepdims=True)
    return z, (z * numpy.roll(z, len(a), 0)).sum(1) / TEMPERATURE


def _jax_log_sum_exp(values: Any) -> Any:
    import jax

    return jax.nn.logsumexp(values, axis=1)


def by_jax(loss: JaxLoss) -> Step:
    """Return the step of a loss in JAX, compiled; the embeddings are shared with torch, not copied."""

    def step(a: Tensor, b: Tensor) -> Tensor:
        import jax

        given = tuple(jax.dlpack.from_dlpack(each.detach()) for each in (a, b))
        value, gradients = _jitted(loss)(*given)
        jax.block_until_ready(gradients)
        a.grad, b.grad = (torch.from_dlpack(each) for each in gradients)
        return torch.tensor(float(value))

    return step


@cache
def _jitted(loss: JaxLoss) -> Any:
    import jax

    return jax.jit(jax.value_and_grad(lambda a, b: loss(jax.numpy, a, b), (0, 1)))
