"""The sentences nearest to a query, from an index that is kept in the folder of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from tammes.atomic import write_atomically
from tammes.checks import check_file, check_integer
from tammes.data.subwords import Subwords
from tammes.data.texts import Texts
from tammes.data.vocabulary import Vocabulary
from tammes.diagnostics.nearest import cell_index, faiss_module, largest_products
from tammes.training.assets import tokenizer_of
from tammes.training.embedding import embed
from tammes.training.model import Model
from tammes.training.run_folder import RunFolder
from tammes.training.weights import weights_digest

FOLDER, DESCRIPTION, ROWS, CELLS = "search", "index.json", "rows.f32", "cells.faiss"
"""Folder of the index in that of the run, and its files."""
EXACT = 200_000
"""Sentences up to which the search is exact, as in `tammes.diagnosis`."""
BLOCK = 8_192
"""Sentences that are embedded before they are written."""
PROBES = 96
"""Cells that a query searches: four times those of `tammes.diagnosis`, which searches for every row."""
CANDIDATES = 1_000
"""Rows of an index of cells whose exact similarities order the answer, at least."""
TESTED = 100
"""Sentences whose exact neighbors measure the recall of cells."""

Said = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Description:
    """What an index was made of, by which another is recognized.

    Args:
        weights: checksum of the encoder's weights.
        data: checksum of the sentences and their names.
        rows: number of sentences.
        dim: width of the features.
        done: number of sentences whose features are written.
        recall: share of the 10 true neighbors that cells find; None before they are made, and without cells.
    """

    weights: str
    data: str
    rows: int
    dim: int
    done: int = 0
    recall: float | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """A sentence near a query.

    Args:
        similarity: cosine of the features of both.
        name: where the sentence stands.
        sentence: the sentence.
    """

    similarity: float
    name: str
    sentence: str


@dataclass(frozen=True, kw_only=True, eq=False)
class SentenceIndex:
    """Unit features of all sentences, mapped from a file, and cells around them if there are many.

    Args:
        model: encoder and head.
        texts: the n sentences.
        rows: their features at unit length, in float32.
        cells: index of faiss; None for an exact search.
        recall: share of the 10 true neighbors that the search finds; 1 if it is exact.
    """

    model: Model
    texts: Texts
    rows: np.ndarray
    cells: Any = None
    recall: float = 1.0

    def search(self, queries: Sequence[str], most: int = 10) -> list[list[Found]]:
        """Return the sentences nearest to each query, the nearest first.

        Args:
            queries: queries, none of them blank.
            most: number of sentences for each; all of them, or all in the cells searched, if that is fewer.

        Raises:
            ValueError: no query, or a blank one; an index with features that are not finite.
        """
        check_integer("most", most)
        check_queries(queries)
        asked = unit_features(self.model, Texts.of(queries))
        most = min(most, len(self.texts))
        similarity, rows = (
            largest_products(asked, self.rows, most) if self.cells is None else self._by_cells(asked, most)
        )
        if bool((similarity.isnan() | similarity.isposinf()).any()):
            raise ValueError(
                f"the index is damaged (features in {ROWS} are not finite): remove the folder {FOLDER} of "
                "the run"
            )
        return [
            [
                Found(similarity=each, name=self.texts.names[row], sentence=self.texts.sentences[row])
                for each, row in zip(of_query, places, strict=True)
                if row >= 0  # places that a search by cells leaves empty are -1
            ]
            for of_query, places in zip(similarity.tolist(), rows.tolist(), strict=True)
        ]

    def _by_cells(self, asked: Tensor, most: int) -> tuple[Tensor, Tensor]:
        _, candidates = self.cells.search(asked.numpy(), max(CANDIDATES, 4 * most))
        places = torch.from_numpy(candidates)
        known = torch.from_numpy(self.rows[places.clamp(min=0).numpy()])  # q, candidates, dim
        similarity = (known @ asked[:, :, None])[:, :, 0].where(places >= 0, -torch.inf)
        best = similarity.topk(min(most, places.shape[1]), dim=1)
        return best.values, places.gather(1, best.indices)


def check_queries(queries: Sequence[str]) -> None:
    """Raise ValueError without a query, or for a blank one.

    Example:
        >>> check_queries(["rain", " "])
        Traceback (most recent call last):
            ...
        ValueError: expected words in every query, got ' ' as number 2
    """
    if not queries:
        raise ValueError("expected a query at least, got none")
    for number, query in enumerate(queries, 1):
        if not query.strip():
            raise ValueError(f"expected words in every query, got {query!r} as number {number}")


def unknown_queries(model: Model, queries: Sequence[str]) -> list[str]:
    """Return the queries of which the encoder knows no word: their answers say nothing.

    Args:
        model: encoder and head; that of a model of transformers, which spells every word, knows all.
        queries: queries, none of them blank.
    """
    tokenizer = tokenizer_of(model.assets)
    if not isinstance(tokenizer, Vocabulary | Subwords):
        return []
    # Points and commas are words, too, and say no more.
    means = [place > 0 and any(map(str.isalnum, word)) for place, word in enumerate(tokenizer.words)]
    tokens = {query: tokenizer.encode([query]).ids.tolist() for query in queries}
    return [query for query, ids in tokens.items() if not any(means[each] for each in ids)]


def unit_features(model: Model, texts: Texts) -> Float[Tensor, "n features"]:
    """Return the encoder's features of sentences, at unit length."""
    return normalize(embed(model, texts)[0], dim=1)


def sentence_index(run: Path, model: Model, texts: Texts, *, say: Said = lambda line: None) -> SentenceIndex:
    """Return the index of these sentences in the folder of a run, which is built where there is none.

    An index of other sentences is built anew, one of other weights is refused. A build that was stopped goes
    on from the block of 8,192 sentences in which it was. Above 200,000 sentences the search is by cells of
    faiss, else exact.

    Args:
        run: folder of a finished run.
        model: its encoder and head, on any device.
        texts: the sentences.
        say: function that takes a line about what is done.

    Raises:
        ValueError: a damaged index, or one of other weights; another process that works in the folder.
        ImportError: more than 200,000 sentences, and faiss is not installed.
    """
    folder = RunFolder(path=run)
    wanted = Description(
        weights=weights_digest(folder.weights),
        data=_digest(texts),
        rows=len(texts),
        dim=model.encoder.features,
    )
    place = run / FOLDER
    if wanted.rows > EXACT:
        faiss_module()  # to say that it is missing before the work and not after it
    with folder.locked():
        place.mkdir(exist_ok=True)
        known = _known(place, wanted, say)
        if known.done < known.rows:
            known = _embed_rest(place, known, model, texts, say)
        # "c" keeps the file as it is, and torch from warning of an array that cannot be written to.
        rows = np.memmap(place / ROWS, np.float32, "c", shape=(known.rows, known.dim))
        if known.rows <= EXACT:
            return SentenceIndex(model=model, texts=texts, rows=rows)
        if known.recall is None:
            known = _make_cells(place, known, rows, say)
    cells: Any = faiss_module().read_index(str(place / CELLS))
    assert known.recall is not None
    return SentenceIndex(model=model, texts=texts, rows=rows, cells=cells, recall=known.recall)


def _known(place: Path, wanted: Description, say: Said) -> Description:
    """Return the description of the index that is there, or of an empty one."""
    file = place / DESCRIPTION
    if not file.exists():
        say(f"building an index of {wanted.rows:,} sentences in {place}")
        return wanted
    try:
        content = json.loads(check_file(file).read_text(encoding="utf-8"))
        names = {each.name for each in fields(Description)}
        if not isinstance(content, dict) or set(content) != names:
            raise ValueError(f"{DESCRIPTION} expected {', '.join(sorted(names))}")
        found = Description(**content)
        size = (place / ROWS).stat().st_size if found.done else 4 * found.rows * found.dim
        if size != 4 * found.rows * found.dim or not 0 <= found.done <= found.rows:
            raise ValueError(f"{ROWS} has {size:,} bytes")
        if found.recall is not None and not (place / CELLS).is_file():
            raise ValueError(f"{CELLS} is missing")
    except (ValueError, TypeError, OSError) as error:
        raise ValueError(f"the index in {place} is damaged ({error}): remove the folder") from error
    if found.weights != wanted.weights:
        raise ValueError(
            f"the index in {place} is of other weights than those of the run: it comes from another run, or "
            "this one was trained further. Remove the folder, and the next search makes it anew"
        )
    if (found.data, found.rows, found.dim) != (wanted.data, wanted.rows, wanted.dim):
        say(f"the sentences have changed since the index in {place} was made: building it anew")
        return wanted
    if found.done < found.rows:
        say(f"going on with the index in {place} from sentence {found.done + 1:,} of {found.rows:,}")
    return found


def _embed_rest(place: Path, known: Description, model: Model, texts: Texts, say: Said) -> Description:
    """Write the features of the sentences that are missing, block by block."""
    if known.done == 0:
        _write(place, known)  # before the rows: those of another index must not pass for these
        (place / CELLS).unlink(missing_ok=True)
        with (place / ROWS).open("wb") as file:
            file.truncate(4 * known.rows * known.dim)
    rows = np.memmap(place / ROWS, np.float32, "r+", shape=(known.rows, known.dim))
    for start in range(known.done, known.rows, BLOCK):
        stop = min(start + BLOCK, known.rows)
        rows[start:stop] = unit_features(model, texts.subset(range(start, stop))).numpy()
        rows.flush()
        known = Description(**{**asdict(known), "done": stop})
        _write(place, known)
        if stop == known.rows or stop % (16 * BLOCK) == 0:
            say(f"embedded {stop:,} of {known.rows:,} sentences")
    return known


def _make_cells(place: Path, known: Description, rows: np.ndarray, say: Said) -> Description:
    """Write the index of cells, and measure its recall."""
    say(f"sorting {known.rows:,} sentences into cells")
    cells = cell_index(rows, PROBES)
    faiss_module().write_index(cells, str(place / CELLS))
    asked = torch.from_numpy(np.array(rows[:: max(1, known.rows // TESTED)][:TESTED]))
    exact = largest_products(asked, rows, 10)[0]
    unloaded = SentenceIndex(model=None, texts=None, rows=rows, cells=cells)  # type: ignore[arg-type]
    found = unloaded._by_cells(asked, 10)[0]
    # Of equally near sentences any counts as found.
    recall = float((found >= exact[:, -1:] - 1e-5).double().mean())
    known = Description(**{**asdict(known), "recall": recall})
    _write(place, known)
    return known


def _write(place: Path, known: Description) -> None:
    write_atomically(place / DESCRIPTION, (json.dumps(asdict(known), indent=1) + "\n").encode())


def _digest(texts: Texts) -> str:
    """Return the checksum of the sentences and of their names."""
    digest = hashlib.sha256()
    for parts in (texts.sentences, texts.names):
        # In blocks: one string of everything would double the memory.
        for start in range(0, len(parts), BLOCK):
            digest.update("\0".join(parts[start : start + BLOCK]).encode("utf-8", "surrogatepass") + b"\0\0")
    return digest.hexdigest()
