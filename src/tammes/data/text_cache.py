"""Sentences read once into files, which are mapped into memory: texts that are larger than it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tammes.data.cache_files import check_cache, check_room, locked, remove_old
from tammes.data.mapped_strings import MappedStrings
from tammes.data.passages import Passage
from tammes.data.texts import Texts

FORMAT = "tammes texts 1"
"""Name and version of the format: a cache of another one is made anew."""
DESCRIPTION = "texts.json"
SENTENCES, NAMES, CLASSES, DOCUMENTS, TOKENS = "sentences", "names", "classes", "documents.bin", "tokens"
FILES = tuple(f"{name}.{kind}" for name in (SENTENCES, NAMES, CLASSES) for kind in ("utf8", "ends"))


def text_place(cache: str | Path, source: str | Path) -> Path:
    """Return the folder within a cache for the sentences of a source.

    The same source has the same folder after it has changed, so that its old sentences are replaced.
    """
    name = Path(source).resolve()
    digest = hashlib.sha256(f"{name}\0texts".encode(errors="surrogateescape")).hexdigest()
    return check_cache(cache) / f"{name.name}-{digest[:12]}"


def cached_texts(
    place: Path,
    settings: dict[str, Any],
    read: Callable[[list[str]], Iterator[Passage]],
    *,
    size: int,
    rows_are_documents: bool,
) -> Texts:
    """Open the sentences that were read into a folder before, or read them into it, one after the other.

    They are read if the folder does not hold them, or holds those of other files, sizes of files, times of
    change, settings, or version of the format. The description is written last, and what is not described is
    not used: a kill leaves nothing that would be taken for whole. Of several processes one reads, and the
    others wait for it.

    Args:
        place: the folder, which is created.
        settings: what the sentences depend on: files with their sizes and times of change, and how they are
            read.
        read: function that yields the sentences, and appends what it leaves out to a list.
        size: bytes of the files that are read.
        rows_are_documents: whether a document stands for a row; if every one has a single sentence, documents
            are not known.

    Raises:
        ValueError: If there is no sentence, or the disk has less room than the files are large, before any
            of them is read.
        OSError: If the folder cannot be written to.

    Example:
        >>> import tempfile
        >>> def read(skipped):
        ...     yield Passage("a:1", "It rains.", "a")
        ...     yield Passage("a:2", "It is wet.", "a")
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for _ in range(2):
        ...         found = cached_texts(Path(root), {}, read, size=0, rows_are_documents=False)
        ...     found, found.sentences[1]
        (Texts(2 sentences, 1 documents), 'It is wet.')
    """
    wanted = {"format": FORMAT, **settings}
    described = _described(place, wanted)
    if described is None:
        place.mkdir(parents=True, exist_ok=True)
        with locked(place):
            described = _described(place, wanted)
            if described is None:
                remove_old(place, (DESCRIPTION, f"{TOKENS}.json", *FILES, DOCUMENTS))
                check_room(place, size, what="the sentences", instead="read them without one")
                described = {**wanted, **_write(place, read, rows_are_documents)}
                beside = place / f"{DESCRIPTION}.{os.getpid()}"
                beside.write_text(json.dumps(described), encoding="ascii")
                os.replace(beside, place / DESCRIPTION)
    return _opened(place, described)


def _opened(place: Path, described: dict[str, Any]) -> Texts:
    count, classes = described["count"], described["classes"]
    labels = None
    if classes:
        labels = torch.from_numpy(np.fromfile(place / DOCUMENTS, np.int32)).long()
    sentences, names = (MappedStrings(folder=place, name=name, total=count) for name in (SENTENCES, NAMES))
    _ = sentences.content, names.content  # mapped now: readable even if another process replaces the files
    return Texts(
        sentences=sentences,
        names=names,
        labels=labels,
        classes=tuple(MappedStrings(folder=place, name=CLASSES, total=classes)) if classes else None,
        skipped=tuple(described["skipped"]),
    )


def _described(place: Path, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """Return the description of a whole and current cache; None if there is none."""
    try:
        found = json.loads((place / DESCRIPTION).read_text(encoding="ascii"))
        if {name: found[name] for name in wanted} != json.loads(json.dumps(wanted)):
            return None
        sizes = {name: (place / name).stat().st_size for name in found["sizes"]}
        return found if sizes == found["sizes"] else None
    except (OSError, ValueError, TypeError, LookupError):
        return None


def _write(
    place: Path, read: Callable[[list[str]], Iterator[Passage]], rows_are_documents: bool
) -> dict[str, Any]:
    """Write the files, and return what their description says beside the settings."""
    skipped: list[str] = []
    classes: dict[str, int] = {}
    names = (*FILES, DOCUMENTS)
    beside = {name: place / f"{name}.{os.getpid()}" for name in names}
    try:
        with ExitStack() as stack:
            files = {name: stack.enter_context(path.open("wb")) for name, path in beside.items()}
            ends = dict.fromkeys((SENTENCES, NAMES, CLASSES), 0)

            def add(kind: str, text: str) -> None:
                content = text.encode("utf-8", "surrogatepass")
                ends[kind] += len(content)
                files[f"{kind}.utf8"].write(content)
                files[f"{kind}.ends"].write(ends[kind].to_bytes(8, "little"))

            count = 0
            for passage in read(skipped):
                add(SENTENCES, passage.text)
                add(NAMES, passage.name)
                if passage.document is not None:
                    if passage.document not in classes:
                        add(CLASSES, passage.document)
                    label = classes.setdefault(passage.document, len(classes))
                    files[DOCUMENTS].write(label.to_bytes(4, "little"))
                count += 1
            for file in files.values():
                file.flush()
                os.fsync(file.fileno())
        if not count:
            raise ValueError("expected sentences, found none")
        for name in names:
            os.replace(beside[name], place / name)
    except BaseException:
        for path in beside.values():
            path.unlink(missing_ok=True)
        raise
    known = 0 if rows_are_documents and len(classes) == count else len(classes)
    return {
        "count": count,
        "classes": known,
        "skipped": skipped,
        "sizes": {name: (place / name).stat().st_size for name in names},
    }
