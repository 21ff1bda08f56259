"""Nodes against graphs: the published loss, every coupling on the same pairs, and linear memory."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus
from torch.utils._python_dispatch import TorchDispatchMode

from tammes import Hard, NodesToGraphs, Objective, OtherLabels, Pairs, Softplus, Transport, recipes
from tammes.data import graphs_of
from tammes.encoders import GINEncoderConfig, ShortcutHeadConfig
from tammes.reduce import Dense
from tammes.training import Model


def drawn(sizes: tuple[int, ...] = (3, 1, 4, 2), d: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    owner = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    nodes = torch.randn(len(owner), d, generator=generator, dtype=torch.float64).requires_grad_()
    graphs = torch.randn(len(sizes), d, generator=generator, dtype=torch.float64).requires_grad_()
    return nodes, graphs, owner


def published(nodes: Tensor, graphs: Tensor, owner: Tensor) -> Tensor:
    """The loss of InfoGraph's code, with its dense matrices of nodes and graphs."""
    scores = nodes @ graphs.T
    own = torch.nn.functional.one_hot(owner, len(graphs)).to(scores)
    expected_positive = ((math.log(2) - softplus(-scores)) * own).sum() / len(nodes)
    expected_negative = (softplus(-scores) + scores - math.log(2)) * (1 - own)
    return expected_negative.sum() / (len(nodes) * (len(graphs) - 1)) - expected_positive


def test_the_jsd_of_these_pairs_is_the_published_loss_in_value_and_gradient() -> None:
    nodes, graphs, owner = drawn()
    ours = recipes.jsd()(NodesToGraphs()(nodes, graphs, owner=owner))
    theirs = published(nodes, graphs, owner)
    assert ours.item() == pytest.approx(theirs.item() + 2 * math.log(2), abs=1e-12)
    for mine, other in zip(
        torch.autograd.grad(ours, (nodes, graphs)), torch.autograd.grad(theirs, (nodes, graphs)), strict=True
    ):
        torch.testing.assert_close(mine, other, rtol=0, atol=1e-12)


def test_hard_negatives_are_weighted_by_clipped_scores_with_a_positive_sign() -> None:
    nodes, graphs, owner = drawn()
    beta = 2.0
    ours = recipes.jsd(beta=beta)(NodesToGraphs()(3 * nodes, graphs, owner=owner))
    scores = 3 * nodes @ graphs.T
    own = torch.nn.functional.one_hot(owner, len(graphs)).bool()
    weights = (beta * scores.clamp(-2, 2)).masked_fill(own, -torch.inf).softmax(1)
    theirs = softplus(-scores[own]).mean() + (weights * softplus(scores)).sum(1).mean()
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-12)  # the clip is inside the weights alone
    torch.testing.assert_close(
        torch.autograd.grad(ours, nodes)[0], torch.autograd.grad(theirs, nodes)[0], rtol=0, atol=1e-12
    )


def test_a_transport_plan_over_graphs_has_equal_mass_on_every_graph() -> None:
    nodes, graphs, owner = drawn()
    pairs = NodesToGraphs()(nodes.detach(), graphs.detach(), owner=owner)
    objective = Objective(
        temperature=0.5, coupling=Transport(epsilon=0.5, tolerance=1e-9), contrast=Softplus()
    )
    weights = objective.weights(pairs)
    assert bool((weights[torch.arange(len(owner)), owner] == 0).all())
    torch.testing.assert_close(weights.sum(1), torch.ones(10, dtype=torch.float64))
    torch.testing.assert_close(
        weights.sum(0), torch.full((4,), 10 / 4, dtype=torch.float64), rtol=1e-6, atol=0
    )
    assert torch.isfinite(objective(pairs))


@pytest.mark.parametrize(
    "objective",
    [
        recipes.simclr(temperature=0.5),
        recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
        recipes.jsd(beta=1.0, class_prior=0.1),
        recipes.bcl(temperature=0.5, coupling=Hard(beta=1.0)),
        recipes.triplet(margin=0.5),
    ],
    ids=repr,
)
def test_every_objective_takes_these_pairs(objective: Objective) -> None:
    nodes, graphs, owner = drawn()
    pairs = NodesToGraphs()(nodes, graphs, owner=owner)
    dense = replace(objective, engine=Dense())(pairs)
    assert objective(pairs).item() == pytest.approx(dense.item(), abs=1e-9)
    torch.testing.assert_close(
        torch.autograd.grad(objective(pairs), nodes)[0],
        torch.autograd.grad(dense, nodes)[0],
        rtol=1e-6,
        atol=1e-9,
    )


def test_info_nce_is_its_formula() -> None:
    nodes, graphs, owner = drawn()
    loss = recipes.simclr(temperature=0.5)(NodesToGraphs()(nodes, graphs, owner=owner))
    scores = normalize(nodes) @ normalize(graphs).T / 0.5
    assert loss.item() == pytest.approx(torch.nn.functional.cross_entropy(scores, owner).item(), abs=1e-12)


def test_graphs_of_one_id_are_positives_and_labels_reach_the_selection() -> None:
    nodes, graphs, owner = drawn()
    pairs = NodesToGraphs()(nodes, graphs, owner=owner, ids=torch.tensor([7, 7, 8, 9]))
    assert pairs.positives().count.tolist() == [2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    labeled = NodesToGraphs()(nodes, graphs, owner=owner, labels=torch.tensor([0, 0, 0, 1]))
    objective = recipes.jsd(selection=OtherLabels())
    weights = objective.weights(labeled)
    assert bool((weights[:8, :3] == 0).all())


class Largest(TorchDispatchMode):
    """Largest tensor that any operation makes."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, Tensor) and each.untyped_storage().nbytes():
                entries = each.untyped_storage().nbytes() // each.element_size()
                self.entries = max(self.entries, entries)
        return found


STRIP = 1024 * 1024
"""Entries of the largest strip of S: a constant, whatever the numbers of nodes and graphs."""


def largest_tensor(objective: Objective, pairs: Pairs) -> int:
    with Largest() as largest:
        objective(pairs).backward()
    return largest.entries


@pytest.mark.parametrize(
    "objective",
    [
        recipes.jsd(),
        recipes.jsd(beta=1.0),
        recipes.simclr(temperature=0.5),
        Objective(temperature=1.0, coupling=Transport(epsilon=0.5), contrast=Softplus()),
    ],
    ids=["jsd", "hard", "infonce", "transport"],
)
def test_no_matrix_of_nodes_and_graphs_is_formed(objective: Objective) -> None:
    nodes_of_each, graphs, d = 10, 1200, 4
    owner = torch.arange(graphs).repeat_interleave(nodes_of_each)
    rows = torch.randn(len(owner), d, requires_grad=True)
    pairs = NodesToGraphs()(rows, torch.randn(graphs, d, requires_grad=True), owner=owner)
    assert largest_tensor(objective, pairs) <= STRIP  # of 14 million entries


@pytest.mark.parametrize("objective", [recipes.jsd(), recipes.jsd(beta=1.0)], ids=["jsd", "hard"])
def test_no_matrix_of_nodes_and_graphs_is_formed_in_a_whole_step(objective: Objective) -> None:
    pytest.importorskip("torch_geometric")
    path = {"edge_index": [list(range(9)), list(range(1, 10))], "num_nodes": 10}
    graphs = graphs_of([path] * 1200)
    encoder = GINEncoderConfig(width=4, layers=2).build(inputs=1)
    head = ShortcutHeadConfig()
    model = Model(encoder, head.build(encoder.features), node_head=head.build(encoder.features))
    optimizer = torch.optim.Adam(model.parameters())
    with Largest() as largest:
        batch = graphs.batch(range(1200))
        rows, candidates = model.nodes_and_graphs(batch)
        objective(NodesToGraphs()(rows, candidates, owner=batch.owner)).backward()
        optimizer.step()
    assert len(batch.owner) == 12_000
    assert largest.entries <= STRIP  # of 14 million entries


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"owner": torch.zeros(3, dtype=torch.int64)}, r"graph of each of the 10 nodes: got shape \(3,\)"),
        ({"owner": torch.full((10,), 4)}, "owner must be from 0 to 3, got 4 to 4"),
        ({"graphs": torch.zeros(1, 5)}, "at least two graphs, got 1"),
        ({"graphs": torch.zeros(4, 6)}, "anchors have dimension 5, candidates 6"),
        ({"nodes": torch.zeros(10, dtype=torch.int64)}, "floating-point"),
        (
            {"owner": torch.zeros(10)},
            "owner must be integers of 64 bits, the graph of each node, got torch.float32",
        ),
        ({"owner": torch.zeros(10, dtype=torch.uint8)}, "owner must be integers"),
        ({"ids": torch.arange(3)}, r"ids, one for each graph, must have shape \(4,\), got \(3,\)"),
        ({"labels": torch.arange(5)}, r"labels, one for each graph, must have shape \(4,\), got \(5,\)"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Tensor], message: str) -> None:
    nodes, graphs, owner = drawn()
    given = {"nodes": nodes, "graphs": graphs, "owner": owner, **change}
    with pytest.raises(ValueError, match=message):
        NodesToGraphs()(given.pop("nodes"), given.pop("graphs"), **given)
