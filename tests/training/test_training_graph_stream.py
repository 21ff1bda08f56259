"""Training on a stream of graphs: resumed at the next graph, dealt to processes shard by shard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from killed import Killed, steps
from tammes import recipes
from tammes.data import GraphStream, graph_stream_of_files
from tammes.encoders import GINEncoderConfig, ShortcutHeadConfig
from tammes.positives import OneChange, OwnGraph, SameClass, SameInstance
from tammes.training import GraphsSummary, Machine, Run, RunFolder, TrainingConfig, train
from tammes.training.pairing import Pairing
from tammes.training.sampler import PairSampler, Shard

pytest.importorskip("torch_geometric")
pytest.importorskip("datasets")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(folder: Path, *counts: int) -> str:
    """Write paths of 3 to 6 nodes, a file for each count."""
    folder.mkdir(exist_ok=True)
    number = 0
    for file, count in enumerate(counts):
        rows: list[dict[str, Any]] = []
        for _ in range(count):
            nodes = 3 + number % 4
            ends = list(range(nodes - 1)), list(range(1, nodes))
            rows.append({"edge_index": list(ends), "num_nodes": nodes, "y": [number % 2]})
            number += 1
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{file}.parquet")
    return f"hf:{folder}"


def config() -> TrainingConfig:
    return TrainingConfig(
        objective=recipes.jsd(),
        encoder=GINEncoderConfig(width=4, layers=2),
        head=ShortcutHeadConfig(dim=4),
        augmentation=None,
        positives=OwnGraph(),
        batch_size=4,
        epochs=2,
        seed=0,
    )


@pytest.mark.equal_bits
def test_killed_it_resumes_at_the_next_graph(tmp_path: Path) -> None:
    name = write(tmp_path / "files", 4, 7, 5)

    def train_in(folder: str, resume: bool = False) -> Run:
        place = RunFolder(path=tmp_path / folder, checkpoint_every=1, resume=resume)
        graphs = graph_stream_of_files(name, buffer=3)
        return train(config(), graphs, folder=place, machine=Machine(accelerator="cpu"))

    with steps() as whole:
        expected = train_in("whole").model.state_dict()
    with pytest.raises(Killed), steps(killed_at=3) as first:
        train_in("run")
    with steps() as rest:
        run = train_in("run", resume=True)
    assert first + rest == whole
    assert sorted(row for rows in whole[:4] for row in rows) == list(range(16))
    assert all(torch.equal(run.model.state_dict()[name], value) for name, value in expected.items())
    assert isinstance(run.config.data, GraphsSummary)
    assert run.config.data.shards is not None
    assert (run.config.data.count, run.config.data.shards.count) == (16, 3)
    write(tmp_path / "files", 4, 7, 6)
    with pytest.raises(ValueError, match=r"data\.count was 16, now 17.*data\.shards\.digest was"):
        train_in("run", resume=True)


def test_processes_read_other_shards(tmp_path: Path) -> None:
    graphs = graph_stream_of_files(write(tmp_path / "files", 4, 4, 4, 4), buffer=3)
    pairing = Pairing.of(graphs, SameInstance(), seed=0)
    read = [
        [
            pair[0]
            for batch in PairSampler(pairing, Shard(batch_size=4, rank=rank, processes=2))
            for pair in batch
        ]
        for rank in (0, 1)
    ]
    shards = [{row // 4 for row in rows} for rows in read]
    assert len(set(read[0]) | set(read[1])) >= 12
    assert not shards[0] & shards[1]
    with pytest.raises(ValueError, match="SameClass reads graphs from anywhere, but these are read shard"):
        Pairing.of(graphs, SameClass(), seed=0)


@pytest.mark.equal_bits
def test_views_of_a_stream_are_those_of_the_graphs_in_memory(tmp_path: Path) -> None:
    graphs = graph_stream_of_files(write(tmp_path / "files", 3, 3), buffer=2)
    assert isinstance(graphs, GraphStream)
    held = graphs.in_memory()
    views = [OneChange(share=0.2)(each.batch([4, 1, 3]), 7) for each in (graphs, held)]
    assert torch.equal(views[0].edges, views[1].edges)
    assert torch.equal(views[0].features, views[1].features)
