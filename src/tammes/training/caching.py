"""Gradient caching: a large batch through an encoder, in the activation memory of one of its chunks."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from tammes.checks import check_integer
from tammes.reduce.autograd import first_order_only

_SAME = 0.05
"""Largest distance of the embeddings of both passes, as a share; on a GPU they may differ by rounding."""


class GradientCache(nn.Module):
    """Model that runs chunk by chunk, and holds the activations of one chunk at a time.

    With embeddings z_c = f(x_c; theta) of the chunks c and a loss L(z_1, ..., z_C) over all of them,

        dL/dtheta = sum over c of (dz_c/dtheta)^T dL/dz_c .

    The call computes all z_c and keeps no activations. The backward pass, once it has dL/dz_c, runs each
    chunk a second time, now with activations, and adds up the sum. The gradient is that of the model run
    on the same chunks in one pass, up to rounding; the price is one more forward pass.

    In the graph the model is a single operation: its gradient reaches each parameter once a step, added to
    the gradient that the parameter holds. So it works with GradScaler, gradient accumulation,
    `register_post_accumulate_grad_hook`, and `DistributedDataParallel(GradientCache(model, chunk=64))`, which
    then reduces once a step. Only `weight.register_hook` also sees the gradient of each chunk, and changes it
    once more than it should.

    Both passes draw the same random numbers from torch's generators (dropout is the same), run under the
    autocast of the call, and see the same buffers. Afterwards generators and buffers are as after one
    pass: running statistics are updated once. Random numbers from other sources, such as Python's `random`,
    are not repeated: the backward pass then finds other embeddings than the call, and refuses.

    BatchNorm in training mode normalizes with the statistics of a chunk, not of the batch: embeddings,
    loss and running statistics then depend on `chunk`. Normalization by groups, layers or instances does not.

    Args:
        model: module from rows (rows, ...) to embeddings (rows, dim).
        chunk: largest number of rows that go through the model at a time; a view is cut into chunks whose
            sizes differ by at most one row.

    Raises:
        ValueError: for a chunk that is no integer of at least 1, a model that is no module, or a
            DistributedDataParallel, which belongs outside.

    Source: Gao et al., Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup, 2021.

    Example:
        >>> import tammes
        >>> model = nn.Linear(8, 4)
        >>> view_a, view_b = torch.randn(6, 8), torch.randn(6, 8)
        >>> objective = tammes.recipes.simclr(temperature=0.5)
        >>> cached = GradientCache(model, chunk=2)
        >>> loss = objective(*cached(view_a, view_b))
        >>> loss.backward()
        >>> tuple(model.weight.grad.shape)
        (4, 8)
    """

    def __init__(self, model: nn.Module, *, chunk: int) -> None:
        super().__init__()
        check_integer("chunk", chunk, reason="it counts rows")
        if not isinstance(model, nn.Module):
            raise ValueError(f"the model must be an nn.Module, whose weights can be found, got {model!r}")
        if isinstance(model, nn.parallel.DistributedDataParallel):
            raise ValueError(
                "DistributedDataParallel would reduce the gradients of every chunk: put it outside, "
                "DistributedDataParallel(GradientCache(model, chunk=...))"
            )
        self.model = model
        self.chunk = chunk

    def forward(self, *views: Tensor) -> tuple[Tensor, ...]:
        """Return the embeddings of each view, in order; a tuple even for one view.

        Args:
            views: one or more tensors (rows, ...), whose numbers of rows may differ.

        Returns:
            A tensor (rows, dim) for each view.

        Raises:
            ValueError: for views that are no tensors of at least one row, or that require a gradient; for
                a model that does not return (rows, dim) or that writes to its input; and, in the backward
                pass, if weights or modes of the model have changed since the call, or if the model holds a
                reentrant checkpoint.
        """
        _check_views(views)
        step = _Step(self.model, views, self.chunk)
        written = [_times_written(view) for view in views]
        embeddings: tuple[Tensor, ...]
        embeddings = _TwoPasses.apply(step, len(views), *views, *step.weights)  # type: ignore[no-untyped-call]
        if embeddings[0].requires_grad and [_times_written(view) for view in views] != written:
            raise ValueError(
                "the model writes to its input, which the second pass must find as it was: let its first "
                "operation work out of place, or copy the rows before it"
            )
        return embeddings


class _Step:
    """Chunks of one step, and the state of the first pass that the second pass must restore."""

    def __init__(self, model: nn.Module, views: Sequence[Tensor], chunk: int) -> None:
        self.model = model
        self.chunk = chunk
        self.state = _weights_and_modes(model)
        # Copies, since a pass may write to them (running statistics); one copy of a shared buffer.
        self.buffers = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}
        self.autocast = _current_autocast(views[0].device.type)
        tensors = (*views, *model.parameters())
        self.devices = sorted({tensor.get_device() for tensor in tensors if tensor.is_cuda})
        self.random: list[list[Tensor]] = []  # generator states before each chunk
        self.made: list[Tensor] = []  # embeddings of each chunk

    @property
    def weights(self) -> list[Tensor]:
        """Weights that take a gradient."""
        return [weight for weight in self.model.parameters() if weight.requires_grad]

    def first(self, views: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Return all embeddings, without a graph."""
        embeddings = []
        for view in views:
            parts = []
            for rows in self._chunks(view):
                self.random.append(_random_state(self.devices))
                parts.append(_check_embeddings(self.model(rows), rows))
            embeddings.append(torch.cat(parts))
            self.made += parts
        # Autocast caches the weights that it converted, here without a graph. Torch before 2.13 would reuse
        # them in a pass with gradients, which would not reach the weights.
        torch.clear_autocast_cache()
        return tuple(embeddings)

    def second(self, views: Sequence[Tensor], gradients: Sequence[Tensor]) -> list[Tensor | None]:
        """Return the gradient of each weight, given the gradients of the embeddings."""
        if _weights_and_modes(self.model) != self.state:
            raise ValueError(
                "weights or training modes of the model changed between the call of GradientCache and the "
                "backward pass, which runs the model again: call loss.backward() before optimizer.step(), "
                "train() or eval()"
            )
        weights = self.weights
        totals: list[Tensor | None] = [None] * len(weights)
        is_own = [False] * len(weights)
        buffers = {name: buffer.clone() for name, buffer in self.buffers.items()}
        chunks = [rows for view in views for rows in self._chunks(view)]
        pieces = [piece for gradient in gradients for piece in self._chunks(gradient)]
        again: list[Tensor] = []
        with torch.random.fork_rng(devices=self.devices), torch.enable_grad(), self.autocast:
            for rows, state, piece in zip(chunks, self.random, pieces, strict=True):
                _set_random_state(state, self.devices)
                embeddings = functional_call(self.model, buffers, (rows,)) if buffers else self.model(rows)
                again.append(embeddings.detach())
                if embeddings.requires_grad:
                    found = torch.autograd.grad(embeddings, weights, piece, allow_unused=True)
                    if any(part is None for part in found):
                        _check_no_reentrant_checkpoint(embeddings)
                    _accumulate(totals, is_own, found)
        _check_same(torch.cat(self.made), torch.cat(again))
        return totals

    def _chunks(self, rows: Tensor) -> tuple[Tensor, ...]:
        # As even as they can be: a last chunk of one row would be hard on BatchNorm.
        return rows.tensor_split(-(-len(rows) // self.chunk))


class _TwoPasses(torch.autograd.Function):
    """The step as one operation on views and weights, differentiable in the weights."""

    @staticmethod
    def forward(ctx: Any, step: _Step, views: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.step = step
        ctx.save_for_backward(*tensors[:views])  # torch then frees them, and detects a change
        return step.first(tensors[:views])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        views = ctx.saved_tensors
        found = tuple(ctx.step.second(views, gradients))
        return None, None, *[None for _ in views], *first_order_only(found, (*ctx.step.weights, *gradients))


def _check_views(views: Sequence[Tensor]) -> None:
    if not views:
        raise ValueError("expected one or more views, got none")
    for number, view in enumerate(views):
        if not isinstance(view, Tensor) or view.ndim == 0 or len(view) == 0:
            got = f"shape {tuple(view.shape)}" if isinstance(view, Tensor) else type(view).__name__
            raise ValueError(f"view {number} must be a tensor (rows, ...) of at least one row, got {got}")
        if view.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"view {number} requires a gradient, but only the weights of the model get one here: "
                "detach the view, or put what made it into the model"
            )


def _check_embeddings(embeddings: object, rows: Tensor) -> Tensor:
    if not isinstance(embeddings, Tensor):
        got = type(embeddings).__name__
    elif embeddings.ndim != 2 or len(embeddings) != len(rows) or not embeddings.is_floating_point():
        got = f"shape {tuple(embeddings.shape)} of {embeddings.dtype}"
    else:
        return embeddings
    raise ValueError(
        f"the model must return floating-point embeddings (rows, dim), here ({len(rows)}, dim), and nothing "
        f"else; got {got}"
    )


def _check_same(before: Tensor, again: Tensor) -> None:
    """Refuse a second pass with other embeddings than the first; the gradient is that of the second."""
    if bool(torch.dist(before, again) > _SAME * torch.linalg.vector_norm(before)):  # never of NaN
        raise ValueError(
            "the second pass of the model made other embeddings than the first, so that its gradient would "
            "be wrong: draw random numbers from torch's default generators, which GradientCache puts back, "
            "and not from numpy, random or a generator of the model, and let nothing depend on the number of "
            "calls"
        )


def _weights_and_modes(model: nn.Module) -> tuple[list[tuple[int, bool]], list[bool]]:
    """Return a value that changes when a weight is written to, frozen or thawed, or a mode is switched.

    Writes are those that torch counts, which leaves out the steps of fused optimizers.
    """
    weights = [(weight._version, weight.requires_grad) for weight in model.parameters()]
    return weights, [module.training for module in model.modules()]


def _times_written(view: Tensor) -> int:
    """Return how often the view was written to; torch does not count writes to inference tensors."""
    return 0 if view.is_inference() else view._version


def _check_no_reentrant_checkpoint(embeddings: Tensor) -> None:
    """Refuse a reentrant checkpoint, whose inner backward pass `torch.autograd.grad` does not see.

    If its input takes a gradient, torch refuses it; otherwise its weights look unused.
    """
    ahead, seen = [embeddings.grad_fn], set()
    while ahead:
        node = ahead.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name() == "CheckpointFunctionBackward":
            raise ValueError(
                "the model holds a reentrant checkpoint, whose weights would get no gradient: call "
                "torch.utils.checkpoint with use_reentrant=False, or leave it out, since GradientCache keeps "
                "the activations of one chunk only"
            )
        ahead.extend(each for each, _ in node.next_functions)


def _current_autocast(device_type: str) -> AbstractContextManager[None]:
    return torch.autocast(
        device_type,
        dtype=torch.get_autocast_dtype(device_type),
        enabled=torch.is_autocast_enabled(device_type),
        cache_enabled=torch.is_autocast_cache_enabled(),
    )


def _random_state(devices: Sequence[int]) -> list[Tensor]:
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in devices)]


def _set_random_state(state: Sequence[Tensor], devices: Sequence[int]) -> None:
    torch.set_rng_state(state[0])
    for device, numbers in zip(devices, state[1:], strict=True):
        torch.cuda.set_rng_state(numbers, device)


def _accumulate(totals: list[Tensor | None], is_own: list[bool], found: Sequence[Tensor | None]) -> None:
    """Add the gradients of one chunk to the totals.

    A gradient from autograd may be shared: a view, a constant, or one that a hook has kept. Only sums made
    here (`is_own`) are added to in place, which saves memory whose first use costs as much as the addition.
    """
    for number, part in enumerate(found):
        total = totals[number]
        if part is None:
            continue
        if total is None:
            totals[number] = part
        elif is_own[number] and total.layout == part.layout:
            total += part
        else:
            totals[number], is_own[number] = total + part, True
