"""The experiments on eigenvectors of graphs, on a few small graphs: what they measure, keep and write."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from tammes.data.labeled_graphs import LabeledGraphs
from tammes.papers.entry import Request
from tammes.papers.page import write_page
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral import (
    SPECTRAL_MULTIPLICITIES,
    SPECTRAL_PROPERTIES,
    SPECTRAL_SUBSTRUCTURES,
    SPECTRAL_ZINC,
    properties,
    substructures,
    zinc,
)
from tammes.papers.robinson_spectral.figure_7_3 import ENCODINGS as ENCODED
from tammes.papers.robinson_spectral.figure_7_3 import Experiment
from tammes.papers.robinson_spectral.figure_7_3 import cells as encoding_cells
from tammes.papers.robinson_spectral.figure_7_3 import errors_by_seed as encoding_errors
from tammes.papers.robinson_spectral.figure_7_3 import findings as encoding_findings
from tammes.papers.robinson_spectral.figure_7_3 import page as encoding_page
from tammes.papers.robinson_spectral.graph_regression import standardized, with_eigenpairs
from tammes.papers.robinson_spectral.molecules import (
    figures_e4_and_e5,
    fluorescein,
    layout,
    molecules,
    principal_components,
)
from tammes.papers.robinson_spectral.multiplicities import measure
from tammes.papers.robinson_spectral.zinc import CONTROLS, MAIN, PAPER, Setting, cells, findings, summary
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


@pytest.fixture
def data(graph_folder: Path) -> Path:
    return graph_folder


def read(out: Path) -> list[dict[str, str]]:
    with (out / "table.csv").open() as file:
        return list(csv.DictReader(file))


def test_multiplicities_are_counted(data: Path, tmp_path: Path) -> None:
    entry, out = SPECTRAL_MULTIPLICITIES, tmp_path / "out"
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
    made = cells(0.04, seeds=range(2, 6))
    assert len(made) == len(set(made)) == 4 * (len(CONTROLS) + len(PAPER))
    assert [cell.setting for cell in made[:5]] == [*CONTROLS, *MAIN]
    assert {(cell.molecules, cell.width, cell.phi_width) for cell in made} == {(10_000, 40, 24)}
    assert [cell.epochs for cell in made[:5]] == [0, 0, 60, 60, 60]
    assert {cell.seed for cell in made} == {2, 3, 4, 5}
    full, least = (cells(budget, seeds=[0])[-1] for budget in (1.0, 0.001))
    assert (full.epochs, full.width) == (300, 128)
    assert (least.molecules, least.epochs) == (250, 2)


def test_molecules_that_are_not_there_are_refused_before_anything_is_written(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    (data / "zinc" / "zinc_test.npz").unlink()
    with pytest.raises(ValueError, match=r"expected ZINC 12k at .*zinc_test\*\.npz; found neither"):
        SPECTRAL_ZINC.reproduce(out, budget=0.01, seed=0, data=data / "zinc")
    assert not out.exists()


def measured(errors: dict[Setting, float], *, seeds: int = 3) -> dict[ZincRun, ZincScore]:
    """Return scores of seeds that differ a little, a little less with each further setting."""
    return {
        ZincRun(base=base, encoding=encoding, eigenvectors=k, seed=seed, **SMALL): ZincScore(
            test=error + seed / 10 + seed * place / 1000,
            validation=0.1,
            best_epoch=1,
            parameters=10,
            seconds_per_epoch=1.0,
        )
        for place, ((base, encoding, k), error) in enumerate(errors.items())
        for seed in range(seeds)
    }


def test_verdicts_on_molecules_are_of_paired_seeds_and_need_controls() -> None:
    def verdicts(*errors: float, seeds: int = 3) -> list[str]:
        settings = (*CONTROLS, *MAIN)
        results = measured(dict(zip(settings, errors, strict=False)), seeds=seeds)
        return [finding.verdict for finding in findings(results)]

    # Seeds differ by more than the methods do, which pairs do not mind.
    assert verdicts(0.9, 0.8, 0.3, 0.25, 0.2)[:2] == ["yes", "yes"]
    assert verdicts(0.9, 0.8, 0.3, 0.2, 0.25)[:2] == ["no", "yes"]
    assert verdicts(0.9, 0.8, 0.2, 0.3, 0.25)[1] == "no"
    assert verdicts(0.9, 0.8, 0.3, 0.25, 0.2, seeds=1)[:2] == 2 * ["one seed: no verdict"]
    assert all(
        verdict.startswith("no verdict: not above the control")
        for verdict in verdicts(0.9, 0.1, 0.3, 0.25, 0.2)[:2]
    )
    assert verdicts(0.9, 0.8, 0.3, 0.25)[0] == "not measured yet"
    assert set(verdicts(0.9, 0.8, 0.3, 0.25, 0.2)[2:]) == {"not measured yet"}


def test_a_page_of_the_paper_s_own_means_says_yes_to_all_statements() -> None:
    """The statements are those of the tables."""
    errors = {CONTROLS[0]: 1.5, CONTROLS[1]: 1.4} | {setting: error for setting, (error, _) in PAPER.items()}
    assert {finding.verdict for finding in findings(measured(errors))} == {"yes"}
    assert str(summary(measured(errors))[MAIN[0]]).startswith("0.3")


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
    shown = zinc.page(
        results, training="zinc_REBUILT.npz", fluorescein=figures_e4_and_e5(tmp_path / zinc.DRAWING)
    )
    protocol = Protocol(seeds=[0, 1], controls=["untrained network"], measured_on="test molecules")
    write_page(shown, Request(entry=SPECTRAL_ZINC, out=tmp_path, budget=1.0, seed=0, data=data), protocol)
    page = (tmp_path / "report.html").read_text()
    assert "zinc_REBUILT.npz" in page
    assert "component 4" in page
    assert "v₁₃" in page  # of Figure E-4 alone
    assert "0.121, deviation 0.005" in page
    assert "0.500 [0.500, 0.500]" in page


def test_substructures_are_trained_and_written(random_folder: Path, tmp_path: Path) -> None:
    entry, out = SPECTRAL_SUBSTRUCTURES, tmp_path / "substructures"
    entry.reproduce(out, budget=0.004, seed=0, data=random_folder)
    rows = read(out)
    assert [row["encoding"] for row in rows] == list(ENCODED)  # one seed, where the budget is small
    assert [row["epochs"] for row in rows] == ["0", "0", "1", "1", "1"]
    assert all(float(row[name]) > 0 for row in rows for name in ("triangle", "chordal_cycle"))
    before = (out / "table.csv").read_bytes()
    entry.reproduce(out, budget=0.004, seed=0, data=random_folder)
    assert (out / "table.csv").read_bytes() == before
    assert "6 random graphs to train on, 3 to test on" in (out / "report.html").read_text()


def test_properties_need_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("VALIDATION", 8), ("TEST", 8), ("TRAIN", 80)):
        monkeypatch.setattr(properties, name, count)
    SPECTRAL_PROPERTIES.reproduce(tmp_path, budget=0.004, seed=0, data=None)
    rows = read(tmp_path)
    assert [row["encoding"] for row in rows] == list(ENCODED)
    assert {row["graphs"] for row in rows} == {"5"}
    assert "spectral radius" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("experiment", [properties.EXPERIMENT, substructures.EXPERIMENT])
def test_verdicts_on_encodings_follow_from_seeds_and_controls(experiment: Experiment) -> None:
    def verdicts(*, seeds: int = 3, spread: float = 0.01, **errors: float) -> list[str]:
        means = {"best constant": 1.0, "none": 0.5, "LapPE (flip)": 0.3, "SignNet": 0.2} | errors
        found = {
            name: [
                [means.get(name, 2.0) + spread * seed * (seed + place)] * len(experiment.targets)
                for seed in range(seeds)
            ]
            for place, name in enumerate(ENCODED)
        }
        return [finding.verdict for finding in encoding_findings(experiment, found)]

    flips_help = experiment is substructures.EXPERIMENT
    assert verdicts() == ["yes", "yes" if flips_help else "no"]
    assert verdicts(**{"LapPE (flip)": 0.6}) == ["yes", "no" if flips_help else "yes"]
    assert verdicts(SignNet=0.7)[0] == "no"
    wide = verdicts(spread=0.12, **{"best constant": 10.0, "untrained, SignNet": 10.0})
    assert wide[0].startswith("not resolved: at this size about")
    assert verdicts(seeds=1) == 2 * ["one seed: no verdict"]
    unlearned = verdicts(SignNet=1.2, **{"LapPE (flip)": 1.2})
    assert all(verdict.startswith("no verdict: not above the control") for verdict in unlearned)


def test_only_seeds_that_have_all_encodings_count() -> None:
    experiment = substructures.EXPERIMENT
    made = encoding_cells(budget=1, seeds=range(2), graphs=5)
    assert len(made) == 2 * len(ENCODED)
    score = experiment.scores(*range(4), 1, 1.0)
    assert encoding_errors(experiment, dict.fromkeys(made[:-1], score)) == {
        name: [[0.0, 1.0, 2.0, 3.0]] for name in ENCODED
    }
    assert encoding_page(experiment, dict.fromkeys(made[:3], score), data="") is None


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
