"""BasisNet: node encodings that depend on eigenspaces, and on no basis of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.bases import CONSTANTS, Bases, check_multiplicities
from tammes.spectral.batches import EigenvectorBatch, EigenvectorNetwork
from tammes.spectral.copies import Copies
from tammes.spectral.eigen.eigenspaces import Projectors, RelativeGap
from tammes.spectral.equivariant.ign import IGN, IGNConfig
from tammes.spectral.equivariant.matrices import Dense, Nodes
from tammes.spectral.phi import RhoConfig, SummedConfig, part


class BasisNet(EigenvectorNetwork):
    """f(V_1, ..., V_l) = rho([IGN_{d_i}(V_i V_i^T)]_i), for each node of a batch of graphs.

    A projector is the same for every orthonormal basis, so neither signs nor rotations within eigenspaces
    change the result. Eigenspaces are found by the relative gaps of the eigenvalues. The IGN gets n V V^T,
    whose entries do not shrink on large graphs, and the eigenvalue, log d and 1/n. The first layer computes
    diagonals and means from V itself; n-by-n matrices are made for a few eigenspaces at a time, and again
    in the backward pass. A rho for a fixed number of columns gets as many eigenspaces as there are
    eigenvectors: those that a graph lacks count as zeros.

    Args:
        dim: channels of a node's encoding.
        ign: settings of the network on each projector; left out, `IGNConfig()`.
        rho: settings of the network that joins the eigenspaces of a node, as in a `SignNet` the eigenvectors;
            left out, `SummedConfig()`.
        multiplicities: dimensions of eigenspaces, with an IGN for each; None for one IGN for all dimensions.
        features: number of node features that the IGN gets, as x and as V V^T x; with 0, `x` is ignored.
        gap: rule for equal eigenvalues; left out, `RelativeGap()`.
        at_once: numbers in the largest tensor of a layer, up to which eigenspaces are processed together.

    Raises:
        ValueError: for sizes that are not integers or too small, for multiplicities that are empty or
            repeated, for another ign or rho, and, when called, for an eigenspace whose multiplicity is not in
            `multiplicities`.

    Source: Robinson (2023), eq. 7.8, E.2.2, E.11.3. Differs: nodes stay nodes (the published code transposes
    nodes and channels of the IGN's result); eigenvalues are not rounded; with node features, V V^T x is
    given, where the paper has the 2-IGN approximate the product.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = BasisNet(dim=4, ign=IGNConfig(matrix=(8,), vector=(16,)))
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        dim: int,
        ign: IGNConfig | None = None,
        rho: RhoConfig | None = None,
        multiplicities: tuple[int, ...] | None = None,
        features: int = 0,
        gap: RelativeGap | None = None,
        at_once: int = 2**23,
    ) -> None:
        super().__init__(dim=dim, features=features)
        self.at_once = check_integer("at_once", at_once)
        self.multiplicities = check_multiplicities(multiplicities)
        self.gap = gap or RelativeGap()
        self.ign = part("ign", ign, IGNConfig, IGNConfig())
        self.igns = nn.ModuleList(
            IGN(self.ign, inputs=1, constants=CONSTANTS, features=2 * features)
            for _ in multiplicities or (None,)
        )
        self.rho = part("rho", rho, RhoConfig, SummedConfig()).build(self.ign.dim, dim)

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes dim"]:
        dtype = next(self.parameters()).dtype
        bases = Bases.of(given.vectors, given.values, given.batch, self.gap).to(dtype)
        copies = bases.copies(given.edge_index)
        x = None if given.x is None else given.x.to(dtype)
        return self.rho(self.encodings(bases, copies, x), copies)

    def encodings(
        self, bases: Bases, copies: Copies, x: Float[Tensor, "nodes features"] | None = None
    ) -> Float[Tensor, "rows channels"]:
        """Return [IGN_{d_i}(V_i V_i^T)]_i, with a row for each node and each eigenspace of its graph."""
        chunks = [
            (ign, chunk)
            for ign, members in bases.by_multiplicity(self.igns, self.multiplicities)
            for chunk in self._chunks(bases, members)
        ]
        # The backward pass computes a chunk again: only its own matrices are in memory at that time.
        twice = partial(checkpoint, _encoded, use_reentrant=False, preserve_rng_state=False)
        encode = twice if len(chunks) > 1 and torch.is_grad_enabled() else _encoded
        result = bases.vectors.new_zeros(copies.rows, self.ign.dim)
        parts, places = [result[:0]], [copies.node[:0]]  # not empty, where `count` cuts all eigenspaces
        for ign, members in chunks:
            parts.append(encode(ign, bases, members, x))
            number = bases.number[members].to(copies.row.device)
            places.append(copies.row[bases.rows(members), number[:, None]][bases.nodes(members).mask])
        return result.index_copy(0, torch.cat(places), torch.cat(parts))

    def _chunks(self, bases: Bases, members: Int[Tensor, " some"]) -> list[Int[Tensor, " few"]]:
        """Return eigenspaces of graphs of similar size, as chunks of at most `at_once` numbers a tensor."""
        size, dimension = bases.sizes[bases.graph].tolist(), bases.dimension.tolist()
        chunks: list[list[int]] = []
        largest = 0
        for member in sorted(members.tolist(), key=lambda each: (size[each], dimension[each])):
            largest = max(largest, dimension[member])
            if not chunks or (len(chunks[-1]) + 1) * self._cost(size[member], largest) > self.at_once:
                chunks.append([])
                largest = dimension[member]
            chunks[-1].append(member)
        return [torch.tensor(chunk) for chunk in chunks]

    def _cost(self, n: int, d: int) -> int:
        """Return the numbers of one eigenspace in the largest tensor of a layer."""
        return n * max(d, 3, *self.ign.vector, *(n * width for width in self.ign.matrix))


def _encoded(
    ign: nn.Module, bases: Bases, members: Int[Tensor, " some"], x: Tensor | None
) -> Float[Tensor, "rows channels"]:
    """Return the IGN's output for some eigenspaces, a row for each node of each of them."""
    projectors = bases.projectors(members)
    nodes, factor = projectors.nodes, projectors.left
    features = None
    if x is not None:
        own = nodes.masked(x[bases.rows(members)].mT.contiguous())  # (some, features, n)
        # V V^T x by two thin products; the factors are sqrt(n) V.
        projected = own @ factor[:, 0] @ factor[:, 0].mT / nodes.counts.to(own)[:, None, None]
        features = torch.cat((own, projected), dim=1)
    return ign(projectors, nodes, bases.constants(members), features).mT[nodes.mask]


class ProjectorBasisNet(nn.Module):
    """f = rho([IGN(V_i (V_i^* V_i)^{-1} V_i^*)]_i) for each node of several graphs.

    The IGN gets the real and the imaginary part of n times the projector, the two parts of the eigenvalue,
    log d and 1/n. `Projectors.of` computes the projectors.

    Args:
        dim: channels of a node's encoding.
        ign: settings of the network on each projector; left out, `IGNConfig()`.
        rho: settings of the network that joins the eigenspaces of a node; left out, `SummedConfig()`.

    Raises:
        ValueError: for a dimension below 1, or another ign or rho.

    Source: Robinson (2023), eq. E.6 and E.9.

    Example:
        >>> cycle = torch.tensor([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # directed
        >>> ProjectorBasisNet(dim=4)([Projectors.of(cycle)]).shape
        torch.Size([3, 4])
    """

    def __init__(self, *, dim: int, ign: IGNConfig | None = None, rho: RhoConfig | None = None) -> None:
        super().__init__()
        self.dim = check_integer("dim", dim)
        widths = part("ign", ign, IGNConfig, IGNConfig())
        self.ign = IGN(widths, inputs=2, constants=CONSTANTS + 1)
        self.rho = part("rho", rho, RhoConfig, SummedConfig()).build(widths.dim, dim)

    def forward(
        self, graphs: Sequence[Projectors], edge_index: Int[Tensor, "2 m"] | None = None
    ) -> Float[Tensor, "nodes dim"]:
        """Return the encodings of all nodes, one graph after the other.

        Args:
            graphs: eigenspaces of each graph.
            edge_index: edges of all graphs, passed to rho.

        Raises:
            ValueError: for no graphs.
        """
        if not graphs:
            raise ValueError("expected the projectors of at least one graph, got none")
        dtype = next(self.parameters()).dtype
        encoded = torch.cat([self._encoded(each, dtype) for each in graphs])
        counts, sizes = torch.tensor([each.matrices.shape[:2] for each in graphs], device=encoded.device).T
        present = torch.arange(int(sizes.max()), device=encoded.device) < counts[:, None]
        batch = torch.arange(len(graphs), device=encoded.device).repeat_interleave(sizes)
        return self.rho(encoded, Copies.where(present, batch, edge_index))

    def _encoded(self, spaces: Projectors, dtype: torch.dtype) -> Float[Tensor, "rows channels"]:
        """Return a row for each node and eigenspace of one graph."""
        count, n, _ = spaces.matrices.shape
        nodes = Nodes(sizes=(n,) * count, device=spaces.matrices.device)
        entries = n * torch.view_as_real(spaces.matrices).movedim(3, 1).to(dtype)
        others = torch.stack((spaces.dimensions.double().log(), 1 / nodes.counts), dim=1)
        constants = torch.cat((torch.view_as_real(spaces.values), others), dim=1).to(dtype)
        vectors = self.ign(Dense(entries=entries, nodes=nodes), nodes, constants)
        return vectors.permute(2, 0, 1).flatten(0, 1)  # (n spaces, channels)
