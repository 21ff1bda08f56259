"""Set extensions on a CPU against direct evaluation: a call for each set, a dense adjacency matrix.

    python benchmarks/extensions.py                     # 2,000 nodes; a step on 32 graphs; about a minute
    python benchmarks/extensions.py --nodes 200 500     # the objective at other sizes
    python benchmarks/extensions.py --only step
    python benchmarks/extensions.py --only growth --nodes 500 2000

Four tasks are timed: the Lovász extension of the clique objective with its gradient; the neural Lovász
extension with its gradient; a whole training step of the latter (network, extension, gradient, Adam); sets
that grow greedily, by kept counts and by a call of the set function for each node. The results of all
methods are compared first. The graphs are like those of IMDB-BINARY: unions of cliques that
share nodes, with as many nodes and edges, and as many nodes that color refinement does not tell apart.
Methods take turns; times are medians. "All sets at once" is direct evaluation at its best: one matrix
product for all sets. The network of direct evaluation has torch_geometric's layers with the same weights, on
the whole batch or graph by graph.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable

import torch
from rich.console import Console
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GatedGraphConv

from machine import description
from tammes.extensions import (
    Graphs,
    Lovasz,
    Neural,
    Problem,
    SetFunction,
    maximum_clique,
    maximum_cut,
    maximum_independent_set,
)
from tammes.extensions.solvers import ByNeural, NetworkConfig, SolverNetwork
from times_table import times_table

TASKS = ("objective", "step", "growth")
OURS, CALL_EACH, ALL_AT_ONCE = "tammes", "a call for each set", "all sets at once"
ON_THE_BATCH = "a call for each set; torch_geometric's layers on the batch"
GRAPH_BY_GRAPH = "a call for each set; torch_geometric's layers graph by graph"


def random_graph(nodes: int, seed: int) -> Graphs:
    """Return a graph in which every pair is an edge with probability 0.1."""
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.combinations(torch.arange(nodes)).T
    return Graphs.of(pairs[:, torch.rand(pairs.shape[1], generator=generator) < 0.1], sizes=(nodes,))


def like_imdb(seed: int) -> Graphs:
    """Return an actor and the casts of a few films: cliques that share the first node, and some others."""
    generator = torch.Generator().manual_seed(seed)

    def number(least: int, most: int) -> int:
        return int(torch.randint(least, most + 1, (), generator=generator))

    edges, known = [], 1
    for _ in range(number(1, 4)):
        size = number(5, 12)
        old = 1 + torch.randperm(known - 1, generator=generator)[: number(0, 3)]
        new = torch.arange(known, known + size - 1 - len(old))
        edges.append(torch.combinations(torch.cat([torch.tensor([0]), old, new]).sort().values).T)
        known += len(new)
    return Graphs.of(torch.cat(edges, dim=1), sizes=(known,))


def dense(graph: Graphs) -> Tensor:
    """Return the adjacency matrix."""
    n = graph.ground.total
    matrix = torch.zeros(n, n)
    matrix[graph.edges[0], graph.edges[1]] = matrix[graph.edges[1], graph.edges[0]] = 1.0
    return matrix


def clique_density(members: Tensor, adjacency: Tensor) -> Tensor:
    """Return -e q^2 of one set, written directly."""
    size = members.sum()
    edges = members @ adjacency @ members / 2
    density = edges / (size * (size - 1) / 2).clamp(min=1)
    return -edges * density.square()


def level_sets(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the level sets as rows, and their probabilities."""
    high, order = x.sort(descending=True)
    probabilities = high - torch.cat([high[1:], high.new_zeros(1)])
    sets = torch.zeros(len(x), len(x)).scatter_(1, order.expand(len(x), -1), 1.0)
    members = torch.zeros_like(sets)
    members[:, order] = torch.ones_like(sets).tril()
    return members, probabilities


def lovasz_by_calls(x: Tensor, adjacency: Tensor) -> Tensor:
    """Return sum p f, by a call for each set."""
    members, probabilities = level_sets(x)
    values = torch.stack([clique_density(each, adjacency) for each in members])
    return (probabilities * values).sum()


def lovasz_at_once(x: Tensor, adjacency: Tensor) -> Tensor:
    """Return sum p f, with one matrix product for all sets."""
    members, probabilities = level_sets(x)
    size = members.sum(1)
    edges = ((members @ adjacency) * members).sum(1) / 2
    density = edges / (size * (size - 1) / 2).clamp(min=1)
    return -(probabilities * edges * density.square()).sum()


def neural_by_calls(z: Tensor, adjacency: Tensor, eigenvectors: int = 4, steps: int = 5) -> Tensor:
    """Return the neural Lovász extension of one graph, with the n by n matrix and a call for each set."""
    matrix = z @ z.T
    starts = torch.randn(
        z.shape[1], eigenvectors, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    ).to(z.dtype)
    weights, values = [], []
    for start in starts.unbind(1):
        # The first iteration begins in the space of features, so that both find the same vectors.
        vector = torch.nn.functional.normalize(z @ start, dim=0)
        for _ in range(steps - 1):
            vector = torch.nn.functional.normalize(matrix @ vector, dim=0)
        vector = torch.nn.functional.normalize(matrix @ vector, dim=0)
        weight = vector @ matrix @ vector
        matrix = matrix - weight * torch.outer(vector, vector)
        turned = vector * vector.detach().sum().sign()
        weights.append(weight)
        members, p = level_sets(torch.sigmoid(turned))
        later = p.sum() - p.cumsum(0)
        f = torch.stack([clique_density(each, adjacency) for each in members])
        values.append((p * (p + 2 * later) * f).sum())
    weight = torch.stack(weights)
    return (weight / weight.sum() * torch.stack(values)).sum()


def objective_works(nodes: int) -> dict[str, Callable[[], object]]:
    """Return the methods for value and gradient of the Lovász extension on one graph."""
    graph = random_graph(nodes, seed=0)
    adjacency, f = dense(graph), maximum_clique(graph).objective
    x = torch.rand(nodes, generator=torch.Generator().manual_seed(1)).requires_grad_()

    def work(value: Callable[[], Tensor]) -> Callable[[], tuple[Tensor, Tensor]]:
        def run() -> tuple[Tensor, Tensor]:
            found = value()
            return found.detach(), torch.autograd.grad(found, x)[0]

        return run

    works = {
        OURS: work(lambda: Lovasz()(x, f)[0]),
        CALL_EACH: work(lambda: lovasz_by_calls(x, adjacency)),
        ALL_AT_ONCE: work(lambda: lovasz_at_once(x, adjacency)),
    }
    expected = works[CALL_EACH]()
    for run in works.values():
        for found, wanted in zip(run(), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-2 * float(wanted.abs().max()))
    return dict(works)


def by_calls(outputs: Tensor, batch: Graphs, adjacencies: list[Tensor]) -> Tensor:
    """Return the mean over graphs of the neural extension, by direct evaluation."""
    parts = outputs.split(list(batch.ground.sizes))
    each = [neural_by_calls(z, adjacency) for z, adjacency in zip(parts, adjacencies, strict=True)]
    return torch.stack(each).mean()


def neural_works() -> dict[str, Callable[[], object]]:
    """Return the methods for the neural extension of 32 graphs and its gradient, without a network."""
    graphs = [like_imdb(seed) for seed in range(32)]
    adjacencies, batch = [dense(graph) for graph in graphs], Graphs.join(graphs)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(batch.ground.total, 64, generator=generator).requires_grad_()
    problem = maximum_clique(batch)
    return {
        OURS: lambda: torch.autograd.grad(ByNeural(neural=Neural()).loss(z, problem).mean(), z),
        CALL_EACH: lambda: torch.autograd.grad(by_calls(z, batch, adjacencies), z),
    }


def growth_works(
    graphs: Graphs, make_problem: Callable[[Graphs], Problem]
) -> dict[str, Callable[[], object]]:
    """Return the methods to grow a set in each graph, nodes in a random order."""
    score = make_problem(graphs).score
    generator = torch.Generator().manual_seed(0)
    order = graphs.ground.descending(torch.rand(graphs.ground.total, generator=generator))
    works = {OURS: lambda: score.grow(order), CALL_EACH: lambda: SetFunction.grow(score, order)}
    assert torch.equal(*(work() for work in works.values()))
    return dict(works)


class PlainNetwork(nn.Module):
    """`SolverNetwork` of torch_geometric's layers, with the same weights."""

    def __init__(self, ours: SolverNetwork, config: NetworkConfig) -> None:
        super().__init__()
        self.attend = GATConv(1, config.width)
        self.gated = GatedGraphConv(config.width, config.layers)
        self.embed = copy.deepcopy(ours.embed)
        for theirs, same in zip(self.attend.parameters(), ours.attend.parameters(), strict=True):
            theirs.data = same.detach().clone().reshape(theirs.shape)
        self.gated.load_state_dict(ours.gated.state_dict())

    def forward(self, graphs: Graphs) -> Tensor:
        """Return embeddings of all nodes."""
        degree = graphs.degree.float()
        x = (degree / graphs.ground.sum(degree)[graphs.ground.owner])[:, None]
        x = nn.functional.leaky_relu(self.attend(x, graphs.arcs))
        return self.embed(nn.functional.leaky_relu(self.gated(x, graphs.arcs)) + x)


def step_works() -> dict[str, Callable[[], object]]:
    """Return the methods for a training step on 32 graphs: batch, network, extension, gradient, Adam."""
    graphs = [like_imdb(seed) for seed in range(32)]
    adjacencies = [dense(graph) for graph in graphs]
    torch.manual_seed(0)
    config = NetworkConfig(width=64, layers=6)
    first = SolverNetwork(config, scalar=False)
    plain = PlainNetwork(first, config)

    def ours(network: nn.Module) -> Tensor:
        batch = Graphs.join(graphs)
        return ByNeural(neural=Neural()).loss(network(batch), maximum_clique(batch)).mean()

    def direct(network: nn.Module) -> Tensor:
        batch = Graphs.join(graphs)
        return by_calls(network(batch), batch, adjacencies)

    def one_by_one(network: nn.Module) -> Tensor:
        batch = Graphs.join(graphs)
        return by_calls(torch.cat([network(graph) for graph in graphs]), batch, adjacencies)

    expected = direct(plain)
    for loss in (ours(first), one_by_one(plain)):
        torch.testing.assert_close(loss.float(), expected, rtol=2e-2, atol=1e-3)

    def step(network: nn.Module, loss: Callable[[nn.Module], Tensor]) -> Callable[[], object]:
        own = copy.deepcopy(network)
        optimizer = torch.optim.Adam(own.parameters(), lr=1e-4, fused=True)

        def run() -> None:
            optimizer.zero_grad()
            loss(own).backward()
            optimizer.step()

        return run

    return {
        OURS: step(first, ours),
        ON_THE_BATCH: step(plain, direct),
        GRAPH_BY_GRAPH: step(plain, one_by_one),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--nodes", type=int, nargs="+", default=(2000,))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=8.0, help="measuring time for each table")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    console = Console(width=max(110, Console().width))
    console.print(description(), highlight=False)
    if "objective" in options.only:
        for nodes in options.nodes:
            title = f"Lovász extension of the clique objective and its gradient, {nodes:,} nodes"
            console.print(times_table(title, objective_works(nodes), options.seconds))
    if "step" in options.only:
        title = "The neural Lovász extension and its gradient, 32 graphs"
        console.print(times_table(title, neural_works(), options.seconds))
        title = "A training step with it, network and all"
        console.print(times_table(title, step_works(), options.seconds))
    if "growth" in options.only:
        inputs = {f"a graph of {nodes:,} nodes": random_graph(nodes, 0) for nodes in options.nodes}
        inputs["32 graphs"] = Graphs.join([like_imdb(seed) for seed in range(32)])
        for name, graphs in inputs.items():
            for make in (maximum_clique, maximum_independent_set, maximum_cut):
                title = f"Growing sets in {name}, {make.__name__.replace('_', ' ')}"
                console.print(times_table(title, growth_works(graphs, make), options.seconds))


if __name__ == "__main__":
    main()
