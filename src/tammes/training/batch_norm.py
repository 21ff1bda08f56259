"""Batch normalization over the batch of all processes, on CPUs as on GPUs."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class GlobalBatchNorm(nn.BatchNorm2d):
    """Batch normalization with the mean and variance over the rows of all processes, on a CPU.

    How many rows a process has may differ. In evaluation, and without other processes, it is `BatchNorm2d`,
    whose parameters and buffers it has.

    With x the rows of all processes, N values per channel, g the gradient of the normalized values x',

        x' = (x - mean) / sqrt(var + eps) ,
        dx = (g - (sum of g + x' sum of g x') / N) / sqrt(var + eps) ,

    where mean, var and both sums run over all processes.

    Example:
        >>> images = torch.rand(4, 3, 2, 2)
        >>> torch.allclose(GlobalBatchNorm(3)(images), nn.BatchNorm2d(3)(images))
        True
    """

    def forward(self, input: Tensor) -> Tensor:  # the name is torch's
        alone = not dist.is_initialized() or dist.get_world_size() == 1
        if alone or not self.training:
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
    """The model with every `BatchNorm2d` in it replaced; the parameters are the same objects.

    Args:
        model: changed in place, unless it is itself a `BatchNorm2d`.
        on_gpu: take torch's own, which knows no CPU.

    Example:
        >>> with_global_batch_norm(nn.Sequential(nn.BatchNorm2d(8)))[0].__class__.__name__
        'GlobalBatchNorm'
    """
    if on_gpu:
        return nn.SyncBatchNorm.convert_sync_batchnorm(model)
    if isinstance(model, nn.BatchNorm2d):
        return _replaced(model)
    for name, child in model.named_children():
        model.add_module(name, with_global_batch_norm(child))
    return model


def has_global_batch_norm(model: nn.Module) -> bool:
    """Whether processes must run the model equally often, for their normalizations to meet.

    Example:
        >>> has_global_batch_norm(nn.Sequential(nn.BatchNorm2d(8)))
        False
    """
    return any(isinstance(each, GlobalBatchNorm | nn.SyncBatchNorm) for each in model.modules())


def _replaced(layer: nn.BatchNorm2d) -> GlobalBatchNorm:
    assert layer.affine
    assert layer.track_running_stats
    other = GlobalBatchNorm(layer.num_features, eps=layer.eps, momentum=layer.momentum)
    other.weight, other.bias = layer.weight, layer.bias
    other.running_mean, other.running_var = layer.running_mean, layer.running_var
    other.num_batches_tracked = layer.num_batches_tracked
    return other.train(layer.training)


class _Normalize(torch.autograd.Function):
    """Rows (n, channels, ...) of this process, normalized; and the mean and unbiased variance of all rows."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        channels, dims, shape = values.shape[1], _but_channels(values), (-1, *(1,) * (values.ndim - 2))
        variance, mean = torch.var_mean(values, dims, correction=0)
        number = values.new_tensor([values.numel() // channels])
        own = torch.cat([mean, variance, number])
        gathered = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, own)
        # (processes, channels), (processes, channels), (processes, 1)
        means, variances, numbers = torch.stack(gathered).split([channels, channels, 1], dim=1)
        total = numbers.sum()
        mean = (numbers * means).sum(dim=0) / total
        # Within the processes and between them: no difference of large squares.
        squares = (numbers * (variances + (means - mean).square())).sum(dim=0)
        inverse = torch.rsqrt(squares / total + eps).view(shape)
        normalized = (values - mean.view(shape)) * inverse
        unbiased = squares / (total - 1)
        ctx.save_for_backward(normalized, inverse, total)
        ctx.mark_non_differentiable(mean, unbiased)
        return normalized, mean, unbiased

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        normalized, inverse, total = ctx.saved_tensors
        gradient, dims = gradients[0], _but_channels(gradients[0])
        sums = torch.stack([gradient.sum(dims), (gradient * normalized).sum(dims)])
        dist.all_reduce(sums)
        shape = (-1, *(1,) * (gradient.ndim - 2))
        plain, weighted = sums[0].view(shape), sums[1].view(shape)
        return inverse * (gradient - (plain + normalized * weighted) / total), None


def _but_channels(values: Tensor) -> list[int]:
    return [0, *range(2, values.ndim)]
