"""Published sets of images load from tiny files of their forms, and broken ones are named."""

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat

from tammes.data import cifar10, cifar100, mnist, published_at, svhn
from tammes.data.images import Images
from tammes.data.published import CIFAR100

COLOR = np.random.default_rng(0).integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
GRAY = np.random.default_rng(1).integers(0, 256, (3, 28, 28), dtype=np.uint8)


def records(labels: list[int], pixels: np.ndarray = COLOR) -> bytes:
    """CIFAR-10's form: for each image its label and its three planes."""
    return b"".join(
        bytes([label]) + image.tobytes() for label, image in zip(labels, pixels[: len(labels)], strict=True)
    )


def write_cifar10(folder: Path, *, batches: int = 5) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, batches + 1):
        (folder / f"data_batch_{number}.bin").write_bytes(records([number, 0]))
    (folder / "test_batch.bin").write_bytes(records([9, 8, 7, 6]))
    return folder


def pack(folder: Path, archive: Path) -> Path:
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, "cifar-10-batches-bin")
    return archive


def idx(array: np.ndarray) -> bytes:
    lengths = b"".join(int(length).to_bytes(4) for length in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


def write_mnist(folder: Path, *, packed: bool, labels: tuple[int, ...] = (7, 0, 9)) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "t10k"):
        for name, array in ((f"{part}-images-idx3-ubyte", GRAY), (f"{part}-labels-idx1-ubyte", labels)):
            content = idx(np.asarray(array))
            (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(content) if packed else content)
    return folder


def write_svhn(folder: Path, *, labels: tuple[int, ...] = (10, 1, 9, 10)) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        images = COLOR.transpose(2, 3, 1, 0)  # (32, 32, 3, n)
        arrays = {"X": images, "y": np.array(labels, np.uint8)[:, None]}
        savemat(folder / f"{part}_32x32.mat", arrays, do_compression=True)
    return folder


def expect(images: Images, pixels: np.ndarray, labels: list[int]) -> None:
    assert torch.equal(images.batch(range(len(images))), torch.from_numpy(pixels))
    assert images.required_labels().tolist() == labels
    assert images.classes is not None
    assert len(images.classes) == 10
    assert len(set(images.names)) == len(images)


# CIFAR-10.


def test_cifar10_loads_its_folder_and_its_archive(tmp_path: Path) -> None:
    folder = write_cifar10(tmp_path / "cifar-10-batches-bin")
    archive = pack(folder, tmp_path / "cifar-10-binary.tar.gz")
    for path in (folder, tmp_path, archive, str(archive)):
        expect(cifar10(path, "test"), COLOR, [9, 8, 7, 6])
        train = cifar10(path, "train")
        assert train.required_labels().tolist() == [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]
        assert torch.equal(train[9][0], torch.from_numpy(COLOR[1]))
    alone = tmp_path / "alone"
    alone.mkdir()
    archive.rename(alone / archive.name)
    expect(cifar10(alone, "test"), COLOR, [9, 8, 7, 6])
    assert cifar10(alone, "test").names[3] == "test 3"


@pytest.mark.parametrize("content", [records([1, 2])[:-1], b"", records([1])[:100]])
def test_a_batch_of_cifar10_that_is_cut_off_is_named(tmp_path: Path, content: bytes) -> None:
    folder = write_cifar10(tmp_path)
    (folder / "data_batch_4.bin").write_bytes(content)
    with pytest.raises(ValueError, match=rf"3073 bytes each in .*data_batch_4\.bin, got {len(content)}"):
        cifar10(folder, "train")
    assert len(cifar10(folder, "test")) == 4


def test_a_batch_of_cifar10_that_is_missing_is_named(tmp_path: Path) -> None:
    write_cifar10(tmp_path / "cifar-10-batches-bin", batches=2)
    with pytest.raises(ValueError, match=r"expected the file .*data_batch_3\.bin, found none"):
        cifar10(tmp_path, "train")
    archive = pack(tmp_path / "cifar-10-batches-bin", tmp_path / "cifar-10-binary.tar.gz")
    with pytest.raises(ValueError, match=r"expected data_batch_3\.bin in the archive"):
        cifar10(archive, "train")


@pytest.mark.parametrize("part", [0.9, 0.5, 0.0])
def test_an_archive_of_cifar10_that_is_cut_off_is_named(tmp_path: Path, part: float) -> None:
    archive = pack(write_cifar10(tmp_path / "a"), tmp_path / "cifar-10-binary.tar.gz")
    content = archive.read_bytes()
    archive.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ValueError, match=r"expected a whole archive .*cifar-10-binary\.tar\.gz"):
        cifar10(archive, "test")


def test_labels_that_cifar10_does_not_have_are_refused(tmp_path: Path) -> None:
    (write_cifar10(tmp_path) / "test_batch.bin").write_bytes(records([3, 10]))
    with pytest.raises(ValueError, match=r"labels from 0 to 9 in .*test_batch\.bin, got 10 for image 1"):
        cifar10(tmp_path, "test")


def test_the_pickled_version_of_cifar10_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / "cifar-10-batches-py" / "data_batch_1").write_bytes(b"\x80\x04.")
    for path in (tmp_path, tmp_path / "cifar-10-batches-py"):
        with pytest.raises(ValueError, match="Python version, which is pickled and not opened"):
            cifar10(path, "train")
    archive = tmp_path / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("cifar-10-batches-py/data_batch_1"), io.BytesIO())
    with pytest.raises(ValueError, match=r"expected data_batch_1\.bin in the archive .*binary version"):
        cifar10(archive, "train")


# CIFAR-100.


def fine_records(labels: list[int]) -> bytes:
    """CIFAR-100's form: for each image its coarse label, its fine one, and its three planes."""
    return b"".join(bytes([19, label]) + COLOR[row].tobytes() for row, label in enumerate(labels))


def write_cifar100(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.bin").write_bytes(fine_records([99, 0]))
    (folder / "test.bin").write_bytes(fine_records([72, 1, 2, 3]))
    (folder / "fine_label_names.txt").touch()
    return folder


def test_cifar100_loads_its_folder_and_its_archive(tmp_path: Path) -> None:
    folder = write_cifar100(tmp_path / "cifar-100-binary")
    archive = tmp_path / "cifar-100-binary.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    (other := tmp_path / "other").mkdir()
    folder = folder.rename(other / "images")
    for path in (folder, archive, tmp_path):
        images = cifar100(path, "test")
        assert torch.equal(images.batch(range(4)), torch.from_numpy(COLOR))
        assert images.required_labels().tolist() == [72, 1, 2, 3]
        assert images.classes is not None
        assert (len(set(images.classes)), images.classes) == (100, tuple(sorted(images.classes)))
        assert cifar100(path, "train").required_labels().tolist() == [99, 0]
    assert published_at(archive) is published_at(folder) is CIFAR100
    # Files of these names alone may be anything.
    (folder / "fine_label_names.txt").unlink()
    assert published_at(folder) is None


def test_broken_files_of_cifar100_are_named(tmp_path: Path) -> None:
    folder = write_cifar100(tmp_path / "cifar-100-binary")
    (folder / "test.bin").write_bytes(fine_records([1])[:-1])
    with pytest.raises(ValueError, match=r"3074 bytes each in .*test\.bin, got 3073"):
        cifar100(tmp_path, "test")
    (folder / "test.bin").write_bytes(fine_records([5, 100]))
    with pytest.raises(ValueError, match=r"labels from 0 to 99 in .*test\.bin, got 100 for image 1"):
        cifar100(tmp_path, "test")
    pickled = tmp_path / "other/cifar-100-python"
    pickled.mkdir(parents=True)
    (pickled / "train").write_bytes(b"\x80\x04.")
    for path in (pickled, pickled.parent):
        with pytest.raises(ValueError, match=r"with train\.bin and test\.bin; found the Python version"):
            cifar100(path, "train")


# MNIST.


@pytest.mark.parametrize("packed", [True, False])
def test_mnist_loads_gzipped_or_not(tmp_path: Path, packed: bool) -> None:
    folder = write_mnist(tmp_path, packed=packed)
    for split in ("train", "test"):
        expect(mnist(folder, split), GRAY[:, None], [7, 0, 9])


def test_mnist_loads_with_a_dot_in_its_names(tmp_path: Path) -> None:
    for file in list(write_mnist(tmp_path, packed=False).iterdir()):
        file.rename(file.with_name(file.name.replace("-idx", ".idx")))
    assert len(mnist(tmp_path, "train")) == 3


@pytest.mark.parametrize("packed", [True, False])
def test_a_file_of_mnist_that_is_cut_off_is_named(tmp_path: Path, packed: bool) -> None:
    write_mnist(tmp_path, packed=packed)
    file = tmp_path / ("train-images-idx3-ubyte" + ".gz" * packed)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte.*fetch it again"):
        mnist(tmp_path, "train")


@pytest.mark.parametrize("content", [b"", b"<html>", idx(np.zeros((2, 3))), bytes([0, 0, 13, 1, 0, 0, 0, 0])])
def test_a_file_of_mnist_of_another_form_is_named(tmp_path: Path, content: bytes) -> None:
    write_mnist(tmp_path, packed=False)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(content)
    with pytest.raises(ValueError, match=r"expected an idx file of bytes in 1 dimensions.*labels"):
        mnist(tmp_path, "test")


def test_files_of_mnist_must_belong_together(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected train-images-idx3-ubyte, with or without"):
        mnist(tmp_path, "train")
    with pytest.raises(ValueError, match=r"3 images in .* and 2 labels"):
        mnist(write_mnist(tmp_path / "few", packed=False, labels=(1, 2)), "train")
    with pytest.raises(ValueError, match=r"labels from 0 to 9 in .*, got 11 for image 1"):
        mnist(write_mnist(tmp_path / "odd", packed=True, labels=(1, 11, 2)), "train")


# SVHN.


def test_svhn_loads_and_calls_class_10_the_digit_0(tmp_path: Path) -> None:
    folder = write_svhn(tmp_path)
    for split in ("train", "test"):
        expect(svhn(folder, split), COLOR, [0, 1, 9, 0])


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.95])
def test_a_file_of_svhn_that_is_cut_off_is_named(tmp_path: Path, part: float) -> None:
    file = write_svhn(tmp_path) / "train_32x32.mat"
    content = file.read_bytes()
    file.write_bytes(content[: int(part * len(content))])
    with pytest.raises(ValueError, match=r"train_32x32\.mat"):
        svhn(tmp_path, "train")


def test_other_files_than_those_of_svhn_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected test_32x32\.mat in the folder"):
        svhn(tmp_path, "test")
    savemat(tmp_path / "test_32x32.mat", {"X": np.zeros((32, 32, 2), np.uint8), "y": np.ones((2, 1))})
    with pytest.raises(ValueError, match=r"images X as uint8 \(32, 32, 3, n\) in .*got uint8 \(32, 32, 2\)"):
        svhn(tmp_path, "test")
    with pytest.raises(ValueError, match="a label y for each of 4 images"):
        svhn(write_svhn(tmp_path / "few", labels=(1, 2)), "test")
    with pytest.raises(ValueError, match=r"labels from 1 to 10 .*got 0 to 9"):
        svhn(write_svhn(tmp_path / "odd", labels=(0, 1, 9, 3)), "test")


# All of them.


def test_a_set_is_known_by_its_files(tmp_path: Path) -> None:
    write_cifar10(tmp_path / "a" / "cifar-10-batches-bin")
    pack(tmp_path / "a", tmp_path / "cifar-10-binary.tar.gz")
    write_mnist(tmp_path / "b", packed=True)
    write_svhn(tmp_path / "c")
    found = [published_at(tmp_path / name) for name in ("a", "cifar-10-binary.tar.gz", "b", "c")]
    assert [each.name for each in found if each is not None] == ["CIFAR-10", "CIFAR-10", "MNIST", "SVHN"]
    for each, name in zip(found, ("a", "cifar-10-binary.tar.gz", "b", "c"), strict=True):
        assert each is not None
        images = each.load(tmp_path / name, "test")
        assert (images.size, images.channels) == (each.size, each.channels)
    assert published_at(tmp_path / "a" / "nowhere") is None


@pytest.mark.parametrize("load", [cifar10, cifar100, mnist, svhn])
def test_another_split_is_refused(load, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='"train" or "test", got \'validation\''):
        load(tmp_path, "validation")
