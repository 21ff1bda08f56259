"""How an augmentation moves embeddings: as one rotation, not at all, or each in its own way."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.checks import check_shape
from tammes.diagnostics.blocks import SIDE, directions, pair_blocks


@torch.no_grad()
def best_rotation(
    before: Float[Tensor, "n dim"], after: Float[Tensor, "n dim"], *, reflections: bool = False
) -> Float[Tensor, "dim dim"]:
    """Return the rotation that takes the embeddings nearest to those of the augmented inputs.

        R = argmin over R in SO(d) of sum_i |R f_i - g_i|^2  =  U diag(1, ..., 1, det U det V) V^T,
        U S V^T = sum_i g_i f_i^T,

    with unit vectors f_i and g_i.

    Args:
        before: embeddings of inputs, of any length above 0.
        after: embeddings of the same inputs after one augmentation.
        reflections: whether reflections are allowed too: all of O(d), which the equivariance loss allows.

    Returns:
        R in float64; R f_i is `before @ R.T`.

    Raises:
        ValueError: the shapes differ, or a row has length zero or is not finite.

    Source: Kabsch, A solution for the best rotation to relate two sets of vectors, 1976. Differs: Robinson
    (2023), below eq. 5.7, prints n - 1 ones, where n is the number of embeddings; it is d - 1.

    Example:
        >>> quarter_turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        >>> best_rotation(torch.eye(2), torch.eye(2) @ quarter_turn.T).round().tolist()
        [[0.0, -1.0], [1.0, 0.0]]
    """
    f, g = _directions(before, after)
    return _rotation(f, g, reflections)


@torch.no_grad()
def wahba_error(
    before: Float[Tensor, "n dim"], after: Float[Tensor, "n dim"], *, reflections: bool = False
) -> float:
    """Return how far an augmentation is from rotating all embeddings alike.

        W_f = min over R in SO(d) of |R F - F_a|  (Frobenius norm, columns f(x_i) and f(a(x_i)))

    It is 0 where one rotation explains the augmentation, and at most sqrt(2 n) in two dimensions or more: it
    grows with the number of embeddings, so compare it for equally many.

    Args:
        before: embeddings of inputs, of any length above 0.
        after: embeddings of the same inputs after one augmentation.
        reflections: whether reflections are allowed too.

    Raises:
        ValueError: the shapes differ, or a row has length zero or is not finite.

    Source: Robinson (2023), eq. 5.7.

    Example:
        >>> embeddings = torch.eye(3)
        >>> wahba_error(embeddings, embeddings.roll(1, dims=1)) < 1e-12    # an even permutation
        True
        >>> mirrored = embeddings * torch.tensor([-1.0, 1.0, 1.0])
        >>> round(wahba_error(embeddings, mirrored), 9), wahba_error(embeddings, mirrored, reflections=True)
        (2.0, 0.0)
    """
    f, g = _directions(before, after)
    return float((f @ _rotation(f, g, reflections).T - g).norm())


@torch.no_grad()
def relative_equivariance(
    before: Float[Tensor, "n dim"], after: Float[Tensor, "n dim"], *, side: int = SIDE
) -> float:
    """Return the change of distances between embeddings, relative to how far the embeddings move.

        gamma_f  =  mean over i != j of
            ( |g_i - g_j|^2 - |f_i - f_j|^2 )^2  /  ( |g_i - f_i|^2 + |g_j - f_j|^2 )^2

    Invariance makes the equivariance loss small, too; gamma_f tells the two apart. It is 0 for a rotation.
    The numerator is of second order in the movement and the denominator of fourth: embeddings that move by
    eps, each in its own direction, have a gamma_f of the order of 1 / eps^2. So an encoder that is less
    invariant has a lower gamma_f at the same shape of the movement: read it together with `invariance`.
    Pairs of two embeddings that do not move, but for the rounding of their type, are left out.

    Args:
        before: embeddings of inputs, of any length above 0.
        after: embeddings of the same inputs after one augmentation; average over augmentations outside.
        side: rows and columns of a block; memory is proportional to its square, whatever n.

    Raises:
        ValueError: the shapes differ, fewer than two rows, a row of length zero or that is not finite, or no
            embedding that moves.

    Source: Robinson (2023), eq. 5.8, over pairs of different inputs.

    Example:
        >>> before = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> relative_equivariance(before, before.flip(1)), relative_equivariance(before, torch.eye(2)[[0, 0]])
        (0.0, 1.0)
    """
    f, g = _directions(before, after)
    moved = (f - g).square().sum(dim=1)
    # Entries of unit vectors are rounded by eps, and a movement in the denominator must be more than that.
    eps = max(torch.finfo(each.dtype).eps for each in (before, after))
    moved = moved.where(moved > (2 * eps) ** 2, 0)
    total, pairs = 0.0, 0
    for block, other in zip(pair_blocks(f, side), pair_blocks(g, side), strict=True):
        # |f_i - f_j|^2 = 2 - 2 f_i . f_j for unit vectors.
        change = 2 * (block.similarity - other.similarity)
        movement = moved[block.rows, None] + moved[None, block.columns]
        counted = block.pairs & (movement > 0)
        total += float((change / movement).square().where(counted, 0).sum())
        pairs += int(counted.sum())
    if pairs == 0:
        raise ValueError(
            "no embedding moves, so that equivariance relative to the movement is not defined: choose an "
            "augmentation that changes the inputs"
        )
    return total / pairs


@torch.no_grad()
def invariance(before: Float[Tensor, "n dim"], after: Float[Tensor, "n dim"]) -> float:
    """Return the mean distance that an augmentation moves unit embeddings.

        L_inv  =  mean over i of |f(a(x_i)) - f(x_i)|:   from 0, invariant, to 2

    Args:
        before: embeddings of inputs, or of one augmentation of them, of any length above 0.
        after: embeddings of the same inputs after another augmentation.

    Raises:
        ValueError: the shapes differ, or a row has length zero or is not finite.

    Source: Robinson (2023), below eq. 5.4. Its square root aside, `alignment` is the mean of the squares.

    Example:
        >>> invariance(torch.eye(2), -torch.eye(2))
        2.0
    """
    f, g = _directions(before, after)
    return float((f - g).norm(dim=1).mean())


@torch.no_grad()
def cosine_variance(before: Float[Tensor, "n dim"], after: Float[Tensor, "n dim"]) -> float:
    """Return the variance, over inputs, of the cosine by which one augmentation moves embeddings.

        Var over x of cos( f(x), f(a(x)) )

    On the circle a rotation moves all embeddings by the same angle, and the variance is 0. In more dimensions
    a rotation may leave some directions in place and move others, so that it need not be.

    Args:
        before: embeddings of at least two inputs, of any length above 0.
        after: embeddings of the same inputs after one augmentation.

    Raises:
        ValueError: the shapes differ, fewer than two rows, or a row of length zero or that is not finite.

    Source: Robinson (2023), Figure 5-5, for two dimensions. The variance is that of a sample, over n - 1.

    Example:
        >>> round(cosine_variance(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])), 9)
        2.0
    """
    f, g = _directions(before, after)
    if len(f) < 2:
        raise ValueError(f"expected at least two embeddings, which have a variance, got {len(f)}")
    return float((f * g).sum(dim=1).var())


@dataclass(frozen=True, kw_only=True)
class Composition:
    """Composition of two augmentations, compared with the composition of their rotations.

    Attributes:
        error: |R_b R_a F - F_ba|, Frobenius norm: how far the embeddings of b(a(x)) are from what the two
            rotations, each fitted alone, predict.
        best: W_f of the composed augmentation, which no prediction by a rotation is below.
        rotations: |R_ba - R_b R_a|, Frobenius norm, from 0 to 2 sqrt(d). Directions that no embedding has
            count as well, so it says less where embeddings leave dimensions unused.
    """

    error: float
    best: float
    rotations: float


@torch.no_grad()
def composition(
    before: Float[Tensor, "n dim"],
    first: Float[Tensor, "n dim"],
    second: Float[Tensor, "n dim"],
    both: Float[Tensor, "n dim"],
) -> Composition:
    """Return how well the rotations of two augmentations compose to that of the composed augmentation.

    Where the equivariance loss is zero, augmentations are a group of rotations: R_ba = R_b R_a.

    Args:
        before: embeddings f(x) of inputs, of any length above 0.
        first: embeddings f(a(x)).
        second: embeddings f(b(x)).
        both: embeddings f(b(a(x))).

    Raises:
        ValueError: the shapes differ, or a row has length zero or is not finite.

    Source: Robinson (2023), Corollary 1 and Figure 5-4.

    Example:
        >>> quarter_turn, points = torch.tensor([[0.0, -1.0], [1.0, 0.0]]), torch.eye(2)
        >>> turned = points @ quarter_turn.T
        >>> composition(points, turned, turned, -points).error < 1e-12
        True
    """
    f, f_ba = _directions(before, both)
    r_a, r_b, r_ba = (best_rotation(before, after) for after in (first, second, both))
    composed = r_b @ r_a
    return Composition(
        error=float((f @ composed.T - f_ba).norm()),
        best=float((f @ r_ba.T - f_ba).norm()),
        rotations=float((r_ba - composed).norm()),
    )


def _directions(before: Tensor, after: Tensor) -> tuple[Float[Tensor, "n dim"], Float[Tensor, "n dim"]]:
    """Return both embeddings at unit length, in float64."""
    check_shape("after, like before,", after.shape, before.shape)
    return directions(before.double()), directions(after.double())


def _rotation(
    f: Float[Tensor, "n dim"], g: Float[Tensor, "n dim"], reflections: bool
) -> Float[Tensor, "dim dim"]:
    u, _, vt = torch.linalg.svd(g.T @ f)
    if not reflections and torch.det(u) * torch.det(vt) < 0:
        # The direction of the smallest singular value costs least to turn around.
        u[:, -1] = -u[:, -1]
    return u @ vt
