"""Search on one graph: a network is trained on this graph alone, and the best set found is kept."""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from tammes.extensions.graphs import Graphs
from tammes.extensions.solvers.fit import FitConfig, MakeProblem
from tammes.extensions.solvers.method import Method
from tammes.extensions.solvers.network import SolverNetwork

GROWN_NODES = 500
"""Nodes of the largest graph whose sets are grown at every step: that takes O(nodes edges)."""


def search(
    network: SolverNetwork,
    method: Method,
    make_problem: MakeProblem,
    graph: Graphs,
    config: FitConfig,
    *,
    on_step: Callable[[int], None] | None = None,
) -> tuple[float, Bool[Tensor, " total"]]:
    """Return the score and the members of the best set that a network finds while it descends on one graph.

    The set that is decoded at a step is grown: further nodes are added greedily, in the order of falling
    outputs, or of the lengths of embeddings. On graphs of more than `GROWN_NODES` nodes only every few steps
    do so. The best set is grown once more at the end.

    Args:
        network: the network, changed in place; with random features it sees other inputs at each step.
        method: loss and decoder.
        make_problem: constructor of the problem.
        graph: a batch of one graph.
        config: settings of the training; one epoch is one step here.
        on_step: callback after each step, with its number.

    Raises:
        ValueError: if the loss becomes infinite or NaN.

    Example:
        >>> from tammes.extensions.solvers import ByScalar, NetworkConfig
        >>> from tammes.extensions import maximum_clique
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> network = SolverNetwork(
        ...     NetworkConfig(width=8, layers=1, noise=4), scalar=True, generator=torch.Generator()
        ... )
        >>> search(network, ByScalar(), maximum_clique, graph, FitConfig(epochs=40))[0]
        3.0
    """
    problem = make_problem(graph)
    guide = problem.guide or problem.score
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    nodes, device = graph.ground.total, graph.edges.device
    best, members = -torch.inf, torch.zeros(nodes, dtype=torch.bool, device=device)
    every = math.ceil(nodes / GROWN_NODES)
    network.train()
    for step in range(1, config.epochs + 1):
        optimizer.zero_grad()
        outputs = network(graph)
        loss = method.loss(outputs, problem).sum()
        if not bool(loss.isfinite()):
            raise ValueError(f"the loss became {loss.item()} in step {step}; lower the learning rate")
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip)
        optimizer.step()
        with torch.no_grad():
            _, found = method.decode(outputs, problem)
            if step % every == 0:
                order = graph.ground.descending(outputs[:, 0] if method.scalar else outputs.norm(dim=1))
                found = problem.grow(order, found)
            value = guide.values(found)
        if value.item() > best:
            best, members = value.item(), found
        if on_step is not None:
            on_step(step)
    members = problem.grow(torch.arange(nodes, device=device), members)
    return problem.score.values(members).item(), members
