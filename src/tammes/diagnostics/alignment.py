"""Alignment: the distance between the two views of a pair."""

import torch
from jaxtyping import Float
from torch import Tensor

from tammes.diagnostics.blocks import directions


@torch.no_grad()
def alignment(view_a: Float[Tensor, "pairs dim"], view_b: Float[Tensor, "pairs dim"]) -> float:
    """Return the mean squared distance between positives on the unit sphere.

        E |x - y|^2  over positive pairs x, y:  0 where they coincide, 4 where they are opposite.

    Args:
        view_a: embeddings of any length above 0.
        view_b: the positive of each row of `view_a`.

    Raises:
        ValueError: the shapes differ, or a row has length zero or is not finite.

    Source: Wang and Isola, Understanding Contrastive Representation Learning through Alignment and
    Uniformity, 2020, section 4.1, with exponent 2.

    Example:
        >>> alignment(torch.eye(2), torch.tensor([[2.0, 0.0], [0.0, -2.0]]))
        2.0
    """
    if view_a.shape != view_b.shape:
        raise ValueError(
            f"expected two views of the same shape, got {tuple(view_a.shape)} and {tuple(view_b.shape)}"
        )
    return float((directions(view_a) - directions(view_b)).square().sum(dim=1).mean())
