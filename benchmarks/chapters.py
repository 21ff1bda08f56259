"""Cut plain-text novels into chapters, the documents on which docs/negatives_text.md was measured.

    python benchmarks/chapters.py NOVELS CHAPTERS

NOVELS holds a plain-text file for each novel, such as Project Gutenberg's. CHAPTERS gets a file for each
chapter with at least 150 sentences, its first 200 sentences, one a line: about the shape of Wiki-3029. A
chapter begins at a line of the form "Chapter 12", "LETTER IV" or "XII."; the sentences are cut by
`split_prose`. The same novels give the same files.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from tammes.data.passages import read_text, split_prose

FEWEST, MOST = 150, 200
HEADING = re.compile(
    r"^[ \t]*(?:(?:chapter|letter|adventure)[ \t]+(?:[ivxlc]+|\d+)\b.*|[ivxlc]+\.?[ \t]*)$",
    re.MULTILINE | re.IGNORECASE,
)


def chapters(text: str) -> Iterator[list[str]]:
    """Yield the first 200 sentences of each chapter that has 150 or more."""
    # What stands before the first heading is the title and the contents.
    for passage in HEADING.split(text)[1:]:
        sentences = [" ".join(sentence.split()) for sentence in split_prose(passage)]
        if len(sentences) >= FEWEST:
            yield sentences[:MOST]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("novels", type=Path)
    parser.add_argument("chapters", type=Path)
    arguments = parser.parse_args()
    arguments.chapters.mkdir(parents=True)
    for novel in sorted(arguments.novels.glob("*.txt")):
        for number, sentences in enumerate(chapters(read_text(novel, "utf-8")), 1):
            (arguments.chapters / f"{novel.stem}-{number:03d}.txt").write_text("\n".join(sentences) + "\n")
    print(f"wrote {len(list(arguments.chapters.iterdir()))} chapters to {arguments.chapters}")


if __name__ == "__main__":
    main()
