"""Laplacian positional encodings with signs chosen by a rule."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.baselines.baseline import Baseline

ROUNDING = 1e-5
"""Entries that are smaller than this, times the largest of their vector, have no sign."""


class CanonicalSigns(Baseline):
    """Each v_i with the sign that makes most of its entries positive.

    Where as many are negative, the sign that makes their sum positive (the l1 norm of the positive part is
    then the larger one); where that is 0, too, as it is for all but one of the eigenvectors of diag(d) - A
    on a connected graph, a random one.

    Args:
        eigenvectors: how many, k.
        generator: what undecided signs are drawn with, at each call.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.11.2. Differs: entries that are zero up to rounding count on neither side.

    Example:
        >>> canonical = CanonicalSigns(1, generator=torch.Generator().manual_seed(0))
        >>> vectors = torch.tensor([[-0.6], [-0.8], [0.0]])
        >>> canonical(None, None, None, vectors, torch.zeros(1, 1)).sign().tolist()
        [[1.0], [1.0], [0.0]]
    """

    def __init__(self, eigenvectors: int, *, generator: torch.Generator) -> None:
        super().__init__(eigenvectors)
        self.generator = generator

    def signed(
        self, eigenvectors: Float[Tensor, "nodes k"], batch: Int[Tensor, " nodes"], graphs: int
    ) -> Float[Tensor, "nodes k"]:
        """See `Baseline.signed`."""
        zeros = eigenvectors.new_zeros(graphs, self.dim)
        index = batch[:, None].expand_as(eigenvectors)
        largest = zeros.scatter_reduce(0, index, eigenvectors.abs(), "amax")
        clear = eigenvectors.where(eigenvectors.abs() > ROUNDING * largest[batch], 0.0)
        majority = zeros.index_add(0, batch, clear.sign())
        total = zeros.index_add(0, batch, clear)
        mass = zeros.index_add(0, batch, clear.abs())
        drawn = torch.randint(2, zeros.shape, generator=self.generator, device=self.generator.device)
        undecided = (2 * drawn - 1).to(zeros)
        by_sum = total.sign().where(total.abs() > ROUNDING * mass, undecided)
        return eigenvectors * majority.sign().where(majority != 0, by_sum)[batch]
