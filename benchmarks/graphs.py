"""An epoch of InfoGraph on PROTEINS, beside the published training step in torch_geometric, in one run.

    python benchmarks/graphs.py --data tu/PROTEINS
    python benchmarks/graphs.py --quick             # random graphs, a few batches
    python benchmarks/graphs.py --data tu/PROTEINS --parts          # where the time goes

The published step (github.com/fanyun-sun/InfoGraph, unsupervised) fills two dense matrices of nodes and
graphs, entry by entry in Python, multiplies all nodes with all graphs, and masks. "masks at once" is the same
with the matrices made by one operation. All ways have the same layers, batches and optimizer, and ours adds
up neighbors by lists; batches are collated within the clock, as their loaders do. Where PyGCL is installed
(see `graphs_pygcl.py`), its loss is a row, too. The second table has the largest tensor of a loss and its
gradient, and of a whole step of ours. `--parts` times what a step consists of, in processor time, and other
ways to do the same; the matrix products alone are what no way with these layers in float32 can leave out.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
from rich.console import Console
from torch import Tensor, nn
from torch.nn.functional import one_hot, softplus
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, global_add_pool

from graphs_pygcl import pygcl_loss
from machine import description
from tammes import NodesToGraphs, recipes
from tammes.data import GraphBatch, GraphSet, graphs_of, tu_set
from tammes.encoders import GINEncoderConfig, ShortcutHead, ShortcutHeadConfig
from tammes.encoders.gin_layer import NeighborSums
from tammes.training import Model
from times_table import markdown_table
from timing import side_by_side

BATCH, WIDTH, LAYERS = 128, 32, 3
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From embeddings of nodes and of graphs, and the graph of each node, to the loss."""


def tammes_loss(nodes: Tensor, graphs: Tensor, owner: Tensor) -> Tensor:
    """The loss by this package."""
    return recipes.jsd()(NodesToGraphs()(nodes, graphs, owner=owner))


def published_loss(nodes: Tensor, graphs: Tensor, owner: Tensor) -> Tensor:
    """The loss of the published code, with its loop over nodes."""
    positive = torch.zeros(len(nodes), len(graphs))
    negative = torch.ones(len(nodes), len(graphs))
    for node, graph in enumerate(owner):
        positive[node][graph] = 1.0
        negative[node][graph] = 0.0
    return _masked(nodes, graphs, positive, negative)


def masked_loss(nodes: Tensor, graphs: Tensor, owner: Tensor) -> Tensor:
    """The same with the masks made at once."""
    positive = one_hot(owner, len(graphs)).to(nodes.dtype)
    return _masked(nodes, graphs, positive, 1 - positive)


def _masked(nodes: Tensor, graphs: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    scores = nodes @ graphs.T
    expected_positive = math.log(2) - softplus(-(scores * positive))
    expected_negative = softplus(-(scores * negative)) + scores * negative - math.log(2)
    size = len(nodes)
    found = (expected_negative * negative).sum() / (size * (len(graphs) - 1))
    return found - (expected_positive * positive).sum() / size


class Published(nn.Module):
    """The published network in torch_geometric: GIN layers, sums of all of them, two heads."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        widths = [inputs] + [WIDTH] * (LAYERS - 1)
        self.layers = nn.ModuleList(
            GINConv(nn.Sequential(nn.Linear(width, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)))
            for width in widths
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in widths)
        self.of_nodes = ShortcutHead(features=WIDTH * LAYERS, dim=WIDTH * LAYERS)
        self.of_graphs = ShortcutHead(features=WIDTH * LAYERS, dim=WIDTH * LAYERS)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the embeddings of nodes and graphs."""
        x, outputs = batch.x, []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(x, batch.edge_index).relu())
            outputs.append(x)
        pooled = torch.cat([global_add_pool(each, batch.batch) for each in outputs], 1)
        return self.of_nodes(torch.cat(outputs, 1)), self.of_graphs(pooled)


def of_tammes(graphs: GraphSet, orders: list[Tensor]) -> Callable[[], object]:
    """Return an epoch of this package's parts."""
    torch.manual_seed(0)
    encoder = GINEncoderConfig(width=WIDTH, layers=LAYERS).build(inputs=len(graphs.columns))
    head = ShortcutHeadConfig()
    model = Model(encoder, head.build(encoder.features), node_head=head.build(encoder.features))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)

    def epoch() -> None:
        for rows in orders:
            batch = graphs.batch(rows)
            optimizer.zero_grad()
            tammes_loss(*model.nodes_and_graphs(batch), batch.owner).backward()
            optimizer.step()

    return epoch


def of_published(graphs: GraphSet, orders: list[Tensor], loss: Loss) -> Callable[[], object]:
    """Return an epoch of the published step."""
    torch.manual_seed(0)
    items = []
    for row in range(len(graphs)):
        one = graphs.batch([row])
        items.append(Data(x=one.features, edge_index=one.edges))
    model = Published(len(graphs.columns))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)

    def epoch() -> None:
        for rows in orders:
            batch = Batch.from_data_list([items[row] for row in rows.tolist()])
            optimizer.zero_grad()
            loss(*model(batch), batch.batch).backward()
            optimizer.step()

    return epoch


class Largest(TorchDispatchMode):
    """Bytes of the largest tensor that any operation makes."""

    bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, Tensor):
                self.bytes = max(self.bytes, each.untyped_storage().nbytes())
        return found


class Products(TorchDispatchMode):
    """The factors of every matrix product that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.factors: list[tuple[Tensor, Tensor]] = []
        self.results: dict[tuple[int, int], Tensor] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func.overloadpacket.__name__
        if name.rstrip("_") in ("mm", "addmm"):
            left, right = args[-2:]
            self.factors.append((left.detach(), right.detach()))
            shape = (len(left), right.shape[1])
            self.results.setdefault(shape, left.new_empty(shape))
        return func(*args, **(kwargs or {}))

    def again(self) -> None:
        """Multiply them again, each product into memory that is there."""
        for left, right in self.factors:
            torch.mm(left, right, out=self.results[len(left), right.shape[1]])


def largest(loss: Loss, nodes: int, graphs: int) -> float:
    """Return the MB of the largest tensor of a loss and its gradient."""
    owner = torch.arange(graphs).repeat_interleave(nodes // graphs)
    rows = torch.randn(len(owner), WIDTH * LAYERS, requires_grad=True)
    with Largest() as mode:
        loss(rows, torch.randn(graphs, WIDTH * LAYERS, requires_grad=True), owner).backward()
    return mode.bytes / 1e6


def largest_of_step(nodes: int, graphs: int) -> float:
    """Return the MB of the largest tensor of a whole step of this package: network, loss and gradient."""
    generator = torch.Generator().manual_seed(0)
    each = nodes // graphs
    owner = torch.arange(graphs).repeat_interleave(each)
    ends = torch.randint(each, (2, 2 * len(owner)), generator=generator)
    edges = ends + each * owner.repeat(2)
    both = torch.cat([edges, edges.flip(0)], 1)
    batch = GraphBatch(features=torch.ones(len(owner), 1), edges=both, owner=owner, count=graphs)
    encoder = GINEncoderConfig(width=WIDTH, layers=LAYERS).build(inputs=1)
    head = ShortcutHeadConfig()
    model = Model(encoder, head.build(encoder.features), node_head=head.build(encoder.features))
    with Largest() as mode:
        tammes_loss(*model.nodes_and_graphs(batch), owner).backward()
    return mode.bytes / 1e6


def print_parts(console: Console, graphs: GraphSet, orders: list[Tensor]) -> None:
    """Print the processor time of each part of an epoch."""
    torch.manual_seed(0)
    encoder = GINEncoderConfig(width=WIDTH, layers=LAYERS).build(inputs=len(graphs.columns))
    head = ShortcutHeadConfig()
    model = Model(encoder, head.build(encoder.features), node_head=head.build(encoder.features))
    batches = [graphs.batch(rows) for rows in orders]
    items = [
        Data(x=one.features, edge_index=one.edges) for one, _ in (graphs[row] for row in range(len(graphs)))
    ]
    with torch.no_grad():
        outputs = [model.nodes_and_graphs(batch) for batch in batches]

    def network() -> None:
        for batch in batches:
            model.zero_grad()
            nodes, sums = model.nodes_and_graphs(batch)
            (nodes.sum() + sums.sum()).backward()

    def losses(loss: Loss) -> Callable[[], object]:
        def work() -> None:
            for (nodes, sums), batch in zip(outputs, batches, strict=True):
                loss(nodes.clone().requires_grad_(), sums.clone().requires_grad_(), batch.owner).backward()

        return work

    def steps(fused: bool) -> Callable[[], object]:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6, fused=fused)
        return lambda: [optimizer.step() for _ in batches]

    def messages(in_lists: bool) -> Callable[[], object]:
        plain = GINConv(nn.Identity())

        def work() -> None:
            for batch in batches:
                sums = NeighborSums(batch=batch)
                h = torch.ones(len(batch.owner), WIDTH, requires_grad=True)
                for _ in range(LAYERS):
                    summed = sums.of(h) if in_lists else plain.propagate(batch.edges, x=(h, h))
                    summed.sum().backward()

        return work

    def joined() -> None:
        for rows in orders:
            Batch.from_data_list([items[row] for row in rows.tolist()])

    network()
    products = Products()
    with products:
        network()
        losses(tammes_loss)()
    works: dict[str, Callable[[], object]] = {
        "assembly of batches: slices of contiguous arrays": lambda: [graphs.batch(rows) for rows in orders],
        "assembly of batches: Batch.from_data_list": joined,
        "network, forward and backward": network,
        "of it, sums over neighbors: lists": messages(True),
        "the same by torch_geometric": messages(False),
        "loss and gradient: tammes": losses(tammes_loss),
        "loss and gradient: published": losses(published_loss),
        "loss and gradient: masks at once": losses(masked_loss),
        "matrix products of network and loss alone": products.again,
        "Adam": steps(False),
        "Adam, fused": steps(True),
    }
    table = markdown_table("processor time of an epoch")
    for title in ("", "milliseconds, median of five"):
        table.add_column(title)
    for name, work in works.items():
        table.add_row(name, f"{1000 * _processor_seconds(work):.0f}")
    console.print(table)


def _processor_seconds(work: Callable[[], object]) -> float:
    work()
    found = []
    for _ in range(5):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return statistics.median(found)


def random_graphs(count: int) -> GraphSet:
    """Return random graphs of the size of proteins."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for _ in range(count):
        n = int(torch.randint(20, 60, (), generator=generator))
        edges = torch.randint(n, (2, 2 * n), generator=generator)
        kinds = torch.randint(3, (n,), generator=generator)
        rows.append({"edge_index": edges, "x": one_hot(kinds, 3).float()})
    return graphs_of(rows)


def main() -> None:
    """Print the two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--parts", action="store_true")
    choice = parser.parse_args()
    torch.set_num_threads(1)
    graphs = tu_set(choice.data) if choice.data is not None else random_graphs(256 if choice.quick else 1113)
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    orders = [rows for rows in order.split(BATCH) if len(rows) == BATCH]
    if choice.parts:
        console = Console()
        console.print(description())
        print_parts(console, graphs, orders)
        return
    works = {
        "tammes": of_tammes(graphs, orders),
        "published, torch_geometric": of_published(graphs, orders, published_loss),
        "masks at once, torch_geometric": of_published(graphs, orders, masked_loss),
    }
    peer = pygcl_loss()
    if peer is not None:
        works["PyGCL's loss, torch_geometric"] = of_published(graphs, orders, peer)
    times = side_by_side(works, budget=5.0 if choice.quick else 120.0, clock=time.process_time)
    table = markdown_table(
        f"an epoch of {len(orders)} batches of {BATCH} graphs, {len(graphs.features):,} nodes"
    )
    for title in ("", "processor seconds, median", "times as long as tammes"):
        table.add_column(title)
    for name, each in times.items():
        table.add_row(name, f"{each.median:.3f}", f"{each.over(times['tammes']):.2f}")
    memory = markdown_table("largest tensor of the loss and its gradient, in MB")
    sizes = (5_000, 20_000) if choice.quick else (5_000, 20_000, 100_000)
    for title in ("", *(f"{nodes:,} nodes of {nodes // 40:,} graphs" for nodes in sizes)):
        memory.add_column(title)
    for name, loss in (("tammes", tammes_loss), ("masks at once", masked_loss)):
        memory.add_row(name, *(f"{largest(loss, nodes, nodes // 40):,.1f}" for nodes in sizes))
    whole = (f"{largest_of_step(nodes, nodes // 40):,.1f}" for nodes in sizes)
    memory.add_row("tammes, with the network", *whole)
    console = Console()
    console.print(description())
    console.print(table)
    console.print(memory)


if __name__ == "__main__":
    main()
