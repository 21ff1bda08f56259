import pytest
import torch

from tammes.data import glyphs

INK = [38.2, 33.1, 22.3]
"""Mean ink of the drawings of the first characters, from 0 to 255."""


def test_the_parts_have_the_same_characters_in_other_drawings() -> None:
    train, test = glyphs("train", characters=30), glyphs("test", characters=30)
    assert train.classes == test.classes
    assert train.required_labels().bincount().tolist() == [106] * 30
    assert test.required_labels().bincount().tolist() == [53] * 30
    drawings = {bytes(part[row][0].flatten().tolist()) for part in (train, test) for row in range(len(part))}
    assert len(drawings) == len(train) + len(test)
    assert train.names[107] == "train 0-1 1"


def test_many_characters_have_a_few_drawings_each() -> None:
    assert set(glyphs("train", characters=450).required_labels().bincount().tolist()) == {8}
    assert set(glyphs("test", characters=450).required_labels().bincount().tolist()) == {4}


def test_a_seed_draws_the_same_set_every_time() -> None:
    pixels = glyphs("test").batch(range(1600))
    assert torch.equal(pixels, glyphs("test").batch(range(1600)))
    assert not torch.equal(pixels, glyphs("test", seed=1).batch(range(1600)))
    # The set is part of published numbers; the rounding of another processor changes single pixels at most.
    ink = pixels.double().mean(dim=(1, 2, 3)).reshape(400, 4).mean(dim=1)
    assert ink[:3].tolist() == pytest.approx(INK, abs=0.1)


def test_a_drawing_is_nearest_to_those_of_its_character_most_often() -> None:
    train, test = glyphs("train", characters=40), glyphs("test", characters=40)
    drawn, bank = (part.batch(range(len(part))).flatten(1).double() for part in (test, train))
    nearest = train.required_labels()[torch.cdist(drawn, bank).argmin(dim=1)]
    right = (nearest == test.required_labels()).double().mean()
    assert 0.5 < float(right) < 0.99  # neither hopeless nor done by the pixels alone


def test_characters_of_an_alphabet_are_more_alike_than_others() -> None:
    part = glyphs("train", characters=100)
    drawn = part.batch(range(len(part))).flatten(1).double()
    means = torch.stack([drawn[part.required_labels() == label].mean(dim=0) for label in range(100)])
    distance = torch.cdist(means, means)
    alphabet = torch.arange(100) // 20
    same = (alphabet[:, None] == alphabet) & ~torch.eye(100, dtype=torch.bool)
    assert float(distance[same].mean()) < 0.9 * float(distance[alphabet[:, None] != alphabet].mean())


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match='"train" or "test", got \'all\''):
        glyphs("all")  # type: ignore[arg-type]
    for characters in (1, 10_001, 2.0):
        with pytest.raises(ValueError, match=r"characters must be an integer from 2 to 10,000"):
            glyphs("train", characters=characters)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        glyphs("train", seed=-1)
