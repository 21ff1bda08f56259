"""BasisNet: node encodings that depend on eigenspaces, and on no basis of them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tammes.spectral.bases import CONSTANTS, Bases
from tammes.spectral.counts import check_count
from tammes.spectral.eigenspaces import RelativeGap
from tammes.spectral.ign import IGN, IGNConfig
from tammes.spectral.multiplicities import checked, shares


class BasisNet(nn.Module):
    """f(V_1, ..., V_l) = rho([IGN_{d_i}(V_i V_i^T)]_i), for each node of a batch of graphs.

    A projector is the same for every orthonormal basis, so neither signs nor rotations within eigenspaces
    change the result. Eigenspaces are found by the relative gaps of the eigenvalues. The IGN sees n V V^T,
    whose entries do not become small on large graphs, and is told the eigenvalue, log d and log n. The first
    layer takes what it can from V itself; matrices are made for a few eigenspaces at a time, and made again
    in the backward pass.

    Args:
        rho: from `(nodes, l, channels)` and where there is an eigenspace, `(nodes, l)`, to `(nodes, dim)`.
        ign: the layers from a projector to a vector.
        multiplicities: the dimensions of eigenspaces that there are, an IGN for each of them; None for one
            that is told the dimension.
        features: channels of node features that the IGN sees, as x and as V V^T x; 0 for none.
        gap: which eigenvalues count as equal.
        at_once: numbers in the largest tensor of a layer, up to which eigenspaces are processed together.

    Raises:
        ValueError: for numbers that are not integers, or too small, and for no multiplicities, or some twice.

    Source: Robinson (2023), eq. 7.8, E.2.2, E.11.3. Differs: nodes stay nodes (the published code transposes
    nodes and channels of the IGN's result); eigenvalues are not rounded; with node features, V V^T x is
    given, where the paper has the 2-IGN approximate the product.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = BasisNet(SumThenMLP(8, 4), ign=IGNConfig(vector=(16, 8))).double()
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        rho: nn.Module,
        *,
        ign: IGNConfig | None = None,
        multiplicities: Sequence[int] | None = None,
        features: int = 0,
        gap: RelativeGap | None = None,
        at_once: int = 2**23,
    ) -> None:
        super().__init__()
        check_count("features", features, least=0)
        check_count("at_once", at_once)
        self.config = IGNConfig() if ign is None else ign
        self.multiplicities = checked(multiplicities)
        self.features, self.at_once = features, at_once
        self.gap = RelativeGap() if gap is None else gap
        self.igns = nn.ModuleList(
            IGN(self.config, inputs=1, constants=CONSTANTS, features=2 * features)
            for _ in self.multiplicities or (1,)
        )
        self.rho = rho

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
            x: node features; needed where `features` is not 0, and else ignored.
            edge_index: ignored; here because every encoding has it.
            batch: the graph of each node, ascending; None for one graph.
            eigenvectors: columns beyond a graph's own number are 0.
            eigenvalues: ascending.

        Raises:
            ValueError: for shapes that do not fit each other, numbers that are not finite, and an eigenspace
                whose multiplicity is none of those known.
        """
        bases = Bases.of(eigenvectors, eigenvalues, batch, self.gap)
        encodings, there = self.encodings(bases, self._checked(x, bases))
        return self.rho(encodings, there)

    def encodings(
        self, bases: Bases, x: Float[Tensor, "nodes features"] | None = None
    ) -> tuple[Float[Tensor, "nodes l channels"], Bool[Tensor, "nodes l"]]:
        """[IGN_{d_i}(V_i V_i^T)]_i, a column for each eigenspace of a graph, and where there is one."""
        chunks = [
            (ign, chunk)
            for ign, members in zip(self.igns, shares(bases, self.multiplicities), strict=True)
            for chunk in self._chunks(bases, members)
        ]
        nodes, most = len(bases.vectors), bases.most
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
            slots = bases.rows(members) * most + numbers.to(bases.vectors.device)[:, None]
            places.append(slots[bases.nodes(members).mask])
        place = torch.cat(places)
        result = bases.vectors.new_zeros(nodes * most, self.config.dim).index_copy(0, place, torch.cat(parts))
        there = torch.zeros(nodes * most, dtype=torch.bool, device=place.device).index_fill(0, place, True)
        return result.view(nodes, most, -1), there.view(nodes, most)

    def _checked(self, x: Tensor | None, bases: Bases) -> Tensor | None:
        if not self.features:
            return None
        expected = (len(bases.vectors), self.features)
        if x is None or x.shape != expected or not x.is_floating_point():
            came = "None" if x is None else f"{x.dtype} {tuple(x.shape)}"
            raise ValueError(f"expected node features x as real numbers of shape {expected}, got {came}")
        return x

    def _chunks(self, bases: Bases, members: list[int]) -> list[list[int]]:
        """Eigenspaces of graphs of similar size, so many that no tensor holds more than `at_once` numbers."""
        size = [bases.sizes[bases.spaces[member].graph] for member in range(len(bases.spaces))]
        chunks: list[list[int]] = []
        widest, fattest = 0, 0
        for member in sorted(members, key=lambda each: (size[each], bases.spaces[each].dimension)):
            widest, fattest = max(widest, size[member]), max(fattest, bases.spaces[member].dimension)
            if not chunks or (len(chunks[-1]) + 1) * self._cost(widest, fattest) > self.at_once:
                chunks.append([])
                widest, fattest = size[member], bases.spaces[member].dimension
            chunks[-1].append(member)
        return chunks

    def _cost(self, n: int, d: int) -> int:
        """The numbers of one eigenspace in the largest tensor of a layer."""
        vectors = n * max(d, 3, *self.config.vector)
        return max(vectors, n**2 * max(self.config.matrix)) if self.config.matrix else vectors


def _encoded(
    ign: IGN, bases: Bases, members: Sequence[int], x: Tensor | None
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
