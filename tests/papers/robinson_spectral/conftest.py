"""Small data in the published forms: graphs, images on a grid, a textured mesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from tammes.data.filter_images import FILTERS
from tiny import write_alchemy

SIDE, ACROSS = 6, 7


@pytest.fixture
def image_folder(tmp_path: Path) -> Path:
    """A grid, three random images and their exact targets."""
    folder = tmp_path / "images"
    (folder / "labels").mkdir(parents=True)
    path = np.eye(SIDE, k=1) + np.eye(SIDE, k=-1)
    adjacency = np.kron(path, np.eye(SIDE)) + np.kron(np.eye(SIDE), path)
    inner = np.zeros((SIDE, SIDE), dtype=np.uint8)
    inner[1:-1, 1:-1] = 1
    signals = np.random.default_rng(0).random((SIDE**2, 3))
    savemat(folder / "grid.mat", {"A": adjacency, "F": signals, "mask": inner.reshape(-1, 1)})
    root = 1 / np.sqrt(adjacency.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(SIDE**2) - root[:, None] * adjacency * root)
    for name, response in FILTERS.items():
        gain = response(torch.from_numpy(values)).numpy()
        np.save(folder / "labels" / f"y_{name}.npy", vectors @ (gain[:, None] * (vectors.T @ signals)))
    return folder


@pytest.fixture
def mesh_folder(tmp_path: Path) -> Path:
    """A sheet that is bent, with a picture of four colors on it, and a mesh beside it that has none."""
    folder = tmp_path / "sheet"
    folder.mkdir()
    grid = np.linspace(-1, 1, ACROSS)
    places = [(x, y) for y in grid for x in grid]
    lines = [f"v {x} {y} {0.3 * x * x + 0.2 * y}" for x, y in places]
    lines += [f"vt {(x + 1) / 2} {(y + 1) / 2}" for x, y in places]
    for row in range(ACROSS - 1):
        for column in range(ACROSS - 1):
            one = row * ACROSS + column + 1
            corners = (one, one + 1, one + ACROSS + 1, one + ACROSS)
            lines.append("f " + " ".join(f"{corner}/{corner}" for corner in corners))
    (folder / "sheet.obj").write_text("\n".join(lines))
    (folder / "plain.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    colors = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [90, 90, 90]]], dtype=np.uint8)
    Image.fromarray(colors.repeat(16, axis=0).repeat(16, axis=1)).save(folder / "picture.png")
    return folder


def rings(count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Rings of four to six atoms, in the form of ZINC's archives; the target is the size."""
    sizes = generator.integers(4, 7, size=count)
    edges = []
    for size in sizes:
        atoms = np.arange(size)
        after = (atoms + 1) % size
        edges.append(np.stack([np.concatenate([atoms, after]), np.concatenate([after, atoms])]))
    return {
        "x": generator.integers(0, 3, size=sizes.sum()),
        "edge_index": np.concatenate(edges, axis=1),
        "edge_attr": np.ones(2 * sizes.sum(), dtype=int),
        "node_ptr": np.concatenate([[0], sizes.cumsum()]),
        "edge_ptr": np.concatenate([[0], (2 * sizes).cumsum()]),
        "y": sizes.astype(float),
    }


@pytest.fixture
def graph_folder(tmp_path: Path) -> Path:
    """A data set of the TU collection and ZINC, both of rings."""
    generator = np.random.default_rng(0)
    folder = tmp_path / "graphs"
    (folder / "zinc").mkdir(parents=True)
    for part, count in (("train_REBUILT", 12), ("val", 6), ("test", 6)):
        np.savez(folder / "zinc" / f"zinc_{part}.npz", **rings(count, generator))
    (folder / "PROTEINS").mkdir()
    (folder / "PROTEINS" / "PROTEINS_A.txt").write_text("1, 2\n2, 3\n3, 1\n4, 5\n5, 6\n")
    (folder / "PROTEINS" / "PROTEINS_graph_indicator.txt").write_text("1\n1\n1\n2\n2\n2\n")
    return folder


@pytest.fixture
def molecule_folder(tmp_path: Path) -> Path:
    """The whole ZINC, as torch_geometric writes it, and Alchemy, both of rings."""
    data = pytest.importorskip("torch_geometric.data")
    generator = np.random.default_rng(0)
    folder = tmp_path / "molecules"
    processed = folder / "zinc" / "full" / "processed"
    processed.mkdir(parents=True)
    for part, count in (("train", 12), ("val", 6), ("test", 6)):
        arrays = {name: torch.from_numpy(array) for name, array in rings(count, generator).items()}
        ends = arrays["node_ptr"].tolist(), arrays["edge_ptr"].tolist()
        graphs = [
            data.Data(
                x=arrays["x"][node:last_node, None],
                edge_index=arrays["edge_index"][:, edge:last_edge],
                edge_attr=arrays["edge_attr"][edge:last_edge],
                y=arrays["y"][[number]].float(),
            )
            for number, (node, last_node, edge, last_edge) in enumerate(
                zip(ends[0], ends[0][1:], ends[1], ends[1][1:], strict=False)
            )
        ]
        data.InMemoryDataset.save(graphs, processed / f"{part}.pt")
    return write_alchemy(folder, count=24)


@pytest.fixture
def random_folder(tmp_path: Path) -> Path:
    """Twelve random graphs with random counts."""
    generator = np.random.default_rng(0)
    edges = [np.stack(np.nonzero(np.triu(generator.random((5, 5)) < 0.6, 1))) for _ in range(12)]
    both = [np.concatenate([each, each[::-1]], axis=1) for each in edges]
    names = ("triangle", "tailed_triangle", "star", "chordal_cycle")
    folder = tmp_path / "random"
    folder.mkdir()
    np.savez(
        folder / "one_parsed.npz",
        num_nodes=np.full(12, 5),
        edge_ptr=np.cumsum([0, *(each.shape[1] for each in both)]),
        edge_index=np.concatenate(both, axis=1),
        **{f"y_{name}": generator.random(12) for name in names},
    )
    for part, numbers in (("train", range(6)), ("val", range(6, 9)), ("test", range(9, 12))):
        (folder / f"one_{part}.txt").write_text("\n".join(map(str, numbers)))
    return folder
