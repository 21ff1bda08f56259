"""Solvers: their losses against what they stand for, and that training finds good sets."""

from __future__ import annotations

import importlib
import math

import pytest
import torch
from brute_force import subsets

from tammes.extensions import (
    BoundedLovasz,
    CliqueDensity,
    Covers,
    Formula,
    GraphFunction,
    Graphs,
    IndependenceDensity,
    Lovasz,
    Multilinear,
    Neural,
    Peak,
    Problem,
    clique_erdos,
    clique_penalty,
    cut_size,
    maximum_clique,
    maximum_coverage,
    maximum_cut,
    maximum_independent_set,
)
from tammes.extensions.solvers import (
    ByColumns,
    ByNeural,
    ByScalar,
    Erdos,
    FitConfig,
    Method,
    NetworkConfig,
    Reinforce,
    SolverNetwork,
    StraightThrough,
    approximation_ratios,
    fit,
    optimal_scores,
    search,
    solve,
    split,
)
from tammes.extensions.solvers.network import Attention, GatedConvolutions


def some_graphs(count: int, seed: int = 0, most: int = 9) -> list[Graphs]:
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(count):
        n = int(torch.randint(3, most + 1, (), generator=generator))
        pairs = torch.combinations(torch.arange(n)).T
        found.append(Graphs.of(pairs[:, torch.rand(pairs.shape[1], generator=generator) < 0.5], sizes=(n,)))
    return found


METHODS = [
    ByScalar(),
    ByScalar(extension=BoundedLovasz(k=3)),
    ByColumns(),
    ByNeural(),
    ByNeural(neural=Neural(squash=Peak())),
    StraightThrough(),
    Reinforce(generator=torch.Generator().manual_seed(0), samples=20),
    Erdos(),
]


def clique(graphs: Graphs) -> Problem:
    return maximum_clique(graphs, formula=clique_penalty())


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_method_has_a_loss_and_feasible_sets(method: Method) -> None:
    torch.manual_seed(0)
    graphs = some_graphs(5)
    batch = Graphs.join(graphs)
    network = SolverNetwork(NetworkConfig(width=8, layers=2), scalar=method.scalar)
    outputs = network(batch)
    losses = method.loss(outputs, clique(batch))
    assert losses.shape == (5,)
    losses.sum().backward()
    assert all(bool(weight.grad.isfinite().all()) for weight in network.parameters())
    assert any(bool((weight.grad != 0).any()) for weight in network.parameters())
    score, members = method.decode(outputs, clique(batch))
    torch.testing.assert_close(clique(batch).score.values(members), score)
    assert bool((score >= 0).all())


def test_straight_through_is_the_sum_over_level_sets() -> None:
    graphs = some_graphs(3, seed=1)
    batch = Graphs.join(graphs)
    outputs = torch.randn(batch.ground.total, 1, dtype=torch.float64, requires_grad=True)
    found = StraightThrough().loss(outputs, clique(batch))
    (gradient,) = torch.autograd.grad(found.sum(), outputs)
    parts = outputs.detach()[:, 0].split(list(batch.ground.sizes))
    slopes = gradient[:, 0].split(list(batch.ground.sizes))
    for graph, part, value, slope in zip(graphs, parts, found, slopes, strict=True):
        x = torch.sigmoid(part)
        f = GraphFunction(graphs=graph, formula=clique_penalty())
        expected, by_levels = 0.0, torch.zeros_like(x)
        for threshold in x:
            level = (x >= threshold).double().requires_grad_()
            at_level = f.relaxed(level[None])[0, 0]
            expected += at_level.item() / len(x)
            by_levels += torch.autograd.grad(at_level, level)[0] / len(x)
        assert value.item() == pytest.approx(expected)
        torch.testing.assert_close(slope, by_levels * x * (1 - x))


def test_straight_through_evaluates_sets_themselves() -> None:
    """Of an indicator vector with rounding errors the density can exceed 1, where 1.5 is no exponent."""
    complete = Graphs.of(torch.triu_indices(8, 8, 1), sizes=(8,))
    problem = maximum_independent_set(complete, IndependenceDensity(exponent=1.5))
    for seed in range(300):
        outputs = torch.randn(8, 1, generator=torch.Generator().manual_seed(seed))
        assert StraightThrough().loss(outputs, problem).tolist() == pytest.approx([-1 / 64], rel=1e-6)


def test_straight_through_needs_a_formula() -> None:
    graph = some_graphs(1)[0]
    problem = maximum_coverage(Covers.neighborhoods(graph), k=2)
    with pytest.raises(ValueError, match="needs a GraphFunction, got Coverage"):
        StraightThrough().loss(torch.zeros(graph.ground.total, 1), problem)


def test_reinforce_goes_the_way_of_the_multilinear_extension() -> None:
    graph = some_graphs(1, seed=3)[0]
    problem = maximum_cut(graph)
    outputs = torch.randn(graph.ground.total, 1, requires_grad=True)
    sampled = Reinforce(generator=torch.Generator().manual_seed(0), samples=100_000).loss(outputs, problem)
    (found,) = torch.autograd.grad(sampled.sum(), outputs)
    exact = Multilinear()(torch.sigmoid(outputs[:, 0]), problem.objective).sum()
    (expected,) = torch.autograd.grad(exact, outputs)
    cosine = torch.nn.functional.cosine_similarity(found.flatten(), expected.flatten(), dim=0)
    assert cosine.item() > 0.99


def test_erdos_losses_are_those_of_the_text() -> None:
    batch = Graphs.join(some_graphs(3, seed=2))
    outputs = torch.randn(batch.ground.total, 1, dtype=torch.float64)
    p = torch.sigmoid(outputs[:, 0])
    found = Erdos().loss(outputs, maximum_clique(batch, formula=clique_erdos(beta=0.3)))
    same = batch.ground.owner[:, None] == batch.ground.owner
    products = (p[:, None] * p * same).triu(1)
    edges = (p[batch.edges[0]] * p[batch.edges[1]]).sum()
    expected = 0.3 * products.sum() - 1.3 * edges
    torch.testing.assert_close(found.sum(), expected)


@pytest.mark.parametrize(
    ("method", "formula"),
    [
        (ByScalar(), CliqueDensity()),
        (ByNeural(neural=Neural(squash=Peak())), clique_penalty()),
        (Erdos(), clique_erdos()),
    ],
    ids=["scalar", "neural", "erdos"],
)
def test_training_makes_solvers_better(method: Method, formula: Formula) -> None:
    def posed(graphs: Graphs) -> Problem:
        return maximum_clique(graphs, formula=formula)

    torch.manual_seed(0)
    graphs = some_graphs(40, most=8)
    optima, bounds = optimal_scores(posed, graphs)
    assert torch.equal(optima, bounds)
    network = SolverNetwork(NetworkConfig(width=16, layers=2), scalar=method.scalar)
    before = approximation_ratios(solve(network, method, posed, graphs), optima).mean().item()
    losses: list[float] = []
    _, ratio = fit(
        network,
        method,
        posed,
        graphs,
        graphs,
        FitConfig(epochs=15, batch_size=8, learning_rate=3e-3),
        optima=optima,
        on_epoch=lambda epoch, loss, ratio: losses.append(loss),
    )
    found = approximation_ratios(solve(network, method, posed, graphs, batch_size=7), optima)
    assert found.mean().item() == pytest.approx(ratio)
    assert losses[-1] < losses[0] - 0.1
    assert found.mean().item() >= max(0.75, before)
    assert found.max().item() <= 1.0


@pytest.mark.equal_bits
def test_the_same_seeds_give_the_same_solver() -> None:
    graphs = some_graphs(10)
    optima, _ = optimal_scores(clique, graphs)

    def trained() -> torch.Tensor:
        torch.manual_seed(1)
        network = SolverNetwork(NetworkConfig(width=8, layers=2), scalar=True)
        fit(network, ByScalar(), clique, graphs, graphs, FitConfig(epochs=2), optima=optima)
        return torch.cat([weight.flatten() for weight in network.parameters()])

    assert torch.equal(trained(), trained())


def test_a_solver_sees_one_graph_as_it_sees_it_in_a_batch() -> None:
    graphs = some_graphs(4)
    network = SolverNetwork(NetworkConfig(width=8, layers=3), scalar=False)
    together = network(Graphs.join(graphs)).split([graph.ground.total for graph in graphs])
    for graph, part in zip(graphs, together, strict=True):
        torch.testing.assert_close(network(graph), part)


def graphs_with_lonely_nodes() -> Graphs:
    return Graphs.join([*some_graphs(3), Graphs.of(torch.zeros(2, 0, dtype=torch.long), sizes=(2,))])


def assert_same_layers(
    ours: torch.nn.Module, theirs: torch.nn.Module, x: torch.Tensor, batch: Graphs
) -> None:
    """Equal values and gradients, of the input and, in their order, of all weights."""
    found, expected = ours(x, batch.singletons), theirs(x, batch.arcs)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    along = torch.randn_like(found)
    for mine, others in zip(
        torch.autograd.grad((found * along).sum(), [x, *ours.parameters()]),
        torch.autograd.grad((expected * along).sum(), [x, *theirs.parameters()]),
        strict=True,
    ):
        torch.testing.assert_close(mine, others.reshape(mine.shape), rtol=1e-11, atol=1e-11)


def test_gated_convolutions_are_those_of_torch_geometric() -> None:
    layers = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(0)
    batch = graphs_with_lonely_nodes()
    ours, theirs = GatedConvolutions(6, 3).double(), layers.GatedGraphConv(6, 3).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(batch.ground.total, 6, dtype=torch.float64, requires_grad=True)
    assert_same_layers(ours, theirs, x, batch)


@pytest.mark.parametrize("features", [1, 3])
def test_attention_is_that_of_torch_geometric(features: int) -> None:
    layers = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(0)
    batch = graphs_with_lonely_nodes()
    ours, theirs = Attention(features, 5).double(), layers.GATConv(features, 5).double()
    ours.load_state_dict(
        {
            "of_sender": theirs.att_src[0],
            "of_receiver": theirs.att_dst[0],
            "bias": torch.randn(5, dtype=torch.float64),
            "weight": theirs.lin.weight,
        }
    )
    theirs.bias = torch.nn.Parameter(ours.bias.detach().clone())
    x = torch.randn(batch.ground.total, features, dtype=torch.float64, requires_grad=True)
    assert_same_layers(ours, theirs, x, batch)


def test_attention_takes_any_logits() -> None:
    """Weights so large that exponentials of their logits alone overflow, or all vanish."""
    batch = graphs_with_lonely_nodes()
    attend = Attention(1, 4)
    with torch.no_grad():
        for weight in (attend.of_sender, attend.of_receiver):
            weight.mul_(1e4)
    found = attend(torch.randn(batch.ground.total, 1), batch.singletons)
    assert bool(found.isfinite().all())
    assert all(
        bool(each.isfinite().all()) for each in torch.autograd.grad(found.sum(), [*attend.parameters()])
    )


def test_random_features_come_from_a_generator() -> None:
    graph = some_graphs(1)[0]
    with pytest.raises(ValueError, match="noise=3 random features need a generator"):
        SolverNetwork(NetworkConfig(noise=3), scalar=True)
    network = SolverNetwork(
        NetworkConfig(width=8, layers=1, noise=3), scalar=True, generator=torch.Generator().manual_seed(0)
    )
    assert not torch.equal(network(graph), network(graph))


def test_a_loss_that_is_no_number_ends_training() -> None:
    class Broken(ByScalar):
        def loss(self, outputs, problem):  # type: ignore[no-untyped-def]
            return outputs.sum()[None] * math.nan

    graphs = some_graphs(3)
    network = SolverNetwork(NetworkConfig(width=4, layers=1), scalar=True)
    optima, _ = optimal_scores(clique, graphs)
    with pytest.raises(ValueError, match="the loss became nan in epoch 1; lower the learning rate"):
        fit(network, Broken(), clique, graphs, graphs, FitConfig(epochs=1), optima=optima)


def test_parts_of_a_data_set() -> None:
    graphs = some_graphs(20)
    train, test, validation = split(graphs, seed=0)
    assert (len(train), len(test), len(validation)) == (12, 6, 2)
    assert {id(graph) for graph in train + test + validation} == {id(graph) for graph in graphs}
    with pytest.raises(ValueError, match="at least 3 graphs to split"):
        split(graphs[:2], seed=0)
    network = SolverNetwork(NetworkConfig(width=4, layers=1), scalar=True)
    with pytest.raises(ValueError, match="expected training and validation graphs, got 0"):
        fit(network, ByScalar(), clique, [], graphs, FitConfig(epochs=1), optima=torch.ones(20))


@pytest.mark.parametrize("completed", [500, 10], ids=["at each step", "at the end"])
@pytest.mark.parametrize("method", [ByScalar(), ByNeural()], ids=["scalar", "neural"])
def test_the_set_of_one_graph_is_one_that_nothing_can_be_added_to(
    method: Method, completed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("tammes.extensions.solvers.fit")  # its name is a function's too
    monkeypatch.setattr(module, "GROWN_NODES", completed)
    cycle = torch.arange(30)
    graph = Graphs.of(torch.stack([cycle, cycle.roll(-1)]), sizes=(30,))

    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    config = NetworkConfig(width=4, layers=1, noise=2)
    network = SolverNetwork(config, scalar=method.scalar, generator=generator)
    steps: list[int] = []
    score, members = search(
        network, method, maximum_independent_set, graph, FitConfig(epochs=2), on_step=steps.append
    )
    assert steps == [1, 2]
    assert score == members.sum().item()
    larger = members | torch.eye(30, dtype=torch.bool)
    assert maximum_independent_set(graph).score.values(larger).max().item() == score


@pytest.mark.parametrize(("wrong", "least"), [({"width": 0}, 1), ({"layers": 0}, 1), ({"noise": -1}, 0)])
def test_networks_of_no_size(wrong: dict[str, int], least: int) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be an integer of at least {least}"):
        NetworkConfig(**wrong)


def test_trainings_that_are_none() -> None:
    with pytest.raises(ValueError, match="epochs must be an integer of at least 1, got 0"):
        FitConfig(epochs=0)
    with pytest.raises(ValueError, match="learning_rate must be a finite number at least 0"):
        FitConfig(learning_rate=math.nan)
    with pytest.raises(ValueError, match="samples must be an integer of at least 2"):
        Reinforce(generator=torch.Generator(), samples=1)


def test_numbers_of_graphs_that_do_not_fit_are_refused() -> None:
    network, graphs = SolverNetwork(NetworkConfig(width=4, layers=1), scalar=True), some_graphs(2)
    settings, optima = FitConfig(epochs=1), torch.ones(3, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"optima, one for each score, must have shape \(1,\), got \(3,\)"):
        fit(network, ByScalar(), maximum_clique, graphs, graphs[:1], settings, optima=optima)
    with pytest.raises(ValueError, match="expected a batch of one graph, got 2 graphs"):
        search(network, ByScalar(), maximum_clique, Graphs.join(graphs), settings)
    with pytest.raises(ValueError, match="expected at least one input, got none"):
        solve(network, ByScalar(), maximum_clique, [])


def test_the_objective_of_a_trained_set_is_a_set_function() -> None:
    """Neural and scalar values of one graph equal a sum over its sets, through the whole of a solver."""
    graph = some_graphs(1, seed=9, most=6)[0]
    outputs = torch.randn(graph.ground.total, 1, dtype=torch.float64)
    problem = maximum_independent_set(graph)
    x = torch.sigmoid(outputs[:, 0])
    values = problem.objective.values(subsets(graph.ground.total))[:, 0]
    found = ByScalar(extension=Multilinear()).loss(outputs, problem)
    chance = torch.where(subsets(graph.ground.total), x, 1 - x).prod(1)
    torch.testing.assert_close(found.item(), (chance * values).sum().item())
    assert ByScalar(extension=Lovasz()).loss(outputs, problem).item() >= values.min().item()
    assert GraphFunction(graphs=graph, formula=cut_size(-1.0)).at_empty_set.item() == 0
