"""Entropic transport of a batch onto itself, to the same error of the marginals by every method.

The task: given unit vectors, find the plan P_ij ~ e^{u_i + v_j - c_ij / epsilon} over the pairs that are
negatives (c = 1 - s), until its marginals are off by at most `ERROR` in the mean,

    mean over i of | n sum_j P_ij - 1 | ,     the larger of rows and columns.

Every peer is given the smallest number of iterations that reaches this error, which `fewest` finds outside of
the measured time and which its user could not know. This package finds out for itself when to stop. Peers get
float32 and the matrix of costs; forming it is part of the work, for them as for us. A pair that is no
negative costs `_MASKED`: so much that it gets no mass, and no more, because geomloss anneals from the largest
cost on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from method import EPSILON, Method, NotReachedError, Size, Task, Work, views
from tammes.coupling import Fit, Transport
from tammes.layout import layout_of_views
from tammes.reduce import Negatives, choose
from tammes.selection import All

ERROR = 1e-5
_MASKED = 2.0 + 10 * EPSILON
_MOST_ITERATIONS = 128

Embeddings = Callable[[Size], Tensor]
Solve = Callable[[Tensor, int], object]
"""Function of unit vectors and a number of iterations that returns a plan."""


def spread(size: Size) -> Tensor:
    """Return `(rows, d)` unit vectors anywhere on the sphere, two views one after the other."""
    a, b = views(size)
    return normalize(torch.cat([a, b]).detach(), dim=1)


def clustered(size: Size) -> Tensor:
    """Return unit vectors in ten clusters, as of a trained encoder: similarities of 0.8 within, 0 between."""
    generator = torch.Generator().manual_seed(1)
    centers = normalize(torch.randn(10, size.dim, generator=generator), dim=1)
    members = centers[torch.randint(10, (size.pairs,), generator=generator)].repeat(2, 1)
    return normalize(members + 0.5 * spread(size), dim=1)


def costs(z: Tensor) -> Tensor:
    """Return `(rows, rows)`, 1 - s, and `_MASKED` between a row and itself or its positive."""
    pairs = torch.arange(len(z) // 2)
    cost = torch.addmm(z.new_ones(()), z, z.T, alpha=-1)
    for offset in (0, len(pairs)):
        cost[pairs, pairs + offset] = _MASKED
        cost[pairs + len(pairs), (pairs + len(pairs) + offset) % len(z)] = _MASKED
    return cost


def marginal_error(plan: Tensor) -> float:
    """Return how far the marginals of a plan are from uniform, in the mean, relative to the marginal."""
    return max(float((len(plan) * plan.double().sum(side) - 1).abs().mean()) for side in (0, 1))


def negatives_of(z: Tensor) -> Negatives:
    """Return the negatives that an objective passes to its coupling for two views, row beside row."""
    layout = layout_of_views(len(z) // 2, 2, z.device, All())
    return layout.negatives(layout.of_anchors(z), None, bound=1.001, seed=0)


def ours(embeddings: Embeddings, size: Size) -> Work:
    """Return the fit of the coupling, to its own tolerance.

    Raises:
        NotReachedError: the marginals of the fitted plan are not met.
    """
    z, coupling = embeddings(size), Transport(epsilon=EPSILON, tolerance=ERROR)

    def work() -> Fit:
        negatives = negatives_of(z)
        return coupling.fit(negatives, 1.0, choose(negatives))

    if size.rows <= 8192:
        plan = _plan(negatives_of(z), work())
        two_views = torch.arange(len(z)).view(-1, 2).T.flatten()  # one view after the other, as for the peers
        assert torch.equal(plan[two_views][:, two_views] == 0, costs(z) == _MASKED)
        error = marginal_error(plan)
        if error > 1.3 * ERROR:  # the plan is measured in float64, the stopping rule in float32
            raise NotReachedError(f"tammes stopped at a marginal error of {error:.1e}, not {ERROR:.0e}")
    return work


def _plan(negatives: Negatives, fit: Fit) -> Tensor:
    """Return `(rows, rows)`, the plan of the fitted potential, in float64."""
    column = fit.weight.column
    assert column is not None
    exponent = negatives.anchors.double() @ negatives.anchors.double().T / EPSILON
    exponent += column + column[:, None]
    return exponent.masked_fill_(negatives.ranges.keys[:, None] == negatives.ranges.keys, -torch.inf).exp_()


def with_pot(z: Tensor, iterations: int, *, method: str, as_numpy: bool) -> object:
    """Return the plan by POT."""
    import ot

    cost = costs(z)
    mass = z.new_full((len(z),), 1 / len(z))
    given = (mass.numpy(), mass.numpy(), cost.numpy()) if as_numpy else (mass, mass, cost)
    return ot.sinkhorn(*given, EPSILON, method=method, numItermax=iterations, stopThr=0.0, warn=False)


def with_geomloss(z: Tensor, iterations: int) -> object:
    """Return the plan by geomloss, which spreads its annealing over the number of iterations."""
    from geomloss import ot

    return ot.solve(costs(z), reg=EPSILON, max_iter=iterations)


def _plan_of(answer: object) -> Tensor:
    if isinstance(answer, np.ndarray):
        return torch.from_numpy(answer)
    return answer if isinstance(answer, Tensor) else answer.plan  # type: ignore[attr-defined]


def fewest(solve: Solve, z: Tensor) -> int:
    """Return the smallest number of iterations after which the marginals are met to `ERROR`.

    Raises:
        NotReachedError: they are not met after `_MOST_ITERATIONS` either.
    """

    def reached(iterations: int) -> bool:
        return marginal_error(_plan_of(solve(z, iterations))) <= ERROR

    above = 1
    while not reached(above):
        if above == _MOST_ITERATIONS:
            raise NotReachedError(f"no marginal error of {ERROR:.0e} after {above} iterations")
        above *= 2
    below = above // 2
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (below, middle) if reached(middle) else (middle, above)
    return above


def theirs(solve: Solve, embeddings: Embeddings, size: Size) -> Work:
    """Return the work of a peer with the fewest iterations."""
    z = embeddings(size)
    return partial(solve, z, fewest(solve, z))


def transport() -> Task:
    """Return the task of transport alone, of vectors anywhere on the sphere."""
    return _task("transport", "spread vectors", spread, geomloss_limit=1024)


def transport_clustered() -> Task:
    """Return the task of transport alone, of vectors in clusters."""
    # geomloss anneals to the end: it does not come near the error here, and takes long to show it.
    return _task("transport-clustered", "vectors in ten clusters", clustered, geomloss_limit=256)


def _task(key: str, title: str, embeddings: Embeddings, geomloss_limit: int) -> Task:
    peers: dict[str, tuple[Solve, str, int]] = {
        "POT, sinkhorn, NumPy": (partial(with_pot, method="sinkhorn", as_numpy=True), "ot", 4096),
        "POT, sinkhorn, PyTorch": (partial(with_pot, method="sinkhorn", as_numpy=False), "ot", 4096),
        "POT, sinkhorn_log, NumPy": (partial(with_pot, method="sinkhorn_log", as_numpy=True), "ot", 2048),
        "POT, sinkhorn_log, PyTorch": (partial(with_pot, method="sinkhorn_log", as_numpy=False), "ot", 2048),
        "geomloss, ot.solve": (with_geomloss, "geomloss", geomloss_limit),
    }
    return Task(
        key=key,
        title=f"Transport of {title}, epsilon = {EPSILON}, marginals met to {ERROR:.0e}",
        ours=(Method(name="tammes, Transport", prepare=partial(ours, embeddings)),),
        peers=tuple(
            Method(name=name, prepare=partial(theirs, solve, embeddings), needs=needs, limit=limit)
            for name, (solve, needs, limit) in peers.items()
        ),
    )
