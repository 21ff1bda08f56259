"""Logistic regression on many subsets of the same rows at once, as nested cross-validation needs it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import one_hot, softplus

NEWTON, CONJUGATE, HALVINGS = 50, 60, 20
"""Largest number of Newton steps, of conjugate gradients in each, and of halvings of a step."""


@dataclass(kw_only=True, eq=False)
class ManyRegressions:
    """Logistic regressions on subsets of the same n points, solved together.

        min over W, b  of  |W|^2 / 2 + C sum_{i in subset} -log softmax(W x_i + b)[y_i]

    as in scikit-learn: of two classes one logit, of more a logit for each; b is not penalized.

    Nested cross-validation solves this for dozens of subsets that differ in a tenth of the points. All
    products with the features are therefore matrix products over all subsets, which read the features once
    for all of them. Newton's steps come from conjugate gradients in the principal axes of the features,
    where the Hessian is nearly diagonal.

    Args:
        features: features of n points.
        labels: label of each point, from 0 to `classes` - 1.
        classes: number of classes, at least 2.
        subsets: whether each subset has each point, and every class among them.
        tolerance: bound on the Newton decrement per point, at which a regression is finished.

    Example:
        >>> x, y = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.tensor([0, 0, 1, 1])
        >>> both = torch.ones(1, 4, dtype=torch.bool)
        >>> many = ManyRegressions(features=x, labels=y, classes=2, subsets=both)
        >>> many.solve(1.0)
        >>> many.predict(x).tolist()
        [[0, 0, 1, 1]]
    """

    features: Float[Tensor, "n features"]
    labels: Int[Tensor, " n"]
    classes: int
    subsets: Bool[Tensor, "subsets n"]
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        x = self.features
        centered = x.double() - x.double().mean(dim=0)
        self.mean = x.double().mean(dim=0).to(x.dtype)
        # The penalty does not depend on a rotation of W, nor does W on a shift of the features. The axes of
        # no variance are left out: there, W is zero.
        values, axes = torch.linalg.eigh(centered.T @ centered)
        kept = values > values[-1] * 1e-12
        self.axes, self.spread = axes[:, kept].to(x.dtype), values[kept].to(x.dtype)
        self.x = self._turned(x)
        self.mask = self.subsets.T.to(x.dtype)  # n, subsets
        self.logits_of_each = 1 if self.classes == 2 else self.classes
        shape = self.x.shape[1], len(self.subsets), self.logits_of_each
        self.weight, self.bias = x.new_zeros(shape), x.new_zeros(shape[1:])
        target = one_hot(self.labels, self.classes).to(x.dtype)
        self.target = target[:, -self.logits_of_each :]  # n, logits
        self.logits = x.new_zeros(len(x), *shape[1:])  # n, subsets, logits

    def solve(self, cost: float) -> None:
        """Minimize all objectives at C = `cost`, beginning from the solution before."""
        active = torch.arange(len(self.subsets))
        for _ in range(NEWTON):
            active = active[self._newton(active, cost)]
            if len(active) == 0:
                return

    def predict(self, features: Float[Tensor, "m features"]) -> Int[Tensor, "subsets m"]:
        """Return the label that each regression gives to other points."""
        turned = self._turned(features)
        return self._decided(_times(turned, self.weight) + self.bias)

    @property
    def predicted(self) -> Int[Tensor, "subsets n"]:
        """Label that each regression gives to all n points."""
        return self._decided(self.logits)

    def coefficients(self, subset: int) -> tuple[Float[Tensor, "logits features"], Float[Tensor, " logits"]]:
        """Return W and b of one regression, for the features as they were given."""
        weight = self.weight[:, subset].T @ self.axes.T
        return weight, self.bias[subset] - weight @ self.mean

    def _turned(self, features: Tensor) -> Tensor:
        return (features.to(self.mean.dtype) - self.mean) @ self.axes

    def _decided(self, logits: Tensor) -> Tensor:
        # n, subsets, logits -> subsets, n
        if self.classes == 2:
            return (logits[:, :, 0] > 0).long().T
        return logits.argmax(dim=2).T

    def _newton(self, active: Tensor, cost: float) -> Tensor:
        """Take a step of the active regressions; return which of them have not yet converged."""
        mask = self.mask[:, active, None]
        weight, logits = self.weight[:, active], self.logits[:, active]
        p = self._probabilities(logits)
        residual = cost * mask * (p - self.target[:, None])  # n, active, logits
        gradient = weight + _transposed(self.x, residual)
        of_bias = residual.sum(dim=0)
        curvature = cost * mask * (p * (1 - p) if self.classes == 2 else p)
        step, of_bias_step, change = self._conjugate(gradient, of_bias, curvature, p)
        # The decrement is twice the distance to the minimum of the quadratic model.
        decrement = -(gradient * step).sum(dim=(0, 2)) - (of_bias * of_bias_step).sum(dim=1)
        moving = decrement > 2 * self.tolerance * cost * mask[:, :, 0].sum(dim=0)
        length = self._length(weight, step, logits, change, mask, cost, decrement)
        self.weight[:, active] = weight + length[:, None] * step
        self.bias[active] += length[:, None] * of_bias_step
        self.logits[:, active] = logits + length[:, None] * change
        return moving & (length > 0)

    def _probabilities(self, logits: Tensor) -> Tensor:
        return logits.sigmoid() if self.classes == 2 else logits.softmax(dim=2)

    def _conjugate(
        self, gradient: Tensor, of_bias: Tensor, curvature: Tensor, p: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return about -H^-1 g for weights and biases, and the change of the logits along it."""
        # In the principal axes, and with one curvature for all points, the Hessian is diagonal.
        mean_curvature = (curvature if self.classes == 2 else curvature * (1 - p)).mean(dim=0)
        scale = 1 + mean_curvature * self.spread[:, None, None]
        of_bias_scale = (mean_curvature * len(self.x)).clamp(min=1e-12)
        r, s = -gradient, self._centered(-of_bias)
        z, t = r / scale, self._centered(s / of_bias_scale)
        d, e = z, t
        step, of_bias_step = torch.zeros_like(d), torch.zeros_like(e)
        change = torch.zeros_like(curvature)
        rho = (r * z).sum(dim=(0, 2)) + (s * t).sum(dim=1)
        first = rho.clone()
        for _ in range(CONJUGATE):
            # A tenth of the way in the norm of the Hessian: Newton's next step goes on from there.
            going = (rho > 1e-2 * first) & (first > 0)
            if not going.any():
                break
            along = _times(self.x, d) + e
            turned = curvature * along
            if self.classes > 2:
                turned -= curvature * (p * along).sum(dim=2, keepdim=True)
            hd, he = d + _transposed(self.x, turned), self._centered(turned.sum(dim=0))
            bend = (d * hd).sum(dim=(0, 2)) + (e * he).sum(dim=1)
            alpha = torch.where(going, rho / bend.clamp(min=1e-30), 0.0)[:, None]
            step, of_bias_step, change = step + alpha * d, of_bias_step + alpha * e, change + alpha * along
            r, s = r - alpha * hd, s - alpha * he
            z, t = r / scale, self._centered(s / of_bias_scale)
            after = (r * z).sum(dim=(0, 2)) + (s * t).sum(dim=1)
            beta = torch.where(going, after / rho.clamp(min=1e-30), 0.0)[:, None]
            d, e = z + beta * d, t + beta * e
            rho = torch.where(going, after, rho)
        return step, of_bias_step, change

    def _centered(self, bias: Tensor) -> Tensor:
        """Return biases without their mean over the classes.

        No loss depends on it: along it the Hessian is zero, and rounding errors would grow without end.
        """
        return bias if self.classes == 2 else bias - bias.mean(dim=1, keepdim=True)

    def _length(
        self,
        weight: Tensor,
        step: Tensor,
        logits: Tensor,
        change: Tensor,
        mask: Tensor,
        cost: float,
        decrement: Tensor,
    ) -> Tensor:
        """Return the length of each step: 1, or halved until the objective falls."""

        def value(length: Tensor) -> Tensor:
            moved = logits + length[:, None] * change
            if self.classes == 2:
                loss = softplus(moved) - self.target[:, None] * moved
                each = loss[:, :, 0]
            else:
                each = moved.logsumexp(dim=2) - (self.target[:, None] * moved).sum(dim=2)
            penalty = (weight + length[:, None] * step).square().sum(dim=(0, 2)).double() / 2
            return penalty + cost * (mask[:, :, 0] * each).sum(dim=0, dtype=torch.float64)

        length = torch.ones_like(decrement)
        before = value(torch.zeros_like(length))
        # Rounding in float32 must not turn a good last step down.
        slack = 1e-6 * before.abs()
        for _ in range(HALVINGS):
            high = value(length) > before - 1e-4 * length * decrement + slack
            if not high.any():
                return length
            length = torch.where(high, length / 2, length)
        return torch.where(high, torch.zeros_like(length), length)


def _times(x: Tensor, weight: Tensor) -> Tensor:
    # n d, d (s l) -> n s l
    return (x @ weight.flatten(1)).view(len(x), *weight.shape[1:])


def _transposed(x: Tensor, of_points: Tensor) -> Tensor:
    # d n, n (s l) -> d s l
    return (x.T @ of_points.flatten(1)).view(x.shape[1], *of_points.shape[1:])
