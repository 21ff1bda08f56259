import hashlib

import pytest
import torch
from sklearn.datasets import load_digits

from tammes.data import digits


def test_the_two_parts_are_all_digits_once() -> None:
    train, test = digits("train"), digits("test")
    assert (len(train), len(test)) == (1437, 360)
    assert set(train.names) | set(test.names) == {f"digit {i}" for i in range(1797)}
    assert not set(train.names) & set(test.names)


def test_the_split_never_changes() -> None:
    names = ",".join(digits("test").names)
    assert hashlib.sha256(names.encode()).hexdigest()[:16] == "7643bc3aa8447753"


def test_pixels_and_labels_are_those_of_scikit_learn() -> None:
    scans = load_digits()
    for part in (digits("train"), digits("test")):
        rows = [int(name.removeprefix("digit ")) for name in part.names]
        assert part.required_labels().tolist() == scans.target[rows].tolist()
        recovered = part.batch(range(len(part)))[:, 0].double() * (16 / 255)
        assert torch.equal(recovered.round(), torch.from_numpy(scans.images[rows]))
        assert (part.channels, part.size, part.classes) == (1, 8, tuple("0123456789"))


def test_the_parts_have_the_classes_in_equal_proportion() -> None:
    train = digits("train").required_labels().bincount() / 1437
    test = digits("test").required_labels().bincount() / 360
    assert float((train - test).abs().max()) < 1 / 360


def test_another_split_is_refused() -> None:
    with pytest.raises(ValueError, match='"train" or "test", got \'validation\''):
        digits("validation")  # type: ignore[arg-type]
