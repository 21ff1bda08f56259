"""Molecules, random graphs and images on a grid, from small files of the published forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat

from tammes.data.filter_images import FILTERS, filter_images
from tammes.data.substructures import COUNTED, substructures
from tammes.data.zinc import zinc

MOLECULES = {
    "x": np.array([0, 2, 1, 0], dtype=np.uint8),
    "edge_index": np.array([[0, 1, 1, 2], [1, 0, 2, 1]], dtype=np.uint8),
    "edge_attr": np.array([1, 1, 2, 2], dtype=np.uint8),
    "node_ptr": np.array([0, 3, 4]),
    "edge_ptr": np.array([0, 4, 4]),
    "y": np.array([0.5, -1.5]),
}


def test_zinc_is_read_from_archives(tmp_path: Path) -> None:
    np.savez(tmp_path / "zinc_train_REBUILT_2.npz", **MOLECULES)
    molecules = zinc(tmp_path, "train")
    assert molecules.nodes.tolist() == [0, 2, 1, 0]
    assert molecules.targets.tolist() == [[0.5], [-1.5]]
    with pytest.raises(ValueError, match=r"expected ZINC 12k at .*processed/val.pt.*zinc_val\*.npz"):
        zinc(tmp_path, "val")
    np.savez(tmp_path / "zinc_train.npz", **MOLECULES)
    with pytest.raises(ValueError, match=r"expected one zinc_train\*.npz .* found 2"):
        zinc(tmp_path, "train")


def test_zinc_is_read_as_torch_geometric_writes_it(tmp_path: Path) -> None:
    data = pytest.importorskip("torch_geometric.data")
    first = data.Data(
        x=torch.tensor([[0], [2], [1]]),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_attr=torch.tensor([1, 1, 2, 2]),
        y=torch.tensor([0.5]),
    )
    second = data.Data(
        x=torch.tensor([[0]]),
        edge_index=torch.zeros(2, 0, dtype=torch.long),
        edge_attr=torch.zeros(0, dtype=torch.long),
        y=torch.tensor([-1.5]),
    )
    folder = tmp_path / "subset" / "processed"
    folder.mkdir(parents=True)
    data.InMemoryDataset.save([first, second], folder / "val.pt")
    np.savez(tmp_path / "zinc_train.npz", **MOLECULES)
    ours, theirs = zinc(tmp_path, "train"), zinc(tmp_path, "val")
    assert vars(ours).keys() == vars(theirs).keys()
    for name, value in vars(ours).items():
        assert torch.equal(vars(theirs)[name], value), name
    for damaged in (b"nothing", b"", b"abc"):
        (folder / "test.pt").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"as torch_geometric.datasets.ZINC writes it"):
            zinc(tmp_path, "test")
    torch.save({"x": 1}, folder / "test.pt")
    with pytest.raises(ValueError, match=r"as torch_geometric.datasets.ZINC writes it"):
        zinc(tmp_path, "test")


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zinc_val.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(ValueError, match="expected a whole NumPy archive"):
        zinc(tmp_path, "val")
    np.savez(tmp_path / "zinc_test.npz", x=MOLECULES["x"])
    with pytest.raises(ValueError, match="found no edge_index, edge_attr, node_ptr, edge_ptr, y"):
        zinc(tmp_path, "test")
    with pytest.raises(ValueError, match="expected the part train, val or test, got 'valid'"):
        zinc(tmp_path, "valid")  # type: ignore[arg-type]


def test_substructures_come_with_their_split(tmp_path: Path) -> None:
    triangle = np.array([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]], dtype=np.int16)
    counts = {f"y_{name}": np.array([0.0, 1.0, 2.0]) + at for at, name in enumerate(COUNTED)}
    np.savez(
        tmp_path / "one_parsed.npz",
        num_nodes=np.array([3, 3, 2], dtype=np.int16),
        edge_ptr=np.array([0, 6, 12, 12]),
        edge_index=np.concatenate([triangle, triangle], axis=1),
        **counts,
    )
    (tmp_path / "one_train.txt").write_text("2\n0\n")
    graphs = substructures(tmp_path, "train")
    assert graphs.node_starts.tolist() == [0, 2, 5]
    assert graphs.targets.tolist() == [[2, 3, 4, 5], [0, 1, 2, 3]]
    for wrong in ({"y_star": [0.0]}, {"num_nodes": [3, 3, -2]}, {"edge_index": [0, 1]}):
        parts = {
            "num_nodes": [3, 3, 2],
            "edge_ptr": [0, 6, 12, 12],
            "edge_index": np.zeros((2, 12)),
            **counts,
        }
        np.savez(tmp_path / "one_parsed.npz", **{**parts, **wrong})
        with pytest.raises(ValueError, match=r"expected edge_index \(2, edges\)"):
            substructures(tmp_path, "train")
    np.savez(tmp_path / "one_parsed.npz", **parts)
    (tmp_path / "one_val.txt").write_text("3\n")
    with pytest.raises(ValueError, match="a number from 0 to 2 in each line"):
        substructures(tmp_path, "val")
    with pytest.raises(ValueError, match=r"expected one file \*_test.txt"):
        substructures(tmp_path, "test")


def write_filters(folder: Path, *, side: int, images: int) -> None:
    """A grid, random images and their exact targets."""
    path = np.eye(side, k=1) + np.eye(side, k=-1)
    adjacency = np.kron(path, np.eye(side)) + np.kron(np.eye(side), path)
    inner = np.zeros((side, side), dtype=np.uint8)
    inner[1:-1, 1:-1] = 1
    signals = np.random.default_rng(0).random((side * side, images))
    savemat(
        folder / "grid.mat", {"A": adjacency.astype(np.uint8), "F": signals, "mask": inner.reshape(-1, 1)}
    )
    root = 1 / np.sqrt(adjacency.sum(axis=1))
    values, vectors = np.linalg.eigh(np.eye(side * side) - root[:, None] * adjacency * root)
    (folder / "labels").mkdir()
    for name, response in FILTERS.items():
        gain = response(torch.from_numpy(values)).numpy()
        np.save(folder / "labels" / f"y_{name}.npy", vectors @ (gain[:, None] * (vectors.T @ signals)))


def test_filtered_images_lie_on_their_grid(tmp_path: Path) -> None:
    write_filters(tmp_path, side=5, images=2)
    images = filter_images(tmp_path)
    assert images.signals.shape == (25, 2)
    assert images.edges.shape == (2, 80)
    assert int(images.inner.sum()) == 9
    # Low and high pass, and a band and its rejection, add up to the image itself.
    for one, other in (("low", "high"), ("band", "rejection")):
        both = images.targets[one] + images.targets[other]
        torch.testing.assert_close(both, images.signals, rtol=0, atol=1e-12)
    np.save(tmp_path / "labels" / "y_comb.npy", np.full((25, 2), np.nan))
    with pytest.raises(ValueError, match=r"expected finite numbers in .*y_comb.npy"):
        filter_images(tmp_path)
    np.save(tmp_path / "labels" / "y_comb.npy", np.zeros((25, 3)))
    with pytest.raises(ValueError, match=r"expected \(25, 2\) numbers in .*y_comb.npy"):
        filter_images(tmp_path)
    (tmp_path / "grid.mat").write_text("nothing")
    with pytest.raises(ValueError, match="expected a MATLAB file"):
        filter_images(tmp_path)
    with pytest.raises(ValueError, match=r"expected one \.mat file"):
        filter_images(tmp_path / "labels")
