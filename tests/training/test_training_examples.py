import pytest
import torch

from tammes.data import Tokens, Vocabulary
from tammes.training.examples import Examples, concatenate, to_inputs
from tiny import make_config, make_text_config, random_images, random_texts


@pytest.mark.equal_bits
def test_images_are_read_as_bytes_and_taken_as_floats() -> None:
    images = random_images(6)
    examples = Examples.for_training(images, make_config())
    stored = examples.batch([4, 1, 4])
    assert isinstance(stored, torch.Tensor)
    assert stored.dtype == torch.uint8
    assert torch.equal(stored[0], images[4][0])
    inputs = to_inputs(stored)
    assert isinstance(inputs, torch.Tensor)
    assert torch.equal((255 * inputs).round().to(torch.uint8), stored)
    assert len(concatenate(inputs, inputs)) == 6


@pytest.mark.equal_bits
def test_sentences_are_read_by_the_vocabulary() -> None:
    texts = random_texts()
    examples = Examples.for_training(texts, make_text_config())
    assert isinstance(examples.assets, Vocabulary)
    assert examples.assets == Vocabulary.of(texts.sentences, minimum_count=2)
    first, second = examples.batch([5, 2]), examples.batch([7])
    expected = examples.assets.encode([texts.sentences[row] for row in (5, 2, 7)])
    both = concatenate(first, second)
    assert isinstance(both, Tokens)
    assert torch.equal(both.ids, expected.ids)
    assert torch.equal(both.offsets, expected.offsets)
    assert to_inputs(both) is both


def test_what_is_written_down_tells_other_texts() -> None:
    texts = random_texts()
    summary = Examples.for_training(texts, make_text_config()).summary("here")
    assert (summary.source, summary.count) == ("here", 27)
    other = texts.subset([1, 0, *range(2, 27)])
    assert Examples.for_training(other, make_text_config()).summary("here") != summary


def test_data_of_the_other_kind_are_refused() -> None:
    images, texts = random_images(4), random_texts()
    vocabulary = Vocabulary.of(texts.sentences, minimum_count=1)
    with pytest.raises(ValueError, match=r"trained on images, but the data are Texts\(27 .*give it images"):
        Examples.of(texts)
    with pytest.raises(ValueError, match=r"trained on texts, but the data are Images\(4 .*give it texts"):
        Examples.of(images, vocabulary)
    with pytest.raises(ValueError, match="a bag of words takes texts, got Images"):
        Examples.for_training(images, make_text_config())
    with pytest.raises(ValueError, match=r"ConvNetConfig\(.* takes images, got Texts.*BagOfWordsConfig"):
        Examples.for_training(texts, make_config())
