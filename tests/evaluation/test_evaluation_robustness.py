from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tammes.data import Images, TensorPixels
from tammes.evaluation import (
    CorruptionScores,
    ImageReadout,
    LabeledFeatures,
    LinearProbe,
    Robustness,
)
from tiny import random_images


def pixels(images: Images) -> Tensor:
    return images.batch(range(len(images))).flatten(1) / 255


def readout(images: Images) -> ImageReadout:
    assert images.labels is not None
    points = LabeledFeatures(features=pixels(images), labels=images.labels)
    return ImageReadout(features=pixels, readout=LinearProbe().fit(points))


def faint(count: int) -> Images:
    """Gray noise, a little brighter in the upper half for one class."""
    generator = torch.Generator().manual_seed(0)
    tensor = torch.randint(100, 120, (count, 1, 8, 8), dtype=torch.uint8, generator=generator)
    labels = torch.arange(count) % 2
    tensor[labels == 1, :, :4] += 6
    return replace(random_images(count), pixels=TensorPixels(tensor), labels=labels)


def test_a_readout_of_clean_images_falls_with_the_severity() -> None:
    images = faint(300)
    names: list[str] = []
    settings = Robustness(corruptions=("gaussian-noise", "contrast"), severities=(1, 5), seed=1)
    scores = settings.measure(readout(images), images, on_corruption=names.append)
    assert names == ["gaussian-noise", "contrast"] == list(scores.corrupted)
    assert scores.corrupted["contrast"].shape == (2, 300)
    mild, strong = scores.at("gaussian-noise")
    assert scores.clean.mean == 1.0 > mild.mean > strong.mean
    assert scores.of("gaussian-noise").mean == pytest.approx((mild.mean + strong.mean) / 2)
    each = [scores.of(name).mean for name in names]
    assert scores.mean.mean == pytest.approx(sum(each) / 2)
    assert scores.fall is not None
    assert scores.fall.mean == pytest.approx(1 - scores.mean.mean)
    again = settings.measure(readout(images), images)
    assert all(torch.equal(scores.corrupted[name], again.corrupted[name]) for name in names)


def test_all_corruptions_but_saturation_for_gray_images() -> None:
    assert len(Robustness().names(3)) == 15
    assert set(Robustness().names(3)) - set(Robustness().names(1)) == {"saturation"}
    with pytest.raises(ValueError, match="saturation changes nothing in images with one channel"):
        Robustness(corruptions=("saturation",)).names(1)
    assert Robustness(corruptions=("saturation",)).names(3) == ("saturation",)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"corruptions": ("rain",)}, "no corruption 'rain': choose from gaussian-noise"),
        ({"corruptions": ()}, "one or several different corruptions"),
        ({"corruptions": ("fog", "fog")}, "different corruptions, got fog, fog"),
        ({"severities": ()}, "one or several different severities"),
        ({"severities": (6,)}, "severity must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings: dict[str, tuple[str, ...]], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Robustness(**settings)  # type: ignore[arg-type]


def test_an_encoder_that_has_diverged_names_nothing() -> None:
    images = faint(20)
    classifier = readout(images)
    nowhere = replace(
        classifier, features=lambda some: pixels(some).index_fill(0, torch.tensor(3), torch.nan)
    )
    with pytest.raises(ValueError, match=r"expected finite logits, got NaN .* in 1 of 20 rows"):
        Robustness(corruptions=("fog",)).measure(nowhere, images)


def test_the_interval_of_the_fall_is_that_of_images_drawn_anew() -> None:
    generator = torch.Generator().manual_seed(0)
    right = torch.rand(400, generator=generator) < 0.8
    hard = right & (torch.rand(2, 400, generator=generator) < 0.6)
    scores = CorruptionScores(right=right, corrupted={"a": hard, "b": hard.flip(0)}, severities=(1, 2))
    assert scores.fall is not None
    falls = []
    for _ in range(400):
        rows = torch.randint(400, (400,), generator=generator)
        one = CorruptionScores(right=right[rows], corrupted={"a": hard[:, rows]}, severities=(1, 2))
        assert one.fall is not None
        falls.append(one.fall.mean)
    low, high = torch.tensor(falls).quantile(torch.tensor([0.025, 0.975])).tolist()
    assert scores.fall.low == pytest.approx(low, abs=0.01)
    assert scores.fall.high == pytest.approx(high, abs=0.01)
    nothing = replace(scores, right=torch.zeros(400, dtype=torch.bool))
    assert nothing.fall is None


def test_intervals_have_a_width_where_all_images_agree_and_stay_between_0_and_1() -> None:
    right = torch.ones(18, dtype=torch.bool)
    same = CorruptionScores(right=right, corrupted={"jpeg": right.expand(2, 18)}, severities=(1, 2))
    assert same.of("jpeg").low == same.mean.low == same.clean.low < 0.83
    assert same.fall is not None
    assert (same.fall.low, same.fall.mean) == (0.0, 0.0)
    assert same.fall.high == pytest.approx(1 - same.clean.low)
    some = right.clone()
    some[0] = False
    nearly = replace(same, corrupted={"jpeg": some.expand(2, 18), "fog": (~some).expand(2, 18)})
    assert nearly.of("jpeg").high == 1.0
    assert nearly.of("fog").low == 0.0
    lost = replace(same, corrupted={"jpeg": (~some).expand(2, 18)}).fall
    assert lost is not None
    assert lost.high == 1.0 > lost.mean > lost.low
