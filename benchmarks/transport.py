"""Entropic transport of a batch onto itself, to one and the same error of the marginals.

The task: unit vectors are given; find the plan P_ij proportional to e^{u_i + v_j - c_ij / epsilon} over the
pairs that are negatives (c = 1 - s), to where its marginals are off by at most `ERROR` in the mean,

    mean over i of | n sum_j P_ij - 1 | ,     the larger of rows and columns.

Every peer is told in advance the smallest number of iterations that reaches it (`fewest` finds it, outside
of the measured time), which its user could not know; this package finds out by itself when to stop. Peers
are given float32 and the matrix of costs, whose forming is part of the work, as it is of ours. A pair that
is no negative costs `_MASKED`, so much that its share of the plan is nothing, and not more, because geomloss
anneals from the largest cost on.
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

ERROR = 1e-5
_MASKED = 2.0 + 10 * EPSILON
_MOST_ITERATIONS = 128

Embeddings = Callable[[Size], Tensor]
Solve = Callable[[Tensor, int], object]
"""Solves for unit vectors in a number of iterations."""


def spread(size: Size) -> Tensor:
    """`(rows, d)` unit vectors, two views one after the other; pairs lie anywhere on the sphere."""
    a, b = views(size)
    return normalize(torch.cat([a, b]).detach(), dim=1)


def clustered(size: Size) -> Tensor:
    """The same in ten clusters, with similarities about 0.8 within and 0 between: a trained encoder's."""
    generator = torch.Generator().manual_seed(1)
    centers = normalize(torch.randn(10, size.dim, generator=generator), dim=1)
    members = centers[torch.randint(10, (size.pairs,), generator=generator)].repeat(2, 1)
    return normalize(members + 0.5 * spread(size), dim=1)


def costs(z: Tensor) -> Tensor:
    """`(rows, rows)`, 1 - s, and `_MASKED` between a row and itself or its positive."""
    pairs = torch.arange(len(z) // 2)
    cost = torch.addmm(z.new_ones(()), z, z.T, alpha=-1)
    for offset in (0, len(pairs)):
        cost[pairs, pairs + offset] = _MASKED
        cost[pairs + len(pairs), (pairs + len(pairs) + offset) % len(z)] = _MASKED
    return cost


def marginal_error(plan: Tensor) -> float:
    """How far the marginals of a plan are from uniform, in the mean, relative to the marginal."""
    return max(float((len(plan) * plan.double().sum(side) - 1).abs().mean()) for side in (0, 1))


def negatives_of(z: Tensor) -> Negatives:
    """What the objective hands to the coupling for two views: arranged once, positives side by side."""
    layout = layout_of_views(len(z) // 2, 2, z.device, z.dtype, None)
    return layout.negatives_of(z, None, bound=1.001, seed=0)


def ours(embeddings: Embeddings, size: Size) -> Work:
    """Fit of the coupling, to its own tolerance.

    Raises:
        NotReachedError: the marginals of the plan it stands for are not met.
    """
    z, coupling = embeddings(size), Transport(epsilon=EPSILON, tolerance=ERROR)

    def work() -> Fit:
        negatives = negatives_of(z)
        return coupling.fit(negatives, 1.0, choose(negatives))

    if size.rows <= 8192:
        error = marginal_error(_plan(negatives_of(z), work()))
        if error > 1.3 * ERROR:  # the plan is measured in float64, the stopping rule in float32
            raise NotReachedError(f"tammes stopped at a marginal error of {error:.1e}, not {ERROR:.0e}")
    return work


def _plan(negatives: Negatives, fit: Fit) -> Tensor:
    """`(rows, rows)`, the plan that the fitted potential stands for, in float64."""
    column = fit.weight.column
    assert column is not None
    exponent = negatives.anchors.double() @ negatives.anchors.double().T / EPSILON
    exponent += column + column[:, None]
    return exponent.masked_fill_(negatives.keys[:, None] == negatives.keys, -torch.inf).exp_()


def with_pot(z: Tensor, iterations: int, *, method: str, as_numpy: bool) -> object:
    """The plan by POT."""
    import ot

    cost = costs(z)
    mass = z.new_full((len(z),), 1 / len(z))
    given = (mass.numpy(), mass.numpy(), cost.numpy()) if as_numpy else (mass, mass, cost)
    return ot.sinkhorn(*given, EPSILON, method=method, numItermax=iterations, stopThr=0.0, warn=False)


def with_geomloss(z: Tensor, iterations: int) -> object:
    """The plan's potentials by geomloss, whose annealed iterations are spread over a number given to it."""
    from geomloss import ot

    return ot.solve(costs(z), reg=EPSILON, max_iter=iterations)


def _plan_of(answer: object) -> Tensor:
    if isinstance(answer, np.ndarray):
        return torch.from_numpy(answer)
    return answer if isinstance(answer, Tensor) else answer.plan  # type: ignore[attr-defined]


def fewest(solve: Solve, z: Tensor) -> int:
    """The smallest number of iterations after which the marginals are met to `ERROR`.

    Raises:
        NotReachedError: not even after `_MOST_ITERATIONS`.
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
    """The work of a peer at the fewest iterations."""
    z = embeddings(size)
    return partial(solve, z, fewest(solve, z))


def transport() -> Task:
    """Transport alone, of vectors anywhere on the sphere."""
    return _task("transport", "spread vectors", spread, geomloss_limit=1024)


def transport_clustered() -> Task:
    """Transport alone, of vectors in clusters."""
    # geomloss anneals to the end: it comes nowhere near the error here, and takes long to show it.
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
