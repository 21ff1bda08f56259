"""Laplacian positional encodings with random signs."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.spectral.batches import batch_of, check_eigenpairs, expect_columns
from tammes.spectral.counts import check_count


class RandomFlips(nn.Module):
    """[s_1 v_1, ..., s_k v_k], with signs s_i that are drawn anew for each graph at each call in training.

    In evaluation the eigenvectors are taken as they are. An equivariant network learns from it what does not
    depend on signs, out of 2^k cases.

    Args:
        eigenvectors: how many, k.
        generator: what signs are drawn with.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.11.2; Dwivedi et al., Benchmarking Graph Neural Networks, 2020.

    Example:
        >>> flips = RandomFlips(1, generator=torch.Generator().manual_seed(0))
        >>> vectors, values = torch.full((2, 1), 0.5), torch.zeros(1, 1)
        >>> flips(None, None, None, vectors, values).abs().tolist()
        [[0.5], [0.5]]
    """

    def __init__(self, eigenvectors: int, *, generator: torch.Generator) -> None:
        super().__init__()
        check_count("eigenvectors", eigenvectors)
        self.dim = eigenvectors
        self.generator = generator

    def forward(
        self,
        x: Float[Tensor, "nodes features"] | None,
        edge_index: Int[Tensor, "2 m"] | None,
        batch: Int[Tensor, " nodes"] | None,
        eigenvectors: Float[Tensor, "nodes k"],
        eigenvalues: Float[Tensor, "graphs k"],
    ) -> Float[Tensor, "nodes k"]:
        """The encodings; `x` and `edge_index` are not looked at.

        Raises:
            ValueError: for eigenpairs that do not fit the batch, or another number of columns.
        """
        batch = batch_of(batch, eigenvectors)
        check_eigenpairs(batch, eigenvectors, eigenvalues)
        expect_columns(eigenvectors, self.dim)
        if not self.training:
            return eigenvectors
        drawn = torch.randint(2, eigenvalues.shape, generator=self.generator, device=self.generator.device)
        signs = (2 * drawn - 1).to(eigenvectors)
        return eigenvectors * signs[batch]
