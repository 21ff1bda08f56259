"""Options of `tammes encode`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from tammes.checks import check_integer, check_number
from tammes.cli.options.parsing import Options

EncodingName = Literal["laplacian", "random-walk", "heat", "angles", "projectors"]

TIMES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Times of heat unless others are chosen; the help of `--times` names them."""


@dataclass(frozen=True, kw_only=True)
class Encode:
    """Write positional encodings of the nodes of graphs to a file, a row for each node.

    tammes encode tu/MUTAG --out encodings.parquet

    tammes encode tu/MUTAG --encoding random-walk --count 16 --out encodings.parquet

    Args:
        graphs: Graphs: a set of the TU collection, lists of edges (*.edges, *.edgelist), one graph of such a
            list whatever its third column is (nodes:PATH), or a table with edge_index (hf:PATH).
        out: File to write, .parquet: the columns graph, node (from 0 within its graph), name (of the node in
            a list of edges), and a list for each encoding.
        encoding: Encodings to write: laplacian (eigenvectors after the first, with their eigenvalues),
            random-walk (probabilities of being back), heat (heat still at the node), angles (of the first
            eigenspaces), projectors (of the vector of ones onto the first eigenspaces).
        count: Columns of each encoding but heat: eigenvectors, steps, or eigenspaces.
        times: Times of heat, of which each is a column (by default 0.5 1 2 4 8 16).
        run: Folder of a run whose encoder has positions (encoder.positions:sign-invariant or
            basis-invariant): its trained SignNet or BasisNet is written as the column learned.
        split: Part of a table (hf:PATH) that has several.
    """

    graphs: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GRAPHS")]
    out: Path
    encoding: Annotated[tuple[EncodingName, ...], tyro.conf.arg(metavar="ENCODINGS")] = (
        "laplacian",
        "random-walk",
        "heat",
        "angles",
        "projectors",
    )
    count: int = 8
    times: Annotated[tuple[float, ...] | None, tyro.conf.arg(metavar="TIMES")] = None
    run: Path | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        check_integer("--count", self.count)
        if len(set(self.encoding)) < len(self.encoding):
            raise ValueError("give each --encoding once")
        if not self.encoding and self.run is None:
            raise ValueError("give at least one --encoding, or a --run")
        if self.times is not None:
            if not self.times:
                raise ValueError("give at least one of --times")
            if "heat" not in self.encoding:
                raise ValueError("--times is for --encoding heat, which was not chosen: leave it out")
            for time in self.times:
                check_number("each of --times", time, minimum=0)
        if self.out.suffix != ".parquet":
            raise ValueError(f"--out must end in .parquet, got {self.out}")


def parse(words: Sequence[str]) -> Encode:
    """Return what the words after `tammes encode` choose."""
    choice: Encode = Options.of(Encode, {"split"}).parse("encode", words)
    return choice
