"""Encoders that read words in order: torch's recurrence, no padding, and vectors of single sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tammes.data import BytePairs, Tokens, Unigrams
from tammes.data.word_vectors import read_word_vectors
from tammes.encoders import GRUConfig, SentenceEncoder, TextTransformerConfig, TwoTowersConfig
from tammes.encoders.recurrence import recurrence

WORDS = ("[UNK]", "a", "b", "c", "d", "e", "f", "g", "h", "i")
CONFIGS = [
    GRUConfig(width=5, embedding=4),
    GRUConfig(width=5, embedding=4, bidirectional=True),
    GRUConfig(width=5, embedding=4, bidirectional=True, pooling="mean"),
    GRUConfig(width=5, embedding=4, pooling="max"),
    TextTransformerConfig(width=8, depth=2, heads=2),
    TextTransformerConfig(width=8, depth=2, heads=2, positions="learned"),
    TwoTowersConfig(tower=GRUConfig(width=5, embedding=4)),
]


def sentences(lengths: tuple[int, ...] = (3, 1, 7, 4, 4, 1, 6)) -> Tokens:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(len(WORDS), (sum(lengths),), generator=generator)
    return Tokens(ids, torch.tensor([0, *lengths]).cumsum(0))


def built(config: GRUConfig | TextTransformerConfig | TwoTowersConfig) -> SentenceEncoder:
    torch.manual_seed(1)
    return config.build(words=WORDS).double().eval()


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_a_vector_does_not_depend_on_the_other_sentences(
    config: GRUConfig | TextTransformerConfig | TwoTowersConfig,
) -> None:
    encoder, tokens = built(config), sentences()
    together = encoder(tokens)
    alone = torch.cat([encoder(tokens.take(torch.tensor([row]))) for row in range(len(tokens))])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    assert together.shape == (len(tokens), encoder.features)


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_the_order_of_words_matters(config: GRUConfig | TextTransformerConfig | TwoTowersConfig) -> None:
    forward, backward = built(config)(Tokens(torch.tensor([1, 2, 3, 3, 2, 1]), torch.tensor([0, 3, 6])))
    assert float((forward - backward).detach().abs().max()) > 1e-3


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
@pytest.mark.parametrize("training", [True, False])
def test_a_batch_without_sentences_has_no_features(
    config: GRUConfig | TextTransformerConfig | TwoTowersConfig, training: bool
) -> None:
    encoder, none = built(config).train(training), sentences(())
    features = encoder(none)
    assert features.shape == (0, encoder.features)
    features.sum().backward()
    assert encoder.of_tower(none, 0).shape == (0, encoder.features // encoder.towers)


@pytest.mark.parametrize("config", CONFIGS, ids=repr)
def test_a_sentence_without_tokens_is_refused(
    config: GRUConfig | TextTransformerConfig | TwoTowersConfig,
) -> None:
    with pytest.raises(ValueError, match="at least one token in each sentence, got none in row 1"):
        built(config)(sentences((3, 0, 2)))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_final_state_is_torchs(bidirectional: bool) -> None:
    encoder, tokens = built(GRUConfig(width=5, embedding=4, bidirectional=bidirectional)), sentences()
    plain = nn.GRU(4, 5, bidirectional=bidirectional, batch_first=True).double()
    (network,) = encoder.networks
    for suffix, units in zip(("", "_reverse"), network.units, strict=False):
        for name, value in units.named_parameters():
            setattr(plain, name + suffix, nn.Parameter(value.detach().clone()))
    upstream = torch.randn(len(tokens), encoder.features, dtype=torch.float64)
    ours = encoder(tokens)
    theirs = torch.cat(
        [
            plain(encoder.words(part)[None])[1].flatten()[None]
            for part in tokens.ids.split(tokens.lengths.tolist())
        ]
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    mine = torch.autograd.grad((ours * upstream).sum(), [encoder.words.weight, *network.parameters()])
    reference = torch.autograd.grad(
        (theirs * upstream).sum(), [encoder.words.weight, *(plain.get_parameter(n) for n in names(plain))]
    )
    for one, other in zip(mine, reference, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def names(plain: nn.GRU) -> list[str]:
    kinds = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    return [
        kind + suffix for suffix in (("", "_reverse") if plain.bidirectional else ("",)) for kind in kinds
    ]


def test_the_recurrence_passes_gradcheck() -> None:
    torch.manual_seed(0)
    gru = nn.GRU(3, 2).double()
    weights = [p.detach().requires_grad_() for p in gru.parameters()]
    inputs = torch.randn(3, 3, dtype=torch.float64, requires_grad=True)

    def states(inputs: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
        return recurrence(inputs, torch.tensor([0, 1, 2, 1, 0]), [2, 2, 1], weights)

    assert torch.autograd.gradcheck(states, (inputs, *weights))


@pytest.mark.parametrize("pooling", ["final", "mean"])
def test_under_autocast_products_are_rounded_and_states_are_not(pooling: str) -> None:
    torch.manual_seed(0)
    encoder = GRUConfig(width=64, embedding=32, pooling=pooling).build(words=WORDS)

    def gradients(cast: bool) -> tuple[Tensor, list[Tensor]]:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):
            features = encoder(sentences())
        return features, list(torch.autograd.grad(features.square().sum(), list(encoder.parameters())))

    (plain, exact), (cast, rounded) = gradients(False), gradients(True)
    assert cast.dtype == torch.float32
    assert not torch.equal(cast, cast.bfloat16().float()), "states are not rounded to the type of products"
    torch.testing.assert_close(cast, plain, rtol=0, atol=4 * 2**-9)
    assert not torch.equal(cast, plain)
    for one, other in zip(rounded, exact, strict=True):
        assert float((one - other).norm() / other.norm()) < 4 * 2**-9


def test_autocast_leaves_units_in_double_precision_as_they_are() -> None:
    encoder = GRUConfig(width=8, embedding=4).build(words=WORDS).double()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = encoder(sentences())
    assert torch.equal(cast, encoder(sentences()))


def test_no_time_goes_into_padding() -> None:
    """Products of a recurrence over sentences of 1 and of 40 words are those of 41 words, not of 80."""
    from torch.utils.flop_counter import FlopCounterMode

    encoder = GRUConfig(width=16, embedding=16).build(words=WORDS)
    with FlopCounterMode(display=False) as count:
        encoder(sentences((1, 40)))
    recurrent = 41 * 2 * 16 * 48
    assert count.get_total_flops() <= recurrent + len(WORDS) * 2 * 16 * 48


def test_dropout_differs_between_two_passes_and_not_in_evaluation() -> None:
    encoder = TextTransformerConfig(width=8, depth=1, heads=2, dropout=0.1).build(words=WORDS)
    assert encoder.has_dropout()
    encoder.eval()
    assert not encoder.has_dropout()
    assert not GRUConfig(width=4).build(words=WORDS).has_dropout()


def test_a_long_sentence_is_cut() -> None:
    encoder = built(GRUConfig(width=5, embedding=4, max_length=3))
    whole, cut = encoder(sentences((9,))), encoder(Tokens(sentences((9,)).ids[:3], torch.tensor([0, 3])))
    assert torch.equal(whole, cut)


def test_words_begin_with_the_vectors_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "vectors.vec"
    file.write_text("3 2\na 1 2\nB 7 7\nd 3 4.5\n")
    torch.manual_seed(0)
    encoder = GRUConfig(width=3, embedding=2, vectors=str(file)).build(words=WORDS)
    assert encoder.words.weight[[1, 4]].tolist() == [[1.0, 2.0], [3.0, 4.5]]
    drawn = GRUConfig(width=3, embedding=2, vectors=str(file)).build(words=WORDS, pretrained=False)
    assert not torch.equal(drawn.words.weight[[1, 4]], encoder.words.weight[[1, 4]])


def test_a_word_has_its_own_vector_before_that_of_its_lower_case(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("the 1 2\nThe 3 4\nThe 5 6\nout 7 8\n")
    found = read_word_vectors(tmp_path / "v.txt", ("[UNK]", "The", "THE", "the", "Out", "OUT", "far"))
    assert found.rows.tolist() == [1, 2, 3, 4, 5]
    assert found.vectors.tolist() == [[3, 4], [1, 2], [1, 2], [7, 8], [7, 8]]


def test_words_of_glove_may_hold_blanks_and_lines_may_be_blank(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("a 1 2\n. . . 3 4\nat b@c.de 5 6\n\nb 7 8\n\n")
    found = read_word_vectors(tmp_path / "v.txt", ("[UNK]", "a", "b", ". . ."))
    assert found.vectors.tolist() == [[1, 2], [7, 8], [3, 4]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 1 2 3\n", "expected 2 numbers behind the word in line 2 of .*, got 3"),
        ("a 1 2\nb 1\n", "expected 2 numbers behind the word in line 2 of"),
        ("3 3\na 1 2\n", "expected 3 numbers behind the word in line 2 of"),
        ("a 1 x\n", "expected numbers behind the word in line 1 of"),
        ("a 1 nan\n", "expected finite numbers behind the word in line 1 of"),
        ("zebra 1 2\n", "found none of 10"),
    ],
)
def test_damaged_vectors_are_named_with_their_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "v.txt").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_word_vectors(tmp_path / "v.txt", WORDS)


def test_vectors_of_another_width_are_refused(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("1 3\na 1 2 3\n")
    with pytest.raises(
        ValueError, match=r"expected vectors of 2 numbers in .*, got 3: set the encoder's embedding to 3"
    ):
        GRUConfig(width=3, embedding=2, vectors=str(tmp_path / "v.txt")).build(words=WORDS)


@pytest.mark.parametrize("algorithm", [BytePairs, Unigrams])
def test_subwords_give_a_rare_word_the_pieces_of_others(algorithm: type[BytePairs] | type[Unigrams]) -> None:
    train = ["low lower lowest slow slower", "new newer newest anew"] * 3
    pieces = algorithm(size=24).of(train)
    ids = pieces.encode(["slowest"]).ids
    assert 0 not in ids.tolist()  # no piece is unknown, though the word is
    assert type(pieces).from_json(pieces.to_json(), "here").words == pieces.words
    assert max(pieces.encode(train).ids.tolist()) < len(pieces) == len(pieces.words)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GRUConfig(width=0),
        lambda: GRUConfig(dropout=1.0),
        lambda: GRUConfig(pooling="sum"),  # type: ignore[arg-type]
        lambda: TextTransformerConfig(positions="sine"),  # type: ignore[arg-type]
        lambda: TextTransformerConfig(width=6, heads=2),
        lambda: TextTransformerConfig(depth=0),
        lambda: BytePairs(size=1),
    ],
)
def test_settings_that_build_nothing_are_refused(make: object) -> None:
    with pytest.raises(ValueError, match="must"):
        make()  # type: ignore[operator]
