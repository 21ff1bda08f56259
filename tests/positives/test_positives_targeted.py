"""What varies freely and what little."""

import dataclasses

import pytest

from tammes.positives import Augmentation, Handwriting, Identity, Photographs, Targeted


def test_the_anchor_varies_little_and_the_positive_freely_in_what_is_named() -> None:
    full = Photographs(blur_probability=0.5)
    anchor, positive = Targeted(freely=("brightness", "hue"), little=0.5).augmentations(full)
    assert anchor == Photographs(
        smallest_crop=0.54,
        flip_probability=0.25,
        brightness=0.2,
        contrast=0.2,
        saturation=0.2,
        hue=0.05,
        grayscale_probability=0.1,
        blur_probability=0.25,
    )
    assert positive == dataclasses.replace(anchor, brightness=full.brightness, hue=full.hue)


@pytest.mark.parametrize("full", [Photographs(blur_probability=0.3), Handwriting(noise=0.03)])
def test_all_that_is_left_is_the_augmentation_itself(full: Photographs | Handwriting) -> None:
    freely = tuple(full.neutral)[:1]
    assert Targeted(freely=freely, little=1.0).augmentations(full) == (full, full)


@pytest.mark.parametrize("full", [Photographs(), Handwriting(background=1.0)])
def test_nothing_left_is_no_change(full: Photographs | Handwriting) -> None:
    anchor, _ = Targeted(freely=tuple(full.neutral)[:1], little=0.0).augmentations(full)
    assert {name: vars(anchor)[name] for name in full.neutral} == dict(full.neutral)


@pytest.mark.parametrize("kind", [Photographs, Handwriting, Identity])
def test_every_strength_has_a_neutral_value(kind: type[Augmentation]) -> None:
    no_strengths = {"jitter_probability", "background"}
    assert {field.name for field in dataclasses.fields(kind)} - no_strengths == set(kind().neutral)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("freely", "little", "words"),
    [
        ((), 0.5, "freely must name at least one factor"),
        (("hue", "hue"), 0.5, "freely must name each factor once, got hue, hue"),
        (("hue",), 1.5, "little must be a finite number at least 0 and at most 1"),
        (("hue",), float("nan"), "little must be a finite number at least 0 and at most 1"),
    ],
)
def test_what_cannot_be_is_refused(freely: tuple[str, ...], little: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Targeted(freely=freely, little=little)


def test_a_string_is_no_tuple_of_names() -> None:
    with pytest.raises(ValueError, match="must be a tuple of names"):
        Targeted(freely="hue")  # type: ignore[arg-type]


def test_a_factor_that_the_augmentation_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"factors of Handwriting, which has rotation, .*; got hue"):
        Targeted(freely=("hue", "noise")).augmentations(Handwriting())
