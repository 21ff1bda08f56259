"""Images that do not fit in memory, read as a stream: the index, an epoch, and what is held in memory.

    python benchmarks/streaming.py FOLDER --gigabytes 30             # writes the set into FOLDER first
    python benchmarks/streaming.py FOLDER --unchecked --seconds 60

The set is parquet files of JPEGs, drawn from 4,096 different ones of blurred noise, each with a class. The index
is read once at the start of a training; an epoch is read in the order of a training, with its shuffling and
decoding, for some seconds. The peer is the loop of the `datasets` library's own documentation: `shuffle` with
the same buffer, decoded by Pillow and scaled to the same size. Memory is what the process holds beyond what
it held before. Reading is from the disk where the set is larger than the memory of the machine.
"""

from __future__ import annotations

import argparse
import io
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image, ImageFilter
from rich.console import Console
from rich.table import Table

from machine import description
from memory import resident
from tammes.data import Images, open_stream, stream_of_files
from tammes.training.shard_order import ShardOrder, sharded

POOL, GROUP, CLASSES = 4096, 2048, 1000


def pool(side: int) -> list[bytes]:
    """Return different JPEGs of blurred noise in colors."""
    generator, found = np.random.default_rng(0), []
    for _ in range(POOL):
        noise = generator.integers(0, 256, (side, side, 3), dtype=np.uint8)
        picture = Image.fromarray(noise).filter(ImageFilter.GaussianBlur(side / 32))
        file = io.BytesIO()
        picture.save(file, "jpeg", quality=90)
        found.append(file.getvalue())
    return found
