"""A whole step of an encoder in chunks: embeddings without graph, the loss, then chunks with graph.

The encoder is a small perceptron, the loss InfoNCE of one view against the other, which all methods can
compute. The time is that of the step up to the gradients of the weights, without the optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from losses import one_way_cross_entropy, one_way_tammes
from method import TEMPERATURE, Method, Size, Task, Work
from tammes.training.caching import GradientCache

CHUNK = 256
_INPUTS, _HIDDEN = 512, 1024

Take = Callable[[nn.Module, Tensor, Tensor], object]
"""A step on an encoder and two views of the inputs; leaves the gradients in the encoder's weights."""


def encoder_and_inputs(size: Size) -> tuple[nn.Module, Tensor, Tensor]:
    """Return the encoder and its inputs, the same for every method."""
    generator = torch.Generator().manual_seed(0)
    layers = (nn.Linear(_INPUTS, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.ReLU())
    encoder = nn.Sequential(*layers, nn.Linear(_HIDDEN, size.dim))
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.normal_(std=_HIDDEN**-0.5, generator=generator)
    x = torch.randn(size.pairs, _INPUTS, generator=generator)
    y = x + 0.5 * torch.randn(size.pairs, _INPUTS, generator=generator)
    return encoder, x, y


def cached(encoder: nn.Module, x: Tensor, y: Tensor) -> None:
    """Take a step with `GradientCache`, up to the gradients."""
    one_way_tammes(*GradientCache(encoder, chunk=CHUNK)(x, y)).backward()


def by_hand(encoder: nn.Module, x: Tensor, y: Tensor) -> None:
    """Take a step as GradCache's paper describes it, with a plain loss between the passes."""
    with torch.no_grad():
        whole = [torch.cat([encoder(rows) for rows in view.split(CHUNK)]) for view in (x, y)]
    leaves = [each.requires_grad_() for each in whole]
    one_way_cross_entropy(*leaves).backward()
    for view, leaf in zip((x, y), leaves, strict=True):
        assert leaf.grad is not None
        for rows, gradient in zip(view.split(CHUNK), leaf.grad.split(CHUNK), strict=True):
            encoder(rows).backward(gradient)


def one_pass(encoder: nn.Module, x: Tensor, y: Tensor) -> None:
    """Take a step without chunks: half the forward passes, all activations in memory."""
    one_way_cross_entropy(encoder(x), encoder(y)).backward()


class _Model(nn.Sequential):
    """The encoder in the form that sentence-transformers takes: features in, features out."""

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the features with the embedding added."""
        return {**features, "sentence_embedding": self[0](features["inputs"])}


def sentence_transformers(encoder: nn.Module, x: Tensor, y: Tensor) -> None:
    """Take a step with its cached loss as its trainer calls it, mini-batches of encoder and loss alike."""
    from sentence_transformers.sentence_transformer import losses

    loss = losses.CachedMultipleNegativesRankingLoss(
        _Model(encoder), scale=1 / TEMPERATURE, mini_batch_size=CHUNK
    )
    loss([{"inputs": x}, {"inputs": y}], None).backward()


def working(take: Take, size: Size) -> Work:
    """Return the work of a step."""
    encoder, x, y = encoder_and_inputs(size)

    def work() -> None:
        encoder.zero_grad()
        take(encoder, x, y)

    return work


def agree(size: Size) -> None:
    """Raise an error if the gradients of a step differ from those of one pass.

    Raises:
        RuntimeError: gradients that differ, by the name of the step.
    """
    expected: list[Tensor] = []
    for method in _TASK.methods(size)[::-1]:  # the reference first
        encoder, x, y = encoder_and_inputs(size)
        _STEPS[method.name](encoder, x, y)
        got = [weight.grad for weight in encoder.parameters() if weight.grad is not None]
        expected = expected or got
        for one, other in zip(got, expected, strict=True):
            if not torch.allclose(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max())):
                raise RuntimeError(f"{method.name} leaves other gradients than {tuple(_STEPS)[-1]}")


_STEPS: dict[str, Take] = {
    "tammes, GradientCache": cached,
    "two passes by hand": by_hand,
    "sentence-transformers, cached": sentence_transformers,
    "one pass, no chunks": one_pass,
}


def _method(name: str) -> Method:
    needs = "sentence_transformers" if name.startswith("sentence") else "torch"
    return Method(name=name, prepare=partial(working, _STEPS[name]), limit=8192, needs=needs)


_OURS, *_PEERS, _REFERENCE = map(_method, _STEPS)
_TASK = Task(
    key="two-pass",
    title=f"A whole step, encoder in chunks of {CHUNK}",
    ours=(_OURS,),
    peers=tuple(_PEERS),
    references=(_REFERENCE,),
    agree=agree,
)


def two_pass() -> Task:
    """Return the task of gradient caching."""
    return _TASK
