"""Universal networks: on nodes that have an order, and on tensors of any order for small graphs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_integer, check_number
from tammes.spectral.bases import CONSTANTS, Bases, check_multiplicities
from tammes.spectral.batches import EigenvectorBatch, EigenvectorNetwork
from tammes.spectral.eigen.eigenpairs import eigenvector_mask
from tammes.spectral.eigen.eigenspaces import RelativeGap
from tammes.spectral.equivariant.matrices import Nodes
from tammes.spectral.equivariant.tensors import TensorToTensor
from tammes.spectral.layers import PerceptronSizes


class Unconstrained(EigenvectorNetwork):
    """rho([h_1, ..., h_k]) with perceptrons on whole graphs of n nodes; a subclass computes the h_i.

    Neither signs nor bases matter; the order of nodes does. Such a network is universal for data whose nodes
    have an order, such as the eigenspaces of a covariance matrix.

    Args:
        dim: channels of a node's encoding.
        nodes: number of nodes of every graph, n.
        eigenvectors: number of columns of eigenvectors, k; columns that a graph lacks count as zeros.

    Raises:
        ValueError: for sizes that are not integers of at least 1.

    Source: Robinson (2023), eq. 7.5 and 7.7. Differs: rho gives a vector for each node, which makes the
    network interchangeable with `SignNet` and `BasisNet`.
    """

    rho: nn.Module

    def __init__(self, *, dim: int, nodes: int, eigenvectors: int) -> None:
        super().__init__(dim=dim)
        self.nodes = check_integer("nodes", nodes)
        self.eigenvectors = check_integer("eigenvectors", eigenvectors)

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes dim"]:
        sizes = set(torch.bincount(given.batch, minlength=len(given.values)).tolist())
        columns = given.vectors.shape[1]
        if sizes != {self.nodes} or columns != self.eigenvectors:
            raise ValueError(
                f"expected graphs of {self.nodes} nodes and {self.eigenvectors} columns of eigenvectors, as "
                f"this network was built for, got {sorted(sizes)} and {columns}"
            )
        return self.rho(self.parts(given).flatten(1)).view(len(given.batch), -1)

    def parts(self, given: EigenvectorBatch) -> Float[Tensor, "graphs eigenvectors width"]:
        """Return h_i for each column of each graph."""
        raise NotImplementedError


class UnconstrainedSignNet(Unconstrained):
    """f = rho([phi(v_i, lambda_i) + phi(-v_i, lambda_i)]_i) with perceptrons on all entries of a vector.

    Its arguments are those of `Unconstrained`.

    Source: Robinson (2023), eq. 7.5.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = UnconstrainedSignNet(dim=4, nodes=3, eigenvectors=3)
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        dim: int,
        nodes: int,
        eigenvectors: int,
        width: int = 64,
        layers: int = 3,
        normalize: bool = False,
    ) -> None:
        super().__init__(dim=dim, nodes=nodes, eigenvectors=eigenvectors)
        sizes = PerceptronSizes(width=width, layers=layers, normalize=normalize)
        self.phi = sizes.perceptron(nodes + 1, width)
        self.rho = sizes.perceptron(eigenvectors * width, nodes * dim)

    @override
    def parts(self, given: EigenvectorBatch) -> Float[Tensor, "graphs eigenvectors width"]:
        dtype = next(self.parameters()).dtype
        vectors = given.vectors.to(dtype).view(len(given.values), self.nodes, -1).mT  # (graphs, k, n)
        signals = torch.stack([vectors, -vectors], dim=2)
        value = given.values.to(dtype)[..., None, None].expand(-1, -1, 2, 1)
        encoded = self.phi(torch.cat([signals, value], dim=3)).sum(2)  # (graphs, k, width)
        mask = eigenvector_mask(given.vectors, given.batch, len(given.values))
        return encoded.where(mask[..., None], 0.0)


class UnconstrainedBasisNet(Unconstrained):
    """f(V_1, ..., V_l) = rho([phi_{d_i}(V_i V_i^T)]_i) with perceptrons on all entries of a projector.

    Args:
        dim: channels of a node's encoding.
        nodes: number of nodes of every graph, n.
        eigenvectors: number of columns of eigenvectors, and largest number of eigenspaces.
        width: channels of the hidden layers, and of phi's output.
        layers: number of linear layers of phi, and of rho.
        multiplicities: dimensions of eigenspaces, with a phi for each; None for one phi for all dimensions.
        gap: rule for equal eigenvalues; left out, `RelativeGap()`.

    Source: Robinson (2023), eq. 7.7.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = UnconstrainedBasisNet(dim=4, nodes=3, eigenvectors=3)
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        dim: int,
        nodes: int,
        eigenvectors: int,
        width: int = 64,
        layers: int = 3,
        multiplicities: tuple[int, ...] | None = None,
        gap: RelativeGap | None = None,
    ) -> None:
        super().__init__(dim=dim, nodes=nodes, eigenvectors=eigenvectors)
        sizes = PerceptronSizes(width=width, layers=layers, normalize=False)
        self.width = width
        self.gap = gap or RelativeGap()
        self.multiplicities = check_multiplicities(multiplicities)
        self.phis = nn.ModuleList(
            sizes.perceptron(nodes**2 + CONSTANTS, width) for _ in multiplicities or (None,)
        )
        self.rho = sizes.perceptron(eigenvectors * width, nodes * dim)

    @override
    def parts(self, given: EigenvectorBatch) -> Float[Tensor, "graphs eigenvectors width"]:
        dtype = next(self.parameters()).dtype
        bases = Bases.of(given.vectors, given.values, given.batch, self.gap).to(dtype)
        slots = bases.vectors.new_zeros(len(bases.sizes), self.eigenvectors, self.width)
        for phi, members in bases.by_multiplicity(self.phis, self.multiplicities):
            entries = bases.projectors(members).entries().flatten(1)
            found = phi(torch.cat((entries, bases.constants(members)), dim=1))
            slots = slots.index_put((bases.graph[members], bases.number[members]), found.to(slots.dtype))
        return slots


TENSORS_OF_A_LAYER = 3
"""Tensors of a layer that are in memory at once: its output, and intermediate results."""


class ExpressiveBasisNet(EigenvectorNetwork):
    """f(V_1, ..., V_l) = rho(sum_i IGN_{d_i}(V_i V_i^T)) with tensors of order p within, and in rho.

    Each layer has all linear equivariant maps between tensors of its orders, generated from set partitions:
    Bell(2p) of them from order p to order p. The tensors of a graph's eigenspaces are summed; the eigenvalue
    is an input of each IGN, so the sum still distinguishes them. Memory grows as n^p.

    Args:
        dim: channels of a node's encoding.
        order: number of indices of the tensors, p; at 2 they are matrices.
        width: channels of each tensor.
        layers: number of layers from the projector to the sum, and again from there to the nodes.
        multiplicities: dimensions of eigenspaces, with an IGN for each; None for one IGN for all dimensions.
        gap: rule for equal eigenvalues; left out, `RelativeGap()`.
        gigabytes: limit of the estimated memory of the tensors of a batch, with their gradients, in GB.

    Raises:
        ValueError: for sizes that are not integers of at least 1, and gigabytes that are not positive.

    Source: Robinson (2023), 7.1.2, "Expressive-BasisNet", and E.1. Differs: a sum instead of a
    concatenation of eigenspaces, which takes any number of them.

    Example:
        >>> from tammes.spectral import eigenpairs
        >>> edges, batch = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3).long()
        >>> pairs = eigenpairs(edges, batch)
        >>> network = ExpressiveBasisNet(dim=4, order=3)
        >>> network(None, edges, batch, pairs.vectors, pairs.values).shape
        torch.Size([3, 4])
    """

    def __init__(
        self,
        *,
        dim: int,
        order: int = 3,
        width: int = 8,
        layers: int = 2,
        multiplicities: tuple[int, ...] | None = None,
        gap: RelativeGap | None = None,
        gigabytes: float = 4.0,
    ) -> None:
        super().__init__(dim=dim)
        self.order = check_integer("order", order)
        self.width = check_integer("width", width)
        self.layers = check_integer("layers", layers)
        self.gigabytes = check_number("gigabytes", gigabytes, above=0)
        self.gap = gap or RelativeGap()
        self.multiplicities = check_multiplicities(multiplicities)
        inner = [(order, order, width, width)] * (layers - 1)
        self.igns = nn.ModuleList(_layers([(2, order, 1, width), *inner]) for _ in multiplicities or (None,))
        self.rho = _layers([*inner, (order, 1, width, dim)])

    @override
    def encoded(self, given: EigenvectorBatch) -> Float[Tensor, "nodes dim"]:
        dtype, device = next(self.parameters()).dtype, given.vectors.device
        bases = Bases.of(given.vectors, given.values, given.batch, self.gap).to(dtype)
        self._check_memory(bases)
        occupied = bases.sizes > 0
        nodes = Nodes(sizes=tuple(bases.sizes[occupied].tolist()), device=device)
        place = (occupied.cumsum(0) - 1)[bases.graph].to(device)
        total = bases.vectors.new_zeros(len(nodes.sizes), self.width, *[nodes.width] * self.order)
        for ign, members in bases.by_multiplicity(self.igns, self.multiplicities):
            projectors, constants = bases.projectors(members), bases.constants(members)
            tensors = projectors.entries()
            for layer in ign.children():
                tensors = torch.relu(layer(tensors, projectors.nodes, constants))
            beyond = nodes.width - projectors.nodes.width
            padded = nn.functional.pad(tensors, (0, beyond) * self.order)
            total = total.index_add(0, place[members], padded.to(total.dtype))
        # 1/n takes the place that it has among the constants of an eigenspace.
        constants = nn.functional.pad(nodes.counts.reciprocal()[:, None].to(total), (CONSTANTS - 1, 0))
        for layer in self.rho[:-1]:
            total = torch.relu(layer(total, nodes, constants))
        result: Tensor = self.rho[-1](total, nodes, constants)
        return result.mT[nodes.mask]

    def _check_memory(self, bases: Bases) -> None:
        n, spaces = int(max(bases.sizes.tolist(), default=0)), len(bases.values)
        numbers = (spaces + int((bases.sizes > 0).sum())) * n**self.order * self.layers * self.width
        needed = TENSORS_OF_A_LAYER * numbers * bases.vectors.element_size() / 1e9
        if needed > self.gigabytes:
            raise ValueError(
                f"tensors of order {self.order} for {spaces} eigenspaces of graphs of up to {n} nodes need "
                f"about {needed:,.3g} GB, and gigabytes allows {self.gigabytes:g}: use BasisNet, a lower "
                "order, fewer graphs or eigenvectors, or raise gigabytes"
            )


def _layers(shapes: list[tuple[int, int, int, int]]) -> nn.ModuleList:
    return nn.ModuleList(
        TensorToTensor((before, after), inputs, outputs, CONSTANTS)
        for before, after, inputs, outputs in shapes
    )
