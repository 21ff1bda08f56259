"""Graphs in one piece of memory: what fits together, and parts of them."""

import pytest
import torch

from tammes.data.labeled_graphs import LabeledGraphs


def three(**changed: torch.Tensor) -> LabeledGraphs:
    """A path of three nodes, a lone node, and an edge."""
    parts = {
        "nodes": torch.tensor([1, 2, 3, 4, 5, 6]),
        "edges": torch.tensor([[0, 1, 1, 2, 0, 1], [1, 0, 2, 1, 1, 0]]),
        "bonds": torch.tensor([1, 1, 2, 2, 3, 3]),
        "node_starts": torch.tensor([0, 3, 4, 6]),
        "edge_starts": torch.tensor([0, 4, 4, 6]),
        "targets": torch.tensor([[0.0], [1.0], [2.0]]),
    }
    return LabeledGraphs(**(parts | changed))


def test_a_subset_is_cut_out_in_its_order() -> None:
    part = three().subset([2, 0])
    assert part.nodes.tolist() == [5, 6, 1, 2, 3]
    assert part.edges.tolist() == [[0, 1, 0, 1, 1, 2], [1, 0, 1, 0, 2, 1]]
    assert part.bonds.tolist() == [3, 3, 1, 1, 2, 2]
    assert part.node_starts.tolist() == [0, 2, 5]
    assert part.edge_starts.tolist() == [0, 2, 6]
    assert part.targets.tolist() == [[2.0], [0.0]]
    assert len(three().subset([])) == 0
    with pytest.raises(IndexError, match="expected indices from 0 to 2"):
        three().subset([3])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"node_starts": torch.tensor([0, 3, 6])}, "expected 4 node_starts from 0 to 6, for 3 graphs, got 3"),
        ({"edge_starts": torch.tensor([0, 5, 4, 6])}, "expected edge_starts that never decrease"),
        ({"edges": torch.tensor([0, 1])}, r"edges must have shape \(2, any\), got \(2,\)"),
        ({"targets": torch.full((3, 1), torch.nan)}, "finite targets"),
        ({"bonds": torch.tensor([1])}, r"bonds, one for each edge, must have shape \(6,\), got \(1,\)"),
        ({"nodes": torch.tensor([1, 2, 3, 4, 5, -6])}, "counted from 0, got one below 0"),
        ({"edges": torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])}, "got one that leaves its graph"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        three(**changed)
