"""The encoders f of all runs as one batched network onto the sphere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from tammes.checks import check_integer
from tammes.latent.kernel import check_dimension
from tammes.latent.streams import Streams

EncoderFunction = Callable[[Float[Tensor, "runs n observed"]], Float[Tensor, "runs n dim"]]
"""f of some runs, from observations to unit vectors: differentiable in the observations, without weights to
train."""


@dataclass(frozen=True, kw_only=True)
class EncoderShape:
    """Shape of a multilayer perceptron with ReLU onto the unit sphere of R^dim.

    Args:
        dim: dimension of the embeddings, at least 2.
        width: width of the hidden layers, at least 1.
        depth: number of hidden layers, at least 0; 0 is a linear map.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), sec. D and E, which say "a standard MLP".

    Example:
        >>> EncoderShape(dim=8, width=128).widths(32)
        (32, 128, 128, 8)
    """

    dim: int
    width: int = 128
    depth: int = 2

    def __post_init__(self) -> None:
        check_dimension("EncoderShape.dim", self.dim)
        check_integer("EncoderShape.width", self.width)
        check_integer("EncoderShape.depth", self.depth, minimum=0)

    def widths(self, observed: int) -> tuple[int, ...]:
        """Return the widths of all layers, from the observation to the embedding."""
        return (observed, *[self.width] * self.depth, self.dim)


class BatchedEncoders(nn.Module):
    """One encoder for each run, with stacked weights: a layer is one batched matrix product.

    First weights are torch's for a linear layer, uniform within 1/sqrt(inputs), drawn from the run's own
    stream. Adam updates every entry independently, so that one optimizer over the stacked weights does the
    same for each run as its own optimizer would.

    Args:
        shape: shape of each encoder.
        observed: dimensions of an observation.
        streams: random numbers of the runs, for the first weights.

    Example:
        >>> encoders = BatchedEncoders(EncoderShape(dim=3), observed=8, streams=Streams.of((0, 1), "encoder"))
        >>> encoders(torch.rand(2, 5, 8)).norm(dim=-1).allclose(torch.ones(2, 5))
        True
    """

    def __init__(self, shape: EncoderShape, *, observed: int, streams: Streams) -> None:
        super().__init__()
        self.weights, self.offsets = nn.ParameterList(), nn.ParameterList()
        for inputs, outputs in pairwise(shape.widths(observed)):
            bound = inputs**-0.5
            self.weights.append(bound * (2 * streams.uniform(inputs, outputs) - 1))
            self.offsets.append(bound * (2 * streams.uniform(1, outputs) - 1))

    def forward(self, x: Float[Tensor, "runs n observed"]) -> Float[Tensor, "runs n dim"]:
        """Return f(x) at unit length, run by run."""
        return _embed(x, weights=list(self.weights), offsets=list(self.offsets))

    def part(self, runs: slice) -> EncoderFunction:
        """Return f of some runs; it shares the weights, and so follows their training."""
        return partial(
            _embed,
            weights=[weight.detach()[runs] for weight in self.weights],
            offsets=[offset.detach()[runs] for offset in self.offsets],
        )


def _embed(
    x: Float[Tensor, "runs n observed"], *, weights: Sequence[Tensor], offsets: Sequence[Tensor]
) -> Float[Tensor, "runs n dim"]:
    for weight, offset in zip(weights[:-1], offsets[:-1], strict=True):
        # ReLU in place: its backward pass needs its output only, and a second tensor of this size costs time.
        x = torch.baddbmm(offset, x, weight).relu_()
    return normalize(torch.baddbmm(offsets[-1], x, weights[-1]), dim=-1)
