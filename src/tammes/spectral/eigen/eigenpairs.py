"""Eigenpairs of a batch of graphs: small ones as dense matrices, large ones by Lanczos iterations."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import safetensors.torch
import scipy.sparse
import torch
from jaxtyping import Bool, Float, Int
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tammes.atomic import write_atomically
from tammes.checks import check_file, check_integer
from tammes.spectral.batches import check_rows
from tammes.spectral.eigen.eigenspaces import RelativeGap, orthonormal_within
from tammes.spectral.eigen.lanczos import lower_bound, smallest_eigenpairs
from tammes.spectral.eigen.laplacian import Adjacency, Laplacian, Symmetric, check_symmetric

DENSE = 1024
"""Largest number of nodes for which the whole matrix of a graph is decomposed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Eigenpairs:
    """Ascending eigenvalues, and eigenvectors as columns, of a batch of graphs.

    A graph with fewer nodes than columns has zeros in the columns beyond its own eigenvectors and
    eigenvalues. An eigenvector is never zero, so `eigenvector_mask` reads the mask off the vectors.

    Args:
        vectors: eigenvectors, one row for each node of the batch; columns of unit length for each graph.
        values: eigenvalues.
    """

    vectors: Float[Tensor, "nodes k"]
    values: Float[Tensor, "graphs k"]


def eigenpairs(
    edge_index: Int[Tensor, "2 m"],
    batch: Int[Tensor, " nodes"],
    *,
    laplacian: Laplacian | None = None,
    count: int | None = None,
    whole_eigenspaces: bool = False,
    edge_weight: Tensor | None = None,
) -> Eigenpairs:
    """Return the smallest eigenvalues of each graph of a batch, and their eigenvectors, in float64.

    Graphs of equal size are decomposed together. A graph of more than 1,024 nodes of which less than a
    quarter of the pairs is wanted is decomposed as a sparse matrix, by Lanczos iterations.

    Args:
        edge_index: edges in both directions, as in torch_geometric; a repeated edge counts twice.
        batch: graph of each node, ascending, as in torch_geometric.
        laplacian: matrix to decompose; left out, `Symmetric()`.
        count: number of pairs, k; left out, the number of nodes of the largest graph, which gives all pairs.
        whole_eigenspaces: whether to leave out the last eigenspace where `count` cuts it. The solver picks
            the basis of a cut eigenspace, and no network can be invariant to that choice.
        edge_weight: weight of each edge, the same in both directions; left out, 1.

    Raises:
        ValueError: for a count below 1, a batch that does not ascend, edges that leave the nodes or join
            graphs, weights that are not finite, edges in one direction only, or no Laplacian.

    Example:
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])  # two graphs: an edge; an edge and a node
        >>> pairs = eigenpairs(edges, torch.tensor([0, 0, 1, 1, 1]))
        >>> pairs.values.abs().tolist()
        [[0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
        >>> eigenvector_mask(pairs.vectors, torch.tensor([0, 0, 1, 1, 1])).tolist()
        [[True, True, False], [True, True, True]]
    """
    if count is not None:
        check_integer("count", count)
    graphs = Adjacency.of(edge_index, batch, edge_weight)
    laplacian = Symmetric() if laplacian is None else laplacian
    if not isinstance(laplacian, Laplacian):
        raise ValueError(f"laplacian must be a Laplacian, such as Symmetric(), got {laplacian!r}")
    cut = whole_eigenspaces and count is not None
    if count is None:
        count = int(graphs.sizes.max()) if len(graphs.sizes) else 0
    count += cut  # one more pair shows whether the last eigenspace is complete
    solver = _Solver(graphs=graphs, laplacian=laplacian, count=count)
    large = (graphs.sizes > DENSE) & (graphs.sizes > 4 * count)  # Lanczos needs more vectors than it finds
    solver.dense((~large & (graphs.sizes > 0)).nonzero().flatten())
    for graph in large.nonzero().flatten().tolist():
        solver.sparse(graph)
    return solver.without_cut() if cut else solver.pairs


def eigenvector_mask(
    eigenvectors: Tensor, batch: Int[Tensor, " nodes"], graphs: int | None = None
) -> Bool[Tensor, "graphs k"]:
    """Return which columns hold an eigenvector of each graph: those that are not zero throughout.

    Args:
        eigenvectors: matrix of shape (nodes, k).
        batch: graph of each node.
        graphs: number of graphs; left out, one more than the last number in `batch`.

    Raises:
        ValueError: where vectors and batch have different numbers of nodes.

    Example:
        >>> vectors = torch.tensor([[0.6, 0.0], [0.8, 0.0]])
        >>> eigenvector_mask(vectors, torch.zeros(2, dtype=torch.long)).tolist()
        [[True, False]]
    """
    check_rows(eigenvectors, batch)
    if graphs is None:
        graphs = int(batch[-1]) + 1 if len(batch) else 0
    nonzero = torch.zeros(graphs, eigenvectors.shape[1], dtype=torch.int32, device=batch.device)
    return nonzero.index_add_(0, batch, (eigenvectors != 0).int()) > 0


MATRIX_ENTRIES = 2**23
"""Entries of the dense matrices that are in memory at once: 64 MiB of float64."""


class _Solver:
    """The first `count` eigenpairs of graphs, as dense or sparse matrices."""

    def __init__(self, *, graphs: Adjacency, laplacian: Laplacian, count: int) -> None:
        self.graphs, self.count = graphs, count
        self.off, self.diagonal = laplacian.symmetric(graphs)
        self.scale = laplacian.scale(graphs.degrees)
        vectors = graphs.weights.new_zeros(len(graphs.batch), count)
        self.pairs = Eigenpairs(vectors=vectors, values=graphs.weights.new_zeros(len(graphs.sizes), count))

    def dense(self, members: Int[Tensor, " some"]) -> None:
        """Decompose some graphs; those of equal size are stacked.

        Raises:
            ValueError: where the weights of the two directions of an edge differ.
        """
        graphs = self.graphs
        order = members[graphs.sizes[members].argsort(stable=True)]
        sizes, counts = graphs.sizes[order].unique_consecutive(return_counts=True)
        runs = zip(sizes.tolist(), order.split(counts.tolist()), strict=True)
        stacks = [stack for size, run in runs for stack in run.split(max(1, MATRIX_ENTRIES // size**2))]
        rank = torch.full_like(graphs.sizes, len(graphs.sizes))
        rank[order] = torch.arange(len(order), device=order.device)
        degrees = torch.bincount(graphs.owner, minlength=len(rank))
        lengths = [int(degrees[stack].sum()) for stack in stacks]
        *edges_of_stacks, _ = rank[graphs.owner].argsort().split([*lengths, len(graphs.owner) - sum(lengths)])

        def decompose(stack: Int[Tensor, " some"], edges: Int[Tensor, " some_edges"]) -> None:
            size = int(graphs.sizes[stack[0]])
            place = rank[graphs.owner[edges]] - rank[stack[0]]
            first, second = graphs.edges[:, edges] - graphs.starts[stack[place]]
            matrix = self.off.new_zeros(len(stack), size, size)
            matrix.index_put_((place, first, second), self.off[edges], accumulate=True)
            check_symmetric((matrix - matrix.mT).abs().amax((1, 2)), matrix.abs().amax((1, 2)))
            rows = graphs.starts[stack, None] + torch.arange(size, device=stack.device)
            matrix.diagonal(dim1=1, dim2=2).add_(self.diagonal[rows])
            self._keep(stack, rows, *torch.linalg.eigh(matrix))

        inference, gradient = torch.is_inference_mode_enabled(), torch.is_grad_enabled()

        def in_mode(stack: Int[Tensor, " some"], edges: Int[Tensor, " some_edges"]) -> None:
            # Threads do not inherit modes.
            with torch.inference_mode(inference), torch.set_grad_enabled(gradient):
                decompose(stack, edges)

        # LAPACK decomposes the matrices of a stack one by one. Threads take one stack each and write to
        # disjoint rows, so no lock is needed.
        with ThreadPoolExecutor(torch.get_num_threads()) as threads:
            list(threads.map(in_mode, stacks, edges_of_stacks))

    def sparse(self, member: int) -> None:
        """Decompose one large graph, by Lanczos iterations.

        Raises:
            ValueError: where the weights of the two directions of an edge differ, or require a gradient.
        """
        if self.off.requires_grad:
            raise ValueError(
                "expected weights that require no gradient, since eigenpairs of a large graph have none: "
                "detach them"
            )
        start, size = int(self.graphs.starts[member]), int(self.graphs.sizes[member])
        edges = (self.graphs.owner == member).nonzero().flatten()
        first, second = (self.graphs.edges[:, edges] - start).cpu().numpy()
        entries = self.off[edges].cpu().numpy()
        matrix = scipy.sparse.coo_array((entries, (first, second)), shape=(size, size)).tocsr()
        check_symmetric(*(torch.tensor(abs(each).max()) for each in (matrix - matrix.T, matrix)))
        rows = torch.arange(start, start + size, device=self.diagonal.device)
        matrix = (matrix + scipy.sparse.diags_array(self.diagonal[rows].cpu().numpy())).tocsr()
        lower = lower_bound(matrix) if bool((self.graphs.weights < 0).any()) else 0.0
        found, columns = smallest_eigenpairs(matrix, min(size, self.count), lower=lower)
        self._keep(member, rows[None], torch.from_numpy(found)[None], torch.from_numpy(columns)[None])

    def _keep(
        self, members: Tensor | int, rows: Int[Tensor, "some n"], values: Tensor, vectors: Tensor
    ) -> None:
        """Write the first pairs of some graphs of equal size, as those of L, to their rows."""
        found, width = self.pairs, min(values.shape[1], self.count)
        values, vectors = values[:, :width].to(found.values), vectors[:, :, :width].to(found.vectors)
        if self.scale is not None:  # the eigenvectors D^{-1/2} u of L, orthonormal within each eigenspace
            spaces = RelativeGap(warn=False)(values, torch.ones_like(values, dtype=torch.bool))
            vectors = orthonormal_within(vectors * self.scale[rows][..., None], spaces)
        found.values[members, :width] = values
        found.vectors[rows, :width] = vectors

    def without_cut(self) -> Eigenpairs:
        """Return all columns but the last, without those that are in one eigenspace with it."""
        batch, values, vectors = self.graphs.batch, self.pairs.values, self.pairs.vectors
        # No entry of a symmetric matrix is larger than its norm, whatever the unit of its weights is.
        entries, graph = torch.cat([self.off, self.diagonal]).abs(), torch.cat([self.graphs.owner, batch])
        norm = torch.full_like(values[:, 0], torch.finfo(values.dtype).tiny)
        relative = values / norm.scatter_reduce(0, graph, entries, "amax")[:, None]
        number = RelativeGap(warn=False)(relative, eigenvector_mask(vectors, batch, len(values))).number
        kept = ((number != number[:, -1:]) | (number[:, -1:] < 0))[:, :-1]
        return Eigenpairs(vectors=vectors[:, :-1] * kept[batch], values=values[:, :-1] * kept)


LAYOUT = "tammes eigenpairs 3"
"""Version of the files; part of their names, so that files of an older layout are not read."""

CHECKSUM = "checksum"


def content_key(settings: str, *tensors: Tensor | None) -> str:
    """Return a hash of the settings and of the contents of the tensors.

    Example:
        >>> import torch
        >>> one, two = torch.tensor([1]), torch.tensor([2])
        >>> content_key("all", one) == content_key("all", two)
        False
    """
    digest = hashlib.sha256(f"{LAYOUT} {settings}".encode())
    for tensor in tensors:
        if tensor is None:
            digest.update(b"none")
        else:
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            # As bytes, since numpy has no bfloat16.
            content = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
            digest.update(content.numpy().tobytes())
    return digest.hexdigest()[:40]


def save_eigenpairs(pairs: Eigenpairs, path: Path) -> None:
    """Write eigenpairs to a file that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"vectors": pairs.vectors.cpu().contiguous(), "values": pairs.values.cpu().contiguous()}
    checksum = content_key(CHECKSUM, *content.values())
    write_atomically(path, safetensors.torch.save(content, metadata={CHECKSUM: checksum}))


def load_eigenpairs(path: Path, *, nodes: int, graphs: int) -> Eigenpairs:
    """Read eigenpairs from a file of `save_eigenpairs`.

    Raises:
        ValueError: where the file is damaged, or holds the eigenpairs of other graphs.
    """
    try:
        with safe_open(check_file(path), framework="pt") as file:
            content = {name: file.get_tensor(name) for name in ("vectors", "values")}
            checksum = (file.metadata() or {}).get(CHECKSUM)
        pairs = Eigenpairs(**content)
        if (len(pairs.vectors), len(pairs.values)) != (nodes, graphs):
            raise KeyError(f"{len(pairs.vectors)} nodes of {len(pairs.values)} graphs")
        if checksum != content_key(CHECKSUM, *content.values()):
            raise KeyError("its numbers do not match its checksum")
        return pairs
    except (SafetensorError, KeyError) as error:
        raise ValueError(
            f"{path} holds no eigenpairs ({error}); delete it, and they are computed again"
        ) from error
