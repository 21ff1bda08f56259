"""Estimates of a class prior from some examples of the class and unlabeled data.

With all labels, `collision_share` is the class prior that a debiased objective needs. With examples of one
class, these two methods estimate its share of the data. The squares of the shares of all classes sum to the
prior of a random negative.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_finite_rows, check_integer, check_number, check_shape

GRID = np.arange(0.01, 1.0, 0.01)
"""Priors that are tried."""

FOLDS = 5

BASES = 200
"""Most centers of kernels, which are drawn from the unlabeled data."""

WIDTHS = np.logspace(-2, 1, 10)
"""Widths of the kernels, in units of the median distance of different rows."""

PENALTIES = np.logspace(-3, 1, 10)
"""Weights of the regularization."""

HALVINGS = 60


def class_prior_pen_l1(
    positives: Float[Tensor, "p dim"], unlabeled: Float[Tensor, "n dim"], *, generator: torch.Generator
) -> float:
    """Estimate the share of a class in unlabeled data by matching distributions (penL1).

        argmin over theta of  sum_l max(0, b_l)^2 / lambda - theta + 1,
        b_l = theta mean over positives of k(x, c_l) - mean over unlabeled of k(x, c_l)

    A share that is too large puts more mass somewhere than the data have, and costs; one that is too small
    costs 1 - theta. Kernels k are Gaussian around unlabeled examples c_l; their width and lambda are chosen
    for each theta by five-fold cross-validation.

    It needs few dimensions or many positives: with 60 digits of a class (64 pixels) it estimates a share of
    0.179 on average where 0.069 is true, and `class_prior_alpha_max` 0.082.

    Args:
        positives: features of examples of the class, at least five.
        unlabeled: features of the data, at least five.
        generator: source of the folds and of the centers.

    Returns:
        The estimate, a hundredth from 0.01 to 0.99.

    Raises:
        ValueError: features of different dimension, fewer than five rows, NaN or infinity, or unlabeled
            rows that are all equal.

    Source: Christoffel et al. (2016), cited by Robinson (2023), section 3.1.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> data = torch.randn(1000, 2, generator=generator)
        >>> data[:300] += 4
        >>> positives = torch.randn(200, 2, generator=generator) + 4
        >>> abs(class_prior_pen_l1(positives, data, generator=generator) - 0.3) < 0.1
        True
    """
    p, u = _features(positives, unlabeled)
    order = torch.randperm(len(u), generator=generator).numpy()
    centers = u[order[:BASES]]
    of_p = torch.randperm(len(p), generator=generator).numpy() % FOLDS
    of_u = torch.randperm(len(u), generator=generator).numpy() % FOLDS
    to_p, to_u = _squared_distances(p, centers), _squared_distances(u, centers)
    costs, fits = [], []
    # Of repeated rows most distances may be 0 up to rounding, which is no width.
    apart = to_u[to_u > 1e-12 * (u**2).sum(axis=1).max()]
    if len(apart) == 0:
        raise ValueError("expected unlabeled features that differ, got equal ones in all rows")
    for width in np.sqrt(np.median(apart)) * WIDTHS:
        in_p, in_u = np.exp(-to_p / (2 * width**2)), np.exp(-to_u / (2 * width**2))
        held = [
            # sum_l max(0, b_l) b'_l with b of four folds and b' of the fifth, at lambda = 1.
            (np.maximum(_gaps(in_p[of_p != fold], in_u[of_u != fold]), 0)
             * _gaps(in_p[of_p == fold], in_u[of_u == fold])).sum(axis=1)
            for fold in range(FOLDS)
        ]  # fmt: skip
        costs.append(-np.mean(held, axis=0)[None, :] / PENALTIES[:, None])  # (penalties, grid)
        squares = (np.maximum(_gaps(in_p, in_u), 0) ** 2).sum(axis=1)
        fits.append(squares[None, :] / PENALTIES[:, None])
    chosen = np.concatenate(costs).argmin(axis=0)
    distance = np.concatenate(fits)[chosen, np.arange(len(GRID))] - GRID + 1
    return float(GRID[distance.argmin()])


def class_prior_alpha_max(
    positives: Float[Tensor, "p dim"],
    unlabeled: Float[Tensor, "n dim"],
    *,
    generator: torch.Generator,
    bins: int = 20,
    tolerance: float = 6.0,
) -> float:
    """Estimate the share of a class in unlabeled data by the likelihood of classifier scores (AlphaMax).

    A logistic regression tells positives from unlabeled data, each fold scored by the other four: a
    one-dimensional transform that preserves the share. `alpha_max` estimates it from the scores.

    Args:
        positives: features of examples of the class, at least five.
        unlabeled: features of the data, at least five.
        generator: source of the folds.
        bins: number of bins of the scores, at least 2.
        tolerance: loss of log-likelihood that is allowed, as in `alpha_max`.

    Returns:
        The estimate, a hundredth from 0.01 to 0.99.

    Raises:
        ValueError: features of different dimension, fewer than five rows, NaN or infinity, or a number out of
            its range.

    Source: Jain et al. (2016), cited by Robinson (2023), section 3.1.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> data = torch.randn(1000, 2, generator=generator)
        >>> data[:300] += 4
        >>> positives = torch.randn(200, 2, generator=generator) + 4
        >>> abs(class_prior_alpha_max(positives, data, generator=generator) - 0.3) < 0.1
        True
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    p, u = _features(positives, unlabeled)
    order_p = torch.randperm(len(p), generator=generator).numpy()
    order_u = torch.randperm(len(u), generator=generator).numpy()
    rows = np.concatenate([p[order_p], u[order_u]])
    kinds = np.repeat([1, 0], [len(p), len(u)])
    classifier = LogisticRegression(max_iter=1000)
    scores = cross_val_predict(classifier, rows, kinds, cv=FOLDS, method="decision_function")
    return alpha_max(
        torch.from_numpy(scores[: len(p)]), torch.from_numpy(scores[len(p) :]), bins=bins, tolerance=tolerance
    )


def alpha_max(
    positives: Float[Tensor, " p"], unlabeled: Float[Tensor, " n"], *, bins: int = 20, tolerance: float = 6.0
) -> float:
    """Estimate the share of a class in unlabeled data from one score of each example.

        LL(alpha)  =  max over b in [0, 1]^bins with sum_k w_k b_k = alpha of
                      sum_k m_k log(w_k b_k / alpha)  +  sum_k n_k log(alpha v_k + w_k (1 - b_k)) ,

    with m_k of the positives and n_k of the data in bin k, and shares v and w of them. Data are a mixture of
    the class with any share up to the largest alpha for which alpha v <= w: up to there LL is constant, and
    beyond it falls. The estimate is the largest share whose LL is within `tolerance` of the best. It is an
    upper bound of the true share where no score belongs to the class alone.

    Differs: the paper looks for the elbow of LL by its slopes.

    Args:
        positives: scores of examples of the class.
        unlabeled: scores of the data.
        bins: number of bins with equally many scores, at least 2.
        tolerance: loss of log-likelihood that is allowed, in nats, above 0. Sampling noise costs about a
            quarter for each bin, so that a smaller one underestimates.

    Returns:
        The estimate, a hundredth from 0.01 to 0.99.

    Raises:
        ValueError: no scores, NaN or infinity in them, or a number out of its range.

    Source: Jain et al. (2016), algorithm AlphaMax, with histograms.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> data = torch.randn(1000, generator=generator)
        >>> data[:300] += 4
        >>> abs(alpha_max(torch.randn(200, generator=generator) + 4, data) - 0.3) < 0.05
        True
    """
    check_integer("bins", bins, minimum=2)
    check_number("tolerance", tolerance, above=0)
    for name, scores in (("positives", positives), ("unlabeled", unlabeled)):
        if scores.ndim != 1 or len(scores) == 0 or not bool(scores.isfinite().all()):
            raise ValueError(
                f"expected finite scores of {name} (n,), got {tuple(scores.shape)} or NaN in them"
            )
    p, u = positives.double().cpu().numpy(), unlabeled.double().cpu().numpy()
    inner = np.unique(np.quantile(np.concatenate([p, u]), np.linspace(0, 1, bins + 1)[1:-1]))
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    m, n = np.histogram(p, edges)[0], np.histogram(u, edges)[0]
    held = n > 0  # where data have nothing, neither has the class
    likelihood = _likelihood(m[held].astype(float), n[held].astype(float))
    return float(GRID[likelihood >= likelihood.max() - tolerance].max())


def _likelihood(m: Float[np.ndarray, " bins"], n: Float[np.ndarray, " bins"]) -> Float[np.ndarray, " grid"]:
    """Return LL of each share in the grid.

    The maximum over b is concave with one linear constraint: in each bin b solves
    m / b - n / (1 + alpha v / w - b) = mu w, whose left side falls, and mu solves the constraint. Both are
    found by bisection.
    """
    w, v = n / n.sum(), m / max(m.sum(), 1.0)
    alpha = GRID[:, None]  # (grid, 1)
    room = 1 + alpha * v / w  # (grid, bins)

    def solved(mu: Float[np.ndarray, "grid 1"]) -> Float[np.ndarray, "grid bins"]:
        low, high = np.zeros_like(room), np.ones_like(room)
        for _ in range(HALVINGS):
            b = (low + high) / 2
            rising = m / b - n / (room - b) > mu * w
            low, high = np.where(rising, b, low), np.where(rising, high, b)
        return (low + high) / 2

    bound = 1e4 * (m.sum() + n.sum())
    low, high = np.full_like(alpha, -bound), np.full_like(alpha, bound)
    for _ in range(HALVINGS):
        mu = (low + high) / 2
        above = (solved(mu) * w).sum(axis=1, keepdims=True) > alpha
        low, high = np.where(above, mu, low), np.where(above, high, mu)
    b = solved((low + high) / 2)
    of_class = b * w / (b * w).sum(axis=1, keepdims=True)
    of_data = alpha * v + w * (1 - b)
    tiny = np.finfo(float).tiny
    return np.asarray(
        (m * np.log(np.maximum(of_class, tiny))).sum(axis=1)
        + (n * np.log(np.maximum(of_data, tiny))).sum(axis=1)
    )


def _features(
    positives: Tensor, unlabeled: Tensor
) -> tuple[Float[np.ndarray, "p dim"], Float[np.ndarray, "n dim"]]:
    """Return both features in float64, checked."""
    check_shape("unlabeled, of the dimension of positives,", unlabeled.shape, (None, *positives.shape[1:]))
    for name, rows in (("positives", positives), ("unlabeled", unlabeled)):
        if rows.ndim != 2 or len(rows) < FOLDS:
            raise ValueError(
                f"expected features of at least {FOLDS} {name} (n, dim), got {tuple(rows.shape)}"
            )
        check_finite_rows(f"features of {name}", rows)
    return positives.double().cpu().numpy(), unlabeled.double().cpu().numpy()


def _squared_distances(
    rows: Float[np.ndarray, "n dim"], centers: Float[np.ndarray, "bases dim"]
) -> Float[np.ndarray, "n bases"]:
    squares = (rows**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1) - 2 * rows @ centers.T
    return np.maximum(squares, 0)


def _gaps(
    in_p: Float[np.ndarray, "p bases"], in_u: Float[np.ndarray, "n bases"]
) -> Float[np.ndarray, "grid bases"]:
    """Return b of each prior in the grid."""
    return GRID[:, None] * in_p.mean(axis=0) - in_u.mean(axis=0)
