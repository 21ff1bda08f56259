"""MATLAB's files are read as SciPy reads them, and damaged ones are refused."""

import contextlib
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import loadmat, savemat
from scipy.sparse import csc_array, issparse

from tammes.data.matlab_files import read_matlab

TYPES = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_are_those_that_scipy_reads(tmp_path: Path, packed: bool) -> None:
    generator = np.random.default_rng(0)
    arrays = {f"of_{kind}": generator.integers(0, 100, (3, 4, 2)).astype(kind) for kind in TYPES}
    arrays |= {"x": np.array([[1.5]]), "empty": np.zeros((0, 3)), "word": np.array(["it"])}
    sparse = {"some": csc_array(generator.random((5, 4)) > 0.6), "none": csc_array((2, 3))}
    savemat(tmp_path / "a.mat", arrays | sparse, do_compression=packed)
    names = (*(name for name in arrays if name != "word"), *sparse)
    ours, theirs = read_matlab(tmp_path / "a.mat", names), loadmat(tmp_path / "a.mat")
    assert set(ours) == set(names)
    for name in names:
        expected = theirs[name].toarray() if issparse(theirs[name]) else theirs[name]
        assert ours[name].shape == expected.shape
        assert np.array_equal(ours[name], expected)
        assert name in sparse or ours[name].dtype == expected.dtype
    with pytest.raises(ValueError, match="word is no array of real numbers"):
        read_matlab(tmp_path / "a.mat", ("word",))


def test_other_byte_orders_are_read(tmp_path: Path) -> None:
    element = struct.pack(">II", 6, 8) + struct.pack(">II", 6, 0)  # class 6, floats of 64 bits
    element += struct.pack(">II", 5, 8) + struct.pack(">ii", 1, 2)
    element += struct.pack(">HHcxxx", 1, 1, b"x")  # a name in the tag itself
    element += struct.pack(">HHhh", 4, 3, 7, -8)  # stored as integers of 16 bits
    content = bytes(124) + b"\x01\x00MI" + struct.pack(">II", 14, len(element)) + element
    (tmp_path / "a.mat").write_bytes(content)
    assert read_matlab(tmp_path / "a.mat", ("x",))["x"].tolist() == [[7.0, -8.0]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("mat") / "a.mat"
    savemat(path, {"A": csc_array(np.eye(3)), "F": np.ones((3, 2)), "y": np.array([[1], [2]], np.uint8)})
    return path.read_bytes()


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255), kept=st.integers(0, 10_000))
def test_damage_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, whole: bytes, place: int, byte: int, kept: int
) -> None:
    changed = bytearray(whole)
    changed[place % len(whole)] = byte
    path = tmp_path_factory.mktemp("mat") / "a.mat"
    path.write_bytes(changed[: kept % (2 * len(whole))])
    with contextlib.suppress(ValueError):
        assert set(read_matlab(path, ("A", "F", "y"))) <= {"A", "F", "y"}


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ((0, 1, 2), (0, 1, 9), "must be < 3"),  # a row that the matrix does not have
        ((0, 1, 2), (0, 1, -1), "must be >= 0"),
        ((0, 1, 2, 3), (0, 1, 2, 0), "columns that end before they begin"),
        ((0, 1, 2, 3), (0, 2, 1, 3), "columns that end before they begin"),
    ],
)
def test_a_sparse_matrix_that_leaves_its_shape_is_refused(
    tmp_path: Path, right: tuple[int, ...], wrong: tuple[int, ...], message: str
) -> None:
    savemat(tmp_path / "a.mat", {"A": csc_array(np.eye(3))})
    content = (tmp_path / "a.mat").read_bytes()
    before, after = (struct.pack(f"<{len(right)}i", *numbers) for numbers in (right, wrong))
    (tmp_path / "a.mat").write_bytes(content.replace(before, after, 1))
    with pytest.raises(ValueError, match=message):
        read_matlab(tmp_path / "a.mat", ("A",))


def test_a_sparse_matrix_that_no_memory_holds_is_refused(tmp_path: Path) -> None:
    savemat(tmp_path / "a.mat", {"A": csc_array((2**20, 2**20))})
    with pytest.raises(ValueError, match="more than 134,217,728 numbers"):
        read_matlab(tmp_path / "a.mat", ("A",))
