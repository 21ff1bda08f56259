"""Prose of the source and the documents: no phrase that nobody would say, and American spelling."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(ROOT / "docs").glob("*.md"),
]
SOURCES = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
    *sorted((ROOT / "docs/_site").glob("*.py")),
]

ODD = (
    r"so many",
    r"(?:is|are|was|were) told",
    r"(?:is|are|was|were|be) gone on with",
    r"what came of (?:it|them)",
    r"whoever",
    r"fit for",
    r"the way of",
    r"as (?:it|they) came",
    r"(?:is|are) asked of",
    r"where there (?:is|are) one",
    r"nobody has",
    r"of its own(?!\s(?!(?:and|at|in|is|on|to)\b)\w)",  # but: "the rows of its own anchors"
)
BRITISH = (
    r"behaviours?",
    r"colour\w*",
    r"favour\w*",
    r"neighbour\w*",
    r"(?:label|model|travel|cancel)l(?:ed|ing)",
    r"centre[ds]?",
    r"grey",
    r"analyse[ds]?",
    r"(?:general|character|recogn|normal|regular|initial|minim|maxim|optim|organ|summar|parametr|central)"
    r"is(?:e|es|ed|er|ers|ing|ation|ations)",
)
# A phrase may run over the end of a line.
PHRASES = "|".join((*ODD, *BRITISH)).replace(" ", r"\s+")
FORBIDDEN = re.compile(rf"\b(?:{PHRASES})\b", re.IGNORECASE)
CODE = re.compile(r"```.*?```|``.*?``|`[^`]*`|\]\([^)]*\)|https?://\S+", re.DOTALL)
TITLES = re.compile(r"Principal Neighbourhood Aggregation")
PROSE_TOKENS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def prose_of(file: Path) -> Iterator[tuple[int, str]]:
    """The line and the text of each document, or of each comment and string of a program."""
    text = file.read_text()
    if file.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            # A string without a space is a name, perhaps one of an old file.
            if token.type in PROSE_TOKENS and " " in token.string:
                yield token.start[0], token.string
    else:
        yield 1, text


def forbidden_in(text: str) -> Iterator[tuple[int, str]]:
    """The lines, counted from 0, and the phrases of a text that nobody would say."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n")

    text = TITLES.sub(blank, CODE.sub(blank, text))
    for match in FORBIDDEN.finditer(text):
        yield text.count("\n", 0, match.start()), match[0]


@pytest.mark.parametrize("files", [TEXTS, SOURCES], ids=["documents", "source"])
def test_nothing_is_said_that_nobody_would_say(files: list[Path]) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{start + line}: {phrase}"
        for file in files
        for start, text in prose_of(file)
        for line, phrase in forbidden_in(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "least squares and at least two centers, rows of its own anchors",
        "the most and a total of 3 labels; promised; the exercise; precise",
        "`colour` and ```a neighbour``` and [a page](neighbours.md)",
        "He told us so; it is worth a look; many",
    ],
)
def test_plain_words_are_allowed(text: str) -> None:
    assert not list(forbidden_in(text))


@pytest.mark.parametrize(
    "text",
    [
        "There are so many",
        "whoever it is",
        "a set of its own",
        "its behaviour",
        "the centre",
        "normalised",
        "a grey area",
    ],
)
def test_odd_phrases_and_british_spellings_are_found(text: str) -> None:
    assert len(list(forbidden_in(text))) == 1


def test_no_number_has_a_bare_plus_minus() -> None:
    """It may be a deviation, an error or half an interval: numbers have intervals in brackets."""
    pages = [*(ROOT / "src").rglob("*.jinja"), *TEXTS, *SOURCES]
    assert not [str(page.relative_to(ROOT)) for page in pages if "\N{PLUS-MINUS SIGN}" in page.read_text()]
