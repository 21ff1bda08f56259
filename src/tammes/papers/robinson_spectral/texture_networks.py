"""Networks from the eigenfunctions at a point of a mesh to its color.

Robinson (2023), sections 7.3.3 and E.11.5, Table E.7; Koestler et al., Intrinsic Neural Fields, 2022.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from typing_extensions import override

from tammes.spectral import ConcatenatedConfig, Copies, Phi, SignNet
from tammes.spectral.baselines import AbsoluteValues, RandomFlips

INTRINSIC, FLIPS, ABSOLUTE, SIGNNET = "intrinsic neural field", "sign flips", "absolute values", "SignNet"
METHODS = (INTRINSIC, FLIPS, ABSOLUTE, SIGNNET)
CONSTANT, UNTRAINED = "mean color", "SignNet, untrained"
CONTROLS = (CONSTANT, UNTRAINED)
WIDTH, WIDTH_BEHIND_SIGNNET, LAYERS, SKIP = 128, 108, 6, 3
"""Sizes of the multilayer perceptron; layer number SKIP, from 0, gets the input again."""
PHI_WIDTH, PHI_OUTPUTS, RHO_OUTPUTS = 8, 4, 64
"""Sizes of SignNet: three normalized linear maps as phi, one as rho; the paper's 323,563 parameters."""
NO_EDGES = torch.zeros(2, 0, dtype=torch.long)


class Perceptron(nn.Module):
    """Linear maps with ReLU between, a skip connection from the input, and a sigmoid at the end.

    Args:
        inputs: channels of a point.
        width: channels of the hidden layers.

    Source: Koestler et al. (2022), and their published code for the skip connection.

    Example:
        >>> sum(parameter.numel() for parameter in Perceptron(1023, width=128).parameters())
        328579
    """

    def __init__(self, inputs: int, *, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(LAYERS - 2))
        self.again = nn.Linear(inputs, width)
        self.last = nn.Linear(width, 3)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

    @override
    def forward(self, points: Float[Tensor, "n inputs"]) -> Float[Tensor, "n 3"]:
        h = self.first(points).relu()
        for number, layer in enumerate(self.hidden, start=1):
            h = (layer(h) + self.again(points) if number == SKIP else layer(h)).relu()
        return self.last(h).sigmoid()


class Entrywise(Phi):
    """phi(v)_j = MLP(v_j) with few channels, normalized by the batch.

    A million numbers in 8 channels are stored channel by channel, which is several times as fast on a CPU as
    number by number. The sizes are those of Table E.7.
    """

    reads_edges = False

    def __init__(self) -> None:
        super().__init__()
        self.outputs = PHI_OUTPUTS
        self.layers = nn.Sequential(
            nn.Conv1d(1, PHI_WIDTH, 1),
            nn.BatchNorm1d(PHI_WIDTH),
            nn.ReLU(),
            nn.Conv1d(PHI_WIDTH, PHI_WIDTH, 1),
            nn.BatchNorm1d(PHI_WIDTH),
            nn.ReLU(),
            nn.Conv1d(PHI_WIDTH, PHI_OUTPUTS, 1),
        )

    @override
    def forward(
        self, signals: Float[Tensor, "rows signs 1"], copies: Copies
    ) -> Float[Tensor, "rows signs outputs"]:
        return self.entries(signals)

    def entries(self, signals: Float[Tensor, "rows signs 1"]) -> Float[Tensor, "rows signs outputs"]:
        """Return phi of each entry, which needs no grouping of the rows."""
        flat = signals.permute(2, 1, 0).reshape(1, 1, -1)
        return self.layers(flat).view(self.outputs, 2, -1).permute(2, 1, 0)


class Standardized(nn.Module):
    """An encoding with mean 0 and variance 1 in each batch, which eigenfunctions have over the surface.

    Without it, a thousand absolute values, all positive, add up in the perceptron, and the first steps drive
    its colors to white.

    Args:
        encoding: encoding to be standardized.
        dim: channels of the encoding.
    """

    def __init__(self, encoding: nn.Module, dim: int) -> None:
        super().__init__()
        self.encoding, self.norm = encoding, nn.BatchNorm1d(dim, affine=False)

    @override
    def forward(
        self,
        x: None,
        edge_index: Int[Tensor, "2 m"],
        batch: None,
        eigenvectors: Float[Tensor, "n k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "n dim"]:
        return self.norm(self.encoding(x, edge_index, batch, eigenvectors, eigenvalues))


class Field(nn.Module):
    """Neural field: a color in [0, 1] for each point, from the eigenfunctions there.

    Args:
        encoding: SignNet or a baseline of it; None for the eigenfunctions themselves.
        perceptron: network from the encoding to a color.
        eigenvalues: eigenvalue of each eigenfunction.
    """

    def __init__(
        self, encoding: nn.Module | None, perceptron: Perceptron, eigenvalues: Float[Tensor, " k"]
    ) -> None:
        super().__init__()
        self.encoding, self.perceptron = encoding, perceptron
        self._eigenvalues = eigenvalues[None]

    @override
    def forward(self, eigenfunctions: Float[Tensor, "n k"]) -> Float[Tensor, "n 3"]:
        # The points are the nodes of one graph without edges.
        return self.perceptron(self.encoded(eigenfunctions))

    def encoded(self, eigenfunctions: Float[Tensor, "n k"]) -> Float[Tensor, "n channels"]:
        """Return the encodings, the inputs of the perceptron."""
        if self.encoding is None:
            return eigenfunctions
        return self.encoding(None, NO_EDGES, None, eigenfunctions, self._eigenvalues)

    @torch.no_grad()
    def even(self, eigenfunction: Float[Tensor, " n"]) -> Float[Tensor, "n outputs"]:
        """Return phi(v) + phi(-v) of a trained SignNet, for one eigenfunction."""
        assert isinstance(self.encoding, SignNet), "only SignNet has a phi"
        assert isinstance(self.encoding.phi, Entrywise), "built so"
        self.eval()
        both = torch.stack([eigenfunction, -eigenfunction], dim=1)[..., None]
        return self.encoding.phi.entries(both).sum(dim=1)


ENCODINGS: dict[str, Callable[[int, int], nn.Module | None]] = {
    INTRINSIC: lambda count, seed: None,
    FLIPS: lambda count, seed: RandomFlips(count, generator=torch.Generator().manual_seed(seed)),
    ABSOLUTE: lambda count, seed: Standardized(AbsoluteValues(count), count),
    SIGNNET: lambda count, seed: SignNet(
        dim=RHO_OUTPUTS,
        phi=Entrywise(),
        rho=ConcatenatedConfig(eigenvectors=count, layers=1),
        phi_sees_eigenvalues=False,
    ),
}
"""Constructors by method, from the number of eigenfunctions and the seed of random flips."""


def build(method: str, eigenvalues: Float[Tensor, " k"], seed: int) -> Field:
    """Return the network of a method; its weights come from torch's generator."""
    method, count = SIGNNET if method == UNTRAINED else method, len(eigenvalues)
    inputs, width = (RHO_OUTPUTS, WIDTH_BEHIND_SIGNNET) if method == SIGNNET else (count, WIDTH)
    encoding = ENCODINGS[method](count, seed)
    return Field(encoding, Perceptron(inputs, width=width), eigenvalues)
