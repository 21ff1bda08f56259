import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data import Outcomes, SkippedFilesWarning, Volumes, volumes, windowed
from tammes.data.volume_files import holds_volumes, resized


def drawn(n: int = 3, size: tuple[int, int, int] = (4, 5, 6)) -> np.ndarray:
    return np.random.default_rng(0).normal(-500, 200, (n, *size)).astype(np.float32)


def save(folder: Path, arrays: np.ndarray) -> None:
    for number, array in enumerate(arrays):
        np.save(folder / f"{number}.npy", array)


def test_a_folder_and_one_file_give_the_same_volumes(tmp_path: Path) -> None:
    arrays = drawn()
    (tmp_path / "folder").mkdir()
    save(tmp_path / "folder", arrays)
    np.savez(tmp_path / "all.npz", volumes=arrays[:, None], name=["0.npy", "1.npy", "2.npy"])
    np.save(tmp_path / "all.npy", arrays)
    first, second, third = (volumes(tmp_path / name) for name in ("folder", "all.npz", "all.npy"))
    assert first.names == second.names == ("0.npy", "1.npy", "2.npy")
    assert third.names == ("0", "1", "2")
    for other in (second, third):
        assert torch.equal(first.voxels, other.voxels)
        assert first.window == other.window == (float(arrays.min()), float(arrays.max()))
    assert first.size == (4, 5, 6)
    assert float(first.voxels.min()) == 0
    assert float(first.voxels.max()) == 1


def test_a_window_and_a_size_are_what_is_asked_for(tmp_path: Path) -> None:
    save(tmp_path, drawn())
    loaded = volumes(tmp_path, size=(2, 5, 12), window=(-600, -400))
    expected = resized(torch.from_numpy(drawn()[1]), (2, 5, 12))
    assert torch.equal(loaded.voxels[1, 0], windowed(expected, (-600, -400)))
    assert volumes(tmp_path, size=7).size == (7, 7, 7)


def test_volumes_of_several_sizes_need_one(tmp_path: Path) -> None:
    save(tmp_path, drawn(2))
    np.savez(tmp_path / "z.npz", np.zeros((1, 3, 3, 3)))
    with pytest.raises(ValueError, match=r"4x5x6 voxels \(.*0\.npy\) and 3x3x3 \(.*z\.npz\) need one size"):
        volumes(tmp_path)
    assert len(volumes(tmp_path, size=4)) == 3
    np.save(tmp_path / "0.npy", np.zeros((65, 1, 1)))
    with pytest.raises(ValueError, match="volumes of 65x1x1 voxels"):
        volumes(tmp_path)


def test_outcomes_and_classes_are_found_beside_the_volumes(tmp_path: Path) -> None:
    save(tmp_path, drawn())
    table = tmp_path / "outcomes.csv"
    table.write_text("id,share,label,kind\n0,1,ill,x\n1,2,well,y\n2,3,ill,y\n")
    loaded = volumes(tmp_path)
    assert loaded.outcomes is not None
    assert loaded.outcomes.real("share").tolist() == [1, 2, 3]
    assert (loaded.classes, loaded.required_labels().tolist()) == (("ill", "well"), [0, 1, 0])
    assert volumes(tmp_path, label_column="kind").classes == ("x", "y")
    part = loaded.subset([2, 1])
    assert part.outcomes is not None
    assert part.outcomes.real("share").tolist() == [3, 2]
    assert part.required_labels().tolist() == [0, 1]
    other = tmp_path / "other.tsv"
    other.write_text("id\tshare\n0\t5\n1\t6\n2\t7\n")
    with pytest.warns(SkippedFilesWarning, match=r"1 of 4 files in .* are no volumes: other\.tsv; left out"):
        loaded = volumes(tmp_path, outcomes=other)
    assert loaded.outcomes is not None
    assert loaded.outcomes.real("share").tolist() == [5, 6, 7]
    with pytest.raises(ValueError, match=r"other\.tsv"):
        volumes(tmp_path, strict=True)
    other.unlink()
    table.write_text("id,share\n0,1\n1,2\n9,3\n")
    with pytest.raises(ValueError, match=r"outcomes\.csv, line 4: the id 9 is of no item"):
        volumes(tmp_path)
    table.unlink()
    with pytest.raises(ValueError, match="no table of outcomes with a column kind"):
        volumes(tmp_path, label_column="kind")
    with pytest.raises(ValueError, match="volumes without labels"):
        volumes(tmp_path).required_labels()


def test_a_volume_with_nan_is_refused_by_its_name_and_place(tmp_path: Path) -> None:
    arrays = drawn()
    arrays[1, 2, 3, 4] = np.nan
    arrays[1, 3, 3, 4] = np.inf
    save(tmp_path, arrays)
    with pytest.raises(ValueError, match=r"1\.npy: 2 of 120 voxels are NaN .* the first at \(2, 3, 4\)"):
        volumes(tmp_path)
    np.save(tmp_path / "all.npy", arrays)
    with pytest.raises(ValueError, match=r"all\.npy, volume 1: 2 of 120 voxels are NaN"):
        volumes(tmp_path / "all.npy")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npy", b"\x93NUMPY", r"a\.npy cannot be read as a volume"),
        ("a.npz", b"PK", r"a\.npz cannot be read as a volume"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        volumes(tmp_path)
    with pytest.raises(ValueError, match="cannot be read"):
        volumes(tmp_path / name)


def test_no_changed_byte_of_an_archive_ends_in_another_error(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    np.savez(file, np.random.default_rng(0).normal(size=(2, 2, 2)))
    whole, refused = file.read_bytes(), 0
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + b"c" + whole[place + 1 :])
        for path in (tmp_path, file):
            try:
                volumes(path)
            except ValueError:
                refused += 1
    assert refused > len(whole)  # of twice as many, some of which change no number


def test_names_in_a_file_may_be_one_or_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", volumes=drawn(1), name="scan")
    np.savez(tmp_path / "bytes.npz", volumes=drawn(2), name=np.array([b"left", b"right"]))
    assert volumes(tmp_path / "one.npz").names == ("scan",)
    assert volumes(tmp_path / "bytes.npz").names == ("left", "right")


def test_what_is_no_volume_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found nothing at"):
        volumes(tmp_path / "none.npz")
    with pytest.raises(ValueError, match=r"expected volumes .* found none"):
        volumes(tmp_path)
    np.savez(tmp_path / "two.npz", np.zeros((3, 3, 3)), np.ones((3, 3, 3)))
    with pytest.raises(ValueError, match="expected one array, found 2"):
        volumes(tmp_path)
    with pytest.raises(ValueError, match=r"expected one array of volumes .* got arr_0 \(3, 3, 3\)"):
        volumes(tmp_path / "two.npz")
    np.savez(tmp_path / "two.npz", volumes=drawn(), name=["a"])
    with pytest.raises(ValueError, match=r"a name for each of 3 volumes in .*two\.npz, got 1"):
        volumes(tmp_path / "two.npz")
    (tmp_path / "two.npz").unlink()
    np.save(tmp_path / "a.npy", np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"a\.npy: expected numbers \(d, h, w\)"):
        volumes(tmp_path)
    np.save(tmp_path / "a.npy", np.zeros((0, 3, 3, 3)))
    with pytest.raises(ValueError, match="at least one volume"):
        volumes(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot be read"):
        volumes(tmp_path)
    np.save(tmp_path / "a.npy", np.full((3, 3, 3), 7.0))
    with pytest.raises(ValueError, match=r"all voxels in .* are 7"):
        volumes(tmp_path)
    with pytest.raises(ValueError, match="a smaller and a larger value, got 1 to 0"):
        volumes(tmp_path, window=(1, 0))
    for window in ((1.0,), 1.0, (0.0, 1.0, 2.0)):
        with pytest.raises(ValueError, match=r"a smaller and a larger value, such as \(-1000, 0\), got"):
            volumes(tmp_path, window=window)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="size must be depth, height and width"):
        volumes(tmp_path, size=(3, 3))  # type: ignore[arg-type]
    (tmp_path / "a.txt").touch()
    with pytest.raises(ValueError, match="expected a folder of volumes, or a file"):
        volumes(tmp_path / "a.txt")


def test_volumes_check_their_parts() -> None:
    voxels, names = torch.rand(2, 1, 3, 3, 3), ("a", "b")
    with pytest.raises(ValueError, match=r"float32 \(n, 1, d, h, w\), got torch.float32 \(2, 3, 3, 3\)"):
        Volumes(voxels=voxels[:, 0], names=names)
    for value in (torch.nan, 1.5, -0.1):
        wrong = voxels.clone()
        wrong[1, 0, 0, 0, 0] = value
        with pytest.raises(ValueError, match=r"expected voxels from 0 to 1, got .* in volume b"):
            Volumes(voxels=wrong, names=names)
    with pytest.raises(ValueError, match="outcomes of 2 volumes, got those of 1"):
        Volumes(voxels=voxels, names=names, outcomes=Outcomes.of({"a": [1]}))
    found = Volumes(voxels=voxels, names=names)
    assert torch.equal(found[-1][0], voxels[1])
    assert found[-1][1] == 1
    assert torch.equal(found.batch(torch.tensor([1, 0])), voxels.flip(0))


def test_growing_interpolates_and_shrinking_averages() -> None:
    volume = torch.rand(4, 6, 8)
    assert torch.equal(resized(volume, (4, 6, 8)), volume)
    halved = resized(volume, (2, 3, 4))
    assert torch.allclose(halved, volume.reshape(2, 2, 3, 2, 4, 2).mean((1, 3, 5)))
    ramp = torch.arange(8.0).expand(2, 2, 8)
    assert torch.allclose(resized(ramp, (2, 2, 16))[0, 0, 1:-1].diff(), torch.full((13,), 0.5))


def test_kinds_of_data_are_told_apart_by_names(tmp_path: Path) -> None:
    assert not holds_volumes(tmp_path)
    (tmp_path / "cat.png").touch()
    assert not holds_volumes(tmp_path)
    (tmp_path / "scan.NII.GZ").touch()
    assert holds_volumes(tmp_path)


def test_nifti_files_are_turned_to_canonical_axes(tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel", reason="reads NIfTI files")
    array = drawn(1, (6, 5, 4))[0]  # x y z
    nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), tmp_path / "a.nii.gz")
    # The same scan stored from right to left.
    flipped = nibabel.Nifti1Image(array[::-1, :, :, None], np.diag([-1.0, 1.0, 1.0, 1.0]))
    nibabel.save(flipped, tmp_path / "b.nii")
    loaded = volumes(tmp_path)
    assert loaded.names == ("a.nii.gz", "b.nii")
    assert loaded.size == (4, 5, 6)
    assert torch.equal(loaded.voxels[0], loaded.voxels[1])
    expected = windowed(torch.from_numpy(array.T.copy()), loaded.window)
    assert torch.equal(loaded.voxels[0, 0], expected)
    (tmp_path / "c.nii").write_bytes(b"no scan")
    with pytest.raises(ValueError, match=r"c\.nii cannot be read as a volume"):
        volumes(tmp_path)
    (tmp_path / "c.nii").unlink()
    whole = (tmp_path / "b.nii").read_bytes()
    nibabel.save(nibabel.Nifti1Image(array.astype(np.complex64), np.eye(4)), tmp_path / "c.nii")
    with pytest.raises(
        ValueError, match=r"c\.nii cannot be read as .*: expected real numbers, got complex64"
    ):
        volumes(tmp_path)
    (tmp_path / "c.nii").write_bytes(whole[:70] + (9999).to_bytes(2, "little") + whole[72:])  # type of voxels
    with pytest.raises(ValueError, match=r"c\.nii cannot be read as a volume: .*9999 not recognized"):
        volumes(tmp_path)
    (tmp_path / "c.nii").unlink()
    cut = (tmp_path / "a.nii.gz").read_bytes()[:-40]
    (tmp_path / "a.nii.gz").write_bytes(cut)
    with pytest.raises(ValueError, match=r"a\.nii\.gz cannot be read as a volume"):
        volumes(tmp_path)


def test_without_nibabel_nifti_files_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nibabel", None)
    (tmp_path / "a.nii").touch()
    with pytest.raises(ImportError, match=re.escape("pip install 'tammes[volumes]'")):
        volumes(tmp_path)
