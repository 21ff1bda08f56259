"""Solving one graph: a network is trained on it alone, and the best set on the way is kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool
from torch import Tensor

from tammes.extensions.graphs import Graphs
from tammes.extensions.greedy import extend
from tammes.extensions.solvers.fit import FitConfig, ProblemOf
from tammes.extensions.solvers.method import Method
from tammes.extensions.solvers.network import SolverNetwork

COMPLETED = 500
"""Nodes of the largest graphs whose sets are completed at every step: that takes nodes times edges."""


def search(
    network: SolverNetwork,
    method: Method,
    problem_of: ProblemOf,
    graph: Graphs,
    config: FitConfig,
    *,
    said: Callable[[int], None] | None = None,
) -> tuple[float, Bool[Tensor, " total"]]:
    """The best set that a network finds while it descends on one graph, and what the set is worth.

    The set that is read off at a step is completed: further nodes are taken in, each one if the set is better
    with it, in the order of falling outputs, or of the lengths of embeddings. On graphs of more than
    `COMPLETED` nodes this is done at as many fewer steps, and at the end.

    Args:
        network: changed in place; random features let it look in other places at each step.
        method: the loss, and how sets are read off.
        problem_of: poses the problem.
        graph: one graph.
        config: epochs are steps here.
        said: hears the number of each step.

    Raises:
        ValueError: if the loss is no number any more.

    Example:
        >>> from tammes.extensions.solvers import ByScalar, NetworkConfig
        >>> from tammes.extensions import MaximumClique
        >>> graph = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
        >>> network = SolverNetwork(
        ...     NetworkConfig(width=8, layers=1, noise=4), scalar=True, generator=torch.Generator()
        ... )
        >>> pose = lambda graphs: MaximumClique(graphs=graphs)
        >>> search(network, ByScalar(), pose, graph, FitConfig(epochs=40))[0]
        3.0
    """
    problem = problem_of(graph)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    nodes, device = graph.ground.total, graph.edges.device
    best, members = -torch.inf, torch.zeros(nodes, dtype=torch.bool, device=device)
    every = math.ceil(nodes / COMPLETED)
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
                value, found = extend(problem.guide, order, found)
            else:
                value = problem.guide.values(found)
        if value.item() > best:
            best, members = value.item(), found
        if said is not None:
            said(step)
    worth, members = problem.extend(torch.arange(nodes, device=device), members)
    return worth.item(), members
