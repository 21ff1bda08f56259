import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.data import Images, TensorPixels, as_floats


def numbered(n: int, classes: int = 2) -> Images:
    """Images of which every pixel is the image's number."""
    pixels = torch.arange(n, dtype=torch.uint8)[:, None, None, None].expand(n, 1, 4, 4).clone()
    return Images(
        pixels=TensorPixels(pixels),
        names=tuple(f"image {i}" for i in range(n)),
        labels=torch.arange(n) % classes,
        classes=tuple(f"class {c}" for c in range(classes)),
    )


def test_an_item_is_pixels_and_index() -> None:
    images = numbered(5)
    pixels, index = images[3]
    assert (index, pixels.dtype, pixels.shape) == (3, torch.uint8, (1, 4, 4))
    assert pixels.unique().tolist() == [3]
    assert images[-1][1] == 4
    assert (len(images), images.channels, images.size) == (5, 1, 4)


def test_iteration_ends() -> None:
    assert [index for _, index in numbered(3)] == [0, 1, 2]
    with pytest.raises(IndexError, match="from 0 to 2, got 3"):
        numbered(3)[3]


@given(indices=st.lists(st.integers(-7, 6), min_size=1, max_size=12))
def test_a_subset_is_these_images_numbered_anew(indices: list[int]) -> None:
    images = numbered(7, classes=3)
    chosen = images.subset(indices)
    assert [index for _, index in chosen] == list(range(len(indices)))
    assert [int(pixels[0, 0, 0]) for pixels, _ in chosen] == [index % 7 for index in indices]
    assert chosen.labels is not None
    assert chosen.labels.tolist() == [index % 7 % 3 for index in indices]
    assert chosen.names == tuple(f"image {index % 7}" for index in indices)
    assert chosen.classes == images.classes


def test_a_subset_takes_tensors_of_indices() -> None:
    images = numbered(5)
    assert images.subset(torch.tensor([4, 1])).names == ("image 4", "image 1")
    assert images.batch(torch.tensor([4, 1]))[:, 0, 0, 0].tolist() == [4, 1]


def test_a_loader_gives_bytes_and_ids() -> None:
    pixels, ids = next(iter(torch.utils.data.DataLoader(numbered(6), batch_size=4)))
    assert (pixels.dtype, pixels.shape, ids.dtype) == (torch.uint8, (4, 1, 4, 4), torch.int64)
    assert ids.tolist() == [0, 1, 2, 3]


def test_images_survive_pickling() -> None:
    images = pickle.loads(pickle.dumps(numbered(3)))
    assert images[2][0].unique().tolist() == [2]


def test_required_labels() -> None:
    assert numbered(4).required_labels().tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"at least two classes, got 2 images of 'class 0' alone"):
        numbered(4).subset([0, 2]).required_labels()
    pixels = TensorPixels(torch.zeros(2, 3, 4, 4, dtype=torch.uint8))
    with pytest.raises(ValueError, match="expected labeled images, got images without labels"):
        Images(pixels=pixels, names=("a", "b")).required_labels()


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(2, 1, 4, 4), "uint8 from 0 to 255, got torch.float32"),
        (torch.zeros(2, 4, 4, dtype=torch.uint8), r"\(n, 1 or 3, size, size\), got \(2, 4, 4\)"),
        (torch.zeros(2, 1, 4, 5, dtype=torch.uint8), r"got \(2, 1, 4, 5\)"),
        (torch.zeros(2, 4, 4, 4, dtype=torch.uint8), r"got \(2, 4, 4, 4\)"),
        (torch.zeros(2, 1, 0, 0, dtype=torch.uint8), r"got \(2, 1, 0, 0\)"),
    ],
)
def test_pixels_of_another_kind_are_refused(tensor: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TensorPixels(tensor)


@pytest.mark.parametrize(
    ("names", "labels", "classes", "message"),
    [
        (("a",), None, None, "a name for each of 2 images, got 1"),
        (("a", "b"), torch.tensor([0, 1]), None, "labels and classes together"),
        (("a", "b"), torch.tensor([0]), ("x",), r"int64 \(2,\), one for each image, got torch.int64 \(1,\)"),
        (("a", "b"), torch.tensor([0.0, 1.0]), ("x", "y"), "got torch.float32"),
        (("a", "b"), torch.tensor([0, 2]), ("x", "y"), "must be from 0 to 1, got 0 to 2"),
        (("a", "b"), torch.tensor([-1, 1]), ("x", "y"), "got -1 to 1"),
    ],
)
def test_what_does_not_match_is_refused(
    names: tuple[str, ...], labels: torch.Tensor | None, classes: tuple[str, ...] | None, message: str
) -> None:
    pixels = TensorPixels(torch.zeros(2, 1, 4, 4, dtype=torch.uint8))
    with pytest.raises(ValueError, match=message):
        Images(pixels=pixels, names=names, labels=labels, classes=classes)


def test_no_image_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one image, got none"):
        numbered(3).subset([])


def test_as_floats() -> None:
    floats = as_floats(torch.arange(256, dtype=torch.uint8))
    assert floats.dtype == torch.float32
    assert torch.equal((floats * 255).round().to(torch.uint8), torch.arange(256, dtype=torch.uint8))
    assert (float(floats.min()), float(floats.max())) == (0, 1)
    with pytest.raises(ValueError, match=r"uint8 from 0 to 255, got torch\.float32"):
        as_floats(torch.rand(3))
