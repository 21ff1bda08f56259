"""Training a solver on graphs or on one graph, and measuring it against the exact answers."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.optim import Adam, Optimizer

from tammes.checks import check_integer, check_number, check_seed, check_shape
from tammes.extensions.graphs import Graphs
from tammes.extensions.ground_set import Members, ScoredSets
from tammes.extensions.integer_program import SolutionCache
from tammes.extensions.problems import Problem, exact_answers
from tammes.extensions.solvers.method import Method
from tammes.extensions.solvers.network import SolverNetwork

MakeProblem = Callable[[Graphs], Problem]
"""Constructor of the problem on a batch of graphs, such as `maximum_clique`."""

Scores = Float[Tensor, " graphs"]
"""Number for each graph: the score of a set, or its ratio to the best score."""

OnEpoch = Callable[[int, float, float], None]
"""Callback after each epoch: its number, the mean loss and the mean ratio on the validation graphs."""


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """Settings of a training: Adam, clipped gradients, and the best epoch on validation graphs kept.

    Args:
        epochs: number of passes over the graphs, at least 1; the paper takes 200.
        batch_size: number of graphs a step, at least 1; the paper tries 4, 32 and 64.
        learning_rate: learning rate, at least 0 (which learns nothing); the paper takes 1e-4.
        clip: largest norm of the gradient, positive; the published code takes 4.
        seed: random seed of the order of the graphs, from 0 to 2^63 - 1.

    Raises:
        ValueError: for fewer than one epoch or graph, a learning rate below 0, a clip not above 0, or
            another seed.
    """

    epochs: int = 200
    batch_size: int = 32
    learning_rate: float = 1e-4
    clip: float = 4.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_integer("epochs", self.epochs)
        check_integer("batch_size", self.batch_size)
        check_number("learning_rate", self.learning_rate, minimum=0)
        check_number("clip", self.clip, above=0)
        check_seed("seed", self.seed)


def fit(
    network: SolverNetwork,
    method: Method,
    make_problem: MakeProblem,
    train: Sequence[Graphs],
    validation: Sequence[Graphs],
    config: FitConfig,
    *,
    optima: Scores,
    on_epoch: OnEpoch | None = None,
) -> tuple[int, float]:
    """Train a network, and leave it with the weights of the best epoch on the validation graphs.

    Args:
        network: the network, changed in place.
        method: loss and decoder.
        make_problem: constructor of the problem on a batch.
        train: training graphs, one graph each.
        validation: validation graphs, one graph each, at least one.
        config: settings of the training.
        optima: optimal scores of the validation graphs; see `optimal_scores`.
        on_epoch: callback after each epoch.

    Returns:
        The best epoch, counted from 1, and its mean ratio on the validation graphs.

    Raises:
        ValueError: if there are no graphs, or if the loss becomes infinite or NaN.
    """
    if not train or not validation:
        raise ValueError(f"expected training and validation graphs, got {len(train)} and {len(validation)}")
    optimizer = Adam(network.parameters(), lr=config.learning_rate, fused=True)
    generator = torch.Generator().manual_seed(config.seed)
    best_epoch, best, weights = 0, -math.inf, copy.deepcopy(network.state_dict())
    for epoch in range(1, config.epochs + 1):
        network.train()
        losses = []
        for chosen in torch.randperm(len(train), generator=generator).split(config.batch_size):
            batch = Graphs.join([train[each] for each in chosen.tolist()])
            loss = method.loss(network(batch), make_problem(batch)).mean()
            _descend(network, optimizer, loss, clip=config.clip, moment=f"epoch {epoch}")
            losses.append(loss.item())
        scores = solve(network, method, make_problem, validation, batch_size=config.batch_size)
        ratio = approximation_ratios(scores, optima).mean().item()
        if ratio > best:
            best_epoch, best, weights = epoch, ratio, copy.deepcopy(network.state_dict())
        if on_epoch is not None:
            on_epoch(epoch, sum(losses) / len(losses), ratio)
    network.load_state_dict(weights)
    return best_epoch, best


@torch.no_grad()
def solve(
    network: SolverNetwork,
    method: Method,
    make_problem: MakeProblem,
    graphs: Sequence[Graphs],
    *,
    batch_size: int = 32,
) -> Scores:
    """Return the score of the set that a network finds in each graph, of at least one."""
    network.eval()
    batches = (Graphs.join(graphs[at : at + batch_size]) for at in range(0, len(graphs) or 1, batch_size))
    found = [method.decode(network(batch), make_problem(batch)) for batch in batches]
    return torch.cat([scores.double() for scores, _ in found])


def optimal_scores(
    make_problem: MakeProblem,
    graphs: Sequence[Graphs],
    *,
    cache: SolutionCache | None = None,
    seconds: float = math.inf,
) -> tuple[Scores, Scores]:
    """Return the best known score of each graph, and its bound, which is higher if a proof took too long."""
    answers = exact_answers(make_problem(Graphs.join(graphs)), cache=cache, seconds=seconds)
    pairs = torch.tensor([(answer.score, answer.bound) for answer in answers], dtype=torch.float64)
    return pairs[:, 0], pairs[:, 1]


def approximation_ratios(scores: Scores, optima: Scores) -> Scores:
    """Return score over optimum, or 1 where the optimum is 0; ValueError unless they are equally many.

    >>> approximation_ratios(torch.tensor([2.0, 0.0]), torch.tensor([4.0, 0.0])).tolist()
    [0.5, 1.0]
    """
    check_shape("optima, one for each score,", optima.shape, scores.shape)
    return torch.where(optima > 0, scores.clamp(min=0) / optima.where(optima > 0, 1.0), 1.0)


def greedy_scores(make_problem: MakeProblem, graphs: Sequence[Graphs], *, rising: bool) -> Scores:
    """Return the score of the greedy baseline in each graph; see `greedy_by_degree`.

    >>> from tammes.extensions import maximum_independent_set
    >>> star = Graphs.of(torch.tensor([[0, 0], [1, 2]]), sizes=(3,))
    >>> greedy_scores(maximum_independent_set, [star], rising=True).tolist()
    [2.0]
    """
    return greedy_by_degree(make_problem, Graphs.join(graphs), rising=rising)[0].double()


def greedy_by_degree(make_problem: MakeProblem, graphs: Graphs, *, rising: bool) -> ScoredSets:
    """Return the sets of the greedy baseline: nodes by falling or rising degree, each if it helps."""
    degree = graphs.degree.double()
    problem = make_problem(graphs)
    members = problem.grow(graphs.ground.descending(-degree if rising else degree))
    return problem.score.values(members), members


def split(graphs: Sequence[Graphs], *, seed: int) -> tuple[list[Graphs], list[Graphs], list[Graphs]]:
    """Split graphs at random into 60 % for training, 30 % for testing and 10 % for validation, as the paper.

    Each part has at least one graph.

    Raises:
        ValueError: for fewer than three graphs, or a seed outside 0 to 2^63 - 1.

    Example:
        >>> one = Graphs.of(torch.tensor([[0], [1]]), sizes=(2,))
        >>> [len(part) for part in split([one] * 10, seed=0)]
        [6, 3, 1]
    """
    if len(graphs) < 3:
        raise ValueError(f"expected at least 3 graphs to split into three parts, got {len(graphs)}")
    generator = torch.Generator().manual_seed(check_seed("seed", seed))
    chosen = [graphs[each] for each in torch.randperm(len(graphs), generator=generator).tolist()]
    validation, test = max(1, len(graphs) // 10), max(1, round(0.3 * len(graphs)))
    train = len(graphs) - test - validation
    return chosen[:train], chosen[train : train + test], chosen[train + test :]


def _descend(network: SolverNetwork, optimizer: Optimizer, loss: Tensor, *, clip: float, moment: str) -> None:
    """Take one step down the gradient of a loss, with the norm clipped."""
    if not bool(loss.isfinite()):
        raise ValueError(f"the loss became {loss.item()} in {moment}; lower the learning rate")
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), clip)
    optimizer.step()


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
) -> tuple[float, Members]:
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
        ValueError: for several graphs, or if the loss becomes infinite or NaN.

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
    if graph.ground.inputs != 1:
        raise ValueError(f"expected a batch of one graph, got {graph.ground.inputs} graphs")
    problem = make_problem(graph)
    guide = problem.guide or problem.score
    optimizer = Adam(network.parameters(), lr=config.learning_rate)
    best, members = -math.inf, graph.ground.empty_sets
    every = math.ceil(graph.ground.total / GROWN_NODES)
    network.train()
    for step in range(1, config.epochs + 1):
        outputs = network(graph)
        loss = method.loss(outputs, problem).sum()
        _descend(network, optimizer, loss, clip=config.clip, moment=f"step {step}")
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
    members = problem.grow(torch.arange(graph.ground.total, device=members.device), members)
    return problem.score.values(members).item(), members
