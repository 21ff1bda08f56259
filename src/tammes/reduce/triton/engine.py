"""The engine of a GPU: fused kernels, exact in value and gradient, in memory linear in the batch.

The kernels are in `kernels/`; `docs/triton.md` says how they walk along S.
"""

from __future__ import annotations

import functools
import importlib.util
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from typing_extensions import override

from tammes.reduce.autograd import Gradients, KnownGradient, first_order_only
from tammes.reduce.engine import Engine
from tammes.reduce.exponent import Exponent, Pointwise
from tammes.reduce.negatives import Negatives
from tammes.reduce.softmax import SoftmaxLoss
from tammes.reduce.terms import Term
from tammes.reduce.tiled.engine import Tiled
from tammes.reduce.triton import expectation, fixed_shift, running_maximum
from tammes.reduce.triton.launch import Launch, Product
from tammes.reduce.triton.operands import Operands
from tammes.reduce.triton.softmax import FusedSoftmax

_AT_ONCE = 3
"""Number of exponents that a kernel takes in one pass, each with its sums in registers."""


@dataclass(frozen=True, kw_only=True)
class Triton(Engine):
    """Engine of fused kernels on a GPU (or, slowly, in Triton's interpreter).

    float64, and functions of the similarity that the kernels do not know (a user's cost), go to another
    engine.

    Args:
        product: type in which embeddings are multiplied; sums are float32 in any case.
        deterministic: whether the same input always gives the same digits. If not, the backward pass of a
            symmetric S of known range computes half as many tiles, and adds with atomics.
        otherwise: engine that reduces S where no kernel can.
        launch: shape of the programs; None chooses it by the size.
        backward: shape of the programs of backward passes; None for `launch` or, where that is None, too, by
            the size.

    Raises:
        ValueError: Triton is not installed, or a field is of another type.

    Example:
        >>> Triton(product=Product.BFLOAT16).deterministic  # doctest: +SKIP
        True
    """

    product: Product = Product.FULL
    deterministic: bool = True
    otherwise: Engine = field(default_factory=lambda: Tiled(side=4096))
    launch: Launch | None = None
    backward: Launch | None = None

    def __post_init__(self) -> None:
        if not is_installed():
            raise ValueError(
                "the engine Triton needs the package triton, which is not installed (it exists for Linux): "
                "install it, or leave out the engine"
            )
        if not isinstance(self.product, Product):
            names = ", ".join(f"Product.{each.name}" for each in Product)
            raise ValueError(f"product must be one of {names}, got {self.product!r}")
        if not isinstance(self.otherwise, Engine):
            raise ValueError(f"otherwise must be an engine such as Tiled(), got {self.otherwise!r}")
        for name in ("launch", "backward"):
            shape = vars(self)[name]
            if not (shape is None or isinstance(shape, Launch)):
                raise ValueError(f"{name} must be a Launch, or None to choose it by the size, got {shape!r}")

    @override
    def log_sum_exp(
        self, negatives: Negatives, exponents: tuple[Exponent, ...]
    ) -> tuple[Float[Tensor, " n"], ...]:
        if not (_is_known(negatives) and all(_is_known_term(each.tilt) for each in exponents)):
            return self.otherwise.log_sum_exp(negatives, exponents)
        sums: tuple[Tensor, ...] = ()
        with torch.cuda.device_of(negatives.anchors):
            for first in range(0, len(exponents), _AT_ONCE):
                part = exponents[first : first + _AT_ONCE]
                sums += _LogSumExp.apply(  # type: ignore[no-untyped-call]
                    negatives.anchors, negatives.candidates, negatives, part, self
                )
        return sums

    @override
    def expectation(
        self,
        negatives: Negatives,
        weight: Exponent,
        log_total: Float[Tensor, " n"],
        term: Pointwise,
        scale: float,
        offsets: Float[Tensor, "n p"],
    ) -> Float[Tensor, "n p"]:
        if not (_is_known(negatives) and _is_known_term(weight.tilt) and isinstance(term, Term)):
            return self.otherwise.expectation(negatives, weight, log_total, term, scale, offsets)
        mean = expectation.Mean(weight=weight, log_total=log_total.detach(), term=term, scale=scale)
        with torch.cuda.device_of(negatives.anchors):
            return _Expectation.apply(  # type: ignore[no-untyped-call]
                negatives.anchors, negatives.candidates, offsets, negatives, mean, self
            )

    @override
    def hardest(self, negatives: Negatives) -> Int[Tensor, " n"]:
        if not _is_known(negatives):
            return self.otherwise.hardest(negatives)
        with torch.cuda.device_of(negatives.anchors):
            return expectation.hardest(self._operands(negatives))

    def softmax_loss(
        self,
        loss: SoftmaxLoss,
        views: tuple[Float[Tensor, "batch d"], ...],
        lengths: Float[Tensor, "n 1"] | None,
        negatives: Negatives,
        weight: Exponent,
        partners: Int[Tensor, " n"],
    ) -> Float[Tensor, ""] | None:
        """Return the mean of a softmax loss over a symmetric S, as one node of the graph.

        Args:
            loss: the loss with its constants.
            views: embeddings as the encoder gave them; the loss is differentiable in them.
            lengths: `(n, 1)` lengths by which they were divided to make `negatives`; None for none.
            negatives: S without a graph, decided by keys alone; the views of a row stand side by side.
            weight: logarithm of the weights, up to the normalization of each row.
            partners: `(n,)` the only positive of each anchor.

        Returns:
            The loss; None where it needs the general reductions.
        """
        if not _is_known(negatives) or not negatives.symmetric:
            return None
        exponents = FusedSoftmax.exponents_of(loss, negatives, weight)
        if exponents is None:
            return None

        def evaluate() -> tuple[Tensor, Gradients]:
            with torch.cuda.device_of(negatives.anchors):
                fused = FusedSoftmax(
                    loss=loss,
                    negatives=negatives,
                    operands=self._operands(negatives),
                    exponents=exponents,
                    partners=partners,
                    lengths=lengths,
                    mirrored=not self.deterministic,
                )
                return fused.mean(len(views))

        return KnownGradient.apply(evaluate, len(views) > 1, *views)  # type: ignore[no-untyped-call]

    def _operands(self, negatives: Negatives) -> Operands:
        return Operands.of(negatives.detached, self.product, self.launch, self.backward or self.launch)


@functools.cache
def is_installed() -> bool:
    """Return whether the package triton can be imported."""
    return importlib.util.find_spec("triton") is not None


def _is_known(negatives: Negatives) -> bool:
    return negatives.anchors.dtype == torch.float32 and negatives.guide is None


def _is_known_term(tilt: Pointwise | None) -> bool:
    return tilt is None or isinstance(tilt, Term)


class _LogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        candidates: Tensor | None,
        negatives: Negatives,
        exponents: tuple[Exponent, ...],
        engine: Triton,
    ) -> tuple[Tensor, ...]:
        operands = engine._operands(negatives)
        # Half the work, where S is symmetric and its exponents lie close together.
        ctx.shifted = fixed_shift.range_is_safe(negatives, exponents)
        algorithm = fixed_shift if ctx.shifted else running_maximum
        sums = algorithm.log_sums(operands, exponents)
        ctx.operands, ctx.exponents, ctx.deterministic = operands, exponents, engine.deterministic
        ctx.save_for_backward(anchors, candidates, sums)
        return sums.unbind()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, sums = ctx.saved_tensors
        with torch.no_grad():
            by_sums = torch.stack(gradients)
            if ctx.shifted:
                found = fixed_shift.gradients(
                    ctx.operands, ctx.exponents, sums, by_sums, mirrored=not ctx.deterministic
                )
            else:
                found = running_maximum.gradients(
                    ctx.operands, ctx.exponents, sums, by_sums, wanted=ctx.needs_input_grad[:2]
                )
        found = _without_padding(found, anchors.shape[1])
        return *first_order_only(found, (anchors, candidates, *gradients)), None, None, None


class _Expectation(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchors: Tensor,
        candidates: Tensor | None,
        offsets: Tensor,
        negatives: Negatives,
        mean: expectation.Mean,
        engine: Triton,
    ) -> Tensor:
        operands = engine._operands(negatives)
        means, derivatives, masses = expectation.means(operands, mean, offsets.detach())
        ctx.operands, ctx.mean = operands, mean
        ctx.save_for_backward(anchors, candidates, offsets, means, derivatives, masses)
        return means

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        anchors, candidates, offsets, means, derivatives, masses = ctx.saved_tensors
        with torch.no_grad():
            found = expectation.gradients(
                ctx.operands, ctx.mean, offsets, means, gradient / masses, wanted=ctx.needs_input_grad[:2]
            )
            by_offsets = -gradient * derivatives
        found = _without_padding(found, anchors.shape[1])
        inputs = (anchors, candidates, offsets, gradient)
        return *first_order_only((*found, by_offsets), inputs), None, None, None


def _without_padding(
    gradients: tuple[Tensor | None, Tensor | None], d: int
) -> tuple[Tensor | None, Tensor | None]:
    """Return gradients without the features that were added to make their number a multiple of 16."""
    first, second = (None if each is None else each[:, :d] for each in gradients)
    return first, second
