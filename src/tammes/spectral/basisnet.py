"""BasisNet: node encodings that depend on eigenspaces, and on no basis of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tammes.checks import check_integer
from tammes.spectral.bases import CONSTANTS, Bases
from tammes.spectral.batches import batch_of, check_features
from tammes.spectral.copies import Copies
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.ign import IGN, IGNConfig
from tammes.spectral.multiplicities import check_multiplicities, shares
from tammes.spectral.perceptron import SummedConfig
from tammes.spectral.phi import RhoConfig


@dataclass(frozen=True, kw_only=True)
class BasisNetConfig:
    """Settings of a `BasisNet`.

    Raises:
        ValueError: for numbers that are not integers, or too small, and for no multiplicities, or one twice.

    Example:
        >>> BasisNetConfig(dim=16).build().dim
        16
    """

    dim: int
    """Channels of a node's encoding."""

    ign: IGNConfig = field(default_factory=IGNConfig)
    """What the projector of every eigenspace goes through."""

    rho: RhoConfig = field(default_factory=SummedConfig)
    """What joins the eigenspaces of a node, as in a `SignNet` the eigenvectors."""

    multiplicities: tuple[int, ...] | None = None
    """The dimensions of eigenspaces that there are, with an IGN for each; None for one that is told them."""

    features: int = 0
    """Features of a node that the IGN gets, as x and as V V^T x; at 0, `x` is not looked at."""

    gap: RelativeGap = field(default_factory=RelativeGap)
    """Which eigenvalues count as equal."""

    at_once: int = 2**23
    """Numbers in the largest tensor of a layer, up to which eigenspaces are processed together."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        check_multiplicities(self.multiplicities)
        check_integer("features", self.features, minimum=0)
        check_integer("at_once", self.at_once)

    def build(self) -> BasisNet:
        """Build it, with weights from torch's generator."""
        return BasisNet(self)


class BasisNet(nn.Module):
    """f(V_1, ..., V_l) = rho([IGN_{d_i}(V_i V_i^T)]_i), for each node of a batch of graphs.

    A projector is the same for every orthonormal basis, so neither signs nor rotations within eigenspaces
    change the result. Eigenspaces are found by the relative gaps of the eigenvalues. The IGN sees n V V^T,
    whose entries do not become small on large graphs, and is told the eigenvalue, log d and 1/n. The first
    layer takes what it can from V itself; matrices are made for a few eigenspaces at a time, and made again
    in the backward pass. To a rho for a fixed number of columns, eigenspaces are as many as eigenvectors:
    those that a graph does not have count as zeros.

    Args:
        config: its settings.

    Source: Robinson (2023), eq. 7.8, E.2.2, E.11.3. Differs: nodes stay nodes (the published code transposes
    nodes and channels of the IGN's result); eigenvalues are not rounded; with node features, V V^T x is
    given, where the paper has the 2-IGN approximate the product.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = BasisNetConfig(dim=4, ign=IGNConfig(matrix=(8,), vector=(16,))).build()
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(self, config: BasisNetConfig) -> None:
        super().__init__()
        self.config, self.dim = config, config.dim
        self.igns = nn.ModuleList(
            IGN(config.ign, inputs=1, constants=CONSTANTS, features=2 * config.features)
            for _ in config.multiplicities or (None,)
        )
        self.rho = config.rho.build(config.ign.dim, config.dim)

    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes dim"]:
        """Node encodings.

        Args:
            x: node features; not looked at where the network was made for none.
            edge_index: handed to rho.
            batch: the graph of each node, ascending; None for one graph.
            eigenvectors: columns beyond a graph's own number are 0.
            eigenvalues: ascending.

        Raises:
            ValueError: for shapes that do not fit each other, numbers that are not finite, and an eigenspace
                whose multiplicity is none of those known.
        """
        batch, dtype = batch_of(batch, eigenvectors), next(self.parameters()).dtype
        bases = Bases.of(eigenvectors, eigenvalues, batch, self.config.gap).to(dtype)
        features = self.config.features
        seen = check_features(x, len(batch), features).to(dtype) if features else None
        copies = bases.copies(edge_index)
        return self.rho(self.encodings(bases, copies, seen), copies)

    def encodings(
        self, bases: Bases, copies: Copies, x: Float[Tensor, "nodes features"] | None = None
    ) -> Float[Tensor, "rows channels"]:
        """[IGN_{d_i}(V_i V_i^T)]_i, a row for each node and each eigenspace of its graph."""
        chunks = [
            (ign, chunk)
            for ign, members in zip(self.igns, shares(bases, self.config.multiplicities), strict=True)
            for chunk in self._chunks(bases, members)
        ]
        parts, places = [], []
        for ign, members in chunks:
            if len(chunks) > 1 and torch.is_grad_enabled():
                part = checkpoint(
                    _encoded, ign, bases, members, x, use_reentrant=False, preserve_rng_state=False
                )
            else:
                part = _encoded(ign, bases, members, x)
            parts.append(part)
            numbers = torch.tensor([bases.spaces[member].number for member in members])
            rows = copies.row[bases.rows(members), numbers.to(copies.row.device)[:, None]]
            places.append(rows[bases.nodes(members).mask])
        result = bases.vectors.new_zeros(copies.rows, self.config.ign.dim)
        return result.index_copy(0, torch.cat(places), torch.cat(parts))

    def _chunks(self, bases: Bases, members: list[int]) -> list[list[int]]:
        """Eigenspaces of graphs of similar size, so many that no tensor holds more than `at_once` numbers."""
        size = [bases.sizes[bases.spaces[member].graph] for member in range(len(bases.spaces))]
        chunks: list[list[int]] = []
        widest, fattest = 0, 0
        for member in sorted(members, key=lambda each: (size[each], bases.spaces[each].dimension)):
            widest, fattest = max(widest, size[member]), max(fattest, bases.spaces[member].dimension)
            if not chunks or (len(chunks[-1]) + 1) * self._cost(widest, fattest) > self.config.at_once:
                chunks.append([])
                widest, fattest = size[member], bases.spaces[member].dimension
            chunks[-1].append(member)
        return chunks

    def _cost(self, n: int, d: int) -> int:
        """The numbers of one eigenspace in the largest tensor of a layer."""
        ign = self.config.ign
        return n * max(d, 3, *ign.vector, *(n * width for width in ign.matrix))


def _encoded(
    ign: nn.Module, bases: Bases, members: Sequence[int], x: Tensor | None
) -> Float[Tensor, "rows channels"]:
    """What an IGN makes of some eigenspaces, a row for each node of each of them."""
    projectors = bases.projectors(members)
    nodes, factor = projectors.nodes, projectors.left
    features = None
    if x is not None:
        own = nodes.masked(x[bases.rows(members)].mT.contiguous())  # (some, features, n)
        projected = own @ factor[:, 0] @ factor[:, 0].mT / nodes.counts.to(own)[:, None, None]
        features = torch.cat((own, projected), dim=1)
    constants = bases.constants(members)
    return ign(projectors, nodes, constants, features).mT[nodes.mask]
