"""The Lovász extension, its restriction to small sets, and extensions that look at single elements only."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from typing_extensions import override

from tammes.checks import check_indices, check_integer
from tammes.extensions.ground_set import GroundSet, Sweep
from tammes.extensions.scalar.extension import Distribution, Extension, check_mass, check_unit_interval


def level_sets(
    x: Float[Tensor, "rows total"], ground: GroundSet
) -> tuple[Sweep, Float[Tensor, "rows total"]]:
    """Return the level sets of x and how far x falls after each: x_(j) - x_(j+1), with x_(n+1) = 0.

    >>> chain, p = level_sets(torch.tensor([[0.25, 1.0]]), GroundSet(sizes=(2,)))
    >>> chain.order.tolist(), p.tolist()
    ([[1, 0]], [[0.75, 0.25]])
    """
    order = ground.descending(x)
    high = x.gather(1, order)
    is_last = ground.position == ground.size[ground.owner] - 1
    low = torch.nn.functional.pad(high[:, 1:], (0, 1)).masked_fill(is_last, 0.0)
    return Sweep(ground=ground, order=order), high - low


@dataclass(frozen=True, kw_only=True)
class Lovasz(Extension):
    """F(x) = sum_j (x_(j) - x_(j+1)) f({(1), ..., (j)}) for x in [0, 1]^n, sorted: x_(1) >= ... >= x_(n).

    It is convex exactly if f is submodular. Of two nested sets the smaller one is the intersection, and so

        sum over S, T of p_x(S) p_x(T) f(S and T)  =  sum_j p_j (p_j + 2 sum_{l > j} p_l) f(S_j)
                                                   =  sum_j (x_(j)^2 - x_(j+1)^2) f(S_j) = F(x^2),

    eq. 8.4 for one eigenvector: the neural Lovász extension is a mean of scalar ones of squared entries.

    Source: Robinson (2023), section 8.3.1, F.3.1 and eq. 8.4.

    Example:
        >>> def at_least_one(sets):
        ...     return sets.any(dim=1).float()
        >>> Lovasz()(torch.tensor([0.5, 0.75, 0.25]), at_least_one)  # the largest entry
        tensor([0.7500])
    """

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        chain, probabilities = level_sets(x, ground)
        return Distribution(supports=(chain,), probabilities=(probabilities,))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        return self.distribution(x.square(), ground)


@dataclass(frozen=True, kw_only=True)
class BoundedLovasz(Extension):
    """The Lovász extension over sets of at most k elements.

    With x sorted so that x_1 >= ... >= x_n, the sets are S_j = {1..j} for j <= k, and the windows
    S_j = {j-k+1..j} after them. That sum_j p_j 1_{S_j} = x fixes

        p_j = sum_{i = j, j+k, j+2k, ... <= n} (x_i - x_{i+1}),        p_j = (x_j - x_{j+1}) + p_{j+k},

    and sum_j p_j = x_1 + x_{1+k} + x_{1+2k} + ..., which must not exceed 1. Every set of at most k elements
    meets that, and F(1_S) = f(S); so does the simplex, and with k = n this is the Lovász extension. For
    k < n, F can jump where entries of x are equal.

    Args:
        k: largest number of elements of a set, at least 1.

    Raises:
        ValueError: for a k that is no positive integer.

    Source: Robinson (2023), section 8.3.1, Lemma 19. Differs: the text asks for x in the simplex, which
    holds no 1_S but singletons; the condition above is what its proof needs. Its published code does not
    flip the cumulative sum back; and the text says that the sets of the neural extension are those of the
    scalar one, but two windows meet in a smaller window: {2, 3} and {3, 4} in {3}. All of these, k for each
    place, are taken here.

    Example:
        >>> pairs = BoundedLovasz(k=2).distribution(torch.tensor([[0.5, 0.25, 0.25]]), GroundSet(sizes=(3,)))
        >>> pairs.probabilities[0].tolist()
        [[0.5, 0.0, 0.25]]
    """

    k: int

    def __post_init__(self) -> None:
        check_integer("k", self.k, reason="it is the largest size of a set")

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        windows, probabilities = self._windows(x, ground)
        check_mass(ground.sum(probabilities), "x_1 + x_(1+k) + x_(1+2k) + ... <= 1, sorted")
        return Distribution(supports=(windows,), probabilities=(probabilities,))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        if self.k >= ground.widest:
            return Lovasz().intersections(x, ground)
        (probabilities,) = self.distribution(x, ground).probabilities
        order = ground.descending(x)
        p = ground.pad(probabilities, 0.0)
        supports, products = [], []
        # Two windows of width k that end `apart` places from each other meet in a window of width k - apart,
        # which ends with the earlier one; each pair of different windows is drawn in two orders.
        for apart in range(self.k):
            both = (1.0 if apart == 0 else 2.0) * p * torch.nn.functional.pad(p[..., apart:], (0, apart))
            supports.append(Sweep(ground=ground, order=order, width=self.k - apart))
            products.append(ground.unpad(both))
        return Distribution(supports=tuple(supports), probabilities=tuple(products))

    @override
    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        _, probabilities = self._windows(x, ground)
        return x / ground.sum(probabilities).clamp(min=1.0)[:, ground.owner]

    def _windows(self, x: Tensor, ground: GroundSet) -> tuple[Sweep, Tensor]:
        chain, fall = level_sets(x, ground)
        # p_j = fall_j + p_{j+k}: with k places a row, a cumulative sum of the rows from the last one up.
        beyond = -ground.widest % self.k
        strided = torch.nn.functional.pad(ground.pad(fall, 0.0), (0, beyond)).unflatten(-1, (-1, self.k))
        p = strided.flip(-2).cumsum(-2).flip(-2).flatten(-2)[..., : ground.widest]
        return replace(chain, width=self.k), ground.unpad(p)


@dataclass(frozen=True, kw_only=True)
class Singleton(Extension):
    """F(x) = sum_j (x_(j) - x_(j+1)) f({(j)}) for x in [0, 1]^n, sorted: x_(1) >= ... >= x_(n), x_(n+1) = 0.

    f may be infinite for all other sets. The sum of p(S) 1_S is not x here. Where f is below 0 for some
    element, the minima of F are those of f all the same.

    Source: Robinson (2023), section 8.3.1 and F.3.3. Differs: the text calls it continuous; it jumps where
    entries are equal, since the probability of the first of two equal elements is 0.

    Example:
        >>> def place(sets):
        ...     return -sets.float() @ torch.tensor([1.0, 2.0, 3.0])
        >>> Singleton()(torch.tensor([0.5, 1.0, 0.0]), place)
        tensor([-1.5000])
    """

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        chain, probabilities = level_sets(x, ground)
        return Distribution(supports=(replace(chain, width=1),), probabilities=(probabilities,))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        # Different singletons meet in the empty set.
        p = self.distribution(x, ground)
        return replace(p, probabilities=tuple(each.square() for each in p.probabilities))


@dataclass(frozen=True, kw_only=True)
class Permutation(Extension):
    """F(x) = sum_i x_i f({i}) for x in the simplex: the sets are the columns of a permutation matrix.

    With S an involutory permutation matrix, S p = x gives p = S x: the i-th column, the singleton {s(i)}, has
    probability x_{s(i)}. So each {i} has probability x_i, whichever the permutation is, and there is none
    to choose. (A matrix of zeros and ones that is its own inverse is a permutation matrix, so involutory
    extensions are no more than this.)

    Source: Robinson (2023), section 8.3.1 and F.3.4. Differs: the text asks for a permutation with a fixed
    point at the largest entry; every permutation gives the same F.

    Example:
        >>> def place(sets):
        ...     return sets.float() @ torch.tensor([1.0, 2.0, 3.0])
        >>> Permutation()(torch.tensor([0.5, 0.0, 0.5]), place)
        tensor([2.])
    """

    @override
    def distribution(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        check_unit_interval(x)
        check_mass(ground.sum(x), "x_1 + ... + x_n <= 1")
        order = torch.arange(ground.total, device=x.device).expand_as(x)
        return Distribution(supports=(Sweep(ground=ground, order=order, width=1),), probabilities=(x,))

    @override
    def intersections(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Distribution:
        return self.distribution(x.square(), ground)

    @override
    def within(self, x: Float[Tensor, "rows total"], ground: GroundSet) -> Float[Tensor, "rows total"]:
        return x / ground.sum(x).clamp(min=1.0)[:, ground.owner]


def training_error(
    logits: Float[Tensor, "batch classes"], labels: Integer[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """Return 1 - (x_y - x_next), x = softmax(logits), x_next the largest other entry that is at most x_y.

    It is the singleton extension of f({k}) = -1{k = y}, plus 1. The probabilities x_(j) - x_(j+1) of the
    classes leave 1 - x_(1) to "no class", which counts as an error as well; so the loss is 0 exactly for
    x = 1_y. It jumps where the right class draws level with another, from about 1 - x_y up to 1: a tie
    counts as an error.

    Args:
        logits: `(batch, classes)`, real numbers.
        labels: `(batch,)`, right classes, from 0 to classes - 1.

    Returns:
        The loss of each example, `(batch,)`, in [0, 1].

    Raises:
        ValueError: for other shapes, labels out of range, and logits that are not finite.

    Source: Robinson (2023), section 8.5.3, F.3.3 and F.7. Differs: the extension of 1{k != y} itself, which
    the text names first, leaves the mass 1 - x_(1) without cost, and is least where x is the same for all
    classes; F.3.3 asks for a function below 0, as here. It also says that continuity is proved as for the
    Lovász extension; the singleton extension is not continuous where entries are equal.

    Example:
        >>> training_error(torch.tensor([[9.0, 0.0], [0.0, 9.0]]), torch.tensor([0, 0])).round(decimals=2)
        tensor([0., 1.])
    """
    if logits.dim() != 2 or labels.shape != logits.shape[:1] or labels.is_floating_point():
        got = f"{tuple(logits.shape)} and {labels.dtype} {tuple(labels.shape)}"
        raise ValueError(f"expected logits (batch, classes) and integer labels (batch,), got {got}")
    check_indices("labels", labels, logits.shape[1])
    if not bool(logits.isfinite().all()):
        raise ValueError("expected finite logits, got infinities or NaN; lower the learning rate")
    x = torch.softmax(logits, dim=1)
    right = x.gather(1, labels[:, None].long())  # (batch, 1)
    others = x.scatter(1, labels[:, None].long(), 0.0)
    below = others.masked_fill(others.detach() > right.detach(), 0.0).amax(dim=1, keepdim=True)
    return 1 - (right - below).squeeze(1)


class TrainingError(nn.Module):
    """Mean of `training_error` over a batch, in place of `nn.CrossEntropyLoss`.

    Example:
        >>> loss = TrainingError()
        >>> logits = torch.zeros(4, 10, requires_grad=True)
        >>> loss(logits, torch.arange(4)).item()
        1.0
    """

    def forward(
        self, logits: Float[Tensor, "batch classes"], labels: Integer[Tensor, " batch"]
    ) -> Float[Tensor, ""]:
        """Return the mean loss of a batch, in [0, 1].

        Raises:
            ValueError: as `training_error`, and for an empty batch.
        """
        if len(logits) == 0:
            raise ValueError("expected a batch of at least one, got none")
        return training_error(logits, labels).mean()
