"""Exact answers, the greedy ones, and what is kept of them."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from atlas import are_cliques, are_independent, cut_of, small_graphs
from brute_force import seeds, subsets
from hypothesis import given
from random_graphs import batches, random_graphs
from scipy.optimize import OptimizeResult

from tammes.extensions import (
    Answer,
    CliqueOfSize,
    Covers,
    Graphs,
    MaximumClique,
    MaximumCoverage,
    MaximumCut,
    MaximumIndependentSet,
    Problem,
    Program,
    SolutionCache,
    exact_answers,
    extend,
    integer_program,
)
from tammes.extensions.conflicts import greedy_without, largest_clique, largest_without


def test_exact_answers_are_the_best_of_all_sets() -> None:
    for graph in small_graphs():
        size = subsets(graph.ground.total).sum(1)
        for problem, feasible in (
            (MaximumClique(graphs=graph), are_cliques(graph)),
            (MaximumIndependentSet(graphs=graph), are_independent(graph)),
        ):
            answer = problem.exact(0)
            assert answer.worth == size[feasible].max().item() == answer.bound
            _expect_worth(problem, answer)
    for graph in small_graphs(most=5):
        sets = subsets(graph.ground.total)
        cut = MaximumCut(graphs=graph).exact(0)
        assert cut.worth == cut_of(graph).max().item() == cut.bound
        _expect_worth(MaximumCut(graphs=graph), cut)
        coverage = MaximumCoverage(covers=Covers.neighborhoods(graph), k=2)
        answer = coverage.exact(0)
        assert answer.worth == coverage.worth.values(sets).max().item() == answer.bound
        _expect_worth(coverage, answer)
        has = CliqueOfSize(graphs=graph, k=3).exact(0)
        assert has.worth == has.bound == float(sets.sum(1)[are_cliques(graph)].max() >= 3)


def _expect_worth(problem: Problem, answer: Answer) -> None:
    """The set that comes with an answer is worth what it says."""
    members = torch.zeros(problem.ground.total, dtype=torch.bool)
    members[list(answer.members)] = True
    assert problem.worth.values(members).item() == answer.worth


@pytest.mark.parametrize("seed", range(3))
def test_larger_answers_are_those_of_another_solver(seed: int) -> None:
    graphs = random_graphs([30, 25], seed, chance=0.6)
    for number in range(2):
        other = networkx.Graph(graphs.pairs(number))
        other.add_nodes_from(range(graphs.ground.sizes[number]))
        clique, size = networkx.max_weight_clique(other, weight=None)
        assert MaximumClique(graphs=graphs).exact(number).worth == size == len(clique)
        _, size = networkx.max_weight_clique(networkx.complement(other), weight=None)
        assert MaximumIndependentSet(graphs=graphs).exact(number).worth == size


def test_the_greedy_choice_is_maximal() -> None:
    graph = networkx.gnp_random_graph(40, 0.2, seed=0)
    neighbors = [set(graph[node]) for node in range(40)]
    chosen = greedy_without(neighbors)
    assert all(second not in neighbors[first] for first, second in itertools.combinations(chosen, 2))
    assert all(node in chosen or neighbors[node] & set(chosen) for node in range(40))


def test_cliques_of_large_sparse_graphs_are_found_at_once() -> None:
    graph = networkx.gnp_random_graph(700, 0.006, seed=1)
    neighbors = [set(graph[node]) for node in range(700)]
    answer = largest_clique(neighbors, seconds=30.0)
    assert answer.worth == networkx.max_weight_clique(graph, weight=None)[1] == answer.bound


def test_cliques_out_of_time_have_a_bound() -> None:
    graph = networkx.gnp_random_graph(150, 0.9, seed=0)
    neighbors = [set(graph[node]) for node in range(150)]
    answer = largest_clique(neighbors, seconds=0.05)
    assert 0 < answer.worth < answer.bound <= 150
    assert all(second in neighbors[first] for first, second in itertools.combinations(answer.members, 2))


def test_out_of_time_the_best_so_far_comes_with_a_bound() -> None:
    graph = networkx.gnp_random_graph(120, 0.5, seed=0)
    neighbors = [set(graph[node]) for node in range(120)]
    answer = largest_without(neighbors, seconds=0.05)
    assert answer.worth >= len(greedy_without(neighbors))
    assert answer.bound > answer.worth
    assert not answer.proved
    assert all(second not in neighbors[first] for first, second in itertools.combinations(answer.members, 2))
    cut = MaximumCut(graphs=random_graphs([60], 0)).exact(0, seconds=0.05)
    assert cut.worth < cut.bound <= len(random_graphs([60], 0).pairs(0))


def test_answers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = SolutionCache(path=tmp_path / "below" / "answers.jsonl")
    graphs = random_graphs([5, 6, 5], 0)
    first = exact_answers(MaximumClique(graphs=graphs), kept=kept)
    with kept.path.open("a") as file:  # type: ignore[union-attr]
        file.write('{"key": "broken')
    solved: list[int] = []
    monkeypatch.setattr(MaximumClique, "exact", lambda self, number, seconds: solved.append(number))
    assert exact_answers(MaximumClique(graphs=graphs), kept=kept) == first
    # In another batch the same graphs are known as well.
    one = Graphs.of(graphs.edges[:, graphs.owner == 1] - 5, sizes=(6,))
    assert exact_answers(MaximumClique(graphs=one), kept=kept) == [first[1]]
    assert solved == []


def test_what_is_not_proved_is_not_kept(tmp_path: Path) -> None:
    kept = SolutionCache(path=tmp_path / "answers.jsonl")
    proved = Answer(worth=1.0, bound=1.0, members=())
    kept.keep({"a": Answer(worth=1.0, bound=2.0, members=(0,)), "b": proved})
    assert [json.loads(line)["key"] for line in kept.path.read_text().splitlines()] == ["b"]  # type: ignore[union-attr]
    assert kept.look_up("a") is None
    assert kept.look_up("b") == proved


@pytest.mark.parametrize(("dual", "bound"), [(-math.inf, 3.0), (None, 3.0), (-2.0000001, 2.0), (0.0, 0.0)])
def test_a_program_out_of_time_has_a_finite_bound(
    dual: float | None, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = OptimizeResult(status=1, x=np.zeros(3), fun=-0.0, mip_dual_bound=dual)
    monkeypatch.setattr(integer_program, "milp", lambda *_, **__: found)
    answer = Program(gain=[1.0, 2.0, -1.0], rows=[], limits=[], elements=3).solve(1.0)
    assert answer is not None
    assert answer.rounded() == Answer(worth=0.0, bound=bound, members=())


@given(sizes=batches, seed=seeds)
def test_taking_elements_in_order_gives_a_maximal_set(sizes: list[int], seed: int) -> None:
    graphs = random_graphs(sizes, seed)
    x = torch.rand(sum(sizes), generator=torch.Generator().manual_seed(seed))
    order = graphs.ground.descending(x)
    worth, members = extend(MaximumIndependentSet(graphs=graphs).worth, order)
    for number, (chosen, values) in enumerate(zip(members.split(sizes), x.split(sizes), strict=True)):
        neighbors, expected = graphs.neighbors(number), set()
        for node in values.argsort(descending=True, stable=True).tolist():
            if not neighbors[node] & expected:
                expected.add(node)
        assert set(chosen.nonzero().flatten().tolist()) == expected
        assert worth[number].item() == len(expected)


def test_cliques_of_size_k_are_grown_before_they_count() -> None:
    triangle = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
    for k, worth in ((3, 1.0), (4, 0.0)):
        found, members = CliqueOfSize(graphs=triangle, k=k).extend(torch.tensor([2, 0, 3, 1]))
        assert members.tolist() == [True, True, True, False]
        assert found.item() == worth


@given(sizes=batches, seed=seeds)
def test_a_set_is_completed(sizes: list[int], seed: int) -> None:
    graphs = random_graphs(sizes, seed)
    worth = MaximumIndependentSet(graphs=graphs).worth
    order = graphs.ground.descending(torch.rand(sum(sizes), generator=torch.Generator().manual_seed(seed)))
    begun = torch.zeros(sum(sizes), dtype=torch.bool)
    begun[graphs.ground.offsets] = True
    completed, members = extend(worth, order, begun)
    assert members[begun].all()
    assert begun.sum() == len(sizes)  # left as it was
    assert torch.equal(completed, worth.values(members))
    for node in range(sum(sizes)):
        larger = members.clone()
        larger[node] = True
        assert not (worth.values(larger) > completed).any()
