"""Exact answers, greedy ones, and the cache of proved answers."""

from __future__ import annotations

import itertools
import json
import math
import time
from dataclasses import replace
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
    Covers,
    Graphs,
    Problem,
    Program,
    SolutionCache,
    clique_of_size,
    conflicts,
    exact_answers,
    integer_program,
    maximum_clique,
    maximum_coverage,
    maximum_cut,
    maximum_independent_set,
)
from tammes.extensions.conflicts import greedy_without, largest_clique, largest_without


def test_exact_answers_are_the_best_of_all_sets() -> None:
    for graph in small_graphs():
        size = subsets(graph.ground.total).sum(1)
        for problem, feasible in (
            (maximum_clique(graph), are_cliques(graph)),
            (maximum_independent_set(graph), are_independent(graph)),
        ):
            answer = problem.exact(0)
            assert answer.score == size[feasible].max().item() == answer.bound
            _expect_score(problem, answer)
    for graph in small_graphs(most=5):
        sets = subsets(graph.ground.total)
        cut = maximum_cut(graph).exact(0)
        assert cut.score == cut_of(graph).max().item() == cut.bound
        _expect_score(maximum_cut(graph), cut)
        coverage = maximum_coverage(Covers.neighborhoods(graph), k=2)
        answer = coverage.exact(0)
        assert answer.score == coverage.score.values(sets).max().item() == answer.bound
        _expect_score(coverage, answer)
        has = clique_of_size(graph, k=3).exact(0)
        assert has.score == has.bound == float(sets.sum(1)[are_cliques(graph)].max() >= 3)


def _expect_score(problem: Problem, answer: Answer) -> None:
    """The set of an answer has the score that the answer says."""
    members = torch.zeros(problem.ground.total, dtype=torch.bool)
    members[list(answer.members)] = True
    assert problem.score.values(members).item() == answer.score


@pytest.mark.parametrize("seed", range(3))
def test_larger_answers_are_those_of_another_solver(seed: int) -> None:
    graphs = random_graphs([30, 25], seed, chance=0.6)
    for number in range(2):
        other = networkx.Graph(graphs.pairs(number))
        other.add_nodes_from(range(graphs.ground.sizes[number]))
        clique, size = networkx.max_weight_clique(other, weight=None)
        assert maximum_clique(graphs).exact(number).score == size == len(clique)
        _, size = networkx.max_weight_clique(networkx.complement(other), weight=None)
        assert maximum_independent_set(graphs).exact(number).score == size


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
    assert answer.score == networkx.max_weight_clique(graph, weight=None)[1] == answer.bound


def test_cliques_of_sparse_graphs_need_no_integer_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(integer_program.Program, "solve")
    for seed, chance in itertools.product(range(5), (0.02, 0.1, 0.4)):
        graph = networkx.gnp_random_graph(40, chance, seed=seed)
        neighbors = [set(graph[node]) for node in range(40)]
        answer = largest_clique(neighbors)
        assert answer.score == networkx.max_weight_clique(graph, weight=None)[1] == answer.bound
        assert all(second in neighbors[first] for first, second in itertools.combinations(answer.members, 2))


def test_cliques_out_of_time_have_a_bound() -> None:
    graph = networkx.gnp_random_graph(150, 0.9, seed=0)
    neighbors = [set(graph[node]) for node in range(150)]
    answer = largest_clique(neighbors, seconds=0.05)
    assert 0 < answer.score < answer.bound <= 150
    assert all(second in neighbors[first] for first, second in itertools.combinations(answer.members, 2))


def test_after_the_time_no_neighborhood_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(conflicts, "largest_without")
    monkeypatch.delattr(conflicts, "_largest_among")
    graph = networkx.gnp_random_graph(150, 0.9, seed=0)
    neighbors = [set(graph[node]) for node in range(150)]
    answer = largest_clique(neighbors, seconds=0.0)
    # Of a clique's nodes, the first that is removed has all the others, and no more than the core number.
    assert answer.bound == 1 + max(networkx.core_number(graph).values())
    assert answer.score > 1
    assert all(second in neighbors[first] for first, second in itertools.combinations(answer.members, 2))


def test_large_sparse_graphs_are_ordered_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock is after 1,024 steps, and each edge adds at most one step."""
    now = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    graph = networkx.gnm_random_graph(20_000, 60_000, seed=0)
    neighbors = [set(graph[node]) for node in range(20_000)]
    chosen = greedy_without(neighbors)
    assert len(chosen) > 20_000 / 4
    assert next(now) <= (20_000 + 60_000) / conflicts.STEPS + 1


def test_the_order_stops_at_the_end_of_the_time() -> None:
    graph = networkx.gnm_random_graph(20_000, 60_000, seed=0)
    neighbors = [set(graph[node]) for node in range(20_000)]
    assert len(greedy_without(neighbors, ends=0.0)) < conflicts.STEPS
    clique = largest_clique(neighbors, seconds=0.0)
    assert 2 <= clique.score < clique.bound <= 1 + max(map(len, neighbors))
    assert all(second in neighbors[first] for first, second in itertools.combinations(clique.members, 2))
    assert 0 < largest_without(neighbors, seconds=0.0).score < 20_000


def test_a_partition_into_cliques_bounds_sets_without_conflicts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(integer_program.Program, "solve")
    cliques = networkx.disjoint_union_all([networkx.complete_graph(size) for size in (3, 1, 7, 2)])
    found = largest_without([set(cliques[node]) for node in cliques])
    assert found.score == found.bound == 4
    assert found.proved


def test_out_of_time_the_best_so_far_comes_with_a_bound() -> None:
    graph = networkx.gnp_random_graph(120, 0.5, seed=0)
    neighbors = [set(graph[node]) for node in range(120)]
    answer = largest_without(neighbors, seconds=0.05)
    assert answer.score >= len(greedy_without(neighbors))
    assert answer.bound > answer.score
    assert not answer.proved
    assert all(second not in neighbors[first] for first, second in itertools.combinations(answer.members, 2))
    cut = maximum_cut(random_graphs([60], 0)).exact(0, seconds=0.05)
    assert cut.score < cut.bound <= len(random_graphs([60], 0).pairs(0))


def test_answers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = SolutionCache(path=tmp_path / "below" / "answers.jsonl")
    graphs = random_graphs([5, 6, 5], 0)
    first = exact_answers(maximum_clique(graphs), cache=cache)
    with cache.path.open("a") as file:  # type: ignore[union-attr]
        file.write('{"key": "broken')
    solved: list[int] = []
    monkeypatch.setattr(Problem, "exact", lambda self, index, seconds: solved.append(index))
    assert exact_answers(maximum_clique(graphs), cache=cache) == first
    # In another batch the same graphs are known as well.
    one = Graphs.of(graphs.edges[:, graphs.owner == 1] - 5, sizes=(6,))
    assert exact_answers(maximum_clique(one), cache=cache) == [first[1]]
    assert solved == []


def test_what_is_not_proved_is_not_kept(tmp_path: Path) -> None:
    cache = SolutionCache(path=tmp_path / "answers.jsonl")
    proved = Answer(score=1.0, bound=1.0, members=())
    cache.add({"a": Answer(score=1.0, bound=2.0, members=(0,)), "b": proved})
    assert [json.loads(line)["key"] for line in cache.path.read_text().splitlines()] == ["b"]  # type: ignore[union-attr]
    assert cache.load() == {"b": proved}


def test_the_format_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "a", "worth": 2.0, "bound": 2.0, "members": [0, 3]}\n')
    cache, answer = SolutionCache(path=path), Answer(score=2.0, bound=2.0, members=(0, 3))
    assert cache.load() == {"a": answer}
    cache.add({"a": answer})
    first, second = path.read_text().splitlines()
    assert first == second
    cache.add({"b": replace(answer, seconds=1.5)})
    assert cache.load()["b"].seconds == 1.5
    path.write_text(path.read_text().replace("1.5", "-1"))
    assert cache.load()["b"].seconds is None


@pytest.mark.parametrize(
    "content", ["", '{"ke', '{"key": "a"}\n', '{"key": "cut{"key": "a"}\n', '_"}\n{"key": "a"}']
)
def test_a_file_of_answers_passes_though_a_line_is_cut(content: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert SolutionCache(path=path).load() == {}
    path.write_text(content)
    assert SolutionCache(path=path).load() == {}


@pytest.mark.parametrize("content", [b"a note\n", b"\xff\x00"])
def test_a_file_of_something_else_is_refused_and_stays_as_it_is(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"expected a file of exact answers at .*notes\.txt, got other content"
    ):
        exact_answers(maximum_clique(random_graphs([5], 0)), cache=SolutionCache(path=path))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line", [5_000 * "[", '{"key": "a", "worth": 2.0, "bound": 2.0, "members": [1e999]}', "{", "[]"]
)
def test_a_broken_line_of_the_cache_is_skipped(line: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{line}\n{{"key": "a", "worth": 2.0, "bound": 2.0, "members": [0]}}\n')
    assert list(SolutionCache(path=path).load()) == ["a"]


@pytest.mark.parametrize(("dual", "bound"), [(-math.inf, 3.0), (None, 3.0), (-2.0000001, 2.0), (0.0, 0.0)])
def test_a_program_out_of_time_has_a_finite_bound(
    dual: float | None, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = OptimizeResult(status=1, x=np.zeros(3), fun=-0.0, mip_dual_bound=dual)
    monkeypatch.setattr(integer_program, "milp", lambda *_, **__: found)
    answer = Program(gain=[1.0, 2.0, -1.0], rows=[], limits=[], elements=3).solve(1.0)
    assert answer is not None
    assert answer.rounded() == Answer(score=0.0, bound=bound, members=())


@given(sizes=batches, seed=seeds)
def test_taking_elements_in_order_gives_a_maximal_set(sizes: list[int], seed: int) -> None:
    graphs = random_graphs(sizes, seed)
    x = torch.rand(sum(sizes), generator=torch.Generator().manual_seed(seed))
    order = graphs.ground.descending(x)
    problem = maximum_independent_set(graphs)
    members = problem.grow(order)
    score = problem.score.values(members)
    for number, (chosen, values) in enumerate(zip(members.split(sizes), x.split(sizes), strict=True)):
        neighbors, expected = graphs.neighbors(number), set()
        for node in values.argsort(descending=True, stable=True).tolist():
            if not neighbors[node] & expected:
                expected.add(node)
        assert set(chosen.nonzero().flatten().tolist()) == expected
        assert score[number].item() == len(expected)


def test_cliques_of_size_k_are_grown_before_they_count() -> None:
    triangle = Graphs.of(torch.tensor([[0, 1, 0, 2], [1, 2, 2, 3]]), sizes=(4,))
    for k, score in ((3, 1.0), (4, 0.0)):
        problem = clique_of_size(triangle, k=k)
        members = problem.grow(torch.tensor([2, 0, 3, 1]))
        assert members.tolist() == [True, True, True, False]
        assert problem.score.values(members).item() == score


@pytest.mark.equal_bits
@given(sizes=batches, seed=seeds)
def test_a_set_is_grown_until_it_is_maximal(sizes: list[int], seed: int) -> None:
    graphs = random_graphs(sizes, seed)
    problem = maximum_independent_set(graphs)
    order = graphs.ground.descending(torch.rand(sum(sizes), generator=torch.Generator().manual_seed(seed)))
    begun = torch.zeros(sum(sizes), dtype=torch.bool)
    begun[graphs.ground.offsets] = True
    members = problem.grow(order, begun)
    score = problem.score.values(members)
    assert members[begun].all()
    assert begun.sum() == len(sizes)  # unchanged
    for node in range(sum(sizes)):
        larger = members.clone()
        larger[node] = True
        assert not (problem.score.values(larger) > score).any()
