"""The map from latents to observations: a fixed random network, smooth, of adjustable difficulty."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer, check_number
from tammes.latent.kernel import check_dimension
from tammes.latent.streams import Streams

_OFFSET = 0.5
"""Standard deviation of a layer's offsets relative to its linear map; without offsets g would be odd."""


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """Mixing function g: layers of (random linear map, offset, tanh), then a linear map.

    The singular values of each linear map are evenly spaced on a logarithmic scale, with the quotient
    `condition` between the largest and the smallest, and its singular vectors are random. tanh is smooth and
    one-to-one, and so is g where no layer is narrower than the latents.

    Args:
        observed: dimensions of an observation, at least 2.
        depth: number of layers with a tanh, at least 0; 0 is a linear map.
        width: width of these layers, at least 1.
        condition: largest over smallest singular value of each linear map, at least 1.
        gain: root mean square of the input of each tanh over the latents, above 0: 0.1 is nearly linear,
            3 saturates.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), sec. II.A, which requires a smooth g and leaves the rest open.

    Example:
        >>> sample = torch.nn.functional.normalize(torch.randn(1, 100, 4), dim=-1)
        >>> g = Mixing(observed=16).draw(sample, Streams.of((0,), "mixing"))
        >>> g(sample).shape, round(float(g(sample).square().mean()), 3)
        (torch.Size([1, 100, 16]), 1.0)
    """

    observed: int
    depth: int = 2
    width: int = 64
    condition: float = 2.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        check_dimension("Mixing.observed", self.observed)
        check_integer("Mixing.depth", self.depth, minimum=0)
        check_integer("Mixing.width", self.width)
        check_number("Mixing.condition", self.condition, minimum=1)
        check_number("Mixing.gain", self.gain, above=0)

    def draw(self, sample: Float[Tensor, "runs n latents"], streams: Streams) -> MixingNetworks:
        """Draw the network of each run.

        Args:
            sample: a hundred latents or more, whose mean squares set the scale of every layer. Over them,
                observations have a mean square of 1.
            streams: random numbers of the runs.
        """
        layers: list[tuple[Tensor, Tensor]] = []
        inputs = sample
        for index in range(self.depth + 1):
            last = index == self.depth
            outputs = self.observed if last else self.width
            weight = self._linear(inputs.shape[-1], outputs, streams)
            mean_square = (inputs @ weight).square().mean(dim=(1, 2))[:, None, None]
            weight = weight * (1.0 if last else self.gain) / mean_square.sqrt()
            offset = torch.zeros_like(weight[:, :1])
            if not last:
                offset = _OFFSET * self.gain * streams.normal(1, outputs)
                inputs = torch.tanh(torch.baddbmm(offset, inputs, weight))
            layers.append((weight, offset))
        return MixingNetworks(layers=tuple(layers))

    def _linear(self, inputs: int, outputs: int, streams: Streams) -> Float[Tensor, "runs inputs outputs"]:
        rank = min(inputs, outputs)
        left = torch.linalg.qr(streams.normal(inputs, rank))[0]
        right = torch.linalg.qr(streams.normal(outputs, rank))[0]
        values = self.condition ** -torch.linspace(0, 1, rank, dtype=left.dtype, device=left.device)
        return (left * values) @ right.mT


@dataclass(frozen=True, kw_only=True, eq=False)
class MixingNetworks:
    """Networks g of all runs.

    Attributes:
        layers: weight (runs, inputs, outputs) and offset (runs, 1, outputs) of each layer; a tanh stands
            between two layers.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]

    def __call__(self, latents: Float[Tensor, "runs n latents"]) -> Float[Tensor, "runs n observed"]:
        """Return the observations of latents, run by run."""
        *hidden, (last_weight, last_offset) = self.layers
        x = latents
        for weight, offset in hidden:
            x = torch.baddbmm(offset, x, weight).tanh_()
        return torch.baddbmm(last_offset, x, last_weight)

    def part(self, runs: slice) -> MixingNetworks:
        """Return the networks of some runs."""
        return MixingNetworks(layers=tuple((weight[runs], offset[runs]) for weight, offset in self.layers))
