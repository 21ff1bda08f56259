"""Cutting prose: where the rule sees the end of a sentence, and that nothing gets lost."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tammes.data import passages
from tammes.data.passages import split_prose


@pytest.mark.parametrize(
    "sentences",
    [
        ["It rained.", "We stayed in!", "Why?", "Well…", "So it was."],
        ["“Oh!” cried she.", "“Come in.”", "‘No,’ he said."],
        ['He said "Stop." and left.', "(It was late.)", "Then [sic] she sang."],
        ["Mr. and Mrs. Smith met Dr. J. R. Jones.", "St. Ives is near."],
        ["It cost $3.50 in 1999.", "2 of them came, e.g. Anna and No. 5."],
        ["So am I.", "And she?"],
        ["What?!", "Never..."],
        ["The address is example.com and v1.2 is out."],
        ["he went... and came back."],
    ],
)
def test_sentences_are_found_again(sentences: list[str]) -> None:
    assert split_prose(" ".join(sentences)) == sentences
    assert split_prose("\n".join(sentences)) == sentences


def test_an_empty_line_ends_a_sentence_and_a_single_break_does_not() -> None:
    assert split_prose("CHAPTER I\r\n \r\nIt was\r\nlate\n\n\n\nand cold") == [
        "CHAPTER I",
        "It was late",
        "and cold",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n"])
def test_there_is_no_sentence_where_there_is_nothing(text: str) -> None:
    assert split_prose(text) == []


@given(st.text(alphabet="aB1.!?…\"'”) \n\r", max_size=60))
def test_sentences_together_are_the_text_and_none_is_empty(text: str) -> None:
    sentences = split_prose(text)
    assert " ".join(sentences).split() == text.split()
    assert all(sentence and sentence == sentence.strip() for sentence in sentences)


@given(st.text("..!?… \n”)( Aa1", max_size=60))
def test_marks_are_found_as_by_the_plain_pattern(text: str) -> None:
    # Without the shortcuts that make a long run of marks quick.
    plain = re.compile(r"""[.!?…]+["'”’»)\]}_*]*\s+""")
    assert [mark.span() for mark in passages.MARK.finditer(text)] == [
        mark.span() for mark in plain.finditer(text)
    ]


@pytest.mark.parametrize(
    "text", ["." * 20_000, ".)" * 20_000, "." * 10_000 + ")" * 10_000, "?" * 20_000 + " A"]
)
def test_runs_of_marks_take_no_time(text: str) -> None:
    start = time.perf_counter()
    assert "".join(split_prose(text)).replace(" ", "") == text.replace(" ", "")
    assert time.perf_counter() - start < 1
