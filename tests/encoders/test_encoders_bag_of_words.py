"""BagOfWords: the equation of the paper, in value and gradient, and torch's initialization."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.data import Tokens, Vocabulary
from tammes.encoders import BagOfWords, BagOfWordsConfig, Encoder


def packed(sentences: list[list[int]]) -> Tokens:
    offsets = torch.tensor([0] + [len(sentence) for sentence in sentences]).cumsum(0)
    return Tokens(torch.tensor([token for sentence in sentences for token in sentence]).long(), offsets)


def frequencies(sentences: list[list[int]], size: int) -> torch.Tensor:
    """p, (n, size) in float64: how often each token occurs, divided by the length of the sentence."""
    counts = [torch.bincount(torch.tensor(sentence), minlength=size) for sentence in sentences]
    return torch.stack([count / count.sum() for count in counts]).double()


@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=9), min_size=1, max_size=6))
def test_value_and_gradient_are_those_of_the_sum_over_unique_tokens(sentences: list[list[int]]) -> None:
    encoder = BagOfWords(vocabulary_size=7, dim=3).double()
    table = encoder.embeddings.weight
    features = encoder(packed(sentences))
    upstream = torch.randn_like(features)
    (gradient,) = torch.autograd.grad((features * upstream).sum(), table)
    p = frequencies(sentences, size=7)
    torch.testing.assert_close(features, p @ table)
    torch.testing.assert_close(gradient, p.T @ upstream)


def test_gradcheck() -> None:
    encoder = BagOfWords(vocabulary_size=4, dim=2).double()
    tokens = packed([[0, 1, 1], [3]])

    def features(table: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(encoder, {"embeddings.weight": table}, (tokens,))

    table = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(features, (table,))


def test_the_order_of_words_does_not_matter() -> None:
    encoder = BagOfWords(vocabulary_size=50, dim=8)
    forward, backward = encoder(packed([list(range(40)), list(range(39, -1, -1))]))
    torch.testing.assert_close(forward, backward)


def test_weights_are_drawn_as_torch_draws_those_of_an_embedding() -> None:
    torch.manual_seed(3)
    encoder = BagOfWordsConfig(dim=5).build(vocabulary_size=11)
    torch.manual_seed(3)
    assert torch.equal(encoder.embeddings.weight, torch.nn.Embedding(11, 5).weight)


def test_it_is_an_encoder_of_what_a_vocabulary_encodes() -> None:
    vocabulary = Vocabulary.of(["the cat sat", "the dog sat"], minimum_count=1)
    encoder = BagOfWordsConfig(dim=6).build(vocabulary_size=len(vocabulary))
    assert isinstance(encoder, Encoder)
    tokens = vocabulary.encode(["the cat", "cat the", "the zebra"])
    features = encoder(tokens)
    assert features.shape == (3, encoder.features)
    table = encoder.embeddings.weight
    torch.testing.assert_close(features[0], features[1])
    torch.testing.assert_close(features[2], (table[vocabulary.words.index("the")] + table[0]) / 2)


def test_adam_moves_rows_that_are_not_in_the_batch_by_their_momentum() -> None:
    encoder = BagOfWords(vocabulary_size=3, dim=2)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.1)
    for batch in ([[0]], [[1]]):
        before = encoder.embeddings.weight.detach().clone()
        optimizer.zero_grad()
        encoder(packed(batch)).sum().backward()
        optimizer.step()
    moved = (encoder.embeddings.weight.detach() - before).abs().sum(dim=1) > 0
    assert moved.tolist() == [True, True, False]


@pytest.mark.parametrize("settings", [{"dim": 0}, {"minimum_count": 0}])
def test_settings_that_build_nothing_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be an integer of at least 1, got 0"):
        BagOfWordsConfig(**settings)
