"""Counts of automorphisms and repeated eigenvalues against exact arithmetic, and the page that shows them."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import networkx as nx
import pytest
import torch

from tammes.papers.robinson_spectral import SPECTRAL_AUTOMORPHISMS
from tammes.papers.robinson_spectral.automorphism_counts import (
    BESIDE,
    CONNECTED,
    DRAWN,
    REAL,
    SAME,
    GraphSample,
    SymmetryScore,
    drawn,
    measure,
    together,
)
from tammes.papers.robinson_spectral.automorphism_findings import COUNTS, DENSE, Groups, by_group, findings
from tammes.papers.robinson_spectral.automorphisms import cells, numbers, page
from tammes.papers.robinson_spectral.multiplicities import Graph, GraphSet
from tammes.papers.robinson_spectral.random_graphs import HALF, KINDS, TREES

Matrix = list[list[Fraction]]


def graph_of(source: nx.Graph) -> Graph:
    numbered = nx.convert_node_labels_to_integers(source)
    pairs = torch.tensor(list(numbered.edges), dtype=torch.long).reshape(-1, 2).T
    return torch.cat([pairs, pairs.flip(0)], dim=1), len(numbered)


def adjacency(graph: nx.Graph) -> Matrix:
    return [[Fraction(int(graph.has_edge(one, other))) for other in graph] for one in graph]


def random_walk_laplacian(graph: nx.Graph) -> Matrix:
    """D^{-1/2} L D^{1/2}: it is rational, and has the eigenvalues of L."""
    return [
        [
            Fraction(int(one == other and graph.degree(one) > 0))
            - (Fraction(1, graph.degree(one)) if graph.has_edge(one, other) else 0)
            for other in graph
        ]
        for one in graph
    ]


def characteristic(matrix: Matrix) -> list[Fraction]:
    """Coefficients of the characteristic polynomial, from the constant, by Faddeev and LeVerrier."""
    n = len(matrix)
    coefficients = [Fraction(1)]
    product = [[Fraction(0)] * n for _ in range(n)]
    for step in range(1, n + 1):
        for row in range(n):
            product[row][row] += coefficients[-1]
        columns = list(zip(*product, strict=True))
        product = [
            [sum(a * b for a, b in zip(row, column, strict=True) if a) for column in columns]
            for row in matrix
        ]
        coefficients.append(-sum(product[row][row] for row in range(n)) / step)
    return coefficients[::-1]


def has_repeated_root(polynomial: Sequence[Fraction]) -> bool:
    """Whether the polynomial and its derivative have a common divisor, by Euclid's algorithm."""
    one, other = list(polynomial), [power * each for power, each in enumerate(polynomial)][1:]
    while any(other):
        while other[-1] == 0:
            other.pop()
        while len(one) >= len(other):
            factor, shift = one[-1] / other[-1], len(one) - len(other)
            for place, each in enumerate(other):
                one[place + shift] -= factor * each
            one.pop()
        one, other = other, one
    while one and one[-1] == 0:
        one.pop()
    return len(one) > 1


def test_exact_arithmetic_knows_roots() -> None:
    assert has_repeated_root([Fraction(each) for each in (0, 0, 1)])  # x^2
    assert has_repeated_root([Fraction(each) for each in (1, -3, 3, -1)])
    assert not has_repeated_root([Fraction(each) for each in (-1, 0, 1)])
    assert characteristic(adjacency(nx.path_graph(3))) == [0, -2, 0, 1]


def test_repeated_eigenvalues_of_all_small_graphs_are_those_of_exact_arithmetic() -> None:
    """All 208 graphs of 1 to 6 nodes, and the theorem of Mowshowitz on them."""
    small = [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= 6]
    assert len(small) == 208
    for graph in small:
        found = measure([graph_of(graph)])
        expected = [
            has_repeated_root(characteristic(matrix(graph))) for matrix in (adjacency, random_walk_laplacian)
        ]
        assert [found.adjacency, found.laplacian] == expected
        assert (found.counted, found.sensitive, found.exceptions) == (1, 0, 0)
        assert found.residual < 1e-14


def test_counts_of_several_graphs_are_sums_in_any_order() -> None:
    frucht = nx.frucht_graph()
    graphs = [
        graph_of(each)
        for each in (
            nx.path_graph(4),  # an automorphism of order 2, all eigenvalues simple
            nx.star_graph(3),  # of order 3, repeated
            nx.disjoint_union(frucht, nx.disjoint_union(nx.path_graph(3), frucht)),
            frucht,  # none, simple
            nx.empty_graph(1),
        )
    ]
    score = measure(graphs)
    assert (score.counted, score.automorphism, score.above_two) == (5, 3, 1)
    assert (score.adjacency, score.laplacian) == (2, 2)
    assert (score.both_adjacency, score.both_laplacian, score.exceptions) == (2, 2, 0)
    again = measure(graphs[::-1])
    parts = together([measure([each]) for each in graphs])
    for name, value in vars(score).items():
        assert value == pytest.approx(vars(again)[name], abs=1e-14)
        assert value == pytest.approx(vars(parts)[name], abs=1e-14)


def test_two_different_components_repeat_the_eigenvalue_zero_of_the_laplacian_alone() -> None:
    """Repeated eigenvalues without an automorphism: the converse of the theorem does not hold."""
    connected = (graph for graph in nx.graph_atlas_g() if len(graph) == 6 and nx.is_connected(graph))
    one, other = itertools.islice(
        (each for each in connected if not measure([graph_of(each)]).automorphism), 2
    )
    score = measure([graph_of(nx.disjoint_union(one, other))])
    assert (score.automorphism, score.laplacian, score.both_laplacian) == (0, 1, 0)


def test_eigenvalues_close_to_the_tolerance_are_counted_as_sensitive(monkeypatch: pytest.MonkeyPatch) -> None:
    path = graph_of(nx.path_graph(4))  # gaps of A of 0.62 of its norm, and more
    assert measure([path]).sensitive == 0
    monkeypatch.setattr("tammes.papers.robinson_spectral.automorphism_counts.TOLERANCES", (1e-8, 1e-10, 0.7))
    assert measure([path, graph_of(nx.complete_graph(3))]).sensitive == 1  # of the triangle all agree


def test_drawn_graphs_are_those_of_their_seed_and_size() -> None:
    cell = GraphSample(data=DRAWN, kind=HALF, nodes=9, graphs=4, seed=1)
    one, again = drawn(cell, []), drawn(cell, [])
    assert [nodes for _, nodes in one] == [9] * 4
    assert all(torch.equal(mine[0], theirs[0]) for mine, theirs in zip(one, again, strict=True))
    other = drawn(GraphSample(data=DRAWN, kind=HALF, nodes=9, graphs=4, seed=2), [])
    assert not any(torch.equal(mine[0], theirs[0]) for mine, theirs in zip(one, other, strict=True))


def test_random_graphs_beside_a_set_have_its_sizes() -> None:
    real = [graph_of(each) for each in (nx.cycle_graph(5), nx.complete_graph(4), nx.empty_graph(3))]
    for kind in (REAL, *BESIDE):
        found = drawn(GraphSample(data="a", kind=kind, nodes=0, graphs=3, seed=0), real)
        assert [nodes for _, nodes in found] == [5, 4, 3]
        edges = [own.shape[1] for own, _ in found]
        assert (edges == [10, 12, 0]) == (kind != HALF)
    connected = drawn(GraphSample(data="a", kind=CONNECTED, nodes=0, graphs=3, seed=0), real)
    assert nx.is_connected(nx.Graph(connected[0][0].T.tolist()))


def read(out: Path) -> list[dict[str, str]]:
    with (out / "table.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tammes.papers.robinson_spectral.automorphisms.SIZES", (6, 10, 14))


@pytest.mark.usefixtures("small")
def test_the_entry_runs_without_data_resumes_and_learns_nothing(tmp_path: Path) -> None:
    entry, out = SPECTRAL_AUTOMORPHISMS, tmp_path / "out"
    entry.reproduce(out, budget=0.001, seed=3, seeds=2)
    rows = read(out)
    assert len(rows) == 3 * len(KINDS) * 2
    assert {row["seed"] for row in rows} == {"3", "4"}
    assert {row["counted"] for row in rows} == {"1"}
    whole = (out / "table.csv").read_bytes()
    assert "<td>yes</td>" not in (out / "report.html").read_text()  # of two graphs, nothing is known
    (out / "table.csv").write_bytes(whole[: whole.rindex(b"\n", 0, -60) + 1])
    entry.reproduce(out, budget=0.001, seed=3, seeds=2)
    assert (out / "table.csv").read_bytes() == whole
    # Nothing learns, so the control without learning is the same study.
    entry.reproduce(tmp_path / "control", budget=0.001, seed=3, seeds=2, learning=False)
    for name in ("table.csv", "findings.json"):
        assert (tmp_path / "control" / name).read_bytes() == (out / name).read_bytes()


@pytest.mark.usefixtures("small")
def test_real_sets_stand_beside_random_graphs(graph_folder: Path, tmp_path: Path) -> None:
    entry, out = SPECTRAL_AUTOMORPHISMS, tmp_path / "out"
    entry.reproduce(out, budget=1e-3, seed=0, seeds=1, data=graph_folder)
    # With the whole budget there are all 24 rings of ZINC; here there are the first 12, and one protein.
    rows = {(row["data"], row["kind"]): row for row in read(out) if row["data"] != DRAWN}
    assert set(rows) == {(data, kind) for data in ("ZINC", "PROTEINS") for kind in (REAL, *BESIDE)}
    real = rows["ZINC", REAL]
    # Rings of 4 to 6 atoms: rotations have orders above 2, and eigenvalues come in pairs.
    counts = ("automorphism", "above_two", "adjacency", "laplacian", "both_adjacency", "both_laplacian")
    assert {real[name] for name in counts} == {real["counted"]} == {"12"}
    assert float(real["residual"]) < 1e-14
    assert rows["PROTEINS", SAME]["counted"] == "1"
    text = (out / "report.html").read_text()
    assert "ZINC: connected, n and m" in text
    assert "intervals of shares (Wilson)" in text
    with pytest.raises(ValueError, match=r"expected in .* or zinc; found none of them"):
        entry.reproduce(tmp_path / "other", budget=1, seed=0, data=graph_folder / "zinc")
    assert not (tmp_path / "other").exists()


def test_a_budget_has_fewer_graphs_and_all_seeds() -> None:
    full, tenth = (
        cells([GraphSet(data="ZINC", most=10)], budget=budget, seeds=range(5)) for budget in (1.0, 0.1)
    )
    assert len(full) == len(tenth) == len(set(full)) == 6 * 6 * 5 + 1 + 3 * 5
    assert {cell.graphs for cell in full if cell.data == DRAWN} == {200}
    assert {cell.graphs for cell in tenth if cell.data == DRAWN} == {20}
    assert [cell.seed for cell in full if cell.kind == REAL] == [0]


def score(counted: int, share: float, **others: int) -> SymmetryScore:
    count = round(share * counted)
    names = ("automorphism", "adjacency", "laplacian", "both_adjacency", "both_laplacian")
    zero = {"above_two": 0, "exceptions": 0, "sensitive": 0, "residual": 0.0}
    return SymmetryScore(counted=counted, **{**dict.fromkeys(names, count), **zero, **others})


def groups(*, last: float = 0.0, trees: float = 1.0, real: float = 0.8, same: float = 0.3) -> Groups:
    made = {
        (DRAWN, kind, nodes): score(1000, trees if kind == TREES else share)
        for nodes, share in ((6, 0.7), (20, 0.3), (160, last))
        for kind in KINDS
    }
    shares = {REAL: real, SAME: same, CONNECTED: 0.3, HALF: 0.1}
    return made | {("a set", kind, 0): score(500, share) for kind, share in shares.items()}


def verdicts(found: Groups) -> list[str]:
    return [finding.verdict for finding in findings(found)]


def test_verdicts_follow_from_the_shares() -> None:
    yes = verdicts(groups())
    assert yes[:3] == ["yes"] * 3
    assert yes[4:13] == ["yes"] * 9
    assert [each for each in yes if each.startswith("check")] == ["check: passed"] * 2
    # Five percent are too many at the largest n, and a share that rises is none that vanishes.
    assert verdicts(groups(last=0.05))[:3] == ["no"] * 3
    assert verdicts(groups(last=0.9))[:3] == ["no"] * 3
    assert verdicts(groups(last=0.01))[0] == "not resolved: more trials would be needed"
    assert verdicts(groups(trees=0.0))[:3] == ["no verdict: not above the control"] * 3
    # Beside graphs of the same density the contrast can be the other way around.
    assert verdicts(groups(same=0.95))[7:10] == ["no"] * 3
    assert verdicts(groups(same=0.95))[4:7] == ["yes"] * 3
    assert verdicts(groups(real=0.05))[7:10] == ["no verdict: not above the control"] * 3


def test_checks_fail_where_the_theorem_or_the_identity_does() -> None:
    exception = groups() | {(DRAWN, HALF, 6): score(1000, 0.7, above_two=3, exceptions=1)}
    inexact = groups() | {(DRAWN, HALF, 6): score(1000, 0.7, residual=1e-3)}
    assert [each for each in verdicts(exception) if "check" in each] == ["check: passed", "check: failed"]
    assert [each for each in verdicts(inexact) if "check" in each] == ["check: failed", "check: passed"]


def test_seeds_are_counted_together_and_tables_add_up() -> None:
    results = {
        GraphSample(data=DRAWN, kind=kind, nodes=nodes, graphs=100, seed=seed): score(100, 0.25 * seed)
        for nodes in (6, 10, 14)
        for kind in KINDS
        for seed in (0, 2)
    }
    found = by_group(results)
    assert {(each.counted, each.automorphism) for each in found.values()} == {(200, 50)}
    header, rows = numbers(found).header, numbers(found).rows
    row = dict(zip(header, rows[0], strict=True))
    assert row["graphs"] == "200"
    assert row["% with a nontrivial automorphism"] == "25.0 [19.5, 31.4]"
    assert row["A"] == "50 / 0 / 0 / 150"
    assert len(rows) == 3 * len(KINDS)
    assert page(results).settings == {"graphs of a kind and n": "200"}
    assert set(DENSE) < set(KINDS)
    assert len(COUNTS) == 3
