"""Whether a loss gives data-parallel training the gradient of one process that has the whole batch."""

from __future__ import annotations

import copy
import math
import pickle
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import Tensor, nn

_EQUAL = 1e-5
"""How far a factor or a cosine may be from 1: float64 leaves far less, a wrong convention far more."""
_START = 60.0
"""Seconds in which a process may start, and import torch."""


@dataclass(frozen=True, kw_only=True)
class DDPReport:
    """What a check of a loss under data-parallel training has found.

    Attributes:
        factor: length of the gradient along the right one, as a multiple of it; 1 if right.
        cosine: cosine of the angle between the two; 1 if the direction is right.
        local_cosine: the same against the mean of the losses of each process by itself.
        loss: mean over the processes of the loss that each returned.
        reference: the loss of one process with the whole batch.
    """

    factor: float
    cosine: float
    local_cosine: float
    loss: float
    reference: float

    @property
    def is_right(self) -> bool:
        """Whether the gradient is that of one process with the whole batch."""
        return abs(self.factor - 1) < _EQUAL and self.has_right_direction

    @property
    def has_right_direction(self) -> bool:
        """Whether the gradient is at most a factor away from the right one."""
        return 1 - self.cosine < _EQUAL

    def __str__(self) -> str:
        if self.is_right:
            return "right: the gradient is that of one process with the whole batch"
        if self.has_right_direction:
            return (
                f"off by a factor: {self.factor:.4g} times the gradient of one process with the whole batch"
            )
        if 1 - self.local_cosine < _EQUAL:
            return (
                f"another direction (cosine {self.cosine:.3f}): the gradient of each process by itself; rows "
                "of other processes are no candidates"
            )
        return (
            f"another direction (cosine {self.cosine:.3f}, {self.factor:.4g} times along the right one): "
            "rows of other processes are compared, but their gradient is lost or counted unevenly"
        )


def check_ddp(
    loss: Callable[[Tensor, Tensor], Tensor],
    *,
    rows: Sequence[int] = (6, 6),
    dim: int = 8,
    seed: int = 0,
    timeout: float = 120.0,
) -> DDPReport:
    """Compare the gradient of a loss under data-parallel training with that of the whole batch.

    An encoder x -> xA embeds two views. Process p calls `loss(a_p, b_p)` on its rows, goes backward, and the
    gradients in A are averaged over the processes, as `DistributedDataParallel` does:

        g  =  1/W  sum over processes p of  d loss_p / dA ,       r  =  d loss(a, b) / dA

    where r is the gradient of one process alone with all rows. A right loss has g = r; `factor` is g.r / r.r
    and `cosine` g.r / (|g| |r|).

    Args:
        loss: function, or module, of two views `(rows of the process, d)`, float64. The processes are started
            anew, so it must be importable: a function or class of a module, no lambda.
        rows: rows of a view on each process; at least two processes. Different numbers are a harder test.
        dim: dimension of the embeddings.
        seed: seed of the views.
        timeout: seconds after which processes that wait for each other are ended.

    Returns:
        The report; `print` it for a sentence.

    Raises:
        ValueError: fewer than two processes, or one without rows; a loss that cannot be sent to another
            process, that raises an error there (which is repeated), or that returns no number with a
            gradient; a gradient of the whole batch that is zero or not finite.

    Example:
        >>> from tammes import recipes
        >>> from tammes.integrations.lightly import ObjectiveLoss
        >>> gathered = ObjectiveLoss(recipes.simclr(temperature=0.5), gather_distributed=True)
        >>> print(check_ddp(gathered))
        right: the gradient is that of one process with the whole batch
    """
    if len(rows) < 2 or min(rows) < 1:
        raise ValueError(f"expected the rows of two or more processes, each at least 1, got {tuple(rows)}")
    try:
        pickle.dumps(loss)
    except Exception as error:
        raise ValueError(
            f"the loss cannot be sent to other processes ({error}): define it at the top of a module, not as "
            "a lambda or within a function"
        ) from error
    generator = torch.Generator().manual_seed(seed)
    views = torch.randn(2, sum(rows), dim, generator=generator, dtype=torch.float64)
    together, (whole, *alone) = _in_processes(loss, views, list(rows), timeout)
    length = float(whole.gradient.norm())
    if not 0 < length < math.inf:
        raise ValueError(
            f"the gradient of one process with the whole batch has length {length:g}, with which no other "
            "can be compared: choose another seed or dim, or a loss whose gradient is not zero there"
        )
    ours = torch.stack([each.gradient for each in together]).mean(0)
    return DDPReport(
        factor=float((ours * whole.gradient).sum() / whole.gradient.square().sum()),
        cosine=_cosine(ours, whole.gradient),
        local_cosine=_cosine(ours, torch.stack([each.gradient for each in alone]).mean(0)),
        loss=sum(each.value for each in together) / len(together),
        reference=whole.value,
    )


@dataclass(frozen=True, kw_only=True)
class _Result:
    """Value of a loss, and its gradient in the encoder."""

    value: float
    gradient: Tensor


def _cosine(one: Tensor, other: Tensor) -> float:
    return float(nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0))


def _in_processes(
    loss: Callable[[Tensor, Tensor], Tensor], views: Tensor, rows: list[int], timeout: float
) -> tuple[list[_Result], list[_Result]]:
    """Return the results of the processes together, and of one alone: on all rows, then on those of each."""
    size = len(rows)
    parts = views.split(rows, dim=1)
    # The last is a world for itself: some libraries keep the first group that they see.
    worlds = [([part], rank, size, "together") for rank, part in enumerate(parts)]
    worlds.append(([views, *parts], 0, 1, "alone"))
    with tempfile.TemporaryDirectory() as folder:
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=_process, args=(loss, batches, rank, world, f"{folder}/{name}", timeout))
            for batches, rank, world, name in worlds
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join(timeout + _START)
        late = sum(process.is_alive() for process in processes)
        for process in processes:
            process.kill()
            process.join()
        found = []
        for _, rank, world, name in worlds:
            error, result = Path(f"{folder}/{name}-{rank}.error"), Path(f"{folder}/{name}-{rank}.pt")
            if error.exists():
                raise ValueError(f"the loss failed on process {rank} of {world}: {error.read_text()}")
            if not late and not result.exists():
                raise ValueError(
                    f"process {rank} of {world} ended before the loss did: start check_ddp under "
                    '`if __name__ == "__main__":`, since each process imports your program anew; or does the '
                    "loss end its process?"
                )
            if late:
                raise ValueError(
                    f"the loss did not end within {timeout:g} s on {late} of {size} processes: do all make "
                    "the same exchanges?"
                )
            found.append([_Result(value=value, gradient=gradient) for value, gradient in torch.load(result)])
        return [own for (own,) in found[:size]], found[size]


def _process(
    loss: Callable[[Tensor, Tensor], Tensor],
    batches: Sequence[Tensor],
    rank: int,
    size: int,
    path: str,
    timeout: float,
) -> None:
    """Evaluate the loss on the batches of one process; the results, or an error, become a file."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        store=dist.FileStore(path, size),  # type: ignore[attr-defined]
        rank=rank,
        world_size=size,
        timeout=timedelta(seconds=timeout),
    )
    dist.barrier()  # so that all are connected before one may fail
    try:
        torch.save([_evaluated(copy.deepcopy(loss), batch) for batch in batches], f"{path}-{rank}.pt")
    except Exception as error:
        Path(f"{path}-{rank}.error").write_text(f"{type(error).__name__}: {error}")
    finally:
        dist.destroy_process_group()


def _evaluated(loss: Callable[[Tensor, Tensor], Tensor], views: Tensor) -> tuple[float, Tensor]:
    dim = views.shape[2]
    encoder = torch.eye(dim, dtype=views.dtype).add_(0.1).requires_grad_()
    value = loss(*(views @ encoder))
    if not isinstance(value, Tensor) or value.numel() != 1 or not value.requires_grad:
        got = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"expected a loss of one number with a gradient, got {got}")
    value.sum().backward()
    assert encoder.grad is not None
    return value.item(), encoder.grad
