"""Vocabulary: which words it knows, how it cuts text, and that its file is what was saved."""

import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.data import Vocabulary
from tammes.data.sealed import seal


def cut(text: str, **settings) -> list[str]:
    vocabulary = Vocabulary.of([text], minimum_count=1, **settings)
    return [vocabulary.words[token] for token in vocabulary.encode([text]).ids.tolist()]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Mr. O'Neil doesn't.", ["Mr", ".", "O'Neil", "doesn't", "."]),
        ("$3.50 or 10,000?!", ["$", "3.50", "or", "10,000", "?", "!"]),
        ("oil-prices (naïve)", ["oil", "-", "prices", "(", "naïve", ")"]),
        ("a  tab\tand [UNK]", ["a", "tab", "and", "[", "UNK", "]"]),
        ("'quoted' B2B snake_case", ["'", "quoted", "'", "B2B", "snake_case"]),
        ("été ½ 2.", ["été", "½", "2", "."]),
    ],
)
def test_text_is_cut_as_documented(text: str, tokens: list[str]) -> None:
    assert cut(text) == tokens


def test_composed_and_decomposed_letters_are_one_word() -> None:
    vocabulary = Vocabulary.of(["café"], minimum_count=1)
    assert vocabulary.encode([unicodedata.normalize("NFD", "café")]).ids.tolist() == [1]


def test_lower_case_joins_what_differs_in_case_alone() -> None:
    assert cut("The the", lowercase=True) == ["the", "the"]
    assert cut("The the") == ["The", "the"]


def test_words_come_by_frequency_and_rare_ones_are_unknown() -> None:
    vocabulary = Vocabulary.of(["b b b a a", "c a rare"], minimum_count=2)
    assert vocabulary.words == ("[UNK]", "a", "b")
    tokens = vocabulary.encode(["rare a", "b nowhere"])
    assert (tokens.ids.tolist(), tokens.offsets.tolist()) == ([0, 1, 2, 0], [0, 2, 4])


def without_space(text: str) -> str:
    return "".join(letter for letter in text if not letter.isspace())


@given(st.text())
def test_tokens_are_all_of_the_text_but_its_space(text: str) -> None:
    vocabulary = Vocabulary.of(["word"], minimum_count=1)
    pieces = vocabulary.tokenizer.pre_tokenizer.pre_tokenize_str(text)
    assert without_space("".join(piece for piece, _ in pieces)) == without_space(text)
    if without_space(text):
        assert len(vocabulary.encode([text]).ids) > 0


def test_a_sentence_without_a_token_is_refused() -> None:
    vocabulary = Vocabulary.of(["word"], minimum_count=1)
    with pytest.raises(ValueError, match=r"words in every sentence, got none in sentence 1: ' \\t'"):
        vocabulary.encode(["word", " \t"])


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (b"caf\xe9".decode("utf-8", "surrogateescape"), r"got half of one in sentence 1: 'caf\\udce9'; read"),
        (None, "expected strings as sentences, got None as sentence 1"),
    ],
)
def test_what_is_no_text_is_named_by_its_sentence(sentence: str, message: str) -> None:
    for use in (
        Vocabulary.of(["word"], minimum_count=1).encode,
        lambda sentences: Vocabulary.of(sentences, minimum_count=1),
    ):
        with pytest.raises(ValueError, match=message):
            use(["word", sentence])


def test_many_sentences_are_encoded_in_parts_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [f"word {'again ' * (number % 3)}{number % 5}" for number in range(23)]
    vocabulary = Vocabulary.of(sentences, minimum_count=1)
    whole = vocabulary.encode(sentences)
    monkeypatch.setattr(sys.modules["tammes.data.vocabulary"], "CHUNK", 4)
    parts = vocabulary.encode(sentences)
    assert (parts.ids.tolist(), parts.offsets.tolist()) == (whole.ids.tolist(), whole.offsets.tolist())


def test_an_emptied_vocabulary_says_what_would_do() -> None:
    with pytest.raises(ValueError, match=r"at least 50 times.*'a', occurs 3 times.*at most 3"):
        Vocabulary.of(["a a a b"], minimum_count=50)
    with pytest.raises(ValueError, match="2 sentences without any"):
        Vocabulary.of(["", " "], minimum_count=1)
    with pytest.raises(ValueError, match="minimum_count must be an integer of at least 1, got 0"):
        Vocabulary.of(["a"], minimum_count=0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "as the first word"),
        (("a", "[UNK]"), "as the first word, got"),
        (("[UNK]",), "got none"),
        (("[UNK]", "a", "a"), "every word once, got 'a' 2 times"),
    ],
)
def test_words_that_are_no_vocabulary_are_refused(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Vocabulary(words=words)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of(["Été “quoted” \\ 日本"], minimum_count=1, lowercase=True)
    vocabulary.save(tmp_path / "vocabulary.json")
    assert Vocabulary.load(tmp_path / "vocabulary.json") == vocabulary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document: document["words"].reverse(), "changed since it was saved"),
        (lambda document: document["words"].append("more"), "changed since it was saved"),
        (lambda document: document.update(words=None), "changed since it was saved"),
        (lambda document: document.update(words=[[]]), "changed since it was saved"),
        (lambda document: document.update(lowercase=True), "changed since it was saved"),
        (lambda document: document.pop("sha256"), "changed since it was saved"),
        (lambda document: document.update(format="something else"), "expected a vocabulary in"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(tmp_path: Path, change, message: str) -> None:
    path = tmp_path / "vocabulary.json"
    Vocabulary.of(["one two"], minimum_count=1).save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        Vocabulary.load(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", 5_000 * b"["])
def test_a_file_that_is_no_vocabulary_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"expected a vocabulary .*vocabulary\.json"):
        Vocabulary.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"words": 3, "lowercase": False}, "expected a list of words in"),
        ({"words": ["[UNK]", "a"], "lowercase": None}, "expected a list of words in"),
        ({"words": ["[UNK]", []], "lowercase": False}, "expected strings as words"),
    ],
)
def test_a_correct_checksum_of_something_else_is_refused(
    tmp_path: Path, content: dict[str, object], message: str
) -> None:
    path = tmp_path / "vocabulary.json"
    path.write_text(seal(content, format="tammes vocabulary 1"))
    with pytest.raises(ValueError, match=message):
        Vocabulary.load(path)


def test_without_tokenizers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r'pip install "tammes\[text\]"'):
        Vocabulary.of(["a"], minimum_count=1)
