"""Baselines of SignNet: other choices of signs, and SignNet without its invariance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.batches import EigenvectorBatch, EigenvectorNetwork, check_columns
from tammes.spectral.copies import Copies
from tammes.spectral.phi import Phi, PhiConfig, Signals

ROUNDING = 1e-5
"""Entries below this fraction of the largest entry of their vector have no sign."""


class AbsoluteValues(EigenvectorNetwork):
    """[|v_1|, ..., |v_k|]: invariant, but nodes on either side of a zero become alike.

    Args:
        eigenvectors: number of columns, k.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.2.3 and E.11.2.

    Example:
        >>> AbsoluteValues(1)(None, None, None, torch.tensor([[-0.6], [0.8]]), torch.zeros(1, 1)).tolist()
        [[0.6000000238418579], [0.800000011920929]]
    """

    def __init__(self, eigenvectors: int) -> None:
        super().__init__(dim=check_integer("eigenvectors", eigenvectors))

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes k"]:
        check_columns(given.vectors.shape[1], self.dim)
        return given.vectors.abs()


class RandomFlips(EigenvectorNetwork):
    """[s_1 v_1, ..., s_k v_k], with random signs s_i for each graph, drawn at each call in training (LapPE).

    In evaluation the eigenvectors keep their signs. A network behind it has to learn from 2^k cases what does
    not depend on signs.

    Args:
        eigenvectors: number of columns, k.
        generator: random generator of the signs.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.11.2; Dwivedi et al., Benchmarking Graph Neural Networks, 2020.

    Example:
        >>> flips = RandomFlips(1, generator=torch.Generator().manual_seed(0))
        >>> vectors, values = torch.full((2, 1), 0.5), torch.zeros(1, 1)
        >>> flips(None, None, None, vectors, values).abs().tolist()
        [[0.5], [0.5]]
    """

    def __init__(self, eigenvectors: int, *, generator: torch.Generator) -> None:
        super().__init__(dim=check_integer("eigenvectors", eigenvectors))
        self.generator = generator

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes k"]:
        check_columns(given.vectors.shape[1], self.dim)
        if not self.training:
            return given.vectors
        return given.vectors * _random_signs(given.values, self.generator).to(given.vectors)[given.batch]


class CanonicalSigns(EigenvectorNetwork):
    """Each v_i with the sign that makes most of its entries positive.

    A tie is decided by the sum of the entries, which becomes positive (the l1 norm of the positive part is
    then the larger one). A sum of 0, as for all but one of the eigenvectors of diag(d) - A on a connected
    graph, leaves a random sign.

    Args:
        eigenvectors: number of columns, k.
        generator: random generator of undecided signs, used at each call.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.11.2. Differs: entries that are zero up to rounding count on neither side.

    Example:
        >>> canonical = CanonicalSigns(1, generator=torch.Generator().manual_seed(0))
        >>> vectors = torch.tensor([[-0.6], [-0.8], [0.0]])
        >>> canonical(None, None, None, vectors, torch.zeros(1, 1)).sign().tolist()
        [[1.0], [1.0], [0.0]]
    """

    def __init__(self, eigenvectors: int, *, generator: torch.Generator) -> None:
        super().__init__(dim=check_integer("eigenvectors", eigenvectors))
        self.generator = generator

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes k"]:
        check_columns(given.vectors.shape[1], self.dim)
        vectors, batch = given.vectors, given.batch
        zeros = torch.zeros_like(given.values, dtype=vectors.dtype)
        index = batch[:, None].expand_as(vectors)
        largest = zeros.scatter_reduce(0, index, vectors.abs(), "amax")
        clear = vectors.where(vectors.abs() > ROUNDING * largest[batch], 0.0)
        majority = zeros.index_add(0, batch, clear.sign())
        total = zeros.index_add(0, batch, clear)
        mass = zeros.index_add(0, batch, clear.abs())
        undecided = _random_signs(given.values, self.generator).to(zeros)
        by_sum = total.sign().where(total.abs() > ROUNDING * mass, undecided)
        return vectors * majority.sign().where(majority != 0, by_sum)[batch]


def _random_signs(values: Float[Tensor, "graphs k"], generator: torch.Generator) -> Int[Tensor, "graphs k"]:
    return 2 * torch.randint(2, values.shape, generator=generator, device=generator.device) - 1


class OneSign(Phi):
    """phi(v) for v and 0 for -v, so that a SignNet with it is rho([phi(v_i)]_i), which depends on signs.

    Batch statistics are those of v alone, and phi has half the work that it has with both signs.

    Args:
        phi: network on signals.
    """

    def __init__(self, phi: Phi) -> None:
        super().__init__()
        self.phi = phi
        self.outputs, self.reads_edges = phi.outputs, phi.reads_edges

    @override
    def forward(self, signals: Signals, copies: Copies) -> Signals:
        encoded = self.phi(signals[:, :1].contiguous(), copies)
        return torch.cat([encoded, torch.zeros_like(encoded)], dim=1)


@dataclass(frozen=True, kw_only=True)
class OneSignConfig(PhiConfig):
    """Settings of a `OneSign`, an ablation: SignNet's network and parameters without its symmetry.

    It separates what SignNet gains by its invariance from what it gains by a network on eigenvectors.

    Source: Robinson (2023), Table 7.1, "SignNet (phi(v) only)".

    Example:
        >>> from tammes.spectral import GINConfig, SignNet
        >>> _ = torch.manual_seed(0)  # of some weights no ReLU is left alive
        >>> ablation = SignNet(dim=4, phi=OneSignConfig(phi=GINConfig(width=8, layers=2))).eval()
        >>> edges, values = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([[1.0]])
        >>> v = torch.tensor([[0.7], [0.1], [-0.7]])
        >>> encodings = [ablation(None, edges, None, sign * v, values) for sign in (1, -1)]
        >>> bool(torch.allclose(*encodings))
        False
    """

    phi: PhiConfig
    """Settings of the network on each eigenvector."""

    @override
    def build(self, inputs: int) -> OneSign:
        return OneSign(self.phi.build(inputs))
