from pathlib import Path

import pytest
import torch
from PIL import Image

from tammes.data import Images, TensorPixels, digits_over
from tammes.data.digits_over import over, size_of_objects


def write_mnist(root: Path, count: int = 20) -> Path:
    """Scans whose whole middle is as bright as their number."""
    root.mkdir(parents=True)
    for part in ("train", "t10k"):
        scans = torch.zeros(count, 28, 28, dtype=torch.uint8)
        scans[:, 7:21, 7:21] = 150 + torch.arange(count, dtype=torch.uint8)[:, None, None]
        header = b"".join(int(length).to_bytes(4) for length in scans.shape)
        (root / f"{part}-images-idx3-ubyte").write_bytes(
            bytes([0, 0, 8, 3]) + header + scans.numpy().tobytes()
        )
        labels = bytes(row % 10 for row in range(count))
        (root / f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1]) + count.to_bytes(4) + labels)
    return root


def write_photographs(root: Path) -> Path:
    for number, name in enumerate(("cat", "dog")):
        (root / name).mkdir(parents=True)
        for row in range(10):
            Image.new("RGB", (20, 20), (5 * row, 90 * number, 7)).save(root / name / f"{row}.png")
    return root


def plain(size: int, count: int = 40, value: int = 50) -> Images:
    return Images(
        pixels=TensorPixels(torch.full((count, 3, size, size), value, dtype=torch.uint8)),
        names=tuple(map(str, range(count))),
        labels=torch.arange(count) % 2,
        classes=("even", "odd"),
    )


def scans(intensity: int = 200) -> Images:
    pixels = torch.zeros(10, 1, 28, 28, dtype=torch.uint8)
    pixels[:, :, 4:24, 4:24] = intensity
    return Images(
        pixels=TensorPixels(pixels),
        names=tuple(map(str, range(10))),
        labels=torch.arange(10),
        classes=tuple(map(str, range(10))),
    )


def test_a_copy_of_the_digit_stands_in_the_center_of_each_of_nine_sectors() -> None:
    images = over(plain(96), scans(), seed=0)
    pixels = images[0][0]
    expected = torch.full((96, 96), 50, dtype=torch.uint8)
    for top in (6, 38, 70):
        for left in (6, 38, 70):
            expected[top : top + 20, left : left + 20] = 200
    assert torch.equal(pixels, expected.expand(3, 96, 96))


@pytest.mark.parametrize(("size", "share"), [(32, 0.3), (64, 0.3), (96, 0.39)])
def test_digits_are_scaled_with_the_photograph(size: int, share: float) -> None:
    pixels = over(plain(size), scans(), seed=0)[3][0]
    assert float((pixels != 50).double().mean()) == pytest.approx(9 * (20 / 96) ** 2, abs=0.12)
    assert float((pixels != 50).double().mean()) > share - 0.05
    assert bool((pixels[:, [0, -1]] == 50).all())  # the copies are not cut off
    assert bool((pixels[:, :, [0, -1]] == 50).all())


def test_faint_pixels_let_the_photograph_through() -> None:
    assert bool((over(plain(96), scans(99), seed=0)[0][0] == 50).all())
    assert bool((over(plain(96), scans(100), seed=0)[0][0] == 100).any())


def test_both_features_have_labels_and_the_digit_is_independent() -> None:
    photographs = plain(32, count=400)
    images = over(photographs, scans(), seed=0)
    digit = images.by_feature["digit"].labels
    assert torch.equal(images.by_feature["object"].labels, photographs.required_labels())
    assert digit.bincount(minlength=10).min() > 20
    assert torch.equal(digit, over(photographs, scans(), seed=0).by_feature["digit"].labels)
    assert not torch.equal(digit, over(photographs, scans(), seed=1).by_feature["digit"].labels)
    few = images.subset([7, 3])
    assert few.by_feature["digit"].labels.tolist() == digit[[7, 3]].tolist()
    assert torch.equal(few[1][0], images[3][0])
    assert torch.equal(photographs[3][0], torch.full((3, 32, 32), 50, dtype=torch.uint8))  # is left as it was
    assert (images.channels, images.size) == (3, 32)


def test_a_folder_of_classes_gives_up_every_fifth_photograph(tmp_path: Path) -> None:
    write_mnist(tmp_path / "mnist")
    write_photographs(tmp_path / "pets")
    train, test = digits_over(tmp_path, "train", size=24), digits_over(tmp_path, "test", size=24)
    assert (len(train), len(test)) == (16, 4)
    assert not set(train.names) & set(test.names)
    assert train.size == 24
    assert digits_over(tmp_path, "test").size == 64
    assert size_of_objects(tmp_path) is None


def test_published_photographs_have_their_own_parts_and_size(tmp_path: Path) -> None:
    write_mnist(tmp_path / "mnist")
    cifar = tmp_path / "cifar-10-batches-bin"
    cifar.mkdir()
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        record = bytes([0]) + bytes(3072)
        (cifar / f"{name}.bin").write_bytes(record + bytes([1]) + record[1:])
    assert (len(digits_over(tmp_path, "train")), len(digits_over(tmp_path, "test", size=32))) == (10, 2)
    assert size_of_objects(tmp_path) == 32
    with pytest.raises(ValueError, match="CIFAR-10 has images of 32 pixels: leave the size out, got 64"):
        digits_over(tmp_path, "test", size=64)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected a folder that holds MNIST and photographs"):
        digits_over(tmp_path / "nowhere", "test")
    write_photographs(tmp_path / "pets")
    with pytest.raises(ValueError, match="expected the four files of MNIST in"):
        digits_over(tmp_path, "test")
    write_mnist(tmp_path / "mnist")
    write_photographs(tmp_path / "more")
    with pytest.raises(ValueError, match=r"or one folder of photographs .* found more, pets"):
        digits_over(tmp_path, "test")
    with pytest.raises(ValueError, match="room for 3 x 3 digits, of at least 16 pixels, got 8"):
        over(plain(8), scans(), seed=0)
    alone = tmp_path / "alone"
    write_mnist(alone)
    with pytest.raises(ValueError, match="found no folder"):
        digits_over(alone, "test")
