"""The sentence that describes a page: the first of its paragraphs that begins one."""

import re
from collections.abc import Iterable

END = re.compile(r"[.?!](?=\s+[^a-z\s]|\s*$)")
ABBREVIATIONS = {"al", "approx", "cf", "ch", "e.g", "eq", "fig", "i.e", "pp", "sec", "vs"}


def describing_sentence(paragraphs: Iterable[str]) -> str:
    """Return the first whole sentence of the first paragraph that has one, or nothing.

    A paragraph that begins in lower case goes on from an equation or a command above it.

    Example:
        >>> describing_sentence(["drawn from a seed.", "Ash et al. (2022) vary k. They find a best one."])
        'Ash et al. (2022) vary k.'
    """
    for paragraph in paragraphs:
        text = " ".join(paragraph.split())
        if text[:1].islower():
            continue
        for end in END.finditer(text):
            word = text[: end.start()].rpartition(" ")[2]
            if word.lstrip("(").lower() not in ABBREVIATIONS:
                return text[: end.end()]
    return ""
