"""SignNet and BasisNet as one would write them from the equations, with the weights of ours."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv

from tammes.spectral import BasisNet, SignNet
from tammes.spectral.bases import Bases
from tammes.spectral.equivariant.ign import MatrixToMatrix, MatrixToVector
from tammes.spectral.layers import NormalizedReLU


class Normalized(nn.BatchNorm1d):
    """Batch normalization of the last axis, with the weights of ours."""

    def __init__(self, ours: NormalizedReLU) -> None:
        super().__init__(ours.norm.num_features)
        self.load_state_dict(ours.norm.state_dict())

    def forward(self, values: Tensor) -> Tensor:
        """Statistics of all axes but the last."""
        return super().forward(values.flatten(0, -2)).view_as(values)


def plain(layers: nn.Sequential) -> nn.Sequential:
    """A multilayer perceptron of ours in torch's own layers, with copies of its weights."""
    made: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, nn.Linear):
            linear = nn.Linear(layer.in_features, layer.out_features, bias=layer.bias is not None)
            linear.load_state_dict(layer.state_dict())
            made.append(linear)
        else:
            made += [Normalized(layer), nn.ReLU()]
    return nn.Sequential(*made)


def convolution(layers: nn.Sequential) -> GINConv:
    """torch_geometric's step, which draws new weights for what it is given."""
    made = GINConv(plain(layers))
    made.nn.load_state_dict(plain(layers).state_dict())
    return made


class DirectPhi(nn.Module):
    """GIN by torch_geometric's layers; signals are (nodes, channels), or (columns, nodes, channels)."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.steps = nn.ModuleList(convolution(layer.mlp.layers) for layer in ours.layers)
        self.norms = nn.ModuleList(Normalized(layer.normalize) for layer in ours.layers[:-1])

    def forward(self, signals: Tensor, edge_index: Tensor) -> Tensor:
        """As in ours."""
        for step, norm in zip(self.steps[:-1], self.norms, strict=True):
            signals = norm(step(signals, edge_index)).relu()
        return self.steps[-1](signals, edge_index)


class DirectSignNet(nn.Module):
    """rho(sum_i phi(v_i) + phi(-v_i)): eigenvector by eigenvector, or all columns padded to the widest graph.

    Args:
        ours: whose weights are copied.
        loop: which of the two.
    """

    def __init__(self, ours: SignNet, *, loop: bool) -> None:
        super().__init__()
        self.phi, self.rho, self.loop = DirectPhi(ours.phi), plain(ours.rho.mlp.layers), loop

    def forward(
        self, x: None, edge_index: Tensor, batch: Tensor, eigenvectors: Tensor, eigenvalues: Tensor
    ) -> Tensor:
        """Node encodings."""
        columns = torch.arange(eigenvectors.shape[1], device=batch.device)
        exists = columns < torch.bincount(batch)[:, None]
        values = eigenvalues[batch].to(eigenvectors.dtype)
        straight = torch.stack([eigenvectors, values], dim=2).transpose(0, 1)  # (k, nodes, 2)
        flipped = torch.stack([-eigenvectors, values], dim=2).transpose(0, 1)
        if self.loop:
            pairs = zip(straight, flipped, strict=True)
            both = torch.stack([self.phi(v, edge_index) + self.phi(u, edge_index) for v, u in pairs])
        else:
            both = self.phi(straight, edge_index) + self.phi(flipped, edge_index)
        return self.rho((both * exists[batch].T[..., None]).sum(0))


class MaskedSignNet(nn.Module):
    """All columns padded, v and -v apart, and what is no eigenvector masked out of sums and statistics.

    That is how the published code for torch_geometric works: after each linear map the entries without an
    eigenvector become zeros, and each normalization picks the others.

    Args:
        ours: whose weights are copied.
    """

    def __init__(self, ours: SignNet) -> None:
        super().__init__()
        self.phi, self.rho, self.sum = DirectPhi(ours.phi), plain(ours.rho.mlp.layers), GINConv(nn.Identity())

    def forward(
        self, x: None, edge_index: Tensor, batch: Tensor, eigenvectors: Tensor, eigenvalues: Tensor
    ) -> Tensor:
        """Node encodings."""
        columns = torch.arange(eigenvectors.shape[1], device=batch.device)
        exists = (columns < torch.bincount(batch)[:, None])[batch].T  # (k, nodes)
        values = eigenvalues[batch].to(eigenvectors.dtype)
        both = [
            self.encoded(torch.stack([signed, values], dim=2).transpose(0, 1), edge_index, exists)
            for signed in (eigenvectors, -eigenvectors)
        ]
        return self.rho(sum(both).sum(0))

    def encoded(self, signals: Tensor, edge_index: Tensor, exists: Tensor) -> Tensor:
        """Phi of signals (k, nodes, channels)."""
        normalized = [*self.phi.norms, None]
        for step, norm in zip(self.phi.steps, normalized, strict=True):
            signals = self.sum(signals, edge_index)
            for layer in step.nn:
                signals = self.masked(layer, signals, exists)
            if norm is not None:
                signals = self.masked(norm, signals, exists).relu()
        return signals

    def masked(self, layer: nn.Module, signals: Tensor, exists: Tensor) -> Tensor:
        """Apply one layer."""
        if isinstance(layer, Normalized):
            signals[exists] = layer(signals[exists])
            return signals
        signals = layer(signals)
        if isinstance(layer, nn.Linear):
            signals[~exists] = 0
        return signals


class RaggedSignNet(nn.Module):
    """rho(sum_i phi(v_i) + phi(-v_i)) in one pass, as a skilled user of torch_geometric would write it.

    One disjoint copy of its graph for each eigenvector and sign, so that nothing is padded.

    Args:
        ours: whose weights are copied.
    """

    def __init__(self, ours: SignNet) -> None:
        super().__init__()
        self.phi, self.rho, self.outputs = DirectPhi(ours.phi), plain(ours.rho.mlp.layers), ours.phi.outputs

    def forward(
        self, x: None, edge_index: Tensor, batch: Tensor, eigenvectors: Tensor, eigenvalues: Tensor
    ) -> Tensor:
        """Node encodings."""
        columns = torch.arange(eigenvectors.shape[1], device=batch.device)
        exists = (columns < torch.bincount(batch)[:, None])[batch]
        node, column = exists.nonzero(as_tuple=True)
        row = (exists.flatten().cumsum(0) - 1).view_as(exists)
        edge, of_edge = exists[edge_index[0]].nonzero(as_tuple=True)
        edges = torch.stack([row[ends[edge], of_edge] for ends in edge_index])
        vectors, values = eigenvectors[node, column], eigenvalues[batch[node], column].to(eigenvectors.dtype)
        signals = torch.stack([torch.cat([vectors, -vectors]), values.repeat(2)], dim=1)
        encoded = (
            self.phi(signals, torch.cat([edges, edges + len(node)], dim=1)).view(2, len(node), -1).sum(0)
        )
        return self.rho(encoded.new_zeros(len(batch), self.outputs).index_add(0, node, encoded))


class DirectBasisNet(nn.Module):
    """All projectors of one graph, and what every linear map makes of each side by side, in n by n tiles.

    Args:
        ours: whose weights it shares.
    """

    def __init__(self, ours: BasisNet) -> None:
        super().__init__()
        self.ours, self.rho = ours, ours.rho

    def forward(
        self, x: None, edge_index: Tensor, batch: Tensor, eigenvectors: Tensor, eigenvalues: Tensor
    ) -> Tensor:
        """Node encodings."""
        bases = Bases.of(eigenvectors, eigenvalues, batch, self.ours.gap).to(eigenvectors.dtype)
        copies, (ign,) = bases.copies(edge_index), self.ours.igns
        places = zip(bases.column.tolist(), bases.dimension.tolist(), strict=True)
        spans, every = [slice(first, first + d) for first, d in places], torch.arange(len(bases.values))
        n = len(eigenvectors)
        matrices = torch.stack([n * eigenvectors[:, own] @ eigenvectors[:, own].T for own in spans])[:, None]
        constants = bases.constants(every)
        for place, layer in enumerate(ign.matrix):
            matrices = matrix_to_matrix(layer, matrices, None if place else constants).relu()
        vectors = matrix_to_vector(ign.collect, matrices, None if ign.matrix else constants)
        for layer in ign.vector:
            vectors = layer(vectors.relu(), bases.nodes(every))
        return self.ours.rho(vectors.permute(2, 0, 1).flatten(0, 1), copies)


def contracted(matrices: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The diagonal, the means of rows and of columns; the means of the diagonal and of all entries."""
    diagonal = matrices.diagonal(dim1=2, dim2=3)
    vectors = [diagonal, matrices.mean(3), matrices.mean(2)]
    return vectors, [diagonal.mean(2), matrices.mean((2, 3))]


def matrix_to_matrix(layer: MatrixToMatrix, matrices: Tensor, constants: Tensor | None) -> Tensor:
    """15 tiles, concatenated, then mixed."""
    n = matrices.shape[-1]
    vectors, scalars = contracted(matrices)
    filled = [each[..., None, None].expand(-1, -1, n, n) for each in scalars]
    tiles = [matrices, matrices.mT]
    tiles += [torch.diag_embed(each) for each in vectors]
    tiles += [each[..., None].expand(-1, -1, -1, n) for each in vectors]
    tiles += [each[..., None, :].expand(-1, -1, n, -1) for each in vectors]
    tiles += [each * torch.eye(n) for each in filled] + filled
    weight = torch.cat(
        (
            layer.entries,
            layer.vectors.transpose(1, 2).flatten(0, 1),
            layer.scalars.transpose(1, 2).flatten(0, 1),
        )
    )
    mixed = torch.einsum("toc,btcij->boij", weight, torch.stack(tiles, dim=1))
    on_diagonal, on_all = layer.bias[:, None]
    if constants is not None:
        on_diagonal, on_all = (
            bias + constants @ each.T
            for bias, each in zip((on_diagonal, on_all), layer.constants, strict=True)
        )
    return mixed + on_all[..., None, None] + on_diagonal[..., None, None] * torch.eye(n)


def matrix_to_vector(layer: MatrixToVector, matrices: Tensor, constants: Tensor | None) -> Tensor:
    """5 tiles, concatenated, then mixed."""
    vectors, scalars = contracted(matrices)
    tiles = vectors + [each[..., None].expand_as(vectors[0]) for each in scalars]
    weight = torch.cat((layer.vectors, layer.scalars), dim=1)
    mixed = torch.einsum("otc,btcn->bon", weight, torch.stack(tiles, dim=1)) + layer.bias[:, None]
    return mixed if constants is None else mixed + (constants @ layer.constants.T)[..., None]
