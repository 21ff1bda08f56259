"""The cotangent Laplacian of a triangle mesh, and its eigenpairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.checks import check_integer
from tammes.spectral.eigen.eigenpairs import Eigenpairs
from tammes.spectral.eigen.lanczos import smallest_eigenpairs


@dataclass(frozen=True, kw_only=True, eq=False)
class MeshLaplacian:
    """L = M^{-1} S on functions of the vertices of a triangle mesh; built by `MeshLaplacian.of`.

    (S f)_i = sum_j (cot a_ij + cot b_ij) / 2 (f_i - f_j), with a_ij and b_ij the angles opposite to the edge
    ij; M is diagonal, with a third of the area of the triangles around each vertex.

    Args:
        stiffness: S, sparse and symmetric; without unit.
        areas: diagonal of M, in the square of the unit of length.

    Source: Robinson (2023), E.11.5; Rustamov, Laplace-Beltrami eigenfunctions for deformation invariant shape
    representation, 2007.
    """

    stiffness: scipy.sparse.csr_array
    areas: Float[Tensor, " vertices"]

    @classmethod
    def of(cls, vertices: Float[Tensor, "vertices 3"], faces: Int[Tensor, "faces 3"]) -> MeshLaplacian:
        """Return the Laplacian of a mesh, with or without a boundary.

        Args:
            vertices: coordinates in space.
            faces: vertex numbers of the corners of each triangle.

        Raises:
            ValueError: for other shapes, corners that are no vertices, coordinates that are not finite,
                triangles without area, and vertices without triangles.

        Example:
            >>> square = torch.tensor([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
            >>> mesh = MeshLaplacian.of(square, torch.tensor([[0, 1, 2], [0, 2, 3]]))
            >>> mesh.areas.sum().round(decimals=6).item(), mesh.stiffness.toarray()[0].tolist()
            (1.0, [1.0, -0.5, 0.0, -0.5])
        """
        corners, triangles = _checked(vertices, faces)
        # (faces, 3, 3): the corner, and the two edges that leave it
        own = corners[triangles]
        one, other = np.roll(own, -1, axis=1) - own, np.roll(own, 1, axis=1) - own
        double_area = np.linalg.norm(np.cross(one[:, 0], other[:, 0]), axis=1)
        if not (double_area > 0).all():
            number = int(np.argmin(double_area))
            raise ValueError(
                f"expected triangles with an area, got none of triangle {number}; clean the mesh"
            )
        # cot = cos / sin = (a . b) / |a x b|. The angle at a corner is opposite to the edge between the next
        # corner and the one after it.
        half_cot = (one * other).sum(2) / double_area[:, None] / 2  # (faces, 3)
        first, second = np.roll(triangles, -1, axis=1).ravel(), np.roll(triangles, 1, axis=1).ravel()
        shape = (len(corners), len(corners))
        off = scipy.sparse.coo_array((half_cot.ravel(), (first, second)), shape=shape).tocsr()
        off = off + off.T
        stiffness = (scipy.sparse.diags_array(off.sum(1)) - off).tocsr()
        areas = np.bincount(triangles.ravel(), np.repeat(double_area / 6, 3), len(corners))
        if not (areas > 0).all():
            raise ValueError(f"expected every vertex in a triangle, got none of vertex {int(areas.argmin())}")
        return cls(stiffness=stiffness, areas=torch.from_numpy(areas))

    def eigenpairs(self, count: int) -> Eigenpairs:
        """Return the smallest eigenvalues, S v = lambda M v, with V^T M V = 1, as those of one graph.

        Args:
            count: number of pairs; eigenvalues are in one over the square of the unit of length.

        Raises:
            ValueError: for a count below 1.

        Example:
            >>> corners = torch.tensor([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
            >>> faces = torch.tensor([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
            >>> values = MeshLaplacian.of(corners, faces).eigenpairs(4).values
            >>> values.round(decimals=4).abs().tolist()  # a tetrahedron
            [[0.0, 0.6667, 0.6667, 0.6667]]
        """
        check_integer("count", count)
        # With u = M^{1/2} v the problem is symmetric: M^{-1/2} S M^{-1/2} u = lambda u.
        root = scipy.sparse.diags_array(1 / np.sqrt(self.areas.numpy()))
        matrix = (root @ self.stiffness @ root).tocsr()
        values, vectors = smallest_eigenpairs(matrix, min(count, len(self.areas)))
        missing = (0, count - len(values))
        return Eigenpairs(
            vectors=torch.nn.functional.pad(torch.from_numpy(root @ vectors), missing),
            values=torch.nn.functional.pad(torch.from_numpy(values)[None], missing),
        )


def _checked(vertices: Tensor, faces: Tensor) -> tuple[np.ndarray, np.ndarray]:
    if vertices.dim() != 2 or vertices.shape[1] != 3 or not vertices.is_floating_point():
        raise ValueError(
            f"expected vertices as real numbers of shape (vertices, 3), got {vertices.dtype} "
            f"{tuple(vertices.shape)}"
        )
    whole = not (faces.is_floating_point() or faces.is_complex() or faces.dtype == torch.bool)
    if not whole or faces.dim() != 2 or faces.shape[1] != 3 or not len(faces):
        raise ValueError(
            f"expected faces as integers of shape (faces, 3), at least one, got {faces.dtype} "
            f"{tuple(faces.shape)}"
        )
    if not bool(vertices.isfinite().all()):
        raise ValueError("expected finite vertices, got infinities or NaN")
    lowest, highest = int(faces.min()), int(faces.max())
    if lowest < 0 or highest >= len(vertices):
        raise ValueError(f"expected corners between 0 and {len(vertices) - 1}, got {lowest} to {highest}")
    return vertices.detach().cpu().double().numpy(), faces.cpu().numpy()
