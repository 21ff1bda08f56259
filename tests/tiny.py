"""A run so small that a test can do it many times: 22 images of noise, 5 steps an epoch; or 27 sentences."""

import io
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image

from tammes import Subset, recipes
from tammes.data import GraphSet, Images, TensorPixels, Texts
from tammes.data.graph_packing import packed
from tammes.encoders import (
    BagOfWordsConfig,
    ConvNetConfig,
    GINEncoderConfig,
    ProjectionHeadConfig,
    ShortcutHeadConfig,
)
from tammes.positives import OwnGraph, SameClass
from tammes.positives.augmentation import Handwriting
from tammes.training import Adam, Cosine, TrainingConfig

EPOCHS = 3


def random_images(count: int, *, classes: int = 2, seed: int = 0) -> Images:
    """Noise, brighter in the upper half for one class."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 100, (count, 1, 8, 8), dtype=torch.uint8, generator=generator)
    labels = torch.arange(count) % classes
    pixels[labels == 0, :, :4] += 120
    return Images(
        pixels=TensorPixels(pixels),
        names=tuple(f"image {i}" for i in range(count)),
        labels=labels,
        classes=tuple(f"class {c}" for c in range(classes)),
    )


def write_images(root: Path, *classes: str, count: int = 6) -> Path:
    """A folder of small files, with a folder for each class."""
    for number, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        for i in range(count):
            Image.new("RGB", (12, 10), (40 * i, 90 * number, 0)).save(root / name / f"{i}.png")
    return root


def picture_bytes(number: int) -> bytes:
    """A small file with a picture of one color."""
    stream = io.BytesIO()
    Image.new("RGB", (12, 10), (10 * (number % 25), 7 * (number % 36), 90)).save(stream, "PNG")
    return stream.getvalue()


def write_shards(root: Path, *counts: int) -> Path:
    """A folder of tar archives of pictures, of two classes in turn."""
    root.mkdir(parents=True, exist_ok=True)
    number = 0
    for shard, count in enumerate(counts):
        with tarfile.open(root / f"pets-{shard}.tar", "w") as archive:
            for place in range(count):
                for ending, content in (("png", picture_bytes(number)), ("cls", b"%d" % (number % 2))):
                    member = tarfile.TarInfo(f"{place:04d}.{ending}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
                number += 1
    return root


def write_parquet(root: Path, *counts: int) -> Path:
    """A folder of parquet files of the pictures of `write_shards`."""
    root.mkdir(parents=True, exist_ok=True)
    number = 0
    for shard, count in enumerate(counts):
        numbers = range(number, number + count)
        pictures = [{"bytes": picture_bytes(each), "path": None} for each in numbers]
        table = pa.table({"image": pictures, "label": [each % 2 for each in numbers]})
        pq.write_table(table, root / f"pets-{shard}.parquet")
        number += count
    return root


def make_config() -> TrainingConfig:
    """An objective that draws random numbers, a schedule, an optimizer with state: all that can go wrong."""
    return TrainingConfig(
        objective=recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1, selection=Subset(k=3)),
        encoder=ConvNetConfig(width=8),
        head=ProjectionHeadConfig(dim=8),
        augmentation=Handwriting(),
        optimizer=Adam(schedule=Cosine(warmup_epochs=1)),
        batch_size=4,
        epochs=EPOCHS,
    )


def random_texts(documents: int = 3, sentences: int = 9, *, seed: int = 0) -> Texts:
    """Noise of a few words, some of which are the document's own."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(0, 8, (documents, sentences, 5), generator=generator).tolist()
    return Texts(
        sentences=tuple(
            " ".join(f"w{word}" if word < 5 else f"d{document}w{word}" for word in sentence)
            for document, several in enumerate(drawn)
            for sentence in several
        ),
        names=tuple(f"{document}:{line}" for document in range(documents) for line in range(sentences)),
        labels=torch.arange(documents).repeat_interleave(sentences),
        classes=tuple(f"document {document}" for document in range(documents)),
    )


def make_text_config() -> TrainingConfig:
    """Pairs that are drawn anew each epoch, a subset of negatives, and gradients that are cut short."""
    return TrainingConfig(
        objective=recipes.logistic(selection=Subset(k=3)),
        encoder=BagOfWordsConfig(dim=6, minimum_count=2),
        head=None,
        augmentation=None,
        positives=SameClass(),
        optimizer=Adam(learning_rate=0.01, clip_norm=0.05),
        batch_size=4,
        epochs=EPOCHS,
    )


def write_texts(root: Path, texts: Texts) -> Path:
    """A folder with a file for each document."""
    root.mkdir(parents=True)
    assert texts.classes is not None
    for document, name in enumerate(texts.classes):
        rows = (texts.required_labels() == document).nonzero()[:, 0].tolist()
        (root / f"{name}.txt").write_text("".join(f"{texts.sentences[row]}\n" for row in rows))
    return root


def write_graphs(root: Path, *names: str, count: int = 10) -> Path:
    """Small graphs as data sets of the TU collection."""
    generator = torch.Generator().manual_seed(0)
    for name in names:
        edges, indicator, start = [], [], 1
        for number in range(count):
            n = 4 + number % 4
            pairs = torch.combinations(torch.arange(n))
            chosen = pairs[torch.rand(len(pairs), generator=generator) < 0.6] + start
            edges += [f"{u}, {v}" for u, v in chosen.tolist()]
            indicator += [str(number + 1)] * n
            start += n
        folder = root / name / "raw"
        folder.mkdir(parents=True)
        (folder / f"{name}_A.txt").write_text("\n".join(edges))
        (folder / f"{name}_graph_indicator.txt").write_text("\n".join(indicator))
    return root


def write_alchemy(root: Path, count: int = 12) -> Path:
    """Rings of three to six atoms as the set alchemy_full, and its index files: a half, a quarter, a quarter.

    The first target is the number of atoms, the k-th has k times that and a random part.
    """
    generator = torch.Generator().manual_seed(0)
    lines: dict[str, list[str]] = {
        part: [] for part in ("A", "graph_indicator", "node_labels", "edge_labels", "graph_attributes")
    }
    start = 1
    for number in range(count):
        size = 3 + number % 4
        for atom in range(size):
            one, other = start + atom, start + (atom + 1) % size
            lines["A"] += [f"{one}, {other}", f"{other}, {one}"]
            lines["edge_labels"] += 2 * [str(1 + atom % 4)]
        lines["graph_indicator"] += size * [str(number + 1)]
        lines["node_labels"] += map(str, torch.randint(6, (size,), generator=generator).tolist())
        noise = [0.0, *torch.rand(11, generator=generator).tolist()]
        lines["graph_attributes"].append(",".join(str(k * size + noise[k - 1]) for k in range(1, 13)))
        start += size
    folder = root / "alchemy_full" / "raw"
    folder.mkdir(parents=True)
    for part, written in lines.items():
        (folder / f"alchemy_full_{part}.txt").write_text("\n".join(written) + "\n")
    ends = {"train": (0, count // 2), "val": (count // 2, count * 3 // 4), "test": (count * 3 // 4, count)}
    for part, (begin, end) in ends.items():
        (root / "alchemy_full" / f"{part}_al_10.index").write_text(
            ",".join(map(str, range(begin, end))) + "\n"
        )
    return root


def random_graph_set(count: int = 22, *, classes: int = 2, seed: int = 0) -> GraphSet:
    """Random graphs with 5 to 9 nodes of two kinds, denser in the first class."""
    generator = torch.Generator().manual_seed(seed)
    owner, pairs, start = [], [], 0
    labels = [number % classes for number in range(count)]
    for number, label in enumerate(labels):
        n = 5 + int(torch.randint(5, (), generator=generator))
        all_pairs = torch.combinations(torch.arange(n))
        chosen = torch.rand(len(all_pairs), generator=generator) < (0.8 if label == 0 else 0.3)
        chosen[0] = True
        pairs.append(all_pairs[chosen].T + start)
        owner += [number] * n
        start += n
    kinds = torch.randint(2, (start,), generator=generator)
    return packed(
        torch.tensor(owner),
        torch.cat(pairs, dim=1),
        names=[f"graph {number}" for number in range(count)],
        where="random graphs",
        features=torch.nn.functional.one_hot(kinds, 2).float(),
        columns=("kind 0", "kind 1"),
        labels=[f"class {label}" for label in labels],
    )


def write_tu_set(root: Path, name: str, graphs: GraphSet) -> Path:
    """A folder of a data set of the TU collection."""
    folder = root / name
    folder.mkdir(parents=True)
    batch = graphs.batch(range(len(graphs)))
    edges = [f"{u}, {v}\n" for u, v in (batch.edges.T + 1).tolist()]
    (folder / f"{name}_A.txt").write_text("".join(edges))
    (folder / f"{name}_graph_indicator.txt").write_text("".join(f"{g + 1}\n" for g in batch.owner.tolist()))
    (folder / f"{name}_graph_labels.txt").write_text(
        "".join(f"{y}\n" for y in graphs.required_labels().tolist())
    )
    kinds = graphs.features.argmax(1).tolist()
    (folder / f"{name}_node_labels.txt").write_text("".join(f"{kind}\n" for kind in kinds))
    return folder


def make_graph_config() -> TrainingConfig:
    """Nodes against graphs, with hard negatives."""
    return TrainingConfig(
        objective=recipes.jsd(beta=1.0),
        encoder=GINEncoderConfig(width=4, layers=2),
        head=ShortcutHeadConfig(),
        augmentation=None,
        positives=OwnGraph(),
        batch_size=4,
        epochs=EPOCHS,
    )
