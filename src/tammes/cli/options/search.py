"""Options of `tammes search`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tammes.checks import check_integer
from tammes.cli.options.data import RARE, Accelerator, Source
from tammes.cli.options.parsing import Options


@dataclass(frozen=True, kw_only=True)
class Search:
    """Find the sentences of a collection that are nearest to queries, by a trained encoder.

    tammes search runs/mine --data FOLDER --query "It rained all day." "She laughed."

    The features of all sentences are kept in the folder `search` of the run. The next search finds them
    there, unless the sentences have changed: then they are made anew, and a line says so. Those of other
    weights, of another run or of this one before it was trained further, are refused. A stopped search goes
    on where it was. Up to 200,000 sentences it is exact; above, the library faiss finds most of the nearest
    ones, and the share is printed.

    Args:
        run: Folder of the run.
        query: One or several queries.
        top: Number of sentences to find for each query.
        json: Print one JSON object instead of tables.
        accelerator: Device to compute on; auto takes a GPU if there is one.
        trust: Build the network by the code that the run names (encoder:module), which is executed.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    source: Source
    query: tuple[str, ...]
    top: int = 10
    json: bool = False
    accelerator: Accelerator = "auto"
    trust: bool = False

    def __post_init__(self) -> None:
        check_integer("--top", self.top)
        if not self.query or not all(each.strip() for each in self.query):
            got = " ".join(map(repr, self.query)) or "none"
            raise ValueError(f'--query must be words to look for, as in --query "It rained.", got {got}')


def parse(words: Sequence[str]) -> Search:
    """Return what the words after `tammes search` choose."""
    choice: Search = Options.of(Search, RARE | {"trust"}).parse("search", words)
    return choice
