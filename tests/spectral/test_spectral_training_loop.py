"""The training loops of docs/spectral.md: a network learns, compiled or not, whatever the signs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("torch_geometric")

PAGE = Path(__file__).parents[2] / "docs" / "spectral.md"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the examples of the page define, up to and with the section on training."""
    text = PAGE.read_text(encoding="utf-8").split("\n## BasisNet\n")[0]
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    return names


def losses_of(page: dict[str, Any], model: Any = None, graphs: Any = None, epochs: int = 1) -> list[float]:
    """The losses of a training from the same weights, with graphs in the same order."""
    torch.manual_seed(1)
    made = page["GPS"](features=1)
    torch.manual_seed(2)
    losses: list[float] = page["train"](model(made) if model else made, graphs or page["graphs"], epochs)
    return losses


def test_a_network_with_gps_layers_learns(page: dict[str, Any]) -> None:
    losses = losses_of(page, epochs=60)
    assert sum(losses[-2:]) < 0.5 * sum(losses[:2])


def test_signs_do_not_change_its_losses(page: dict[str, Any]) -> None:
    generator = torch.Generator().manual_seed(3)
    flipped = []
    for graph in page["graphs"]:
        other = graph.clone()
        other.eigenvectors = graph.eigenvectors * (1.0 - 2 * torch.randint(2, (6,), generator=generator))
        flipped.append(other)
    assert losses_of(page, graphs=flipped, epochs=3) == pytest.approx(losses_of(page, epochs=3), rel=1e-4)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # these two within the compiler
@pytest.mark.filterwarnings("ignore:.*torch.autograd.function.Function.* should not be instantiated")
def test_a_compiled_network_has_the_same_losses(page: dict[str, Any]) -> None:
    torch._dynamo.reset()
    compiled = losses_of(page, lambda made: torch.compile(made, backend="aot_eager", dynamic=True))
    torch._dynamo.reset()
    assert compiled == pytest.approx(losses_of(page), rel=1e-4)
