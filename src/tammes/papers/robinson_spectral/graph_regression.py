"""Regression on graphs by a graph network whose node features include encodings of eigenvectors."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.spectral import SignNet, eigenpairs
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, RandomFlips

Encoding = SignNet | RandomFlips | AbsoluteValues | CanonicalSigns
BOND_WIDTH = 16
"""Channels of the embedding of an edge's kind."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SpectralGraphs:
    """Labeled graphs with their eigenpairs, zero in the columns that a graph lacks.

    Args:
        graphs: the graphs and their targets.
        vectors: eigenvectors of all graphs.
        values: eigenvalues.
    """

    graphs: LabeledGraphs
    vectors: Float[Tensor, "n k"]
    values: Float[Tensor, "g k"]

    def padded(self, count: int) -> SpectralGraphs:
        """Return the same graphs with `count` columns of eigenpairs, padded with zeros."""
        more = (0, count - self.vectors.shape[1])
        return replace(
            self, vectors=nn.functional.pad(self.vectors, more), values=nn.functional.pad(self.values, more)
        )


Parts = tuple[SpectralGraphs, SpectralGraphs, SpectralGraphs]
"""Graphs for training, validation and testing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphBatch:
    """Some graphs as one: edges number the nodes of the batch, and `owner` is the graph of each node."""

    nodes: Int64[Tensor, " n"]
    edges: Int64[Tensor, "2 e"]
    bonds: Int64[Tensor, " e"]
    owner: Int64[Tensor, " n"]
    vectors: Float[Tensor, "n k"]
    values: Float[Tensor, "g k"]
    targets: Float[Tensor, "g t"]


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A trained network, and its mean errors in the epoch that was best on the validation graphs.

    Args:
        network: with the weights of the best epoch.
        test: error of each target on the test graphs.
        validation: error on the validation graphs, mean over targets.
        best_epoch: number of the epoch, from 1.
        parameters: number of weights.
        seconds_per_epoch: training time, validation included.
    """

    network: Regressor
    test: tuple[float, ...]
    validation: float
    best_epoch: int
    parameters: int
    seconds_per_epoch: float


class Regressor(nn.Module):
    """Embeddings of nodes beside encodings of eigenvectors, then a graph network, then a readout.

    Args:
        nodes: number of kinds of nodes.
        bonds: number of kinds of edges; 0 where the base network ignores them.
        width: channels of the embedding of a node's kind.
        encoding: called as `encoding(None, edges, batch, eigenvectors, eigenvalues)`; None for no encoding.
        base: network from nodes, edges and edge features to nodes.
        readout: network from nodes to the targets of graphs.
    """

    def __init__(
        self,
        *,
        nodes: int,
        bonds: int,
        width: int,
        encoding: Encoding | None,
        base: nn.Module,
        readout: nn.Module,
    ) -> None:
        super().__init__()
        self.node = nn.Embedding(nodes, width)
        self.bond = nn.Embedding(bonds, BOND_WIDTH) if bonds else None
        self.encoding, self.base, self.readout = encoding, base, readout

    @override
    def forward(self, batch: GraphBatch) -> Float[Tensor, "g t"]:
        h = self.node(batch.nodes)
        if self.encoding is not None:
            encoded = self.encoding(None, batch.edges, batch.owner, batch.vectors, batch.values)
            h = torch.cat([h, encoded], dim=1)
        bonds = None if self.bond is None else self.bond(batch.bonds)
        return self.readout(self.base(h, batch.edges, bonds), batch.owner, len(batch.values))


def with_eigenpairs(graphs: LabeledGraphs, *, count: int | None) -> SpectralGraphs:
    """Return graphs with eigenpairs of the symmetric normalized Laplacian, in single precision.

    Args:
        graphs: labeled graphs.
        count: number of the smallest pairs after the first, which contains only degrees; None for all pairs.
    """
    owner = torch.arange(len(graphs)).repeat_interleave(graphs.node_starts.diff())
    edges = graphs.edges + graphs.node_starts[:-1].repeat_interleave(graphs.edge_starts.diff())
    pairs = eigenpairs(edges, owner, count=None if count is None else count + 1)
    first = 0 if count is None else 1
    return SpectralGraphs(
        graphs=graphs, vectors=pairs.vectors[:, first:].float(), values=pairs.values[:, first:].float()
    )


def batches(part: SpectralGraphs, order: Tensor, size: int) -> Iterator[GraphBatch]:
    """Yield the graphs in the given order, `size` at a time."""
    starts, sizes = part.graphs.node_starts, part.graphs.node_starts.diff()
    for chosen in order.split(size):
        graphs = part.graphs.subset(chosen.tolist())
        offset = (starts[chosen] - graphs.node_starts[:-1]).repeat_interleave(sizes[chosen])
        rows = torch.arange(len(graphs.nodes)) + offset
        yield GraphBatch(
            nodes=graphs.nodes,
            edges=graphs.edges + graphs.node_starts[:-1].repeat_interleave(graphs.edge_starts.diff()),
            bonds=graphs.bonds,
            owner=torch.arange(len(graphs)).repeat_interleave(sizes[chosen]),
            vectors=part.vectors[rows],
            values=part.values[chosen],
            targets=graphs.targets,
        )


def fit(
    network: Regressor,
    parts: Parts,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    squared: bool = False,
) -> Fit:
    """Train a network, and measure it on the test graphs after its best epoch.

    Args:
        network: network to be trained.
        parts: graphs for training, validation and testing.
        epochs: passes over the training graphs.
        batch_size: graphs of a step.
        learning_rate: Adam's rate, which falls to 0 along half a cosine.
        seed: random seed of the order of the graphs.
        squared: whether squares of errors are minimized and measured, instead of absolute values.
    """

    def error(batch: GraphBatch) -> Tensor:
        difference = network(batch) - batch.targets
        return difference.square() if squared else difference.abs()

    @torch.no_grad()
    def errors(part: SpectralGraphs) -> Float[Tensor, " t"]:
        network.eval()
        order = torch.arange(len(part.graphs))
        return torch.cat([error(batch) for batch in batches(part, order, 8 * batch_size)]).mean(dim=0)

    train, validation, test = parts
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    steps = epochs * -(-len(train.graphs) // batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, best_epoch, state = torch.inf, 0, copy.deepcopy(network.state_dict())
    started = time.perf_counter()
    for epoch in range(1, epochs + 1):
        network.train()
        for batch in batches(train, torch.randperm(len(train.graphs), generator=generator), batch_size):
            loss = error(batch).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        now = errors(validation).mean().item()
        if now < best:
            best, best_epoch, state = now, epoch, copy.deepcopy(network.state_dict())
    seconds = (time.perf_counter() - started) / epochs
    network.load_state_dict(state)
    return Fit(
        network=network,
        test=tuple(errors(test).tolist()),
        validation=best,
        best_epoch=best_epoch,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        seconds_per_epoch=seconds,
    )


def standardized(parts: tuple[LabeledGraphs, ...]) -> tuple[LabeledGraphs, ...]:
    """Return the same graphs, with targets in standard deviations from the mean of the first part."""
    mean, deviation = parts[0].targets.mean(dim=0), parts[0].targets.std(dim=0)
    return tuple(replace(part, targets=(part.targets - mean) / deviation) for part in parts)
