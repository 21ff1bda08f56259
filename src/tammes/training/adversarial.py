"""Attacks on the inputs, and a second stream of the network that learns from them (ACL)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm
from typing_extensions import override

from tammes.training.attack import InputAttack
from tammes.training.model import Model

Images = Float[Tensor, "batch channels size size"]
Loss = Callable[[tuple[Tensor, ...]], Tensor]
"""Function from the embeddings of all views to the loss."""


class AdversarialStream(nn.Module):
    """Second stream of a network: the same weights with batch normalizations for attacked images.

    A network without batch normalization has one stream, which sees both kinds of images.

    Args:
        attack: settings of the attack.
        model: encoder and head, whose batch normalizations are copied.

    Example:
        >>> from tammes.encoders import ResNet9Config
        >>> model = Model(ResNet9Config(width=8).build(channels=3, size=32), None)
        >>> len(AdversarialStream(InputAttack(), model).norms) > 0
        True
    """

    def __init__(self, attack: InputAttack, model: Model) -> None:
        super().__init__()
        self.attack = attack
        norms = {name: each for name, each in model.named_modules() if isinstance(each, _BatchNorm)}
        # Names of modules have no dots.
        self.norms = nn.ModuleDict(
            {name.replace(".", "/"): copy.deepcopy(each) for name, each in norms.items()}
        )

    @staticmethod
    def of(attack: InputAttack | None, model: Model, *, processes: int) -> AdversarialStream | None:
        """Return the stream of a training, None without an attack.

        Raises:
            ValueError: an attack in several processes.
        """
        if attack is None:
            return None
        if processes > 1:
            raise ValueError(
                f"an attack moves the views of one process, got {processes} processes: start one, or leave "
                "the attack out"
            )
        return AdversarialStream(attack, model)

    @override
    def forward(self, model: Model, views: tuple[Images, ...]) -> tuple[Tensor, ...]:
        """Return the embeddings of all views, in one pass of the second stream."""
        tensors = {
            f"{name.replace('/', '.')}.{key}": tensor
            for name, norm in self.norms.items()
            for key, tensor in (*norm.named_parameters(), *norm.named_buffers())
        }
        _, embeddings = functional_call(model, tensors, (torch.cat(views),))
        return tuple(embeddings.chunk(len(views)))

    def loss(self, model: Model, views: tuple[Images, ...], loss: Loss, *, seed: int) -> Tensor:
        """Return the loss on attacked views.

        Args:
            model: encoder and head.
            views: images in [0, 1].
            loss: function from the embeddings to the loss.
            seed: seed of the attack.

        Raises:
            ValueError: an encoder through which no gradient reaches its inputs.
        """
        return loss(self(model, self.attacked(model, views, loss, seed=seed)))

    def attacked(
        self, model: Model, views: tuple[Images, ...], loss: Loss, *, seed: int
    ) -> tuple[Images, ...]:
        """Return views that the attack has found, constants without a graph.

        Args:
            model: encoder and head.
            views: images in [0, 1].
            loss: function from embeddings to the loss that the attack raises.
            seed: seed of the starting point.

        Raises:
            ValueError: an encoder through which no gradient reaches its inputs.
        """
        start = torch.cat(views).detach()
        generator = torch.Generator(device=start.device).manual_seed(seed)
        draw = torch.rand(start.shape, generator=generator, device=start.device, dtype=start.dtype)
        moved = self._projected(start + (2 * draw - 1) * self.attack.radius, start)
        with _evaluating(model), _evaluating(self):
            for _ in range(self.attack.steps):
                moved = moved.requires_grad_()
                raised = loss(self(model, moved.chunk(len(views))))
                gradient = None
                if raised.requires_grad:
                    (gradient,) = torch.autograd.grad(raised, moved, allow_unused=True)
                if gradient is None:
                    raise ValueError(
                        f"{self.attack!r} needs the gradient of the loss by the images, but the encoder "
                        "gives none: leave the attack out, or use an encoder that is differentiable in "
                        "its inputs"
                    )
                moved = self._projected(moved.detach() + self.attack.step * gradient.sign(), start)
        return moved.chunk(len(views))

    def _projected(self, moved: Tensor, start: Tensor) -> Tensor:
        """Return the closest images to `moved` in the ball about `start`, with pixels in [0, 1]."""
        radius = self.attack.radius
        return torch.minimum(torch.maximum(moved, start - radius), start + radius).clamp(0, 1)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode, and each of its parts back into its own mode."""
    modes = [(each, each.training) for each in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for each, mode in modes:
            each.training = mode
