"""Kinds of files that Tammes reads: how a whole one is written, and how it is read.

A new format is one more line of `CASES`.
"""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from PIL import Image
from scipy.io import savemat

from tammes.cli.options.labels import read_labels
from tammes.data import cifar10, folder, mnist, svhn, texts
from tammes.data.alchemy import alchemy
from tammes.data.filter_images import FILTERS, filter_images
from tammes.data.substructures import COUNTED, substructures
from tammes.data.textured_mesh import textured_mesh
from tammes.data.zinc import zinc
from tammes.extensions import SolutionCache, edge_list, tu_graphs
from tammes.extensions.integer_program import Answer
from tammes.papers import Entry
from tammes.papers.claim import claim
from tammes.papers.entry import Request
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_sets.loss_training import Classifiers, LossScore, LossTraining
from tammes.papers.robinson_spectral.molecules import figures_e4_and_e5
from tammes.papers.study import Results
from tammes.spectral.eigen.eigenpairs import Eigenpairs, load_eigenpairs, save_eigenpairs
from tammes.training import RunFolder, load_run, train
from tammes.training.command import Command
from tammes.training.run_folder import read_config
from tammes.training.trained import load
from tiny import make_config, make_text_config, random_images, random_texts, write_alchemy, write_graphs

NOISE = np.random.default_rng(0).integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)


@dataclass(frozen=True)
class Case:
    """Kind of file.

    Args:
        name: name of the case; `#` and what follows tells cases apart that share their files.
        file: path of the file to damage, relative to the folder.
        make: function that writes a folder in which the file is whole.
        read: function that reads the folder, and the file with it.
    """

    name: str
    file: str
    make: Callable[[Path], object]
    read: Callable[[Path], object]


def picture(name: str, mode: str = "RGB", **options: Any) -> Case:
    image = Image.fromarray(NOISE[:2].reshape(32, 64, 3)[:24]).convert(mode)
    return Case(f"image {name}", name, lambda root: image.save(root / name, **options), read_pictures)


def read_pictures(root: Path) -> object:
    images = folder(root, size=8)
    try:
        return images.batch([0])
    except ValueError as error:
        raise AssertionError(f"the folder took an image that cannot be decoded: {error}") from error


def table(name: str, write: Callable[[Path], object]) -> Case:
    return Case(name, name, write, lambda root: texts(root / name, label_column="topic"))


ROWS = [
    {"text": f"It is {word}.\nSo.", "topic": topic} for word, topic in (("red", "a"), ("12", "b"), ("ü", "a"))
]


def write_lines(name: str, lines: str) -> Callable[[Path], object]:
    return lambda root: (root / name).write_text(lines, encoding="utf-8")


def write_run(root: Path) -> None:
    train(make_config(), random_images(22), folder=RunFolder(path=root / "run"))


def write_text_run(root: Path) -> None:
    train(make_text_config(), random_texts(), folder=RunFolder(path=root / "run"))


def resume(root: Path) -> object:
    run = RunFolder(path=root / "run", resume=True)
    run.previous.unlink(missing_ok=True)
    return run.open(read_config(run.config), steps_per_epoch=100)


def idx(array: np.ndarray) -> bytes:
    lengths = b"".join(int(length).to_bytes(4) for length in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


def write_mnist(root: Path) -> None:
    (root / "t10k-images-idx3-ubyte").write_bytes(idx(NOISE[:, 0, :28, :28]))
    (root / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.arange(4))))


def write_cifar(root: Path) -> None:
    (root / "test_batch.bin").write_bytes(b"".join(bytes([3]) + image.tobytes() for image in NOISE))


def write_packed_cifar(root: Path) -> None:
    write_cifar(root)
    with tarfile.open(root / "cifar-10-binary.tar.gz", "w:gz") as archive:
        archive.add(root / "test_batch.bin", "cifar-10-batches-bin/test_batch.bin")
    (root / "test_batch.bin").unlink()


def write_svhn(root: Path, *, packed: bool) -> None:
    arrays = {"X": NOISE.transpose(2, 3, 1, 0), "y": np.array([[1], [2], [10], [3]], np.uint8)}
    savemat(root / "test_32x32.mat", arrays, do_compression=packed)


MOLECULES: dict[str, Any] = {
    "x": np.array([0, 2, 1, 0], dtype=np.uint8),
    "edge_index": np.array([[0, 1, 1, 2], [1, 0, 2, 1]]),
    "edge_attr": np.array([1, 1, 2, 2]),
    "node_ptr": np.array([0, 3, 4]),
    "edge_ptr": np.array([0, 4, 4]),
    "y": np.array([0.5, -1.5]),
}


def write_molecules(root: Path) -> None:
    geometric = pytest.importorskip("torch_geometric.data")
    place = root / "subset" / "processed"
    place.mkdir(parents=True)
    nodes, edges = torch.tensor([[0], [2]]), torch.tensor([[0, 1], [1, 0]])
    each = geometric.Data(x=nodes, edge_index=edges, edge_attr=torch.ones(2).long(), y=torch.tensor([0.5]))
    geometric.InMemoryDataset.save([each, each], place / "val.pt")


def write_substructures(root: Path) -> None:
    counts: dict[str, Any] = {f"y_{name}": [0.0, 1.0] for name in COUNTED}
    np.savez(
        root / "a_parsed.npz", num_nodes=[1, 2], edge_ptr=[0, 0, 2], edge_index=[[0, 1], [1, 0]], **counts
    )
    (root / "a_test.txt").write_text("1\n0\n")


def write_filters(root: Path) -> None:
    (root / "labels").mkdir()
    signals = np.random.default_rng(0).random((4, 2))
    arrays = {"A": np.ones((4, 4)) - np.eye(4), "F": signals, "mask": np.ones((4, 1))}
    savemat(root / "grid_32x32.mat", arrays)
    for name in FILTERS:
        np.save(root / "labels" / f"y_{name}.npy", signals)


def write_mesh(root: Path) -> None:
    (root / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0.5\nf 1/1 2/2 -1/1\n")
    Image.fromarray(NOISE[0].transpose(1, 2, 0)).save(root / "a.png")


def write_pairs(root: Path) -> None:
    pairs = Eigenpairs(vectors=torch.eye(3), values=torch.tensor([[0.0, 1.0, 2.0]]))
    save_eigenpairs(pairs, root / "pairs")


ANSWER = Answer(score=2.0, bound=2.0, members=(0, 3))
CELL = LossTraining(data="MNIST", network="small", loss="loss", learning_rate=0.1, epochs=2, images=9, seed=0)


def claim_study(root: Path) -> None:
    entry = Entry(name="a", statement="It is so.", source="Theorem 1", run=lambda request: None)
    protocol = Protocol(seeds=[0], controls=["chance"], measured_on="test images")
    claim(Request(entry=entry, out=root, budget=1.0, seed=0), protocol)


def results(root: Path) -> Results[LossTraining, LossScore]:
    return Results(root / "table.csv", LossTraining, LossScore)


def classifiers(root: Path) -> Classifiers:
    images = random_images(4)
    return Classifiers(images, images, images, root)


LINES = "\n".join(f"{row['text']!r},{row['topic']}".replace("\n", " ") for row in ROWS)
COMMAND = Command(words=("simclr", "--data", "digits"), folder=Path("/home/me")).to_json()

CASES = (
    Case("checkpoint", "run/checkpoints/last.ckpt", write_run, resume),
    Case("config", "run/config.yaml", write_run, lambda root: read_config(root / "run/config.yaml")),
    Case("config of a run on images", "run/config.yaml", write_run, lambda root: load_run(root / "run")),
    Case("config of a run on texts", "run/config.yaml", write_text_run, lambda root: load_run(root / "run")),
    Case("weights", "run/model.safetensors", write_run, lambda root: load_run(root / "run")),
    Case(
        "weights alone", "run/model.safetensors", write_run, lambda root: load(root / "run/model.safetensors")
    ),
    Case(
        "command",
        "command.json",
        write_lines("command.json", COMMAND),
        lambda root: Command.load(root / "command.json"),
    ),
    Case("vocabulary", "run/vocabulary.json", write_text_run, lambda root: load_run(root / "run")),
    Case("metrics", "run/metrics.csv", write_run, lambda root: load_run(root / "run")),
    Case("environment", "run/environment.yaml", write_run, lambda root: load_run(root / "run")),
    table("rows.csv", write_lines("rows.csv", f"text,topic\n{LINES}\n")),
    table("rows.tsv", write_lines("rows.tsv", "text\ttopic\nIt is.\ta\nSo.\tb\n")),
    table(
        "rows.jsonl",
        write_lines("rows.jsonl", '{"text": "It is", "topic": 1}\n{"topic": "b", "text": "So"}\n'),
    ),
    table(
        "rows.parquet", lambda root: pa.parquet.write_table(pa.Table.from_pylist(ROWS), root / "rows.parquet")
    ),
    Case(
        "prose",
        "a.txt",
        write_lines("a.txt", "It is. So it is!\n\nYes?"),
        lambda root: texts(root, prose=True),
    ),
    picture("a.png"),
    picture("a.jpg"),
    picture(
        "progressive.jpg",
        "CMYK",
        progressive=True,
        exif=b"Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0",
    ),
    picture("a.webp", "RGBA"),
    picture("lossless.webp", lossless=True),
    picture("a.bmp"),
    picture("a.gif", "P"),
    picture("raw.tif", "RGBA"),
    picture("packed.tif", compression="tiff_lzw"),
    picture("palette.png", "P", transparency=3),
    Case("idx", "t10k-images-idx3-ubyte", write_mnist, lambda root: mnist(root, "test")),
    Case("idx.gz", "t10k-labels-idx1-ubyte.gz", write_mnist, lambda root: mnist(root, "test")),
    Case("cifar", "test_batch.bin", write_cifar, lambda root: cifar10(root, "test")),
    Case("cifar.tar.gz", "cifar-10-binary.tar.gz", write_packed_cifar, lambda root: cifar10(root, "test")),
    Case(
        "svhn", "test_32x32.mat", lambda root: write_svhn(root, packed=False), lambda root: svhn(root, "test")
    ),
    Case(
        "packed svhn",
        "test_32x32.mat",
        lambda root: write_svhn(root, packed=True),
        lambda root: svhn(root, "test"),
    ),
    Case(
        "edges of TU",
        "T/raw/T_A.txt",
        lambda root: write_graphs(root, "T"),
        lambda root: tu_graphs(root / "T"),
    ),
    Case(
        "graphs of TU",
        "T/raw/T_graph_indicator.txt",
        lambda root: write_graphs(root, "T"),
        lambda root: tu_graphs(root / "T", most=3),
    ),
    Case(
        "edge list",
        "a.txt",
        write_lines("a.txt", "# it\nann bob\nbob,cy 3\n"),
        lambda root: edge_list(root / "a.txt"),
    ),
    Case("mesh", "a.obj", write_mesh, lambda root: textured_mesh(root / "a.obj", root / "a.png")),
    Case("texture", "a.png", write_mesh, lambda root: textured_mesh(root / "a.obj", root / "a.png")),
    Case(
        "zinc.npz",
        "zinc_val.npz",
        lambda root: np.savez(root / "zinc_val.npz", **MOLECULES),
        lambda root: zinc(root, "val"),
    ),
    Case("zinc.pt", "subset/processed/val.pt", write_molecules, lambda root: zinc(root, "val")),
    Case("alchemy", "alchemy_full/raw/alchemy_full_graph_attributes.txt", write_alchemy, alchemy),
    Case("split of alchemy", "alchemy_full/val_al_10.index", write_alchemy, alchemy),
    Case("substructures", "a_parsed.npz", write_substructures, lambda root: substructures(root, "test")),
    Case(
        "split of substructures", "a_test.txt", write_substructures, lambda root: substructures(root, "test")
    ),
    Case("grid", "grid_32x32.mat", write_filters, filter_images),
    Case("filtered", "labels/y_low.npy", write_filters, filter_images),
    Case(
        "labels",
        "a.csv",
        write_lines("a.csv", "name,label\na,cat\nb,dog\n"),
        lambda root: read_labels(root / "a.csv"),
    ),
    Case(
        "answers",
        "answers.jsonl",
        lambda root: SolutionCache(path=root / "answers.jsonl").add({"a": ANSWER, "b": ANSWER}),
        lambda root: SolutionCache(path=root / "answers.jsonl").load(),
    ),
    Case("study", "study.json", claim_study, claim_study),
    Case(
        "table of a study",
        "table.csv",
        lambda root: results(root).append(CELL, LossScore(validation=0.5, test=0.25)),
        results,
    ),
    Case(
        "curve of a training",
        "mnist-small-loss-0.1-2-0.csv",
        write_lines("mnist-small-loss-0.1-2-0.csv", "epoch,value,error\r\n1,0.5,0.25\r\n"),
        lambda root: classifiers(root).curve(CELL),
    ),
    Case(
        "encodings of a molecule",
        "a.npy",
        lambda root: np.save(root / "a.npy", np.random.default_rng(0).random((25, 6), np.float32)),
        lambda root: figures_e4_and_e5(root / "a.npy"),
    ),
    Case("eigenpairs", "pairs", write_pairs, lambda root: load_eigenpairs(root / "pairs", nodes=3, graphs=1)),
)
