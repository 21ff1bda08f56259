"""Drawings of molecules, colored by numbers of their atoms, and Figures E-4 and E-5."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int64
from matplotlib import colormaps
from matplotlib.figure import Figure
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from torch import Tensor, nn

from tammes.checks import check_file, check_shape
from tammes.papers.page import Figure as PageFigure
from tammes.papers.page import panel
from tammes.report.figures.canvas import TEXT
from tammes.report.palette import INK, MUTED
from tammes.spectral import eigenpairs

# Fluorescein, C20H12O5, without hydrogens: an oxygen, a lactone, the xanthene, a benzene ring.
_BONDS = (
    "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-8 7-9 9-10 10-4 10-11 11-12 12-13 13-14 14-15 14-16 16-17 17-18 18-12 "
    "18-3 3-19 19-20 20-21 21-22 22-23 23-24 24-19 24-1"
)
_COLORS = colormaps["coolwarm"]
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def fluorescein() -> Int64[Tensor, "2 58"]:
    """Return the bonds between its 25 atoms, in both directions: the molecule of Figures E-4 and E-5.

    Example:
        >>> int(fluorescein().max())
        24
    """
    pairs = torch.tensor([[int(atom) for atom in bond.split("-")] for bond in _BONDS.split()]).T
    return torch.cat([pairs, pairs.flip(0)], dim=1)


def layout(edges: Int64[Tensor, "2 e"], atoms: int) -> Float[np.ndarray, "n 2"]:
    """Return places in the plane whose distances approximate those along bonds, by stress majorization.

    The stress is sum_ij (|x_i - x_j| - d_ij)^2 / d_ij^2; each round moves to the minimum of a quadratic bound
    of it.

    Args:
        edges: bonds, in both directions, of a connected molecule.
        atoms: number of atoms.

    Source: Gansner et al., Graph Drawing by Stress Majorization, 2004.

    Example:
        >>> places = layout(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3)
        >>> float(np.linalg.norm(places[0] - places[2]).round(2))
        2.0
    """
    ones = np.ones(edges.shape[1])
    distance = shortest_path(coo_array((ones, edges.numpy()), shape=(atoms, atoms)).tocsr(), unweighted=True)
    weight = 1 / np.where(distance > 0, distance, np.inf) ** 2
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    # Classical scaling, two eigenvectors of the squared distances, is the start.
    centered = np.eye(atoms) - 1 / atoms
    values, vectors = np.linalg.eigh(-centered @ distance**2 @ centered / 2)
    places = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)) if atoms > 2 else np.eye(atoms, 2)
    for _ in range(200):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        pull = weight * distance / np.where(apart > 1e-9, apart, np.inf)
        places = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ places)
    return places


def molecules(
    edges: Int64[Tensor, "2 e"], columns: Mapping[str, Float[Tensor, " n"]], *, across: int
) -> Figure:
    """Draw the molecule once for each column of numbers, blue below zero and red above.

    Args:
        edges: bonds, in both directions.
        columns: a number for each atom, by the title of the drawing.
        across: number of drawings side by side.

    Example:
        >>> pair = torch.tensor([[0, 1], [1, 0]])
        >>> len(molecules(pair, {"v": torch.tensor([-1.0, 1.0])}, across=1).axes)
        1
    """
    atoms = len(next(iter(columns.values())))
    places = layout(edges, atoms)
    down = -(-len(columns) // across)
    figure = Figure(figsize=(1.8 * across, 1.8 * down), layout="constrained")
    figure.patch.set_alpha(0)
    for number, (name, values) in enumerate(columns.items(), start=1):
        axes = figure.add_subplot(down, across, number)
        axes.set_axis_off()
        axes.set_aspect("equal")
        axes.set_title(name, fontsize=TEXT, color=INK)
        for first, second in edges.T.tolist():
            axes.plot(*places[[first, second]].T, color=MUTED, linewidth=0.8, zorder=1)
        largest = float(values.abs().max()) or 1.0
        colors = _COLORS((values.numpy() / largest + 1) / 2)
        axes.scatter(places[:, 0], places[:, 1], c=colors, s=42, edgecolors=INK, linewidths=0.4, zorder=2)
    return figure


def principal_components(encodings: Float[Tensor, "n d"], count: int) -> Float[Tensor, "n count"]:
    """Return principal components of the rows, each with the sign that makes its largest entry positive.

    Example:
        >>> principal_components(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), 1).abs().tolist()
        [[1.0], [1.0]]
    """
    centered = encodings - encodings.mean(dim=0)
    left, scale, _ = torch.linalg.svd(centered.double(), full_matrices=False)
    found = torch.zeros(len(encodings), count, dtype=torch.float64)
    there = min(count, len(scale))
    found[:, :there] = left[:, :there] * scale[:there]
    largest = found.gather(0, found.abs().argmax(dim=0, keepdim=True))
    return (found * torch.where(largest < 0, -1.0, 1.0)).to(encodings.dtype)


@torch.no_grad()
def encoded_fluorescein(encoding: nn.Module, eigenvectors: int) -> Float[Tensor, "25 d"]:
    """Return the encodings of fluorescein, which no network was trained on.

    Args:
        encoding: trained network on eigenvectors.
        eigenvectors: number of eigenvectors that it was trained with; 0 for all.
    """
    edges, owner = fluorescein(), torch.zeros(25, dtype=torch.long)
    pairs = eigenpairs(edges, owner, count=eigenvectors + 1 if eigenvectors else None)
    first = 1 if eigenvectors else 0
    encoded: Tensor = encoding(
        None, edges, owner, pairs.vectors[:, first:].float(), pairs.values[:, first:].float()
    )
    return encoded


def figures_e4_and_e5(file: Path) -> tuple[PageFigure, ...]:
    """Return Figures E-5 and E-4 from a file of `encoded_fluorescein`, or nothing if there is no file.

    Raises:
        ValueError: If the file is damaged.
    """
    if not file.exists():
        return ()
    edges = fluorescein()
    vectors = eigenpairs(edges, torch.zeros(25, dtype=torch.long)).vectors.float()
    try:
        encoded = np.load(check_file(file), allow_pickle=False)
        check_shape("encodings", encoded.shape, (len(vectors), None))
        learned = principal_components(torch.from_numpy(encoded), 4)
    except Exception as error:  # a damaged file makes NumPy raise errors of any type
        raise ValueError(f"expected the encodings of a molecule in {file} ({error}): delete it") from error
    every = {f"v{number}".translate(_SUBSCRIPTS): vectors[:, number - 1] for number in range(1, 26)}
    columns = {name: every[name] for name in ("v₂", "v₃", "v₂₄", "v₂₅")}
    columns |= {f"component {number + 1}": learned[:, number] for number in range(4)}
    description = "Four eigenvectors on the atoms of fluorescein, and four components of what is learned."
    of_all = "All 25 eigenvectors on the atoms of fluorescein."
    return (
        PageFigure(
            title="Fluorescein",
            words="Above, the two smallest and the two largest eigenvectors but the trivial one; below, "
            "principal components of a trained SignNet's encodings. It was not trained on this molecule.",
            panels=(panel(molecules(edges, columns, across=4), description),),
            wide=True,
        ),
        PageFigure(
            title="All eigenvectors of fluorescein",
            words="Those of the symmetric normalized Laplacian, as in Figure E-4, by their eigenvalues.",
            panels=(panel(molecules(edges, every, across=5), of_all),),
            wide=True,
        ),
    )
