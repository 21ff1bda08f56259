"""The spectrum of embeddings, which shows how many of their dimensions they use."""

import torch
from jaxtyping import Float
from torch import Tensor


@torch.no_grad()
def singular_values(embeddings: Float[Tensor, "n dim"]) -> Float[Tensor, " rank"]:
    """Return the singular values of the centered embeddings, largest first, in float64.

    The number of positive values is the dimension of the affine subspace to which the embeddings have
    collapsed, 0 for a point: values within the rounding error of the embeddings' type become zero.

    Args:
        embeddings: at least two embeddings; normalize them first if only directions matter.

    Raises:
        ValueError: no floating-point matrix of at least two rows, or an entry that is not finite.

    Source: Jing et al., Understanding Dimensional Collapse in Contrastive Self-Supervised Learning, 2022,
    section 3 (there, squared and divided by n: the spectrum of the covariance).

    Example:
        >>> singular_values(torch.tensor([[1.0, 5.0], [-1.0, 5.0]]))
        tensor([1.4142, 0.0000], dtype=torch.float64)
    """
    if embeddings.ndim != 2 or not embeddings.is_floating_point() or len(embeddings) < 2:
        got = f"{embeddings.dtype} {tuple(embeddings.shape)}"
        raise ValueError(f"expected floating-point embeddings (n, dim) with n of at least 2, got {got}")
    if not embeddings.isfinite().all():
        row = int(embeddings.isfinite().all(dim=1).logical_not().nonzero()[0])
        raise ValueError(f"expected finite embeddings, got NaN or infinity in row {row}")
    x = embeddings.double()
    values = torch.linalg.svdvals(x - x.mean(dim=0))
    # Rounding each entry by eps changes a singular value by at most eps times the Frobenius norm.
    rounding = torch.finfo(embeddings.dtype).eps * x.norm()
    return values.where(values > rounding, 0)


def effective_rank(values: Float[Tensor, " rank"]) -> float:
    """Return the effective rank: the exponential of the entropy of the normalized singular values.

        exp(-sum_k p_k log p_k),  p_k = sigma_k / sum_l sigma_l:  from 1 to the rank; 0 if all are zero.

    Args:
        values: singular values, at least 0.

    Raises:
        ValueError: a value is negative or not finite.

    Source: Roy and Vetterli, The effective rank: a measure of effective dimensionality, 2007.

    Example:
        >>> effective_rank(torch.tensor([2.0, 2.0, 0.0]))
        2.0
    """
    if values.ndim != 1 or not bool(((values >= 0) & values.isfinite()).all()):
        raise ValueError(f"expected nonnegative finite singular values (rank,), got {values}")
    sigma = values.double()
    if float(sigma.sum()) == 0:
        return 0.0
    p = sigma / sigma.sum()
    return float(torch.special.entr(p).sum().exp())
