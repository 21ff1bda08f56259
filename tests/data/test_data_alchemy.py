"""Alchemy from small files of the published forms: targets, parts, types of atoms and bonds, and refusals."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data.alchemy import INDEX_FILES, alchemy, alchemy_split
from tiny import write_alchemy


def raw(root: Path, part: str) -> Path:
    return root / "alchemy_full" / "raw" / f"alchemy_full_{part}.txt"


def test_parts_have_standardized_targets_in_the_order_of_the_index_files(tmp_path: Path) -> None:
    write_alchemy(tmp_path)
    (tmp_path / "alchemy_full" / INDEX_FILES["val"]).write_text("8, 2\n")
    train, validation, test = alchemy(tmp_path)
    values = np.loadtxt(raw(tmp_path, "graph_attributes"), delimiter=",")
    # Over all twelve graphs, not over a part, and with n - 1, as torch's and the published code's.
    expected = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    for part, numbers in ((train, range(6)), (validation, (8, 2)), (test, range(9, 12))):
        torch.testing.assert_close(part.targets, torch.from_numpy(expected[list(numbers)]).float())
    assert train.targets.mean(dim=0).abs().max() > 0.01
    assert validation.node_starts.tolist() == [0, 3, 8]
    labels = raw(tmp_path, "node_labels").read_text().split()
    assert train.nodes.tolist() == [int(label) for label in labels[: len(train.nodes)]]


def test_edges_and_their_types_are_those_of_the_files(tmp_path: Path) -> None:
    """The first ring has three atoms and bonds of the labels 1, 2 and 3, which are the types 0, 1 and 2."""
    write_alchemy(tmp_path)
    first = alchemy(tmp_path)[0].subset([0])
    bonds = dict(zip(map(tuple, first.edges.T.tolist()), first.bonds.tolist(), strict=True))
    assert bonds == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1, (2, 0): 2, (0, 2): 2}


def test_molecules_are_those_that_torch_geometric_reads(tmp_path: Path) -> None:
    io = pytest.importorskip("torch_geometric.io")
    write_alchemy(tmp_path)
    (tmp_path / "alchemy_full" / INDEX_FILES["train"]).write_text(",".join(map(str, range(12))))
    ours = alchemy(tmp_path)[0]
    theirs, starts, _ = io.read_tu_data(str(tmp_path / "alchemy_full" / "raw"), "alchemy_full")
    assert torch.equal(ours.nodes, theirs.x.argmax(dim=1))
    assert torch.equal(ours.edges, theirs.edge_index)
    assert torch.equal(ours.bonds, theirs.edge_attr.argmax(dim=1))
    assert torch.equal(ours.node_starts, starts["x"])
    assert torch.equal(ours.edge_starts, starts["edge_attr"])
    mean, deviation = theirs.y.mean(dim=0), theirs.y.std(dim=0)
    torch.testing.assert_close(ours.targets, (theirs.y - mean) / deviation)


def test_one_direction_repetitions_and_loops_give_the_same_graphs(tmp_path: Path) -> None:
    whole = alchemy(write_alchemy(tmp_path / "whole"))
    other = write_alchemy(tmp_path / "other")
    edges = raw(other, "A").read_text().splitlines()[::2]
    labels = raw(other, "edge_labels").read_text().splitlines()[::2]
    raw(other, "A").write_text("\n".join([*edges[::-1], edges[3], "5, 5"]))
    raw(other, "edge_labels").write_text("\n".join([*labels[::-1], labels[3], "1"]))
    for one, two in zip(whole, alchemy(other), strict=True):
        for name, value in vars(one).items():
            assert torch.equal(vars(two)[name], value), name


def test_the_set_may_be_an_archive_with_the_index_files_beside_it(tmp_path: Path) -> None:
    whole = alchemy(write_alchemy(tmp_path))
    folder = tmp_path / "alchemy_full"
    with zipfile.ZipFile(tmp_path / "alchemy_full.zip", "w") as archive:
        for file in (folder / "raw").iterdir():
            archive.write(file, f"alchemy_full/{file.name}")
    for name in INDEX_FILES.values():
        (folder / name).replace(tmp_path / name)
    shutil.rmtree(folder)
    for one, two in zip(whole, alchemy(tmp_path), strict=True):
        assert torch.equal(one.targets, two.targets)
        assert torch.equal(one.bonds, two.bonds)


def test_graphs_that_are_listed_twice_are_there_twice(tmp_path: Path) -> None:
    """As in the published files: within a part, and in two parts."""
    write_alchemy(tmp_path)
    (tmp_path / "alchemy_full" / INDEX_FILES["test"]).write_text("4,9,4")
    train, _, test = alchemy(tmp_path)
    assert len(test) == 3
    assert torch.equal(test.targets[0], test.targets[2])
    assert torch.equal(test.targets[0], train.targets[4])
    assert alchemy_split(tmp_path)["test"].tolist() == [4, 9, 4]


def without(part: str) -> Callable[[Path], object]:
    return lambda root: raw(root, part).unlink()


def lines(part: str, change: Callable[[list[str]], list[str]]) -> Callable[[Path], object]:
    def write(root: Path) -> None:
        file = raw(root, part)
        file.write_text("\n".join(change(file.read_text().splitlines())))

    return write


def index(part: str, text: str) -> Callable[[Path], object]:
    return lambda root: (root / "alchemy_full" / f"{part}_al_10.index").write_text(text)


WRONG = {
    "no index": (
        lambda root: (root / "alchemy_full" / "val_al_10.index").unlink(),
        r"one file val_al_10\.index in .*, found none",
    ),
    "two indices": (
        lambda root: (root / "val_al_10.index").write_text("1"),
        r"one file val_al_10\.index in .* or in .*alchemy_full, found 2: keep one",
    ),
    "empty index": (index("test", ""), r"numbers of graphs between commas in .*test_al_10\.index"),
    "words": (index("test", "1,two"), r"numbers of graphs between commas in .*test_al_10\.index .*'two'"),
    "below zero": (index("test", "1,-2"), r"between commas in .*test_al_10\.index \(one is below 0\)"),
    "huge": (index("test", "9" * 30), r"numbers of graphs between commas in .*test_al_10\.index"),
    "out of range": (index("train", "1,12"), r"the 12 graphs of .*, from 0, in train_al_10\.index, got 12"),
    "no set": (
        lambda root: shutil.rmtree(root / "alchemy_full" / "raw"),
        r"expected NAME_A\.txt and NAME_graph_indicator\.txt .*, found none",
    ),
    "no targets": (without("graph_attributes"), r"targets, alchemy_full_graph_attributes\.txt, .*found none"),
    "no bonds": (without("edge_labels"), r"types of the bonds, alchemy_full_edge_labels\.txt, .*found none"),
    "no atoms": (without("node_labels"), r"types of the atoms, alchemy_full_node_labels\.txt, .*found none"),
    "eleven targets": (
        lines("graph_attributes", lambda rows: [row.rpartition(",")[0] for row in rows]),
        r"12 targets of each of 12 graphs in .*, got 11 of 12",
    ),
    "a graph without targets": (
        lines("graph_attributes", lambda rows: rows[:-1]),
        r"12 targets of each of 12 graphs in .*, got 12 of 11",
    ),
    "a graph of a huge number": (
        lines("graph_indicator", lambda rows: [*rows[:-1], "9" * 15]),
        r"12 targets of each of 999999999999999 graphs in .*, got 12 of 12",
    ),
    "not a number": (
        lines("graph_attributes", lambda rows: ["nan" + rows[0][rows[0].index(",") :], *rows[1:]]),
        r"finite numbers in .*graph_attributes\.txt",
    ),
    "a target that does not vary": (
        lines("graph_attributes", lambda rows: [row[: row.rindex(",")] + ",0.1" for row in rows]),
        r"targets that vary in .*, got the same number for all graphs in column 12",
    ),
    "too few bonds": (lines("edge_labels", lambda rows: rows[:-1]), r"lines in .*edge_labels\.txt, got"),
    "five bonds": (lines("edge_labels", lambda rows: ["0", "0", *rows[2:]]), r"at most 4 .*, got 5: this is"),
    "seven atoms": (lines("node_labels", lambda rows: ["9", *rows[1:]]), r"at most 6 .*, got 7: this is"),
    "two types of a bond": (
        lines("edge_labels", lambda rows: ["4", *rows[1:]]),
        r"one type of each bond in .*edge_labels\.txt, got two of the one in line [12]$",
    ),
    "a node too many": (
        lines("A", lambda rows: ["1, 999", *rows[1:]]),
        r"between nodes 1 to 54 in .*A\.txt, got 1, 999 in line 1",
    ),
    "an edge between graphs": (
        lines("A", lambda rows: [rows[0], "1, 4", *rows[2:]]),
        r"within graphs in .*A\.txt, got one of two graphs in line 2",
    ),
    "a graph without atoms": (
        lines("graph_indicator", lambda rows: [row if row != "2" else "3" for row in rows]),
        r"nodes of every graph in .*graph_indicator\.txt, got none of graph 2",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_files_that_are_missing_or_contradict_each_other_are_refused(tmp_path: Path, wrong: str) -> None:
    damage, message = WRONG[wrong]
    write_alchemy(tmp_path)
    damage(tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        alchemy(tmp_path)
    assert "\n" not in str(caught.value)
