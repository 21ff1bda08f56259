"""The encoders f of all runs as one batched network onto the sphere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from tammes.checks import check_integer
from tammes.latent.streams import Streams


@dataclass(frozen=True, kw_only=True)
class EncoderShape:
    """A multilayer perceptron with ReLU onto the unit sphere of R^dim.

    Args:
        dim: of the embeddings, at least 2.
        width: of the hidden layers.
        depth: hidden layers; 0 is a linear map.

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
        check_integer(
            "EncoderShape.dim", self.dim, minimum=2, reason="in one dimension a sphere is two points"
        )
        check_integer("EncoderShape.width", self.width, minimum=1)
        check_integer("EncoderShape.depth", self.depth, minimum=0)

    def widths(self, observed: int) -> tuple[int, ...]:
        """The widths from the observation to the embedding."""
        return (observed, *[self.width] * self.depth, self.dim)


class Encoders(nn.Module):
    """One encoder for each run, their weights side by side: a layer is one batched matrix product.

    First weights are torch's for a linear layer, uniform within 1/sqrt(inputs), and come from the run's
    own stream. Adam treats every entry by itself, so one optimizer over all of it does for each run
    what an optimizer of its own would do.

    Args:
        shape: of each.
        observed: dimensions of an observation.
        streams: of the runs, for the first weights.

    Example:
        >>> encoders = Encoders(EncoderShape(dim=3), observed=8, streams=Streams.of((0, 1), "encoder"))
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
        """f(x) of unit length, run by run."""
        return _embedded(x, list(self.weights), list(self.offsets))

    def part(self, runs: slice) -> Encoder:
        """Those of some runs as they are now; they change as these are trained."""
        return Encoder(
            weights=tuple(weight.detach()[runs] for weight in self.weights),
            offsets=tuple(offset.detach()[runs] for offset in self.offsets),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoder:
    """f of some runs, not to be trained: a function of the observations."""

    weights: tuple[Tensor, ...]
    offsets: tuple[Tensor, ...]

    def __call__(self, x: Float[Tensor, "runs n observed"]) -> Float[Tensor, "runs n dim"]:
        """f(x) of unit length, run by run; differentiable in x."""
        return _embedded(x, self.weights, self.offsets)


def _embedded(x: Tensor, weights: Sequence[Tensor], offsets: Sequence[Tensor]) -> Tensor:
    for weight, offset in zip(weights[:-1], offsets[:-1], strict=True):
        # In place: what is rectified is needed by nobody, and memory of this size is dear to come by.
        x = torch.baddbmm(offset, x, weight).relu_()
    return normalize(torch.baddbmm(offsets[-1], x, weights[-1]), dim=-1)
