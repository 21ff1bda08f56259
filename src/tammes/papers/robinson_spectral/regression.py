"""Numbers of graphs, learned by a network on graphs with encodings from eigenvectors in front of it."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.spectral import Eigenpairs, SignNet, eigenpairs
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, RandomFlips

Encoding = SignNet | RandomFlips | AbsoluteValues | CanonicalSigns


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Graphs with their eigenpairs.

    Args:
        graphs: what is learned from.
        vectors: (nodes, k), zero beyond a graph's own number.
        values: (graphs, k), likewise.
    """

    graphs: LabeledGraphs
    vectors: Float[Tensor, "n k"]
    values: Float[Tensor, "g k"]

    def padded(self, count: int) -> Encoded:
        """The same with so many columns, zeros beyond those that there are."""
        more = (0, count - self.vectors.shape[1])
        pad = torch.nn.functional.pad
        return Encoded(graphs=self.graphs, vectors=pad(self.vectors, more), values=pad(self.values, more))


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Some graphs as one: edges number all nodes, and `owner` is the graph of each node."""

    nodes: Int64[Tensor, " n"]
    edges: Int64[Tensor, "2 e"]
    bonds: Int64[Tensor, " e"]
    owner: Int64[Tensor, " n"]
    vectors: Float[Tensor, "n k"]
    values: Float[Tensor, "g k"]
    targets: Float[Tensor, "g t"]


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How a network is trained.

    Args:
        epochs: passes over the training graphs.
        batch_size: graphs a step.
        learning_rate: Adam's, which falls to 0 along half a cosine.
        squared: whether squares of errors are minimized and measured, and not their absolute values.
        seed: of the weights, of the order of the graphs, and of whatever the encoding draws.
    """

    epochs: int
    batch_size: int = 64
    learning_rate: float = 1e-3
    squared: bool = False
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What came of it: mean errors for each target, in the epoch that was best on the validation graphs."""

    network: nn.Module
    test: tuple[float, ...]
    validation: float
    best_epoch: int
    parameters: int
    seconds_per_epoch: float


class Regressor(nn.Module):
    """Embedded kinds of nodes beside encodings, a network on the graph, a readout.

    Args:
        nodes: the kinds of nodes there are.
        bonds: the kinds of edges; 0 where the base network sees none.
        width: channels that a kind of node is embedded in.
        encoding: called as `encoding(None, edges, batch, eigenvectors, eigenvalues)`; None for no encoding.
        base: from nodes, edges and edge features to nodes.
        readout: from nodes to numbers of graphs.
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

    def forward(self, batch: Batch) -> Float[Tensor, "g t"]:
        """The numbers of each graph."""
        h = self.node(batch.nodes)
        if self.encoding is not None:
            encoded = self.encoding(None, batch.edges, batch.owner, batch.vectors, batch.values)
            h = torch.cat([h, encoded], dim=1)
        bonds = None if self.bond is None else self.bond(batch.bonds)
        return self.readout(self.base(h, batch.edges, bonds), batch.owner, len(batch.values))


BOND_WIDTH = 16
"""Channels that a kind of edge is embedded in."""


def encoded(graphs: LabeledGraphs, *, count: int | None) -> Encoded:
    """Graphs with eigenpairs of the symmetric normalized Laplacian.

    Args:
        graphs: any.
        count: the smallest so many after the first, which tells only degrees; None for all.
    """
    sizes = graphs.node_starts.diff()
    owner = torch.arange(len(graphs)).repeat_interleave(sizes)
    edges = graphs.edges + graphs.node_starts[:-1].repeat_interleave(graphs.edge_starts.diff())
    pairs = eigenpairs(edges, owner, count=None if count is None else count + 1)
    first = 0 if count is None else 1
    kept = Eigenpairs(vectors=pairs.vectors[:, first:].float(), values=pairs.values[:, first:].float())
    return Encoded(graphs=graphs, vectors=kept.vectors, values=kept.values)


def batches(encoded: Encoded, order: Tensor, size: int) -> Iterator[Batch]:
    """The graphs in an order, so many at a time."""
    starts, sizes = encoded.graphs.node_starts, encoded.graphs.node_starts.diff()
    for chosen in order.split(size):
        part = encoded.graphs.subset(chosen.tolist())
        rows = torch.arange(len(part.nodes)) + (starts[chosen] - part.node_starts[:-1]).repeat_interleave(
            sizes[chosen]
        )
        yield Batch(
            nodes=part.nodes,
            edges=part.edges + part.node_starts[:-1].repeat_interleave(part.edge_starts.diff()),
            bonds=part.bonds,
            owner=torch.arange(len(part)).repeat_interleave(sizes[chosen]),
            vectors=encoded.vectors[rows],
            values=encoded.values[chosen],
            targets=part.targets,
        )


def fit(network: nn.Module, parts: tuple[Encoded, Encoded, Encoded], config: FitConfig) -> Fitted:
    """Train a network, and measure it on the test graphs after its best epoch.

    Args:
        network: from a `Batch` to as many numbers a graph as there are targets.
        parts: to train, to validate, to test on.
        config: how.
    """
    train, validation, test = parts
    generator = torch.Generator().manual_seed(config.seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    steps = config.epochs * -(-len(train.graphs) // config.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    best, best_epoch, state = torch.inf, 0, copy.deepcopy(network.state_dict())
    started = time.perf_counter()
    for epoch in range(1, config.epochs + 1):
        network.train()
        for batch in batches(
            train, torch.randperm(len(train.graphs), generator=generator), config.batch_size
        ):
            loss = _error(network(batch) - batch.targets, config).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        error = errors(network, validation, config).mean().item()
        if error < best:
            best, best_epoch, state = error, epoch, copy.deepcopy(network.state_dict())
    seconds = (time.perf_counter() - started) / config.epochs
    network.load_state_dict(state)
    return Fitted(
        network=network,
        test=tuple(errors(network, test, config).tolist()),
        validation=best,
        best_epoch=best_epoch,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        seconds_per_epoch=seconds,
    )


@torch.no_grad()
def errors(network: nn.Module, part: Encoded, config: FitConfig) -> Float[Tensor, " t"]:
    """The mean error of each target."""
    network.eval()
    order = torch.arange(len(part.graphs))
    found = [
        _error(network(batch) - batch.targets, config)
        for batch in batches(part, order, 8 * config.batch_size)
    ]
    return torch.cat(found).mean(dim=0)


def standardized(parts: tuple[LabeledGraphs, ...]) -> tuple[LabeledGraphs, ...]:
    """The same graphs, with targets in standard deviations from the mean of the first part."""
    mean, deviation = parts[0].targets.mean(dim=0), parts[0].targets.std(dim=0)
    return tuple(
        LabeledGraphs(**(vars(part) | {"targets": (part.targets - mean) / deviation})) for part in parts
    )


def _error(difference: Tensor, config: FitConfig) -> Tensor:
    return difference.square() if config.squared else difference.abs()
