"""SignNet: networks on eigenvectors that are invariant to their signs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from tammes.spectral.batches import EigenvectorBatch, EigenvectorNetwork
from tammes.spectral.copies import Copies
from tammes.spectral.phi import GINConfig, Phi, PhiConfig, RhoConfig, SummedConfig, part


class SignNet(EigenvectorNetwork):
    """f = rho([phi(v_i) + phi(-v_i)]_i): node encodings that are invariant to the signs of eigenvectors.

    phi gets all eigenvectors of all graphs, with both signs, in one pass. Batch statistics and dropout masks
    are then the same for v and -v, so f is invariant in training as in evaluation.

    Args:
        dim: channels of a node's encoding.
        phi: network on each eigenvector, or its settings; left out, `GINConfig()`.
        rho: settings of the network that joins the eigenvectors of a node; left out, `SummedConfig()`.
        phi_sees_eigenvalues: whether phi gets (v_i, lambda_i), instead of v_i alone.
        rho_sees_eigenvalues: whether rho gets lambda_i as one more channel beside phi's output.
        features: number of node features that phi gets beside each entry of a vector; with 0, `x` is ignored.

    Raises:
        ValueError: for a dimension below 1, a negative number of features, or another phi or rho.

    Source: Robinson (2023), eq. 7.5 and 7.6; Lim et al., Sign and Basis Invariant Networks for Spectral Graph
    Representation Learning, 2023. Differs: the published code passes v and -v one after the other, so that
    their batch statistics differ in training.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.long)
        >>> pairs = eigenpairs(edges, batch)
        >>> signnet = SignNet(dim=4, phi=GINConfig(width=8, layers=2))
        >>> signnet(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        dim: int,
        phi: Phi | PhiConfig | None = None,
        rho: RhoConfig | None = None,
        phi_sees_eigenvalues: bool = True,
        rho_sees_eigenvalues: bool = False,
        features: int = 0,
    ) -> None:
        super().__init__(dim=dim, features=features)
        self.phi_sees_eigenvalues = phi_sees_eigenvalues
        self.rho_sees_eigenvalues = rho_sees_eigenvalues
        inputs = 1 + int(phi_sees_eigenvalues) + features
        self.phi = phi if isinstance(phi, Phi) else part("phi", phi, PhiConfig, GINConfig()).build(inputs)
        joined = self.phi.outputs + int(rho_sees_eigenvalues)
        self.rho = part("rho", rho, RhoConfig, SummedConfig()).build(joined, dim)

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes dim"]:
        copies, dtype = _copies(given, edges=self.phi.reads_edges), next(self.parameters()).dtype
        value = given.values.to(dtype)[given.batch[copies.node], copies.column][:, None]
        vector = given.vectors[copies.node, copies.column].to(dtype)
        signals = torch.stack([vector, -vector], dim=1)[..., None]  # (rows, 2, 1)
        others = [value] if self.phi_sees_eigenvalues else []
        if given.x is not None:
            others.append(given.x.to(dtype)[copies.node])
        seen = torch.cat([signals, *(other[:, None].expand(-1, 2, -1) for other in others)], dim=2)
        encoded = self.phi(seen, copies).sum(1)  # (rows, channels)
        if self.rho_sees_eigenvalues:
            encoded = torch.cat([encoded, value], dim=1)
        return self.rho(encoded, copies)


# The number of rows is that of the eigenvectors: it would break the compiled graph.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _copies(given: EigenvectorBatch, *, edges: bool) -> Copies:
    copies = Copies.of(given.edge_index, given.batch, given.vectors, given.values.shape[0])
    if torch.compiler.is_exporting():
        torch._check(copies.rows > 0)  # which the exporter asks for
    copies.by_node  # noqa: B018  # computed here, and not within the compiled graph
    if edges:
        copies.neighborhoods  # noqa: B018  # likewise
    return copies
