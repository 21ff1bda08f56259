"""Damage to files: a pure function of the content and a seeded generator of random numbers."""

from __future__ import annotations

import gzip
import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable

Damage = Callable[[random.Random, bytes], bytes]
ODD = (
    b"-1",
    b"0",
    b"",
    b"nan",
    b"1e999",
    b"99999999999999999999",
    b"123456789",
    b"true",
    b"[]",
    b"\x00",
    b"\xff",
)
"""Words that stand in the place of a number or another word."""


def damaged(generator: random.Random, content: bytes) -> bytes:
    """Return the content with one to three damages; in half of the archives, inside a part of theirs."""
    within = INSIDE.get(content[:4]) or INSIDE.get(content[:2])
    if within is not None and generator.random() < 0.5:
        return within(generator, content)
    for _ in range(generator.randint(1, 3)):
        content = generator.choice(DAMAGES)(generator, content)
    return content


def _flipped(generator: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(generator.choice((1, 1, 4, 30)) if changed else 0):
        place = _place(generator, content)
        changed[place] = generator.choice(
            (changed[place] ^ 1 << generator.randrange(8), generator.randrange(256))
        )
    return bytes(changed)


def _cut(generator: random.Random, content: bytes) -> bytes:
    return content[: generator.randint(0, len(content))]


def _deleted(generator: random.Random, content: bytes) -> bytes:
    start, end = _run(generator, content)
    return content[:start] + content[end:]


def _repeated(generator: random.Random, content: bytes) -> bytes:
    start, end = _run(generator, content)
    return content[:end] + content[start:end] * generator.randint(1, 5) + content[end:]


def _inserted(generator: random.Random, content: bytes) -> bytes:
    place = _place(generator, content)
    return content[:place] + generator.randbytes(generator.randint(1, 20)) + content[place:]


def _swapped(generator: random.Random, content: bytes) -> bytes:
    a, b, c = sorted(generator.randint(0, len(content)) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def _blanked(generator: random.Random, content: bytes) -> bytes:
    start, end = _run(generator, content)
    return content[:start] + generator.choice((b"\x00", b"\xff")) * (end - start) + content[end:]


def _odd_word(generator: random.Random, content: bytes) -> bytes:
    words = list(re.finditer(rb"[-\w.]+", content[:100_000]))
    if not words:
        return content
    word = generator.choice(words)
    return content[: word.start()] + generator.choice(ODD) + content[word.end() :]


DAMAGES: tuple[Damage, ...] = (
    _flipped,
    _flipped,
    _cut,
    _deleted,
    _repeated,
    _inserted,
    _swapped,
    _blanked,
    _odd_word,
    _odd_word,
)


def _place(generator: random.Random, content: bytes) -> int:
    """Return a random place, often near the beginning, where headers are."""
    end = len(content) if generator.random() < 0.5 else min(len(content), 64)
    return generator.randrange(end) if end else 0


def _run(generator: random.Random, content: bytes) -> tuple[int, int]:
    start = _place(generator, content)
    return start, min(len(content), start + generator.choice((1, 4, 16, 256)))


def _within_gzip(generator: random.Random, content: bytes) -> bytes:
    return gzip.compress(damaged(generator, gzip.decompress(content)), compresslevel=1)


def _within_zip(generator: random.Random, content: bytes) -> bytes:
    members = unzipped(content)
    name = generator.choice(list(members))
    return zipped({**members, name: damaged(generator, members[name])})


def _within_png(generator: random.Random, content: bytes) -> bytes:
    """Damage a chunk, and correct its length and checksum."""
    chunks, place = [], 8
    while place < len(content):
        (length,) = struct.unpack_from(">I", content, place)
        chunks.append((content[place + 4 : place + 8], content[place + 8 : place + 8 + length]))
        place += 12 + length
    chosen = generator.randrange(len(chunks))
    kind, inside = chunks[chosen]
    if kind == b"IDAT" and generator.random() < 0.5:
        chunks[chosen] = kind, zlib.compress(damaged(generator, zlib.decompress(inside)))
    else:
        chunks[chosen] = kind, damaged(generator, inside)
    return content[:8] + b"".join(
        struct.pack(">I", len(inside)) + kind + inside + struct.pack(">I", zlib.crc32(kind + inside))
        for kind, inside in chunks
    )


INSIDE: dict[bytes, Damage] = {b"\x1f\x8b": _within_gzip, b"PK\x03\x04": _within_zip, b"\x89PNG": _within_png}
"""Damage inside archives, which their checksums would otherwise show, by the first bytes."""


def unzipped(content: bytes) -> dict[str, bytes]:
    """Return the members of a zip archive by their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a zip archive of these members, with correct checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()
