"""Batch normalization over the batch of all processes, on CPUs as on GPUs."""

import math
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from typing_extensions import override


class GlobalBatchNorm(nn.BatchNorm2d):
    """Batch normalization with the mean and variance over the rows of all processes, on a CPU.

    Processes may have different numbers of rows. In evaluation mode, and with one process, it computes what
    torch's batch normalization computes, of vectors as of images; parameters and buffers have the same names.

    With x the rows of all processes, N values per channel, g the gradient of the normalized values x',

        x' = (x - mean) / sqrt(var + eps) ,
        dx = (g - (sum of g + x' sum of g x') / N) / sqrt(var + eps) ,

    where mean, var and both sums run over all processes.

    Example:
        >>> images = torch.rand(4, 3, 2, 2)
        >>> torch.allclose(GlobalBatchNorm(3)(images), nn.BatchNorm2d(3)(images))
        True
    """

    @override
    def _check_input_dim(self, input: Tensor) -> None:
        """Take vectors (rows, channels) as well as images."""

    @override
    def forward(self, input: Tensor) -> Tensor:
        is_single = not dist.is_initialized() or dist.get_world_size() == 1
        if is_single or not self.training:
            return super().forward(input)
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        # Under autocast, in the precision of the parameters, as torch does it.
        values = input.to(self.running_mean.dtype)
        normalized, mean, variance = _Normalize.apply(values, self.eps)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance, self.momentum)
        shape = (-1, *(1,) * (input.ndim - 2))
        return torch.addcmul(self.bias.view(shape), normalized, self.weight.view(shape)).to(input.dtype)


def with_global_batch_norm(model: nn.Module, *, on_gpu: bool = False) -> nn.Module:
    """Replace the batch normalizations of a model by some over all processes; the parameters stay the same.

    Args:
        model: model that is changed in place, unless it is itself a batch normalization.
        on_gpu: whether to use torch's `SyncBatchNorm`, which does not run on a CPU.

    Example:
        >>> with_global_batch_norm(nn.Sequential(nn.BatchNorm2d(8)))[0].__class__.__name__
        'GlobalBatchNorm'
    """
    if on_gpu:
        return nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if isinstance(model, nn.BatchNorm1d | nn.BatchNorm2d):
        return _replaced(model)
    for name, child in model.named_children():
        model.add_module(name, with_global_batch_norm(child))
    return model


def has_global_batch_norm(model: nn.Module) -> bool:
    """Return whether a forward pass of the model waits for the other processes.

    Example:
        >>> has_global_batch_norm(nn.Sequential(nn.BatchNorm2d(8)))
        False
    """
    return any(isinstance(each, GlobalBatchNorm | nn.SyncBatchNorm) for each in model.modules())


def _replaced(layer: nn.BatchNorm1d | nn.BatchNorm2d) -> GlobalBatchNorm:
    assert layer.affine
    assert layer.track_running_stats
    other = GlobalBatchNorm(layer.num_features, eps=layer.eps, momentum=layer.momentum)
    other.weight, other.bias = layer.weight, layer.bias
    other.running_mean, other.running_var = layer.running_mean, layer.running_var
    other.num_batches_tracked = layer.num_batches_tracked
    return other.train(layer.training)


class _Normalize(torch.autograd.Function):
    """Normalization of this process's rows (n, channels, ...) by the mean and variance of all rows."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        channels, dims, shape = values.shape[1], _all_but_channels(values), (-1, *(1,) * (values.ndim - 2))
        variance, mean = torch.var_mean(values, dims, correction=0)
        count = values.new_tensor([values.numel() // channels])
        own = torch.cat([mean, variance, count])
        gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, own)
        # (processes, channels), (processes, channels), (processes, 1)
        means, variances, counts = torch.stack(gathered).split([channels, channels, 1], dim=1)
        total = counts.sum()
        mean = (counts * means).sum(dim=0) / total
        # Variance within the processes plus variance between them: no difference of large squares.
        squares = (counts * (variances + (means - mean).square())).sum(dim=0)
        inverse = torch.rsqrt(squares / total + eps).view(shape)
        normalized = (values - mean.view(shape)) * inverse
        unbiased = squares / (total - 1)
        ctx.save_for_backward(normalized, inverse, total)
        ctx.mark_non_differentiable(mean, unbiased)
        return normalized, mean, unbiased

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        normalized, inverse, total = ctx.saved_tensors
        gradient, dims = gradients[0], _all_but_channels(gradients[0])
        sums = torch.stack([gradient.sum(dims), (gradient * normalized).sum(dims)])
        dist.all_reduce(sums)
        shape = (-1, *(1,) * (gradient.ndim - 2))
        plain, weighted = sums[0].view(shape), sums[1].view(shape)
        return inverse * (gradient - (plain + normalized * weighted) / total), None


def _all_but_channels(values: Tensor) -> list[int]:
    return [0, *range(2, values.ndim)]


def check_chunks(chunk: int, *, pairs: int, processes: int) -> None:
    """Raise ValueError unless all processes cut their images into equally many chunks.

    BatchNorm synchronizes the processes once per chunk, so all need the same number of chunks.

    Args:
        chunk: largest number of images of a chunk.
        pairs: pairs of a batch, over all processes.
        processes: number of processes.

    Example:
        >>> check_chunks(4, pairs=16, processes=2)
    """
    fewest, most = pairs // processes, math.ceil(pairs / processes)
    if math.ceil(fewest / chunk) != math.ceil(most / chunk):
        raise ValueError(
            f"BatchNorm synchronizes the processes once per chunk, but {most} images make more chunks of "
            f"{chunk} than {fewest}: choose another chunk, or a batch size that is a multiple of the "
            f"{processes} processes"
        )
