"""SignNet: networks on eigenvectors that do not depend on their signs."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.batches import batch_of, check_eigenpairs, check_features
from tammes.spectral.copies import Copies
from tammes.spectral.gin import GINConfig
from tammes.spectral.perceptron import SummedConfig
from tammes.spectral.phi import Phi, PhiConfig, Rho, RhoConfig


class SignNet(nn.Module):
    """f = rho([phi(v_i) + phi(-v_i)]_i): node encodings that no sign changes.

    phi sees all eigenvectors of all graphs, with both signs, in one pass: what it normalizes by the batch and
    what it drops is then the same for v and -v, and f is invariant in training as in evaluation.
    `SignNetConfig` builds it; parts of your own are subclasses of `Phi` and `Rho`.

    Args:
        phi: from signals to channels, for each eigenvector.
        rho: from the channels of all eigenvectors of a node to its encoding.
        phi_sees_eigenvalues: whether the signals that phi gets are (v_i, lambda_i), instead of v_i alone.
        rho_sees_eigenvalues: whether lambda_i is a further channel of what rho gets.
        features: how many features of a node are further signals; with 0, `x` is not looked at.

    Source: Robinson (2023), eq. 7.5 and 7.6; Lim et al., Sign and Basis Invariant Networks for Spectral Graph
    Representation Learning, 2023. Differs: the published code passes v and -v one after the other, so that
    batch statistics tell them apart in training.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.long)
        >>> pairs = eigenpairs(edges, batch)
        >>> signnet = SignNetConfig(dim=4, phi=GINConfig(width=8, layers=2)).build()
        >>> signnet(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        phi: Phi,
        rho: Rho,
        phi_sees_eigenvalues: bool,
        rho_sees_eigenvalues: bool,
        features: int,
    ) -> None:
        super().__init__()
        self.phi = phi
        self.rho = rho
        self.phi_sees_eigenvalues = phi_sees_eigenvalues
        self.rho_sees_eigenvalues = rho_sees_eigenvalues
        self.features = features
        self.dim = rho.outputs

    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"],
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes dim"]:
        """The encoding of each node.

        Args:
            x: node features; not looked at where the network was built for none.
            edge_index: of the batch; a phi on graphs passes messages from the first node to the second.
            batch: the graph of each node, ascending; None for one graph.
            eigenvectors: of any float type; columns beyond a graph's own number are 0.
            eigenvalues: of any float type.

        Raises:
            ValueError: for eigenpairs of another number of nodes or graphs, or that are not finite, and for
                node features of another number than the network was built for.
        """
        batch = batch_of(batch, eigenvectors)
        check_eigenpairs(batch, eigenvectors, eigenvalues)
        copies = Copies.of(edge_index, batch, eigenvectors, len(eigenvalues))
        dtype = next(self.parameters()).dtype
        value = eigenvalues.to(dtype)[batch[copies.node], copies.column][:, None]
        vector = eigenvectors[copies.node, copies.column].to(dtype)
        signals = torch.stack([vector, -vector], dim=1)[..., None]  # (rows, 2, 1)
        others = [value] if self.phi_sees_eigenvalues else []
        if self.features:
            others.append(check_features(x, len(batch), self.features).to(dtype)[copies.node])
        for other in others:
            signals = torch.cat([signals, other[:, None].expand(-1, 2, -1)], dim=2)
        encoded = self.phi(signals, copies).sum(1)  # (rows, channels)
        if self.rho_sees_eigenvalues:
            encoded = torch.cat([encoded, value], dim=1)
        return self.rho(encoded, copies)


@dataclass(frozen=True, kw_only=True)
class SignNetConfig:
    """Settings of a `SignNet`.

    Raises:
        ValueError: for a dimension below 1, or fewer than no features.

    Example:
        >>> SignNetConfig(dim=16).build().dim
        16
    """

    dim: int
    """Channels of a node's encoding."""

    phi: PhiConfig = field(default_factory=GINConfig)
    """What every eigenvector goes through."""

    rho: RhoConfig = field(default_factory=SummedConfig)
    """What joins the eigenvectors of a node."""

    phi_sees_eigenvalues: bool = True
    """Whether phi gets the eigenvalue beside each entry of its vector."""

    rho_sees_eigenvalues: bool = False
    """Whether rho gets the eigenvalue beside what phi made of its vector."""

    features: int = 0
    """Features of a node that phi gets beside each entry of a vector; at 0, `x` is not looked at."""

    def __post_init__(self) -> None:
        check_integer("dim", self.dim)
        check_integer("features", self.features, minimum=0)

    def build(self) -> SignNet:
        """Build it, with weights from torch's generator."""
        phi = self.phi.build(1 + int(self.phi_sees_eigenvalues) + self.features)
        return SignNet(
            phi=phi,
            rho=self.rho.build(phi.outputs + int(self.rho_sees_eigenvalues), self.dim),
            phi_sees_eigenvalues=self.phi_sees_eigenvalues,
            rho_sees_eigenvalues=self.rho_sees_eigenvalues,
            features=self.features,
        )
