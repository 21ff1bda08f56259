"""Regression on graphs by a graph network whose node features include encodings of eigenvectors."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.spectral import SignNet, eigenpairs, keep_freed_memory
from tammes.spectral.baselines import AbsoluteValues, CanonicalSigns, RandomFlips

if TYPE_CHECKING:
    from tammes.spectral.networks import GraphNetworkConfig

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

    def subset(self, chosen: Int64[Tensor, " g"]) -> SpectralGraphs:
        """Return the graphs with these numbers, in this order."""
        graphs = self.graphs.subset(chosen.tolist())
        offset = self.graphs.node_starts[chosen] - graphs.node_starts[:-1]
        rows = torch.arange(len(graphs.nodes)) + offset[graphs.owner]
        return SpectralGraphs(graphs=graphs, vectors=self.vectors[rows], values=self.values[chosen])


Parts = tuple[SpectralGraphs, ...]
"""Graphs for training, validation and testing."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Mean errors of a network, in the epoch that was best on the validation graphs.

    Args:
        test: error of each target on the test graphs.
        validation: error on the validation graphs, mean over targets.
        best_epoch: number of the epoch, from 1; 0 without training.
        parameters: number of weights.
        seconds_per_epoch: training time, validation included.
    """

    test: tuple[float, ...]
    validation: float
    best_epoch: int
    parameters: int
    seconds_per_epoch: float


@dataclass(frozen=True, kw_only=True)
class Plateau:
    """Schedule of a learning rate that is halved where the validation error has stopped falling.

    Args:
        patience: number of epochs that may pass without a smaller error; an error counts as smaller from a
            difference of a ten-thousandth of the smallest on.
        lowest: rate at or below which training ends.
    """

    patience: int
    lowest: float


class Regressor(nn.Module):
    """Embeddings of nodes beside encodings of eigenvectors, then a graph network, then a readout.

    Args:
        nodes: number of kinds of nodes.
        bonds: number of kinds of edges; 0 where the base network ignores them.
        width: channels of the embedding of a node's kind.
        encoding: called as `encoding(None, edges, batch, eigenvectors, eigenvalues)`; None for no encoding.
        base: settings of the network from nodes, edges and edge features to nodes.
        targets: number of targets of a graph.
        sums: whether the readout sums the nodes of a graph, instead of averaging them.
    """

    def __init__(
        self,
        *,
        nodes: int,
        bonds: int,
        width: int,
        encoding: Encoding | None,
        base: GraphNetworkConfig,
        targets: int,
        sums: bool = False,
    ) -> None:
        from tammes.spectral.networks import Readout  # which needs torch_geometric

        super().__init__()
        features = width + (0 if encoding is None else encoding.dim)
        network = base.build(features, edge_features=BOND_WIDTH if bonds else 0)
        readout = Readout(network.outputs, targets, sums=sums)
        self.node = nn.Embedding(nodes, width)
        self.bond = nn.Embedding(bonds, BOND_WIDTH) if bonds else None
        self.encoding, self.base, self.readout = encoding, network, readout

    @override
    def forward(self, batch: SpectralGraphs) -> Float[Tensor, "g t"]:
        edges, owner = batch.graphs.joined_edges, batch.graphs.owner
        h = self.node(batch.graphs.nodes)
        if self.encoding is not None:
            h = torch.cat([h, self.encoding(None, edges, owner, batch.vectors, batch.values)], dim=1)
        bonds = None if self.bond is None else self.bond(batch.graphs.bonds)
        return self.readout(self.base(h, edges, bonds), owner, len(batch.values))


def with_eigenpairs(graphs: LabeledGraphs, *, count: int | None) -> SpectralGraphs:
    """Return graphs with eigenpairs of the symmetric normalized Laplacian, in single precision.

    Args:
        graphs: labeled graphs.
        count: number of the smallest pairs after the first, which contains only degrees; None for all pairs.
    """
    pairs = eigenpairs(graphs.joined_edges, graphs.owner, count=None if count is None else count + 1)
    first = 0 if count is None else 1
    return SpectralGraphs(
        graphs=graphs, vectors=pairs.vectors[:, first:].float(), values=pairs.values[:, first:].float()
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
    plateau: Plateau | None = None,
) -> Fit:
    """Train a network, give it the weights of its best epoch, and measure it on the test graphs.

    Args:
        network: network to be trained.
        parts: graphs for training, validation and testing.
        epochs: largest number of passes over the training graphs.
        batch_size: graphs of a step.
        learning_rate: Adam's first rate.
        seed: random seed of the order of the graphs.
        squared: whether squares of errors are minimized and measured, instead of absolute values.
        plateau: schedule of the rate; None for half a cosine, along which it falls to 0.
    """

    def error(batch: SpectralGraphs) -> Tensor:
        difference = network(batch) - batch.graphs.targets
        return difference.square() if squared else difference.abs()

    @torch.no_grad()
    def errors(part: SpectralGraphs) -> Float[Tensor, " t"]:
        network.eval()
        chunks = torch.arange(len(part.graphs)).split(8 * batch_size)
        return torch.cat([error(part.subset(chosen)) for chosen in chunks]).mean(dim=0)

    keep_freed_memory()
    train, validation, test = parts
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    cosine = halving = None
    if plateau is None:
        steps = epochs * -(-len(train.graphs) // batch_size)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    else:
        halving = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=plateau.patience)
    epoch, best, best_epoch, state = 0, torch.inf, 0, copy.deepcopy(network.state_dict())
    started = time.perf_counter()
    for epoch in range(1, epochs + 1):
        network.train()
        for chosen in torch.randperm(len(train.graphs), generator=generator).split(batch_size):
            loss = error(train.subset(chosen)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if cosine is not None:
                cosine.step()
        now = errors(validation).mean().item()
        if now < best:
            best, best_epoch, state = now, epoch, copy.deepcopy(network.state_dict())
        if halving is not None:
            halving.step(now)
        # A rate of 0, which learns nothing, stays: the control has all its epochs.
        if plateau is not None and 0 < optimizer.param_groups[0]["lr"] <= plateau.lowest:
            break
    seconds = (time.perf_counter() - started) / max(1, epoch)
    network.load_state_dict(state)
    return Fit(
        test=tuple(errors(test).tolist()),
        validation=best if epochs else errors(validation).mean().item(),
        best_epoch=best_epoch,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        seconds_per_epoch=seconds,
    )


def fit_constant(parts: tuple[LabeledGraphs, ...], *, squared: bool = False) -> Fit:
    """Measure the constant that is best on the training graphs: a mean, or for absolute errors a median."""
    train, validation, test = (part.targets for part in parts)
    constant = train.mean(dim=0) if squared else train.median(dim=0).values

    def errors(targets: Float[Tensor, "g t"]) -> Float[Tensor, " t"]:
        difference = targets - constant
        return (difference.square() if squared else difference.abs()).mean(dim=0)

    return Fit(
        test=tuple(errors(test).tolist()),
        validation=errors(validation).mean().item(),
        best_epoch=0,
        parameters=len(constant),
        seconds_per_epoch=0.0,
    )


def standardized(parts: tuple[LabeledGraphs, ...]) -> tuple[LabeledGraphs, ...]:
    """Return the same graphs, with targets in standard deviations from the mean of the first part."""
    mean, deviation = parts[0].targets.mean(dim=0), parts[0].targets.std(dim=0)
    return tuple(replace(part, targets=(part.targets - mean) / deviation) for part in parts)
