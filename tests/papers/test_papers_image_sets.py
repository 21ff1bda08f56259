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


def test_of_more_classes_than_images_each_has_one() -> None:
    for count in (1, 3, 4, 7):
        assert balanced(numbered(40), count, seed=0).required_labels().bincount().tolist() == [1, 1, 1, 1]


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


def test_sets_that_need_no_file() -> None:
    ((name, (train, test)),) = image_sets(Path("digits"), size=32).items()
    assert (name, len(train), len(test)) == ("digits", 1437, 360)
    for odd in ("glyphs:many", "digits:3", "nowhere"):
        with pytest.raises(ValueError, match=f"expected digits, glyphs or glyphs:N .*, got {odd}"):
            image_sets(Path(odd), size=32)


def test_a_folder_of_classes_has_its_name(tmp_path: Path) -> None:
    ((name, (learned, tried)),) = class_folder(
        write_images(tmp_path / "pets", "cat", "dog", count=10), size=8
    ).items()
    assert (name, len(learned), len(tried), learned.size) == ("pets", 16, 4, 8)
