"""The map from latents to observations: a fixed random network, smooth, and as hard to undo as one asks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_integer, is_finite
from tammes.latent.streams import Streams

_OFFSET = 0.5
"""Standard deviation of a layer's offsets, as a part of that of its linear map: without them g is odd."""


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """g: latents -> observations: layers of (random linear map, offset, tanh), then a linear map.

    Each linear map has singular values evenly spaced on a logarithmic scale, their quotient being
    `condition`, between random orthonormal vectors. tanh is smooth and one-to-one, and so is g where no
    layer is narrower than the latents.

    Args:
        observed: dimensions of an observation.
        depth: layers with a tanh; 0 is a linear map.
        width: of those layers.
        condition: largest over smallest singular value of each linear map, at least 1.
        gain: root mean square of what enters a tanh, over latents: 0.1 is nearly linear, 3 saturates.

    Raises:
        ValueError: a number out of its range.

    Source: Weber and Bachman (2022), sec. II.A, which asks for a smooth g and leaves the rest open.

    Example:
        >>> sample = torch.nn.functional.normalize(torch.randn(1, 100, 4), dim=-1)
        >>> g = Mixing(observed=16).drawn(sample, Streams.of((0,), "mixing"))
        >>> g(sample).shape, round(float(g(sample).square().mean()), 3)
        (torch.Size([1, 100, 16]), 1.0)
    """

    observed: int
    depth: int = 2
    width: int = 64
    condition: float = 2.0
    gain: float = 1.0

    def __post_init__(self) -> None:
        check_integer(
            "Mixing.observed", self.observed, minimum=2, reason="in one dimension a sphere is two points"
        )
        check_integer("Mixing.depth", self.depth, minimum=0)
        check_integer("Mixing.width", self.width, minimum=1)
        if not (is_finite(self.condition) and self.condition >= 1):
            raise ValueError(f"Mixing.condition must be a number of at least 1, got {self.condition!r}")
        if not (is_finite(self.gain) and self.gain > 0):
            raise ValueError(f"Mixing.gain must be a positive number, got {self.gain!r}")

    def drawn(self, sample: Float[Tensor, "runs n latents"], streams: Streams) -> Mixed:
        """The network of each run.

        Args:
            sample: latents (runs, n, latents), a hundred or so, whose mean squares set the scale of every
                layer. Observations have a mean square of 1 over them.
            streams: of the runs.
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
        return Mixed(layers=tuple(layers))

    def _linear(self, inputs: int, outputs: int, streams: Streams) -> Float[Tensor, "runs inputs outputs"]:
        rank = min(inputs, outputs)
        left = torch.linalg.qr(streams.normal(inputs, rank))[0]
        right = torch.linalg.qr(streams.normal(outputs, rank))[0]
        values = self.condition ** -torch.linspace(0, 1, rank, dtype=left.dtype, device=left.device)
        return (left * values) @ right.mT


@dataclass(frozen=True, kw_only=True, eq=False)
class Mixed:
    """The networks g of all runs.

    Attributes:
        layers: (weight, offset) of each, (runs, inputs, outputs) and (runs, 1, outputs); tanh stands between.
    """

    layers: tuple[tuple[Tensor, Tensor], ...]

    def __call__(self, latents: Float[Tensor, "runs n latents"]) -> Float[Tensor, "runs n observed"]:
        """The observations of latents, run by run."""
        *hidden, (last_weight, last_offset) = self.layers
        x = latents
        for weight, offset in hidden:
            x = torch.baddbmm(offset, x, weight).tanh_()
        return torch.baddbmm(last_offset, x, last_weight)

    def part(self, runs: slice) -> Mixed:
        """Those of some runs."""
        return Mixed(layers=tuple((weight[runs], offset[runs]) for weight, offset in self.layers))
