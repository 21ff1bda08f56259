"""The smallest eigenpairs of large graphs, by Lanczos iterations on the sparse matrix of each."""

from __future__ import annotations

import scipy.sparse
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.spectral.adjacency import Adjacency, expect_symmetric
from tammes.spectral.eigenspaces import RelativeGap, orthonormal_within
from tammes.spectral.lanczos import lower_bound, smallest
from tammes.spectral.laplacian import Laplacian


def sparse_eigenpairs(
    graphs: Adjacency,
    members: Int[Tensor, " some"],
    laplacian: Laplacian,
    values: Float[Tensor, "graphs k"],
    vectors: Float[Tensor, "nodes k"],
) -> None:
    """Writes the first k eigenpairs of the graphs `members` to their rows of values and vectors.

    Raises:
        ValueError: where a graph has an edge in one direction only, or of another weight in the other.
    """
    off, diagonal = laplacian.symmetric(graphs.edges, graphs.weights, graphs.degrees)
    scale = laplacian.scale(graphs.degrees)
    signed = bool((graphs.weights < 0).any())
    for member in members.tolist():
        start, size = int(graphs.starts[member]), int(graphs.sizes[member])
        rows = slice(start, start + size)
        own = (graphs.owner == member).nonzero().flatten()
        first, second = (graphs.edges[:, own] - start).cpu().numpy()
        matrix = scipy.sparse.coo_array((off[own].cpu().numpy(), (first, second)), shape=(size, size)).tocsr()
        expect_symmetric(torch.tensor(abs(matrix - matrix.T).max()), torch.tensor(abs(matrix).max()))
        matrix = (matrix + scipy.sparse.diags_array(diagonal[rows].cpu().numpy())).tocsr()
        lower = lower_bound(matrix) if signed else 0.0
        found, columns = smallest(matrix, min(size, values.shape[1]), lower=lower)
        known, basis = torch.from_numpy(found), torch.from_numpy(columns)
        if scale is not None:
            spaces = RelativeGap(warn=False)(known[None], torch.ones(1, len(known), dtype=torch.bool))
            basis = orthonormal_within((basis * scale[rows, None].cpu())[None], spaces)[0]
        values[member, : len(found)] = known.to(values)
        vectors[rows, : len(found)] = basis.to(vectors)
