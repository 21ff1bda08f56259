"""A molecule that no network has seen, and what a trained SignNet makes of its eigenvectors: Figure E-5."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tammes.papers.page import Figure, panel
from tammes.papers.robinson_spectral.molecules import components, fluorescein, molecules
from tammes.papers.robinson_spectral.regression import Regressor
from tammes.spectral import eigenpairs


@torch.no_grad()
def encoded_fluorescein(network: nn.Module, eigenvectors: int) -> Float[Tensor, "25 d"]:
    """What the trained encoding makes of a molecule that it has not seen."""
    assert isinstance(network, Regressor)
    assert network.encoding is not None
    edges, owner = fluorescein(), torch.zeros(25, dtype=torch.long)
    pairs = eigenpairs(edges, owner, count=eigenvectors + 1 if eigenvectors else None)
    first = 1 if eigenvectors else 0
    vectors, values = pairs.vectors[:, first:].float(), pairs.values[:, first:].float()
    return network.encoding(None, edges, owner, vectors, values)


def drawn(file: Path) -> tuple[Figure, ...]:
    """Figure E-5: eigenvectors of fluorescein, and what a trained SignNet makes of them."""
    if not file.exists():
        return ()
    edges = fluorescein()
    vectors = eigenpairs(edges, torch.zeros(25, dtype=torch.long)).vectors.float()
    learned = components(torch.from_numpy(np.load(file)), 4)
    columns = {"v₂": vectors[:, 1], "v₃": vectors[:, 2], "v₂₄": vectors[:, 23], "v₂₅": vectors[:, 24]}
    columns |= {f"component {number + 1}": learned[:, number] for number in range(4)}
    return (
        Figure(
            title="Fluorescein",
            words="Above, the two smallest and the two largest eigenvectors but the trivial one; below, "
            "principal components of what a trained SignNet makes of them. It has not seen this molecule.",
            panels=(
                panel(
                    molecules(edges, columns, across=4),
                    "Four eigenvectors on the atoms of fluorescein, and four components of what is learned.",
                ),
            ),
            wide=True,
        ),
    )
