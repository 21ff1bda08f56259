"""What every baseline is: the eigenvectors themselves, once something was done about their signs."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor, nn

from tammes.checks import check_integer
from tammes.spectral.batches import batch_of, check_eigenpairs, expect_columns


class Baseline(nn.Module):
    """k columns of eigenvectors as the encoding of a node. A subclass says which signs they have.

    Args:
        eigenvectors: how many, k.

    Raises:
        ValueError: for fewer than one eigenvector.
    """

    def __init__(self, eigenvectors: int) -> None:
        super().__init__()
        check_integer("eigenvectors", eigenvectors)
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
        batch = batch_of(batch, eigenvectors)
        check_eigenpairs(batch, eigenvectors, eigenvalues)
        expect_columns(eigenvectors, self.dim)
        return self.signed(eigenvectors, batch, len(eigenvalues))

    def signed(
        self, eigenvectors: Float[Tensor, "nodes k"], batch: Int[Tensor, " nodes"], graphs: int
    ) -> Float[Tensor, "nodes k"]:
        """The eigenvectors with other signs.

        Args:
            eigenvectors: checked, those of a batch.
            batch: the graph of each node.
            graphs: how many there are.
        """
        raise NotImplementedError
