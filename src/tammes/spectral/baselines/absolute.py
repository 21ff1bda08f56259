"""Laplacian positional encodings without signs."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.spectral.batches import batch_of, check_eigenpairs, expect_columns
from tammes.spectral.counts import check_count


class AbsoluteValues(nn.Module):
    """[|v_1|, ..., |v_k|]: invariant, but nodes on either side of a zero become alike.

    Args:
        eigenvectors: how many, k.

    Raises:
        ValueError: for fewer than one eigenvector.

    Source: Robinson (2023), E.2.3 and E.11.2.

    Example:
        >>> import torch
        >>> AbsoluteValues(1)(None, None, None, torch.tensor([[-0.6], [0.8]]), torch.zeros(1, 1)).tolist()
        [[0.6000000238418579], [0.800000011920929]]
    """

    def __init__(self, eigenvectors: int) -> None:
        super().__init__()
        check_count("eigenvectors", eigenvectors)
        self.dim = eigenvectors

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
        check_eigenpairs(batch_of(batch, eigenvectors), eigenvectors, eigenvalues)
        expect_columns(eigenvectors, self.dim)
        return eigenvectors.abs()
