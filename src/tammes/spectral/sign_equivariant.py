"""Networks whose encodings change sign with the eigenvectors, for tasks on pairs of nodes."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.checks import check_integer
from tammes.spectral.batches import EigenvectorBatch, EigenvectorNetwork, check_edges
from tammes.spectral.layers import MLP
from tammes.spectral.signnet import SignNet


class SignEquivariantNet(EigenvectorNetwork):
    """f(V)_ui = v_i(u) w(|v_i(u)|, lambda_i, s(u)), with w a perceptron and s(u) the encoding of a SignNet.

    If v_i changes its sign, so does f(V)_i, and nothing else. An invariant network gives equal encodings to
    two nodes that an automorphism of the graph exchanges (where no eigenvalue is repeated), so no function of
    the encodings of u and w tells an edge (u, w) from a pair (u', w) that is none. The products of
    `link_features` do not depend on signs, and tell them apart: sum_i g(lambda_i) v_i(u) v_i(w) is the entry
    g(L)_uw of any function g of the Laplacian.

    Args:
        dim: channels of a node and an eigenvector.
        signnet: the invariant part, s.
        width: channels of the hidden layer of w.

    Raises:
        ValueError: for a dimension or width below 1.

    Source: Lim, Robinson, Jegelka, Lipman and Maron, Expressive Sign Equivariant Networks for Spectral
    Geometric Learning, 2023, which the thesis of Robinson (2023) names in section 1.5. Differs: one layer,
    with entries of an eigenvector at the node itself.

    Example:
        >>> from tammes.spectral import GINConfig, eigenpairs
        >>> path, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(path, batch)
        >>> network = SignEquivariantNet(dim=4, signnet=SignNet(dim=8, phi=GINConfig(width=8))).eval()
        >>> encodings = network(None, path, batch, pairs.vectors, pairs.values)
        >>> encodings.shape, link_features(encodings, path).shape
        (torch.Size([3, 3, 4]), torch.Size([4, 4]))
        >>> flipped = network(None, path, batch, -pairs.vectors, pairs.values)
        >>> bool(torch.allclose(flipped, -encodings))
        True
    """

    def __init__(self, *, dim: int, signnet: SignNet, width: int = 32) -> None:
        super().__init__(dim=dim, features=signnet.features)
        self.signnet = signnet
        self.weights = MLP([signnet.dim + 2, check_integer("width", width), dim])

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes k dim"]:
        invariant = self.signnet(given.x, given.edge_index, given.batch, given.vectors, given.values)
        vectors = given.vectors.to(invariant.dtype)[..., None]
        values = given.values.to(invariant.dtype)[given.batch, :, None]
        context = invariant[:, None].expand(-1, vectors.shape[1], -1)
        return vectors * self.weights(torch.cat([context, vectors.abs(), values], dim=2))


def link_features(
    encodings: Float[Tensor, "nodes k dim"], pairs: Int[Tensor, "2 pairs"]
) -> Float[Tensor, "pairs dim"]:
    """Return sum_i f(V)_ui f(V)_wi for each pair (u, w): features that do not depend on signs.

    Args:
        encodings: encodings of a `SignEquivariantNet`.
        pairs: nodes u and w of each pair, in one graph.

    Raises:
        ValueError: for pairs of another shape or type, or of nodes that there are not.

    Example:
        >>> encodings = torch.tensor([[[1.0], [2.0]], [[3.0], [-1.0]]])  # two nodes, two eigenvectors
        >>> link_features(encodings, torch.tensor([[0], [1]])).tolist()
        [[1.0]]
    """
    check_edges(pairs, torch.zeros(len(encodings), dtype=torch.long, device=pairs.device), name="pairs")
    return (encodings[pairs[0]] * encodings[pairs[1]]).sum(1)
