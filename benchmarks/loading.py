"""What it takes to read images, from a folder, its cache, tar shards and parquet files, and to read texts.

    python benchmarks/loading.py
    python benchmarks/loading.py --folder PHOTOGRAPHS --books BOOKS

reads the images of a folder, by default 5,544 JPEGs of blurred noise with 64x64 pixels, and the same images
packed into ten archives and into ten parquet files: once to open the set with and without a look at every
image, and once in the random order of an epoch. Then single larger files are checked, and the glyphs drawn.
BOOKS is a folder of plain texts in running prose, which are cut into sentences, in memory and into a cache.
All times are processor time of one thread, medians of three but for what is made once: the caches.
"""

from __future__ import annotations

import argparse
import io
import statistics
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image, ImageFilter

from machine import description
from streaming import pool
from tammes.data import Images, folder, glyphs, texts
from tammes.data.image_files import SUFFIXES, is_image
from tammes.data.shards import shards
from tammes.data.stream_files import stream_of_files
from tammes.training.shard_order import ShardOrder, sharded

COUNT, SIDE, FILES, BATCH, ROUNDS = 5544, 64, 10, 256, 3
Result = TypeVar("Result")


def timed(call: Callable[[], Result]) -> tuple[float, Result]:
    """The median processor time of a call in seconds, and what it returns."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        result = call()
        seconds.append(time.process_time() - begun)
    return statistics.median(seconds), result


def write_folder(place: Path) -> None:
    """Write JPEGs of blurred noise."""
    place.mkdir()
    files = pool(SIDE)
    for number in range(COUNT):
        (place / f"{number:05d}.jpg").write_bytes(files[number % len(files)])


def pack(images: list[Path], archives: Path, tables: Path) -> None:
    """Write the images into archives and into parquet files."""
    archives.mkdir()
    tables.mkdir()
    for part in range(FILES):
        some = images[part::FILES]
        with tarfile.open(archives / f"{part:03d}.tar", "w") as archive:
            for number, image in enumerate(some):
                archive.add(image, arcname=f"{number:06d}{image.suffix}")
        rows = [{"bytes": image.read_bytes(), "path": None} for image in some]
        pq.write_table(pa.table({"image": rows}), tables / f"{part:03d}.parquet")


def epoch(images: Images) -> None:
    """Read all images once, in the order of a training."""
    stored = sharded(images)
    if stored is None:
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    else:
        order = ShardOrder(shards=stored.shards, buffer=stored.buffer, seed=0).epoch(0)
    for start in range(0, len(images), BATCH):
        images.batch(order[start : start + BATCH])


def photograph(kind: str, place: Path) -> Path:
    """Write a noisy picture of 500x375 pixels."""
    noise = np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).filter(ImageFilter.GaussianBlur(2)).save(file, kind, quality=90)
    path = place / f"photograph.{kind}"
    path.write_bytes(file.getvalue())
    return path


def row(name: str, seconds: float, *, per: int) -> None:
    """Print a row of the table."""
    print(f"| {name} | {seconds:.2f} | {1e3 * seconds / per:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="images to read instead")
    parser.add_argument("--books", type=Path, help="plain texts to read as well")
    choice = parser.parse_args()
    torch.set_num_threads(1)
    print(description())
    print("| | seconds | milliseconds for each |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        files = choice.folder or place / "files"
        if choice.folder is None:
            write_folder(files)
        archives, tables, cache = place / "archives", place / "tables", place / "cache"
        seconds, images = timed(lambda: folder(files, size=SIDE, unchecked=True))
        count = len(images)
        row("folder, header and end of each image", seconds, per=count)
        row("folder, each image decoded", timed(lambda: folder(files, size=SIDE))[0], per=count)
        row("an epoch from the folder", timed(lambda: epoch(images))[0], per=count)
        begun = time.process_time()
        folder(files, size=SIDE, cache=cache)
        row("making the cache", time.process_time() - begun, per=count)
        seconds, images = timed(lambda: folder(files, size=SIDE, cache=cache))
        row("opening the cache", seconds, per=count)
        row("an epoch from the cache", timed(lambda: epoch(images))[0], per=count)
        pack([path for path in sorted(files.rglob("*")) if path.suffix.lower() in SUFFIXES], archives, tables)
        pattern = f"{archives}/{{000..{FILES - 1:03d}}}.tar"
        seconds, images = timed(lambda: shards(pattern, size=SIDE, unchecked=True))
        row("archives, index", seconds, per=count)
        row("archives, each image decoded", timed(lambda: shards(pattern, size=SIDE))[0], per=count)
        row("an epoch from the archives", timed(lambda: epoch(images))[0], per=count)
        seconds, images = timed(lambda: stream_of_files(f"hf:{tables}", size=SIDE, unchecked=True))
        row("parquet files, index", seconds, per=count)
        checked = timed(lambda: stream_of_files(f"hf:{tables}", size=SIDE))[0]
        row("parquet files, each image decoded", checked, per=count)
        row("an epoch from the parquet files", timed(lambda: epoch(images))[0], per=count)
        for kind in ("jpeg", "png"):
            path = photograph(kind, place)
            row(
                f"a {kind.upper()} of 500x375 pixels, decoded",
                timed(lambda path=path: is_image(path))[0],
                per=1,
            )
        drawings = len(glyphs("train"))
        row(f"drawing glyphs, {drawings:,}", timed(lambda: glyphs("train"))[0], per=drawings)
        if choice.books is not None:
            begun = time.process_time()
            sentences = texts(choice.books, prose=True, cache=cache)
            passed, count = time.process_time() - begun, len(sentences)
            row(f"texts, {count:,} sentences into the cache", passed, per=count)
            seconds, _ = timed(lambda: texts(choice.books, prose=True, cache=cache))
            row("texts, opening the cache", seconds, per=count)
            row("texts, into memory", timed(lambda: texts(choice.books, prose=True))[0], per=count)


if __name__ == "__main__":
    main()
