"""Molecules, random graphs and images on a grid, from small files of the published forms."""

from __future__ import annotations

import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import loadmat, savemat
from scipy.sparse import csc_matrix

from tammes.data.filter_images import FILTERS, filter_images
from tammes.data.published_files import read_archive
from tammes.data.substructures import COUNTED, substructures
from tammes.data.zinc import zinc, zinc_full

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


def write_with_geometric(file: Path, *, kind: int = 2) -> None:
    """The molecules above; `kind` is that of the second atom."""
    data = pytest.importorskip("torch_geometric.data")
    first = data.Data(
        x=torch.tensor([[0], [kind], [1]]),
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
    file.parent.mkdir(parents=True, exist_ok=True)
    data.InMemoryDataset.save([first, second], file)


def test_zinc_is_read_as_torch_geometric_writes_it(tmp_path: Path) -> None:
    folder = tmp_path / "subset" / "processed"
    write_with_geometric(folder / "val.pt")
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


def test_the_whole_zinc_is_read_beside_the_subset(tmp_path: Path) -> None:
    folder = tmp_path / "full" / "processed"
    write_with_geometric(folder / "val.pt")
    write_with_geometric(tmp_path / "subset" / "processed" / "val.pt", kind=7)
    np.savez(tmp_path / "zinc_train.npz", **MOLECULES)
    ours, theirs = zinc(tmp_path, "train"), zinc_full(tmp_path, "val")
    for name, value in vars(ours).items():
        assert torch.equal(vars(theirs)[name], value), name
    assert zinc(tmp_path, "val").nodes.tolist() == [0, 7, 1, 0]
    with pytest.raises(ValueError, match=r"whole ZINC at .*: full/processed/train\.pt, as .*; found none"):
        zinc_full(tmp_path, "train")
    with pytest.raises(ValueError, match=r'part must be "train", "val" or "test", got .valid.'):
        zinc_full(tmp_path, "valid")  # type: ignore[arg-type]
    (folder / "test.pt").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"test\.pt as torch_geometric\.datasets\.ZINC writes it"):
        zinc_full(tmp_path, "test")


def test_molecules_of_other_kinds_than_zinc_s_are_refused(tmp_path: Path) -> None:
    write_with_geometric(tmp_path / "full" / "processed" / "val.pt", kind=28)
    with pytest.raises(ValueError, match=r"atoms of the kinds 0 to 27 in .*val\.pt, got kind 28"):
        zinc_full(tmp_path, "val")
    np.savez(tmp_path / "zinc_val.npz", **{**MOLECULES, "edge_attr": np.array([1, 4, 1, 1])})
    with pytest.raises(ValueError, match=r"bonds of the kinds 0 to 3 in .*zinc_val\.npz, got kind 4"):
        zinc(tmp_path, "val")


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "zinc_val.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(ValueError, match="expected a whole NumPy archive"):
        zinc(tmp_path, "val")
    np.savez(tmp_path / "zinc_test.npz", x=MOLECULES["x"])
    with pytest.raises(ValueError, match="found no edge_index, edge_attr, node_ptr, edge_ptr, y"):
        zinc(tmp_path, "test")
    with pytest.raises(ValueError, match=r'part must be "train", "val" or "test", got .valid.'):
        zinc(tmp_path, "valid")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "content", [b"", b"no archive", pickle.dumps({"x": [1]})], ids=["empty", "text", "pickle"]
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "zinc_val.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"zinc_val\.npz, got an unreadable one \(it is empty"):
        zinc(tmp_path, "val")


def test_an_archive_that_cannot_be_opened_is_told_in_the_system_s_words(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.npz, got an unreadable one .*No such file"):
        read_archive(tmp_path / "nowhere.npz", ["x"])


def test_whole_numbers_may_be_stored_as_halves(tmp_path: Path) -> None:
    np.savez(tmp_path / "zinc_val.npz", **{**MOLECULES, "x": np.asarray(MOLECULES["x"], np.float16)})
    assert zinc(tmp_path, "val").nodes.tolist() == list(MOLECULES["x"])


def test_an_archive_of_other_things_than_arrays_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "zinc_val.npz", "w") as archive:
        for name in MOLECULES:
            archive.writestr(f"{name}.npy", "words")
    with pytest.raises(ValueError, match=r"expected arrays in .*zinc_val\.npz, got something else as x"):
        zinc(tmp_path, "val")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"x": np.array(list("CNOC"))}, "integers as x in F, got an array of type <U1"),
        ({"x": np.array(["C", None, 1, 2], dtype=object)}, "whole NumPy archive F.*Object arrays cannot"),
        ({"x": np.array([0, 1, 2, np.nan])}, "integers as x in F, got fractions, NaN or huge"),
        ({"x": np.array([0, 1, 2, 2**63], dtype=np.uint64)}, "integers as x in F, got .* huge numbers"),
        ({"x": np.zeros((4, 1))}, r"as x in F, 1-dimensional, got an array of shape \(4, 1\)"),
        ({"edge_index": np.zeros(4)}, r"edge_index in F, 2-dimensional, got an array of shape \(4,\)"),
        ({"edge_attr": np.float64(1)}, r"edge_attr in F, 1-dimensional, got an array of shape \(\)"),
        ({"edge_attr": np.array([1.5, 1, 2, 2])}, "edge_attr in F, got fractions"),
        (
            {"edge_attr": np.ones(3)},
            r"molecules in F, but its arrays do not match: bonds, .* must have shape \(4,\)",
        ),
        (
            {"node_ptr": np.array([0, 4])},
            "molecules in F, but .* do not match: expected 3 node_starts",
        ),
        ({"edge_index": np.full((2, 4), 3)}, "F, but its arrays do not match: .* one that leaves its graph"),
        ({"y": np.array(["low", "high"])}, "numbers as y in F, got an array of type <U4"),
        ({"y": np.array([0.5, np.nan])}, "finite numbers as y in F, got infinities or NaN"),
        ({"y": np.array([0.5, 1e300])}, "molecules in F, .* expected finite targets"),
        ({"y": np.array([0.5, 1j])}, "numbers as y in F, got an array of type complex128"),
    ],
)
def test_arrays_that_are_no_molecules_are_refused_in_a_line_that_names_the_file(
    tmp_path: Path, wrong: dict[str, np.ndarray], message: str
) -> None:
    file = tmp_path / "zinc_val.npz"
    np.savez(file, **{**MOLECULES, **wrong})
    with pytest.raises(ValueError, match=message.replace("F", re.escape(str(file)), 1)) as caught:
        zinc(tmp_path, "val")
    assert "\n" not in str(caught.value)


def test_other_objects_in_a_file_of_torch_geometric_are_refused_in_a_line(tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    folder = tmp_path / "subset" / "processed"
    folder.mkdir(parents=True)
    torch.save((np.zeros(3), Path("/")), folder / "val.pt")
    with pytest.raises(
        ValueError, match=r"val\.pt as .*, got a damaged file, or one with other objects than tensors"
    ) as caught:
        zinc(tmp_path, "val")
    assert "\n" not in str(caught.value)


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
    wrongs = {
        "a size of each graph and as many counts": [{"y_star": [0.0]}, {"num_nodes": [3, 3, -2]}],
        "integers as edge_index": [{"edge_index": [0, 1]}, {"edge_index": np.full((2, 12), 0.5)}],
        "numbers as y_star": [{"y_star": ["many", "few", "none"]}, {"y_star": [0.0, np.nan, 1.0]}],
        "its arrays do not match": [{"edge_ptr": [0, 6, 12]}, {"edge_index": np.full((2, 12), 3)}],
    }
    for message, wrong in [(message, each) for message, several in wrongs.items() for each in several]:
        parts = {
            "num_nodes": [3, 3, 2],
            "edge_ptr": [0, 6, 12, 12],
            "edge_index": np.zeros((2, 12)),
            **counts,
        }
        np.savez(tmp_path / "one_parsed.npz", **{**parts, **wrong})
        with pytest.raises(ValueError, match=rf"{message}.*one_parsed\.npz|one_parsed\.npz.*{message}"):
            substructures(tmp_path, "train")
    np.savez(tmp_path / "one_parsed.npz", **parts)
    for line in ("3\n", "0.5\n", "99999999999999999999\n", ""):
        (tmp_path / "one_val.txt").write_text(line)
        with pytest.raises(ValueError, match=r"one_val\.txt a number from 0 to 2 in each line"):
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
    with pytest.raises(ValueError, match=r"expected finite numbers as the targets in .*y_comb.npy"):
        filter_images(tmp_path)
    np.save(tmp_path / "labels" / "y_comb.npy", np.zeros((25, 3)))
    with pytest.raises(ValueError, match=r"in .*y_comb.npy must have shape \(25, 2\)"):
        filter_images(tmp_path)
    np.savez(tmp_path / "labels" / "y_comb.npz", np.zeros((25, 2)))
    (tmp_path / "labels" / "y_comb.npz").replace(tmp_path / "labels" / "y_comb.npy")
    with pytest.raises(ValueError, match=r"expected an array in .*y_comb.npy.*an archive of several arrays"):
        filter_images(tmp_path)
    np.save(tmp_path / "labels" / "y_comb.npy", np.full((25, 2), "bright"))
    with pytest.raises(ValueError, match=r"expected numbers as the targets in .*y_comb.npy, got .* type <U6"):
        filter_images(tmp_path)
    (tmp_path / "grid.mat").write_text("nothing")
    with pytest.raises(ValueError, match="expected a MATLAB file"):
        filter_images(tmp_path)
    with pytest.raises(ValueError, match=r"expected one file \*\.mat in"):
        filter_images(tmp_path / "labels")


def test_a_grid_may_be_stored_by_its_edges_alone(tmp_path: Path) -> None:
    write_filters(tmp_path, side=4, images=2)
    grid = loadmat(tmp_path / "grid.mat")
    plain = filter_images(tmp_path)
    savemat(tmp_path / "grid.mat", {"A": csc_matrix(grid["A"]), "F": grid["F"], "mask": grid["mask"]})
    assert torch.equal(filter_images(tmp_path).edges, plain.edges)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"A": np.eye(16, k=1)}, "expected edges in both directions in .*grid.mat"),
        ({"A": np.full((16, 16), np.nan)}, "expected finite numbers as A in .*grid.mat"),
        ({"A": np.ones((16, 15))}, r"expected A \(n, n\), F \(n, images\) and mask \(n, 1\) in .*grid.mat"),
        ({"F": np.array(["words"] * 16)}, "A, F, mask: .*grid.mat .F is no array of real numbers"),
        (
            {"F": np.ones((16, 2)) * 1j},
            "A, F, mask: .*grid.mat .F is no array of real numbers",
        ),
        ({"mask": np.full((16, 1), np.nan)}, "expected finite numbers as mask in .*grid.mat"),
    ],
)
def test_a_grid_that_is_none_is_refused(tmp_path: Path, wrong: dict[str, np.ndarray], message: str) -> None:
    write_filters(tmp_path, side=4, images=2)
    grid = loadmat(tmp_path / "grid.mat")
    savemat(tmp_path / "grid.mat", {**{name: grid[name] for name in ("A", "F", "mask")}, **wrong})
    with pytest.raises(ValueError, match=message):
        filter_images(tmp_path)


@pytest.mark.parametrize("length", [0, 50, 140, 300])
def test_a_grid_that_is_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    write_filters(tmp_path, side=4, images=2)
    whole = (tmp_path / "grid.mat").read_bytes()
    (tmp_path / "grid.mat").write_bytes(whole[:length])
    with pytest.raises(ValueError, match=r"expected a MATLAB file .*grid\.mat"):
        filter_images(tmp_path)
