import hashlib

import numpy as np
import pytest
import torch

from tammes.data import Images, Labeling, TensorPixels, trifeature
from tammes.data.trifeature import COLORS, SHAPES, TEXTURES
from tammes.training.suited import suited_augmentation

DIGEST = "986979506f90"
SHADES = {name: torch.tensor(color).double() for name, color in COLORS.items()}


def small(**how: int) -> Images:
    return trifeature("test", size=16, **how)


@pytest.fixture(scope="module")
def drawn() -> Images:
    return small()


def test_each_combination_of_the_three_features_has_as_many_drawings(drawn: Images) -> None:
    train = trifeature("train", size=16, examples=2)
    assert len(train) == 2000
    rows = torch.stack([each.labels for each in train.by_feature.values()], dim=1)
    combinations, counts = rows.unique(dim=0, return_counts=True)
    assert len(combinations) == 1000
    assert set(counts.tolist()) == {2}
    assert [each.classes for each in train.by_feature.values()] == [
        tuple(SHAPES), tuple(TEXTURES), tuple(COLORS)
    ]  # fmt: skip
    assert train.names[2 * 123 + 1] == "train ring grid green 1"
    assert train.classes == tuple(SHAPES)
    assert len({bytes(part[row][0].flatten().tolist()) for part in (drawn,) for row in range(1000)}) > 990


def test_parts_and_seeds_have_other_drawings(drawn: Images) -> None:
    pixels = drawn.batch(range(1000))
    assert torch.equal(pixels, small().batch(range(1000)))
    for other in (small(seed=1), trifeature("train", size=16, examples=1)):
        assert (pixels != other.batch(range(1000))).flatten(1).any(dim=1).double().mean() > 0.99


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_lies_within_its_radius_so_that_nothing_is_cut_off(shape: str) -> None:
    axis = np.linspace(-1.5, 1.5, 301, dtype=np.float32)
    u, v = (each[None] for each in np.meshgrid(axis, axis))
    inside = SHAPES[shape](u, v)
    assert not inside[u**2 + v**2 > 1.01].any()
    assert inside.mean() > 0.05


def test_colors_are_told_apart_by_the_mean_of_the_pixels(drawn: Images) -> None:
    pixels = drawn.batch(range(1000)).double()
    shares = pixels.sum(dim=(2, 3))
    shares = shares / shares.sum(dim=1, keepdim=True)
    known = torch.stack([color / color.sum() for color in SHADES.values()])
    nearest = torch.cdist(shares, known).argmin(dim=1)
    right = (nearest == drawn.by_feature["color"].labels).double().mean()
    # Color is the easy feature: the mean of the pixels gives it away. Brown has the hue of orange.
    assert float(right) > 0.95


def test_place_size_and_rotation_differ() -> None:
    images = trifeature("train", size=32, examples=3)
    rows = [row for row in range(len(images)) if images.names[row].startswith("train square solid")]
    inside = (images.batch(rows).amax(dim=1) > 60).double()
    areas = inside.sum(dim=(1, 2))
    assert float(areas.amax() / areas.amin()) > 1.5
    axis = torch.arange(32).double()
    centers = (inside.sum(dim=1) @ axis) / areas
    assert float(centers.std()) > 1.5
    spread = (inside.sum(dim=1) > 0).sum(dim=1) / areas.sqrt()
    assert float(spread.amax()) > 1.3  # a square on its corner
    assert float(spread.amin()) < 1.1


def test_a_texture_is_more_than_the_share_of_its_light_parts() -> None:
    half = {name for name in TEXTURES if name in ("stripes", "checks", "zigzags", "triangles", "noise")}
    images = trifeature("test", size=64, examples=1)
    light = {}
    for row, name in enumerate(images.names):
        _, shape, texture, color, _ = name.split()
        if shape == "circle" and color == "white":
            gray = images[row][0][0].double()
            light[texture] = float((gray > 150).double().sum() / (gray > 30).double().sum())
    assert light["solid"] == pytest.approx(1, abs=0.05)
    assert all(light[name] == pytest.approx(0.5, abs=0.15) for name in half)
    assert light["rain"] < 0.35 < light["grid"]


def test_views_leave_its_colors_alone() -> None:
    augmentation = suited_augmentation(small())
    plain = torch.ones(64, 3, 16, 16) * torch.tensor([0.8, 0.2, 0.4])[:, None, None]
    assert float((augmentation(plain, seed=0) - plain).abs().amax()) < 1e-4
    usual = suited_augmentation(Images(pixels=small().pixels, names=small().names))
    assert float((usual(plain, seed=0) - plain).abs().amax()) > 0.1


@pytest.mark.equal_bits
def test_a_drawing_does_not_depend_on_the_processor() -> None:
    content = trifeature("test", size=24).batch(range(1000)).numpy().tobytes()
    assert hashlib.sha256(content).hexdigest()[:12] == DIGEST


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match='"train" or "test"'):
        trifeature("all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="size must be an integer of at least 16"):
        trifeature("test", size=8)
    with pytest.raises(ValueError, match="size must be at most 512, the height and width"):
        trifeature("test", size=1024)
    with pytest.raises(ValueError, match="examples must be at most 900"):
        trifeature("test", examples=901)


def test_a_feature_that_images_do_not_have_is_refused(drawn: Images) -> None:
    assert drawn.of_feature("texture").classes == tuple(TEXTURES)
    few = drawn.subset([5, 999])
    assert few.by_feature["color"].labels.tolist() == [5, 9]
    assert few.of_feature("color").subset([1]).labels is not None
    with pytest.raises(ValueError, match="have the features shape, texture, color, got 'colour'"):
        drawn.of_feature("colour")
    pixels = TensorPixels(torch.zeros(2, 1, 8, 8, dtype=torch.uint8))
    with pytest.raises(ValueError, match="images with several labels for the feature 'color'"):
        Images(pixels=pixels, names=("a", "b")).of_feature("color")
    wrong = {"color": Labeling(labels=torch.tensor([0]), classes=("red",))}
    with pytest.raises(ValueError, match="expected labels as int64"):
        Images(pixels=pixels, names=("a", "b"), by_feature=wrong)
