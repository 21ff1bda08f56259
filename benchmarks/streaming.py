"""Images that do not fit in memory, read as a stream: the index, an epoch, and what is held in memory.

    python benchmarks/streaming.py FOLDER --gigabytes 30            # writes the set into FOLDER first
    python benchmarks/streaming.py FOLDER --seconds 60 --workers 2

The set is parquet files of JPEGs, drawn from 1,024 different ones of blurred noise, each with a class. The
index is read once at the start of a training, here without decoding the images. An epoch is read in the
order of a training, with its shuffling, for some seconds: images are decoded and scaled. The peer is
`datasets` as its documentation has it: `shuffle` with as large a buffer, and the same decoding, in a loader
of torch. Both take turns. Memory is what this process holds at most beyond what it held before.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image, ImageFilter
from rich.console import Console
from torch.utils.data import DataLoader

from machine import description
from memory import rise_of
from tammes.data import Images
from tammes.data.image_files import decode
from tammes.data.shards import BUFFER
from tammes.data.stream_files import stream_of_files
from tammes.training.shard_order import ShardOrder

POOL, GROUP, CLASSES, BATCH = 1024, 1024, 1000, 256
FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=[f"{place:04d}" for place in range(CLASSES)]),
    }
)


def pool(side: int) -> list[bytes]:
    """Different JPEGs of blurred noise in colors."""
    generator, found = np.random.default_rng(0), []
    for _ in range(POOL):
        noise = generator.integers(0, 256, (side, side, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(noise).filter(ImageFilter.GaussianBlur(side / 64)).save(file, "jpeg", quality=90)
        found.append(file.getvalue())
    return found


def write(folder: Path, gigabytes: float, files: int, side: int) -> int:
    """Write the set, and return the number of its images."""
    folder.mkdir(parents=True)
    images, generator, total = pool(side), np.random.default_rng(1), 0
    schema = FEATURES.arrow_schema
    for number in range(files):
        written = 0
        with pq.ParquetWriter(folder / f"{number:04d}.parquet", schema, compression="none") as writer:
            while written < 1e9 * gigabytes / files:
                chosen = generator.integers(0, POOL, GROUP)
                rows = [{"bytes": images[each], "path": None} for each in chosen.tolist()]
                labels = generator.integers(0, CLASSES, GROUP)
                writer.write_table(pa.table({"image": rows, "label": labels}, schema=schema))
                written += sum(len(row["bytes"]) for row in rows)
                total += GROUP
    return total


def rate(batches: Iterator[torch.Tensor], seconds: float) -> float:
    """Images a second, after the first batch."""
    next(batches)
    begun, count = time.perf_counter(), 0
    for batch in batches:
        count += len(batch)
        if (passed := time.perf_counter() - begun) > seconds:
            return count / passed
    return count / (time.perf_counter() - begun)


def ours(images: Images, epoch: int, workers: int) -> Iterator[torch.Tensor]:
    """Batches of an epoch in the order of a training."""
    pixels = images.pixels
    order = ShardOrder(shards=pixels.shards, buffer=pixels.buffer, seed=0).epoch(epoch)
    rows = [order[start : start + BATCH].tolist() for start in range(0, len(order), BATCH)]
    loader = DataLoader(rows, batch_size=None, num_workers=workers, collate_fn=pixels.batch)
    yield from loader


def decoded(row: dict, size: int) -> torch.Tensor:
    """An image as ours decodes it."""
    return decode(row["image"]["bytes"], size=size, channels=3, name="")


def peer(folder: Path, epoch: int, size: int, workers: int) -> Iterator[torch.Tensor]:
    """Batches of `datasets` with its own shuffling."""
    files = sorted(map(str, folder.iterdir()))
    stream = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)
    stream = stream.cast_column("image", datasets.Image(decode=False))
    shuffled = stream.shuffle(seed=epoch, buffer_size=BUFFER)
    loader = DataLoader(
        shuffled,
        batch_size=BATCH,
        num_workers=workers,
        collate_fn=partial(together, size=size),
    )
    yield from loader


def together(rows: list[dict], size: int) -> torch.Tensor:
    """A batch of decoded images."""
    return torch.stack([decoded(row, size) for row in rows])


def main() -> None:
    """Write the set if it is not there, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, default=30.0, help="size of the set that is written")
    parser.add_argument("--files", type=int, default=64)
    parser.add_argument("--side", type=int, default=224, help="height and width of the stored images")
    parser.add_argument("--size", type=int, default=64, help="to which they are scaled")
    parser.add_argument("--seconds", type=float, default=30.0, help="measuring time of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    console = Console(highlight=False)
    console.print(description())
    if not options.folder.exists():
        begun = time.perf_counter()
        total = write(options.folder, options.gigabytes, options.files, options.side)
        console.print(f"Wrote {total:,} images in {time.perf_counter() - begun:,.0f} s")
    found: list[Images] = []
    begun = time.perf_counter()
    load = partial(stream_of_files, f"hf:{options.folder}", size=options.size, unchecked=True)
    held = rise_of(lambda: found.append(load()))
    passed, count = time.perf_counter() - begun, len(found[0])
    console.print(
        f"Index of {count:,} images: {passed:,.0f} s, {count / passed:,.0f} a second, {held:,.0f} MB at most"
    )
    rates: dict[str, list[float]] = {"tammes": [], "datasets": []}
    for epoch in range(options.rounds):
        rates["tammes"].append(rate(ours(found[0], epoch, options.workers), options.seconds))
        of_peer = peer(options.folder, epoch, options.size, options.workers)
        rates["datasets"].append(rate(of_peer, options.seconds))
    for name, each in rates.items():
        console.print(
            f"{name}: {np.median(each):,.0f} images a second ({min(each):,.0f} to {max(each):,.0f})"
        )
    ratios = [first / second for first, second in zip(*rates.values(), strict=True)]
    console.print(f"ours / datasets: {np.median(ratios):.2f}")


if __name__ == "__main__":
    main()
