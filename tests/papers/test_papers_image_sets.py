"""Sets of images of the experiments: parts that do not overlap, and draws with equal classes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tammes.data import Images
from tammes.data.fifths import every_fifth_apart
from tammes.papers.image_sets import balanced, class_folder, image_sets, of_classes
from tiny import random_images, write_images


def numbered(count: int) -> Images:
    """Images of four classes with names that differ."""
    images = random_images(count, classes=4)
    return Images(
        pixels=images.pixels,
        names=tuple(f"{row}" for row in range(count)),
        labels=torch.arange(count) % 4,
        classes=tuple("abcd"),
    )


def test_images_are_drawn_class_by_class() -> None:
    chosen = balanced(numbered(40), 20, seed=0)
    assert chosen.required_labels().bincount().tolist() == [5, 5, 5, 5]
    assert (
        chosen.names == balanced(numbered(40), 20, seed=0).names != balanced(numbered(40), 20, seed=1).names
    )
    assert len(balanced(numbered(40), 41, seed=0)) == len(balanced(numbered(40), None, seed=0)) == 40


@pytest.mark.parametrize("at", range(5))
def test_every_fifth_of_each_class_is_apart(at: int) -> None:
    images = numbered(40)
    rest, kept = every_fifth_apart(images, at=at)
    assert kept.required_labels().bincount().tolist() == [2, 2, 2, 2]
    assert set(rest.names) | set(kept.names) == set(images.names)
    assert not set(rest.names) & set(kept.names)
    assert kept.names[0] == images.names[4 * at]


def test_some_classes_are_kept_whole() -> None:
    images = numbered(40)
    some = of_classes(images, torch.tensor([1, 3]))
    assert some.required_labels().bincount().tolist() == [0, 10, 0, 10]
    assert set(some.names) == {name for name in images.names if int(name) % 4 in (1, 3)}


def test_a_folder_of_classes_has_its_name(tmp_path: Path) -> None:
    ((name, (learned, tried)),) = class_folder(
        write_images(tmp_path / "pets", "cat", "dog", count=10), size=8
    ).items()
    assert (name, len(learned), len(tried), learned.size) == ("pets", 16, 4, 8)


def write_tiny(root: Path) -> Path:
    """Files laid out like those of Tiny-ImageNet: five images of each of two classes, three to measure on."""
    for name in ("n01", "n02"):
        write_images(root / "train" / name, "images", count=5)
        (root / "train" / name / f"{name}_boxes.txt").write_text("0.png\t0\t0\t9\t9\n")
    write_images(root / "val", "images", count=3)
    classes = {"0.png": "n02", "1.png": "n01", "2.png": "n02"}
    lines = [f"{name}\t{label}\t0\t0\t9\t9\n" for name, label in classes.items()]
    (root / "val" / "val_annotations.txt").write_text("".join(lines))
    write_images(root / "test", "images", count=2)
    (root / "wnids.txt").write_text("n02\nn01\n")
    return root


@pytest.mark.filterwarnings("ignore::tammes.data.SkippedFilesWarning")
def test_tiny_imagenet_is_one_set_with_its_own_part_to_measure_on(tmp_path: Path) -> None:
    tiny = write_tiny(tmp_path / "sets" / "tiny")
    sets = [image_sets(place, size=8) for place in (tiny, tmp_path / "sets")]
    for found in (*sets, class_folder(tiny, size=8)):
        ((name, (learned, tried)),) = found.items()
        assert (name, len(learned), learned.classes) == ("tiny", 10, ("n01", "n02"))
        assert tried.classes == learned.classes
        assert (tried.names, tried.required_labels().tolist()) == (("0.png", "1.png", "2.png"), [1, 0, 1])
    ((name, (learned, tried)),) = image_sets(tiny / "train", size=8).items()
    assert (name, len(learned), learned.classes) == ("train", 8, ("n01", "n02"))


@pytest.mark.parametrize("other", ["val", "test", "validation"])
def test_parts_with_folders_of_classes_are_one_set(tmp_path: Path, other: str) -> None:
    write_images(tmp_path / "inet" / "train", "ant", "bee", "cow", count=5)
    write_images(tmp_path / "inet" / other, "ant", "cow", count=2)
    ((name, (learned, tried)),) = image_sets(tmp_path / "inet", size=8).items()
    assert (name, len(learned), len(tried)) == ("inet", 15, 4)
    assert tried.required_labels().tolist() == [0, 0, 2, 2]  # as numbered among three classes
    write_images(tmp_path / "inet" / other, "dog", count=1)
    with pytest.raises(ValueError, match=r"expected classes of .*train in .*, got dog"):
        image_sets(tmp_path / "inet", size=8)


def test_a_part_without_labels_leaves_a_fifth_of_the_others(tmp_path: Path) -> None:
    write_images(tmp_path / "inet" / "train", "ant", "bee", count=5)
    write_images(tmp_path / "inet" / "test", "images", count=2)
    ((name, (learned, tried)),) = image_sets(tmp_path / "inet", size=8).items()
    assert (name, len(learned), len(tried)) == ("inet", 8, 2)


def test_an_image_without_a_class_is_refused(tmp_path: Path) -> None:
    tiny = write_tiny(tmp_path / "tiny")
    (tiny / "val" / "val_annotations.txt").write_text("0.png\tn01\n\n")
    with (
        pytest.warns(match="boxes"),
        pytest.raises(ValueError, match=r"class of 1\.png in .*val_annotations\.txt"),
    ):
        image_sets(tiny, size=8)


def test_classes_may_be_named_like_parts(tmp_path: Path) -> None:
    write_images(tmp_path / "vehicles", "train", "test", count=5)
    ((name, (learned, _)),) = image_sets(tmp_path / "vehicles", size=8).items()
    assert (name, learned.classes) == ("vehicles", ("test", "train"))


def test_sets_may_lie_in_folders_named_images(tmp_path: Path) -> None:
    write_images(tmp_path / "all" / "pets" / "images", "cat", "dog", count=5)
    ((name, (learned, _)),) = image_sets(tmp_path / "all", size=8).items()
    assert (name, learned.classes) == ("images", ("cat", "dog"))
