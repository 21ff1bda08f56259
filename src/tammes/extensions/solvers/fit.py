"""Training a solver on graphs, and measuring it against the exact answers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tammes.checks import is_finite
from tammes.extensions.exact_answers import exact_answers
from tammes.extensions.graphs import Graphs
from tammes.extensions.problem import Problem
from tammes.extensions.solution_cache import SolutionCache
from tammes.extensions.solvers.method import Method
from tammes.extensions.solvers.network import SolverNetwork

ProblemOf = Callable[[Graphs], Problem]
"""Poses the problem on a batch of graphs."""

Said = Callable[[int, float, float], None]
"""Hears of each epoch: its number, the mean loss and the mean ratio on the validation graphs."""


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How a solver is trained: Adam, gradients cut to a length, the best epoch on validation graphs kept.

    Args:
        epochs: how often each graph is seen; the paper's are 200.
        batch_size: graphs a step; the paper tries 4, 32 and 64.
        learning_rate: the paper's is 1e-4.
        clip: the largest length of the gradient; the published code's is 4.
        seed: of the order of the graphs.

    Raises:
        ValueError: for fewer than one epoch or graph, or a learning rate or clip that is not positive.
    """

    epochs: int = 200
    batch_size: int = 32
    learning_rate: float = 1e-4
    clip: float = 4.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1:
            raise ValueError(
                f"expected at least one epoch and one graph a batch, got epochs={self.epochs}, "
                f"batch_size={self.batch_size}"
            )
        for name, value in (("learning_rate", self.learning_rate), ("clip", self.clip)):
            if not (is_finite(value) and value > 0):
                raise ValueError(f"{name} must be a positive number, got {value}")


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What came of a training: the network has the weights of the best epoch.

    Args:
        best_epoch: counted from 1.
        ratio: the mean ratio on the validation graphs then.
    """

    best_epoch: int
    ratio: float


def fit(
    network: SolverNetwork,
    method: Method,
    problem_of: ProblemOf,
    train: Sequence[Graphs],
    validation: Sequence[Graphs],
    config: FitConfig,
    *,
    optima: Float[Tensor, " graphs"],
    said: Said | None = None,
) -> Fitted:
    """Train a network, and leave it with the weights that did best on the validation graphs.

    Args:
        network: changed in place.
        method: the loss, and how sets are read off.
        problem_of: poses the problem on a batch.
        train: one graph each.
        validation: one graph each, at least one.
        config: the training.
        optima: of the validation graphs; see `optima_of`.
        said: hears of each epoch.

    Raises:
        ValueError: without graphs, or if the loss is no number any more.
    """
    if not train or not validation:
        raise ValueError(
            f"expected graphs to train on and to validate with, got {len(train)} and {len(validation)}"
        )
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, fused=True)
    generator = torch.Generator().manual_seed(config.seed)
    best, weights = Fitted(best_epoch=0, ratio=-math.inf), copy.deepcopy(network.state_dict())
    for epoch in range(1, config.epochs + 1):
        network.train()
        order = torch.randperm(len(train), generator=generator).tolist()
        losses = []
        for batch in _batches([train[each] for each in order], config.batch_size):
            optimizer.zero_grad()
            loss = method.loss(network(batch), problem_of(batch)).mean()
            if not bool(loss.isfinite()):
                raise ValueError(f"the loss became {loss.item()} in epoch {epoch}; lower the learning rate")
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), config.clip)
            optimizer.step()
            losses.append(loss.item())
        worths = solve(network, method, problem_of, validation, batch_size=config.batch_size)
        ratio = ratios(worths, optima).mean().item()
        if ratio > best.ratio:
            best, weights = Fitted(best_epoch=epoch, ratio=ratio), copy.deepcopy(network.state_dict())
        if said is not None:
            said(epoch, sum(losses) / len(losses), ratio)
    network.load_state_dict(weights)
    return best


@torch.no_grad()
def solve(
    network: SolverNetwork,
    method: Method,
    problem_of: ProblemOf,
    graphs: Sequence[Graphs],
    *,
    batch_size: int = 32,
) -> Float[Tensor, " graphs"]:
    """What the sets are worth that a network finds."""
    network.eval()
    worths = [
        method.decode(network(batch), problem_of(batch))[0].double() for batch in _batches(graphs, batch_size)
    ]
    return torch.cat(worths)


def optima_of(
    problem_of: ProblemOf,
    graphs: Sequence[Graphs],
    *,
    kept: SolutionCache | None = None,
    seconds: float = math.inf,
) -> tuple[Float[Tensor, " graphs"], Float[Tensor, " graphs"]]:
    """The best worth of each graph, and the bound: where it is larger, time ran out before the proof."""
    answers = exact_answers(problem_of(Graphs.join(graphs)), kept=kept, seconds=seconds)
    return (
        torch.tensor([answer.worth for answer in answers], dtype=torch.float64),
        torch.tensor([answer.bound for answer in answers], dtype=torch.float64),
    )


def ratios(worths: Float[Tensor, " graphs"], optima: Float[Tensor, " graphs"]) -> Float[Tensor, " graphs"]:
    """Worth over optimum; 1 where the optimum is 0, since nothing is better then.

    >>> ratios(torch.tensor([2.0, 0.0]), torch.tensor([4.0, 0.0])).tolist()
    [0.5, 1.0]
    """
    return torch.where(optima > 0, worths.clamp(min=0) / optima.where(optima > 0, 1.0), 1.0)


def by_degree(
    problem_of: ProblemOf, graphs: Sequence[Graphs], *, rising: bool, batch_size: int = 32
) -> Float[Tensor, " graphs"]:
    """What the sets of `greedy` are worth.

    >>> from tammes.extensions import MaximumIndependentSet
    >>> star = Graphs.of(torch.tensor([[0, 0], [1, 2]]), sizes=(3,))
    >>> by_degree(lambda graphs: MaximumIndependentSet(graphs=graphs), [star], rising=True).tolist()
    [2.0]
    """
    found = [greedy(problem_of, batch, rising=rising)[0].double() for batch in _batches(graphs, batch_size)]
    return torch.cat(found)


def greedy(
    problem_of: ProblemOf, graphs: Graphs, *, rising: bool
) -> tuple[Float[Tensor, " graphs"], Bool[Tensor, " total"]]:
    """The greedy baseline: nodes in order of falling or rising degree, each if the set is better with it.

    Returns:
        What the sets are worth, and the sets as one indicator vector.
    """
    degree = graphs.degree.double()
    return problem_of(graphs).extend(graphs.ground.descending(-degree if rising else degree))


def split(graphs: Sequence[Graphs], *, seed: int) -> tuple[list[Graphs], list[Graphs], list[Graphs]]:
    """60 % to train on, 30 % to test on and 10 % to validate with, as in the paper; at least one each.

    Raises:
        ValueError: for fewer than three graphs.

    Example:
        >>> one = Graphs.of(torch.tensor([[0], [1]]), sizes=(2,))
        >>> [len(part) for part in split([one] * 10, seed=0)]
        [6, 3, 1]
    """
    if len(graphs) < 3:
        raise ValueError(f"expected at least 3 graphs to split into three parts, got {len(graphs)}")
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(seed)).tolist()
    validation = max(1, len(graphs) // 10)
    test = max(1, round(0.3 * len(graphs)))
    train = len(graphs) - test - validation
    chosen = [graphs[each] for each in order]
    return chosen[:train], chosen[train : train + test], chosen[train + test :]


def _batches(graphs: Sequence[Graphs], size: int) -> Iterator[Graphs]:
    for first in range(0, len(graphs), size):
        yield Graphs.join(graphs[first : first + size])
