import pytest
import torch

from tammes.data import Texts
from tammes.positives import Neighbors, SameClass, SameInstance
from tammes.training.config import PositivesConfig
from tammes.training.pairing import Pairing
from tammes.training.sampler import PairSampler, Shard
from tiny import random_images, random_texts

TEXTS = random_texts(documents=3, sentences=8)


@pytest.mark.parametrize("positives", [SameInstance(), SameClass(), Neighbors()], ids=repr)
def test_pairs_follow_from_seed_and_epoch_and_no_epoch_has_fewer_than_it_says(
    positives: PositivesConfig,
) -> None:
    pairing, again = (Pairing.of(TEXTS, positives, seed=3) for _ in range(2))
    other = Pairing.of(TEXTS, positives, seed=4)
    epochs = [pairing.epoch(number) for number in range(20)]
    assert all(torch.equal(pairs, again.epoch(number)) for number, pairs in enumerate(epochs))
    assert not torch.equal(epochs[0], epochs[1])
    assert not torch.equal(epochs[0], other.epoch(0))
    assert min(len(pairs) for pairs in epochs) >= len(pairing) > 0
    for pairs in epochs:
        assert torch.equal(TEXTS.documents[pairs[:, 0]], TEXTS.documents[pairs[:, 1]])
        used = pairs.flatten() if not isinstance(positives, SameInstance) else pairs[:, 0]
        assert len(used.unique()) == len(used)


def test_every_epoch_has_as_many_batches_though_neighbors_make_more_or_fewer_pairs() -> None:
    pairing = Pairing.of(TEXTS, Neighbors(), seed=0)
    assert len({len(pairing.epoch(number)) for number in range(20)}) > 1
    order = PairSampler(pairing, Shard(batch_size=2))
    for epoch in range(20):
        order.set_epoch(epoch)
        assert len(list(order)) == len(order) == len(pairing) // 2


def test_neighbors_are_adjacent_in_the_document_also_where_some_are_held_out() -> None:
    rest = TEXTS.subset([0, 1, 3, 4, 5, 8, 10, 12, 13, 16])
    assert rest.positions is not None
    pairing = Pairing.of(rest, Neighbors(), seed=0)
    assert len(pairing) == 3
    for number in range(10):
        first, second = rest.positions[pairing.epoch(number)].T
        assert torch.equal(second, first + 1)


def test_rows_without_a_positive_are_counted() -> None:
    rest = TEXTS.subset([0, 1, 3, 4, 8, 10, 16])
    assert Pairing.of(rest, Neighbors(), seed=0).unpaired == 3
    assert Pairing.of(rest, SameClass(), seed=0).unpaired == 1
    assert Pairing.of(rest, SameInstance(), seed=0).unpaired == 0
    lines = Texts(sentences=TEXTS.sentences, names=TEXTS.names)
    assert Pairing.of(lines, Neighbors(), seed=0).unpaired == 0


def test_images_can_be_paired_by_class() -> None:
    images = random_images(9)
    pairs = Pairing.of(images, SameClass(), seed=0).epoch(0)
    labels = images.required_labels()
    assert len(pairs) == 4
    assert torch.equal(labels[pairs[:, 0]], labels[pairs[:, 1]])


def test_what_cannot_be_paired_is_refused() -> None:
    lines = Texts(sentences=TEXTS.sentences, names=TEXTS.names)
    with pytest.raises(ValueError, match="SameClass pairs sentences of one class, but these have no labels"):
        Pairing.of(lines, SameClass(), seed=0)
    with pytest.raises(ValueError, match="adjacent sentences, but images have no reading order"):
        Pairing.of(random_images(4), Neighbors(), seed=0)
    apart = Pairing.of(TEXTS.subset([0, 2, 4]), Neighbors(), seed=0)
    with pytest.raises(ValueError, match=r"none of these sentences has a positive by Neighbors\(\)"):
        PairSampler(apart, Shard(batch_size=2))
    assert Pairing.of(lines, Neighbors(), seed=0).size_in_words == "11 pairs of sentences"
