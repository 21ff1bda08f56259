from typing import Any

import pytest
import torch

from tammes.data import Images, Outcomes, TensorPixels, Texts, Volumes, graphs_of, nodes_of

GRAPH = {"edge_index": [[0, 1], [1, 2]], "num_nodes": 3}
SETS = {
    "images": Images(pixels=TensorPixels(torch.zeros(3, 1, 4, 4, dtype=torch.uint8)), names=("a", "b", "c")),
    "texts": Texts.of(["a", "b", "c"]),
    "volumes": Volumes(voxels=torch.zeros(3, 1, 2, 2, 2), names=("a", "b", "c")),
    "nodes": nodes_of(GRAPH),
    "graphs": graphs_of([GRAPH] * 3),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("indices", [torch.tensor([True, False, True]), [False, True, False], [0.0, 2.0]])
def test_a_mask_is_not_taken_for_the_rows_0_and_1(name: str, indices: Any) -> None:
    found: Any = SETS[name]
    with pytest.raises(ValueError, match="expected integers as indices"):
        found.subset(indices)
    if hasattr(found, "batch"):
        with pytest.raises(ValueError, match="expected integers as indices"):
            found.batch(indices)


def test_a_mask_takes_no_outcomes() -> None:
    outcomes = Outcomes.of({"share": [0.1, 0.2]})
    with pytest.raises(ValueError, match="expected integers as indices"):
        outcomes.take(torch.tensor([True, True]))
    assert outcomes.take([-1]).real("share").tolist() == [0.2]
