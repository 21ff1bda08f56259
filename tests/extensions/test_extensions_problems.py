"""Objectives, scores and exact answers against all sets of all graphs with up to six nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from atlas import are_cliques, are_independent, cut_of, side_by_side, small_graphs
from brute_force import number_of, seeds, subsets
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import batches, random_graphs
from torch import Tensor

from tammes.extensions import (
    BoundedLovasz,
    CliqueDensity,
    Counts,
    Coverage,
    Covers,
    Formula,
    GraphFunction,
    Graphs,
    GroundSet,
    IndependenceDensity,
    LinearFormula,
    Lovasz,
    Multilinear,
    Neural,
    Problem,
    SetFunction,
    Singleton,
    Sweep,
    clique_erdos,
    clique_of_size,
    clique_penalty,
    clique_size,
    cut_size,
    exact_answers,
    independence_penalty,
    maximum_clique,
    maximum_coverage,
    maximum_cut,
    maximum_independent_set,
)
from tammes.extensions.functions.formulas import independent_set_size

FORMULAS = [
    CliqueDensity(),
    CliqueDensity(exponent=4.0),
    clique_penalty(),
    clique_erdos(beta=0.7),
    IndependenceDensity(),
    independence_penalty(penalty=1.5),
    cut_size(-1.0),
]


def random_covers(sizes: list[int], seed: int) -> Covers:
    generator = torch.Generator().manual_seed(seed)
    ground = GroundSet(sizes=tuple(sizes))
    things = 5  # of each input
    pairs = torch.cartesian_prod(torch.arange(ground.total), torch.arange(things * len(sizes)))
    pairs = pairs[ground.owner[pairs[:, 0]] == pairs[:, 1] // things]
    chosen = pairs[torch.rand(len(pairs), generator=generator) < 0.3]
    return Covers(ground=ground, items=things * len(sizes), incidence=chosen.T)


def generic(f: SetFunction, sweep: Sweep) -> Tensor:
    """What `along` gives where a set function offers nothing."""
    return SetFunction.along(f, sweep)


@given(sizes=batches, seed=seeds, width=st.one_of(st.none(), st.integers(1, 9)))
def test_values_along_a_sweep_are_those_of_its_sets(sizes: list[int], seed: int, width: int | None) -> None:
    graphs, covers = random_graphs(sizes, seed), random_covers(sizes, seed)
    x = torch.rand(3, sum(sizes), generator=torch.Generator().manual_seed(seed))
    sweep = Sweep(ground=graphs.ground, order=graphs.ground.descending(x), width=width)
    functions: list[SetFunction] = [GraphFunction(graphs=graphs, formula=formula) for formula in FORMULAS]
    functions += [problem.score for problem in problems_of(graphs)]
    functions.append(Coverage(covers=covers))
    coverage = maximum_coverage(covers, k=2)
    functions += [coverage.objective, coverage.score]
    for f in functions:
        torch.testing.assert_close(f.along(sweep), generic(f, sweep))


def test_covers_of_nothing_have_the_value_zero_along_a_sweep() -> None:
    covers = Covers(ground=GroundSet(sizes=(2, 1)), items=2, incidence=torch.zeros(2, 0, dtype=torch.long))
    sweep = Sweep(ground=covers.ground, order=covers.ground.descending(torch.rand(3, 3)))
    assert torch.equal(Coverage(covers=covers).along(sweep), torch.zeros(3, 3, dtype=torch.float64))


def problems_of(graphs: Graphs) -> list[Problem]:
    return [
        maximum_clique(graphs),
        maximum_independent_set(graphs),
        maximum_cut(graphs),
        clique_of_size(graphs, k=3),
        maximum_coverage(Covers.neighborhoods(graphs), k=2),
    ]


@given(sizes=batches, seed=seeds, begins=st.booleans())
def test_sets_grow_by_kept_counts_as_by_calls_of_the_function(
    sizes: list[int], seed: int, begins: bool
) -> None:
    graphs, generator = random_graphs(sizes, seed), torch.Generator().manual_seed(seed)
    order = graphs.ground.descending(torch.rand(sum(sizes), generator=generator))
    members = torch.rand(sum(sizes), generator=generator) < 0.3 if begins else None
    for formula in (*FORMULAS, clique_size, independent_set_size, cut_size()):
        f = GraphFunction(graphs=graphs, formula=formula)
        found = f.grow(order, members)
        torch.testing.assert_close(found, SetFunction.grow(f, order, members))
        assert found.dtype == torch.bool
        assert bool((f.values(found) >= f.values(f.ground.empty_sets if members is None else members)).all())


def test_growing_leaves_the_sets_it_begins_with_as_they_are() -> None:
    graph = random_graphs([6], seed=0)
    begin = torch.zeros(6, dtype=torch.bool)
    for problem in problems_of(graph):
        assert problem.grow(torch.arange(6), begin).any()
        assert not begin.any()


@given(sizes=batches, seed=seeds)
def test_closed_forms_of_the_multilinear_extension(sizes: list[int], seed: int) -> None:
    graphs, covers = random_graphs(sizes, seed), random_covers(sizes, seed)
    x = torch.rand(2, sum(sizes), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    functions: list[SetFunction] = [Coverage(covers=covers)]
    functions += [
        GraphFunction(graphs=graphs, formula=each) for each in FORMULAS if isinstance(each, LinearFormula)
    ]
    for f in functions:
        listed = Multilinear().distribution(x, f.ground).expectation(f)
        torch.testing.assert_close(Multilinear()(x, f), listed)
    cut = graphs.sum_over_edges(_meet(x, graphs))
    torch.testing.assert_close(Multilinear()(x, GraphFunction(graphs=graphs, formula=cut_size(-1.0))), -cut)
    assert GraphFunction(graphs=graphs, formula=CliqueDensity()).multilinear(x) is None


def _meet(x: Tensor, graphs: Graphs) -> Tensor:
    first, second = x[:, graphs.edges[0]], x[:, graphs.edges[1]]
    return first * (1 - second) + second * (1 - first)


def test_gradients_of_closed_forms_are_those_of_finite_differences() -> None:
    graphs, covers = random_graphs([4, 3], 0), random_covers([4, 3], 0)
    x = torch.rand(1, 7, dtype=torch.float64)
    x[0, 0], x[0, 1] = 0.999, 0.001
    x.requires_grad_()
    functions: list[SetFunction] = [Coverage(covers=covers)]
    functions += [
        GraphFunction(graphs=graphs, formula=each) for each in FORMULAS if isinstance(each, LinearFormula)
    ]
    for f in functions:
        assert torch.autograd.gradcheck(lambda rows, f=f: Multilinear()(rows, f), (x,))
    corner = torch.tensor([[1.0, 1, 0, 1, 0, 1, 1]], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(Multilinear()(corner, Coverage(covers=covers)).sum(), corner)
    listed = Multilinear().distribution(corner, covers.ground).expectation(Coverage(covers=covers))
    torch.testing.assert_close(gradient, torch.autograd.grad(listed.sum(), corner)[0])


@pytest.mark.equal_bits
def test_exact_objectives_have_exactly_the_optima_of_the_problem() -> None:
    """For all graphs with up to six nodes: the sets of least value are the largest feasible sets."""
    for graph in small_graphs():
        sets = subsets(graph.ground.total)
        size = sets.sum(1)
        for formula, feasible in (
            (clique_penalty(), are_cliques(graph)),
            (clique_penalty(penalty=1.01), are_cliques(graph)),
            (independence_penalty(), are_independent(graph)),
            (independence_penalty(penalty=1.01), are_independent(graph)),
        ):
            best = feasible & (size == size[feasible].max())
            assert torch.equal(_minimizers(graph, formula), best)
        assert torch.equal(_minimizers(graph, cut_size(-1.0)), cut_of(graph) == cut_of(graph).max())
        covers = Covers.neighborhoods(graph)
        for k in (1, 2):
            values = maximum_coverage(covers, k=k).objective.values(sets)[:, 0]
            covered = Coverage(covers=covers).values(sets)[:, 0].masked_fill(size > k, -1)
            assert torch.equal(values == values.min(), covered == covered.max())


def _minimizers(graph: Graphs, formula: Formula) -> Tensor:
    values = GraphFunction(graphs=graph, formula=formula).values(subsets(graph.ground.total))[:, 0]
    return values <= values.min() + 1e-9


def printed_independence(counts: Counts) -> Tensor:
    """f(S) = |S|/n q(S)^2, as the text prints it."""
    return counts.size / counts.nodes * (counts.edges / counts.pairs.clamp(min=1)) ** 2


def printed_clique(counts: Counts) -> Tensor:
    """f(S) = w(S) (-q(S))^2, as the text prints it."""
    return counts.edges * (counts.edges / counts.pairs.clamp(min=1)) ** 2


def test_how_often_the_paper_s_surrogates_have_other_optima() -> None:
    """The counts that docs/extensions.md gives: graphs with a minimizer that is no largest feasible set."""
    assert len(small_graphs()) == 208
    assert _wrong(CliqueDensity(), are_cliques) == (100, 94)
    assert _wrong(IndependenceDensity(), are_independent) == (23, 23)
    # As they are printed: least for sets without edges, and 0 for every independent set.
    assert _wrong(printed_clique, are_cliques) == (208, 202)
    assert _wrong(printed_independence, are_independent) == (208, 0)


def _wrong(formula, feasibility) -> tuple[int, int]:  # type: ignore[no-untyped-def]
    """How many graphs have a wrong minimizer, and how many have no right one."""
    some, all_of_them = 0, 0
    for graph in small_graphs():
        size = subsets(graph.ground.total).sum(1)
        feasible = feasibility(graph)
        best = feasible & (size == size[feasible].max())
        least = _minimizers(graph, formula)
        some += bool((least & ~best).any())
        all_of_them += not bool((least & best).any())
    return some, all_of_them


def test_six_nodes_without_one_edge_score_better_than_their_largest_clique() -> None:
    pairs = torch.combinations(torch.arange(6)).T
    graph = Graphs.of(pairs[:, 1:], sizes=(6,))
    values = GraphFunction(graphs=graph, formula=CliqueDensity()).values(subsets(6))[:, 0]
    assert subsets(6)[values.argmin()].all()
    assert values.min().item() == pytest.approx(-14 * (14 / 15) ** 2)


EXTENSIONS = [Lovasz(), BoundedLovasz(k=3), Singleton(), Multilinear()]


@pytest.mark.parametrize("extension", EXTENSIONS, ids=repr)
def test_decoded_sets_are_feasible_for_all_small_graphs(extension: Lovasz) -> None:
    graphs = small_graphs()
    batch = side_by_side(graphs)
    x = extension.within(torch.rand(3, batch.ground.total), batch.ground)
    clique, independent = maximum_clique(batch), maximum_independent_set(batch)
    p = extension.distribution(x, batch.ground)
    for problem, feasible in ((clique, are_cliques), (independent, are_independent)):
        score, members = p.best(problem.score)
        for graph, chosen, found in zip(graphs, members.split(batch.ground.sizes), score, strict=True):
            assert feasible(graph)[number_of(chosen)]
            assert chosen.sum().item() == found.item() > 0


def test_decoded_sets_of_neural_extensions_are_feasible() -> None:
    graphs = small_graphs()
    batch = side_by_side(graphs)
    problem = maximum_clique(batch)
    p = Neural(extension=Lovasz()).distribution(torch.randn(batch.ground.total, 4), batch.ground)
    score, members = p.best(problem.score)
    for graph, chosen in zip(graphs, members.split(batch.ground.sizes), strict=True):
        assert are_cliques(graph)[number_of(chosen)]
    torch.testing.assert_close(batch.ground.sum(members.double()), score)


def test_graphs_are_cleaned_and_wrong_ones_refused() -> None:
    graphs = Graphs.of(torch.tensor([[1, 0, 2, 0, 3], [0, 1, 2, 1, 4]]), sizes=(3, 2))
    assert graphs.edges.tolist() == [[0, 3], [1, 4]]
    assert graphs.degree.tolist() == [1, 1, 0, 1, 1]
    with pytest.raises(ValueError, match="nodes of edges must be from 0 to 2, got 0 to 3"):
        Graphs.of(torch.tensor([[0], [3]]), sizes=(3,))
    with pytest.raises(ValueError, match="one that joins two"):
        Graphs.of(torch.tensor([[0], [3]]), sizes=(3, 2))
    with pytest.raises(ValueError, match=r"integers of shape \(2, m\), got torch.float32 \(2, 1\)"):
        Graphs.of(torch.tensor([[0.0], [1.0]]), sizes=(3,))
    with pytest.raises(ValueError, match="every input to have an element, got 0 for input 0"):
        Graphs.of(torch.zeros(2, 0, dtype=torch.long), sizes=(0,))


@pytest.mark.parametrize(("dtype", "nodes"), [(torch.int32, 50_000), (torch.int16, 200), (torch.int8, 20)])
def test_edges_may_be_integers_of_few_bits(dtype: torch.dtype, nodes: int) -> None:
    """The number of an edge, about the square of the number of nodes, exceeds the largest of the type."""
    pairs = torch.tensor([[nodes - 1, 2], [nodes - 2, nodes - 1]])
    expected = [[2, nodes - 2], [nodes - 1, nodes - 1]]
    assert Graphs.of(pairs.to(dtype), sizes=(nodes,)).edges.tolist() == expected


def test_a_single_node_and_a_graph_without_edges() -> None:
    graphs = Graphs.of(torch.zeros(2, 0, dtype=torch.long), sizes=(1, 3))
    for problem, expected in (
        (maximum_clique(graphs), [1.0, 1.0]),
        (maximum_independent_set(graphs), [1.0, 3.0]),
        (maximum_cut(graphs), [0.0, 0.0]),
    ):
        assert [answer.score for answer in exact_answers(problem)] == expected
        assert bool(Neural()(torch.randn(4, 3), problem.objective).isfinite().all())
        assert bool(Lovasz()(torch.rand(4), problem.objective).isfinite().all())
        score, _ = Lovasz().distribution(torch.rand(1, 4), graphs.ground).best(problem.score)
        assert score.tolist() == expected


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_no_such_number_of_elements(wrong: int) -> None:
    graphs = random_graphs([3], 0)
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        clique_of_size(graphs, k=wrong)
    with pytest.raises(ValueError, match="k must be an integer of at least 1"):
        maximum_coverage(Covers.neighborhoods(graphs), k=wrong)


@pytest.mark.parametrize("wrong", [1.0, 0.0, math.nan])
@pytest.mark.parametrize("formula", [clique_penalty, independence_penalty])
def test_a_penalty_must_cost_something(formula: Callable[..., Formula], wrong: float) -> None:
    with pytest.raises(ValueError, match="penalty must be a finite number above 1"):
        formula(penalty=wrong)


def test_numbers_of_formulas_are_positive() -> None:
    for formula in (CliqueDensity, IndependenceDensity):
        with pytest.raises(ValueError, match="exponent must be a finite number above 0"):
            formula(exponent=0.0)
    with pytest.raises(ValueError, match="beta must be a finite number above 0"):
        clique_erdos(beta=-1.0)


def test_wrong_covers_are_refused() -> None:
    ground = GroundSet(sizes=(2, 1))
    with pytest.raises(ValueError, match="once, got one twice"):
        Covers(ground=ground, items=2, incidence=torch.tensor([[0, 0], [1, 1]]))
    with pytest.raises(ValueError, match="got one that two inputs cover"):
        Covers(ground=ground, items=2, incidence=torch.tensor([[0, 2], [1, 1]]))
    with pytest.raises(ValueError, match="elements must be from 0 to 2, got 0 to 3"):
        Covers(ground=ground, items=2, incidence=torch.tensor([[0, 3], [1, 1]]))
    with pytest.raises(ValueError, match="items must be from 0 to 1, got 1 to 2"):
        Covers(ground=ground, items=2, incidence=torch.tensor([[0, 1], [1, 2]]))
    with pytest.raises(ValueError, match=r"incidence must have shape \(2, any\), got \(3, 2\)"):
        Covers(ground=ground, items=2, incidence=torch.tensor([[0, 0], [1, 1], [2, 0]]))  # pairs as rows


def test_a_problem_without_exact_answers_says_so() -> None:
    covered = Coverage(covers=random_covers([3], 0))
    problem = Problem(objective=covered, score=covered)
    with pytest.raises(ValueError, match="this problem has no exact answers"):
        exact_answers(problem)
    with pytest.raises(ValueError, match="this problem has no exact answers"):
        problem.exact(0)


@pytest.mark.parametrize("wrong", [{}, {"pairs": 0.0, "size": 0.0}])
def test_a_linear_formula_has_a_coefficient(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a coefficient other than 0"):
        LinearFormula(**wrong)
    with pytest.raises(ValueError, match="edges must be a finite number"):
        LinearFormula(edges=math.nan)
