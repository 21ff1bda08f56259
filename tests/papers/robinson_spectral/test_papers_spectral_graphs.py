"""The experiments on eigenvectors of graphs, on a few small graphs: what they measure, keep and write."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.papers.entry import Request
from tammes.papers.page import Finding, write_page
from tammes.papers.robinson_spectral import multiplicities, properties, substructures, zinc
from tammes.papers.robinson_spectral.figure_7_3 import cells as encoding_cells
from tammes.papers.robinson_spectral.figure_7_3 import findings as encoding_findings
from tammes.papers.robinson_spectral.figure_7_3 import summary as encoding_summary
from tammes.papers.robinson_spectral.graph_regression import standardized, with_eigenpairs
from tammes.papers.robinson_spectral.molecules import (
    figure_e5,
    fluorescein,
    layout,
    molecules,
    principal_components,
)
from tammes.papers.robinson_spectral.multiplicities import measure
from tammes.papers.robinson_spectral.zinc import ABLATION, MAIN, PAPER, cells, findings, summary
from tammes.papers.robinson_spectral.zinc_training import (
    ENCODINGS,
    FLIPS,
    GAT,
    GATED,
    GIN,
    GINE,
    NONE,
    ONE_SIGN,
    PNA,
    SIGNNET,
    TRANSFORMER,
    ZincRun,
    ZincScore,
    measurer,
)

pytest.importorskip("torch_geometric")


def rings(count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Rings of four to six atoms, in the form of ZINC's archives; the target is the size."""
    sizes = generator.integers(4, 7, size=count)
    edges = []
    for size in sizes:
        atoms = np.arange(size)
        after = (atoms + 1) % size
        edges.append(np.stack([np.concatenate([atoms, after]), np.concatenate([after, atoms])]))
    return {
        "x": generator.integers(0, 3, size=sizes.sum()),
        "edge_index": np.concatenate(edges, axis=1),
        "edge_attr": np.ones(2 * sizes.sum(), dtype=int),
        "node_ptr": np.concatenate([[0], sizes.cumsum()]),
        "edge_ptr": np.concatenate([[0], (2 * sizes).cumsum()]),
        "y": sizes.astype(float),
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set of the TU collection and ZINC, both of rings."""
    generator = np.random.default_rng(0)
    folder = tmp_path / "graphs"
    (folder / "zinc").mkdir(parents=True)
    for part, count in (("train_REBUILT", 12), ("val", 6), ("test", 6)):
        np.savez(folder / "zinc" / f"zinc_{part}.npz", **rings(count, generator))
    (folder / "PROTEINS").mkdir()
    (folder / "PROTEINS" / "PROTEINS_A.txt").write_text("1, 2\n2, 3\n3, 1\n4, 5\n5, 6\n")
    (folder / "PROTEINS" / "PROTEINS_graph_indicator.txt").write_text("1\n1\n1\n2\n2\n2\n")
    return folder


def read(out: Path) -> list[dict[str, str]]:
    with (out / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_multiplicities_are_counted(data: Path, tmp_path: Path) -> None:
    entry, out = multiplicities.ENTRY, tmp_path / "out"
    entry.reproduce(out, budget=1, seed=0, data=data)
    rows = {row["data"]: row for row in read(out)}
    assert set(rows) == {"ZINC", "PROTEINS"}
    # Every ring has pairs of equal eigenvalues; of the triangle and the path, the triangle alone.
    assert float(rows["ZINC"]["percent_graphs"]) == 100
    assert float(rows["PROTEINS"]["percent_graphs"]) == 50
    assert rows["PROTEINS"]["multiplicity"] == "2"
    page = (out / "report.html").read_text()
    assert "tammes reproduce spectral-multiplicities --data graphs --budget 1" in page
    assert "1,113" in page
    with pytest.raises(ValueError, match=r"expected in .* folders named PROTEINS.*found none of them"):
        entry.reproduce(tmp_path / "other", budget=1, seed=0, data=tmp_path / "graphs" / "zinc")
    assert not (tmp_path / "other").exists()


def test_known_multiplicities() -> None:
    complete = torch.combinations(torch.arange(6)).T
    star = torch.stack([torch.zeros(5, dtype=torch.long), torch.arange(1, 6)])
    both = [(torch.cat([edges, edges.flip(0)], dim=1), 6) for edges in (complete, star)]
    measured = measure(both)
    assert measured.multiplicity == 5  # of K_6; a star of 6 has 4
    assert measured.distinct == 2 + 3
    assert measured.multiplicities == 3
    assert measured.percent_vectors == pytest.approx(100 * 9 / 12)


def test_graphs_are_batched_with_their_eigenpairs(data: Path) -> None:
    from tammes.data.zinc import zinc

    part = with_eigenpairs(zinc(data / "zinc", "val"), count=None)
    order = torch.tensor([3, 0, 5])
    batch = part.subset(order)
    edges, owner = batch.graphs.joined_edges, batch.graphs.owner
    assert batch.graphs.targets.flatten().tolist() == part.graphs.targets[order].flatten().tolist()
    assert bool((owner[edges[0]] == owner[edges[1]]).all())
    # L v = lambda v with the edges of the batch: rings have degree 2 everywhere.
    neighbors = torch.zeros_like(batch.vectors).index_add(0, edges[1], batch.vectors[edges[0]])
    left = batch.vectors - neighbors / 2
    torch.testing.assert_close(left, batch.values[owner] * batch.vectors, atol=1e-5, rtol=0)
    first = with_eigenpairs(part.graphs, count=2)
    torch.testing.assert_close(first.values, part.values[:, 1:3])


def test_targets_are_standardized_by_the_first_part(data: Path) -> None:
    from tammes.data.zinc import zinc

    train, test = standardized((zinc(data / "zinc", "train"), zinc(data / "zinc", "test")))
    assert train.targets.mean().item() == pytest.approx(0, abs=1e-6)
    assert train.targets.std().item() == pytest.approx(1)
    assert test.targets.std().item() != pytest.approx(1, abs=1e-3)


SMALL = {"molecules": 12, "epochs": 2, "width": 8, "layers": 1, "phi_width": 8, "phi_layers": 1}


@pytest.mark.parametrize(
    ("base", "encoding", "eigenvectors"),
    [
        (GATED, NONE, 0),
        (GATED, FLIPS, 3),
        (GATED, SIGNNET, 3),
        (GATED, ONE_SIGN, 3),
        (GATED, "LapPE (abs.)", 3),
        (GATED, "LapPE (can.)", 3),
        (TRANSFORMER, SIGNNET, 0),
        (GINE, FLIPS, 3),
        (PNA, NONE, 0),
        (GIN, SIGNNET, 3),
        (GAT, FLIPS, 3),
    ],
)
def test_every_base_network_meets_encodings(
    base: str, encoding: str, eigenvectors: int, data: Path, tmp_path: Path
) -> None:
    trained = measurer(data / "zinc", tmp_path / "drawn.npy")
    cell = ZincRun(base=base, encoding=encoding, eigenvectors=eigenvectors, **SMALL)
    first, again = trained(cell), trained(cell)
    assert first.test == again.test
    assert 0 < first.test < 100
    assert 1 <= first.best_epoch <= 2
    if encoding == SIGNNET:
        assert np.load(tmp_path / "drawn.npy").shape == (25, 8)


def test_all_cells_are_those_of_the_paper_and_the_main_ones_come_first() -> None:
    made = cells(0.04, seed=2)
    assert len(made) == len(set(made)) == 4 * len(PAPER)
    assert [(cell.base, cell.encoding, cell.eigenvectors) for cell in made[:3]] == list(MAIN)
    assert {(cell.molecules, cell.epochs, cell.width, cell.phi_width) for cell in made} == {
        (10_000, 60, 40, 24)
    }
    assert {cell.seed for cell in made} == {2, 3, 4, 5}
    assert (cells(1, seed=0)[0].epochs, cells(1, seed=0)[0].width) == (300, 128)


def test_molecules_that_are_not_there_are_refused_before_anything_is_written(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (data / "zinc" / "zinc_test.npz").unlink()
    with pytest.raises(ValueError, match=r"expected ZINC 12k at .*zinc_test\*\.npz; found neither"):
        zinc.ENTRY.reproduce(out, budget=0.01, seed=0, data=data / "zinc")
    assert not out.exists()


def test_findings_say_what_is_less() -> None:
    def measured(test: float) -> ZincScore:
        return ZincScore(test=test, validation=0.1, best_epoch=1, parameters=10, seconds_per_epoch=1.0)

    def found(flips: float, signnet: float) -> list[bool | None]:
        errors = dict(zip(MAIN, (0.3, flips, signnet), strict=True))
        results = {
            cell: measured(errors[cell.base, cell.encoding, cell.eigenvectors] + cell.seed / 100)
            for cell in cells(0.01, seed=0)
            if (cell.base, cell.encoding, cell.eigenvectors) in errors
        }
        none = summary(results)[MAIN[0]]
        found = none.mean, none.deviation, len(none.values)
        assert found == pytest.approx((0.315, 0.0129, 4), abs=1e-4)
        return [finding.agrees for finding in findings(results)]

    assert found(0.2, 0.1) == [True, True]
    assert found(0.2, 0.25) == [False, True]
    assert found(0.3, 0.1) == [True, False]


def test_what_signnet_is_without_the_other_sign_is_judged_on_the_same_seeds() -> None:
    def found(one_sign: list[float], signnet: list[float]) -> Finding:
        errors = dict(zip(ABLATION, (one_sign, signnet), strict=True))
        results = {
            ZincRun(base=base, encoding=encoding, eigenvectors=k, seed=seed, **SMALL): ZincScore(
                test=error, validation=0.1, best_epoch=1, parameters=10, seconds_per_epoch=1.0
            )
            for (base, encoding, k), of_seeds in errors.items()
            for seed, error in enumerate(of_seeds)
        }
        (finding,) = findings(results)
        return finding

    clear, unclear, single = (
        found([0.14, 0.15], [0.12, 0.13]),
        found([0.14, 0.12], [0.12, 0.13]),
        found([0.14], [0.12]),
    )
    assert (clear.agrees, unclear.agrees, single.agrees) == (True, False, False)
    assert clear.ours.endswith("less by 0.020 ± 0.000 on the same seeds.")
    assert unclear.ours.endswith("on the same seeds, which is not clear of chance.")
    assert single.ours == (
        "With φ(v) only 0.140 (one seed); SignNet's error is less by 0.020 on one and the same seed, which "
        "is no evidence."
    )
    assert PAPER[ABLATION[0]] == (0.148, 0.007)


def test_the_ablation_has_the_parameters_of_signnet() -> None:
    cell = ZincRun(base=GATED, encoding=SIGNNET, eigenvectors=3, **SMALL)
    signnet, one_sign = ENCODINGS[SIGNNET](cell), ENCODINGS[ONE_SIGN](cell)
    assert signnet is not None
    assert one_sign is not None
    shapes = [[parameter.shape for parameter in network.parameters()] for network in (signnet, one_sign)]
    assert shapes[0] == shapes[1]


def test_the_page_on_molecules_is_written(data: Path, tmp_path: Path) -> None:
    results = {
        ZincRun(base=base, encoding=encoding, eigenvectors=k, seed=seed, **SMALL): ZincScore(
            test=0.5, validation=0.5, best_epoch=1, parameters=10, seconds_per_epoch=1.0
        )
        for base, encoding, k in PAPER
        for seed in (0, 1)
    }
    np.save(tmp_path / zinc.DRAWING, np.random.default_rng(0).random((25, 8)))
    shown = zinc.page(results, training="zinc_REBUILT.npz", fluorescein=figure_e5(tmp_path / zinc.DRAWING))
    write_page(shown, Request(entry=zinc.ENTRY, out=tmp_path, budget=1.0, seed=0, data=data))
    page = (tmp_path / "report.html").read_text()
    assert "zinc_REBUILT.npz" in page
    assert "component 4" in page
    assert "0.121 ± 0.005" in page
    assert "least error for 0 of 5 further base networks (GINE; Sparse Transformer; PNA; GIN, no edge" in page


def test_substructures_and_properties_write_their_pages(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    edges = [np.stack(np.nonzero(np.triu(generator.random((5, 5)) < 0.6, 1))) for _ in range(12)]
    both = [np.concatenate([each, each[::-1]], axis=1) for each in edges]
    names = ("triangle", "tailed_triangle", "star", "chordal_cycle")
    (tmp_path / "random").mkdir()
    np.savez(
        tmp_path / "random" / "one_parsed.npz",
        num_nodes=np.full(12, 5),
        edge_ptr=np.cumsum([0, *(each.shape[1] for each in both)]),
        edge_index=np.concatenate(both, axis=1),
        **{f"y_{name}": generator.random(12) for name in names},
    )
    for part, numbers in (("train", range(6)), ("val", range(6, 9)), ("test", range(9, 12))):
        (tmp_path / "random" / f"one_{part}.txt").write_text("\n".join(map(str, numbers)))
    entry, out = substructures.ENTRY, tmp_path / "substructures"
    entry.reproduce(out, budget=0.004, seed=0, data=tmp_path / "random")
    rows = read(out)
    assert len(rows) == 3  # one seed, where the budget is small
    assert all(float(row[name]) > 0 for row in rows for name in names)
    before = (out / "table.csv").read_bytes()
    entry.reproduce(out, budget=0.004, seed=0, data=tmp_path / "random")
    assert (out / "table.csv").read_bytes() == before
    assert "6 random graphs to train on, 3 to test on" in (out / "report.html").read_text()


def test_properties_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("VALIDATION", 8), ("TEST", 8), ("TRAIN", 80)):
        monkeypatch.setattr(properties, name, count)
    properties.ENTRY.reproduce(tmp_path, budget=0.004, seed=0, data=None)
    rows = read(tmp_path)
    assert [row["encoding"] for row in rows] == ["none", "LapPE (flip)", "SignNet"]
    assert {row["graphs"] for row in rows} == {"5"}
    assert "spectral radius" in (tmp_path / "report.html").read_text()


def test_what_is_within_the_spread_of_seeds_does_not_agree() -> None:
    made = encoding_cells(budget=1, seed=0, graphs=5)
    assert len(made) == 9
    linear = dataclasses.replace(properties.EXPERIMENT, shown=float)

    def agrees(spread: float) -> bool | None:
        results = {}
        for cell in made:
            error = {"none": 0.5, "LapPE (flip)": 0.4, "SignNet": 0.3}[cell.encoding] + spread * cell.seed
            results[cell] = linear.scores(
                connected=error, diameter=error, spectral_radius=error, parameters=1, seconds_per_epoch=1.0
            )
        (finding,) = encoding_findings(linear, encoding_summary(linear, results))
        assert "least mean error for 3 of 3 targets" in finding.ours
        return finding.agrees

    assert agrees(0.01) is True
    assert agrees(0.2) is False


def test_fluorescein_is_drawn_flat() -> None:
    edges = fluorescein()
    assert edges.shape == (2, 58)
    degree = torch.bincount(edges[0])
    # Four rings share edges or an atom: the spiro carbon has four neighbors, three oxygens have one.
    assert degree.max() == 4
    assert int((degree == 1).sum()) == 3
    places = layout(edges, 25)
    lengths = np.linalg.norm(places[edges[0]] - places[edges[1]], axis=1)
    assert 0.6 < lengths.min() <= lengths.max() < 1.4
    figure = molecules(edges, {"a": torch.arange(25.0), "b": -torch.arange(25.0)}, across=2)
    assert [axes.get_title() for axes in figure.axes] == ["a", "b"]


def test_components_are_those_of_the_covariance() -> None:
    rows = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    found = principal_components(rows, 2)
    values = torch.linalg.eigvalsh((rows - rows.mean(0)).T @ (rows - rows.mean(0)))
    torch.testing.assert_close(found.square().sum(0), values.flip(0)[:2])
    assert bool((found.amax(0) >= -found.amin(0)).all())
    assert principal_components(rows[:, :1], 3).shape == (30, 3)


def test_labeled_graphs_of_one_node_have_an_encoding() -> None:
    one = torch.zeros(1, dtype=torch.long)
    lonely = LabeledGraphs(
        nodes=one,
        edges=torch.zeros(2, 0, dtype=torch.long),
        bonds=torch.zeros(0, dtype=torch.long),
        node_starts=torch.tensor([0, 1]),
        edge_starts=torch.tensor([0, 0]),
        targets=torch.zeros(1, 1),
    )
    part = with_eigenpairs(lonely, count=2)
    assert part.vectors.tolist() == [[0.0, 0.0]]
