"""Softmax losses of views on a GPU: equal to the dense engine, in a few launches."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from host_reads import as_on_a_device
from launches import Launches
from torch import Tensor

import tammes
from tammes import recipes
from tammes.reduce import Dense, Triton
from tammes.reduce.triton import Launch

pytest.importorskip("triton", reason="triton exists for Linux only")

HAS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
SMALL = Launch(rows=32, columns=16, depth=16, width=32, warps=4, stages=1, programs=4)
interpreted = pytest.mark.skipif(HAS_GPU, reason="counts interpreted kernels")

LOSSES = {
    "simclr": recipes.simclr(temperature=0.5),
    "dcl": recipes.dcl(temperature=0.5, class_prior=0.1),
    "dcl, on the floor": recipes.dcl(temperature=0.2, class_prior=0.6),
    "hcl": recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl, beta 0.7": recipes.hcl(temperature=0.5, beta=0.7),
    "hcl, detached": tammes.Objective(temperature=0.5, coupling=tammes.Hard(beta=1.0, detach=True)),
    "decoupled": recipes.decoupled(temperature=0.5),
    "weighted": tammes.Objective(temperature=0.5, contrast=tammes.InfoNCE(weight=7.0)),
    "weighted hcl": tammes.Objective(
        temperature=0.5, coupling=tammes.Hard(beta=2.0), contrast=tammes.InfoNCE(weight=7.0)
    ),
    "ifm": recipes.ifm(temperature=0.5, epsilon=0.1),
    "raw": tammes.Objective(temperature=2.0, normalize=False),
}


def outcome(objective: tammes.Objective, views: list[Tensor], ids: Tensor | None) -> list[Tensor]:
    given = [view.clone().requires_grad_() for view in views]
    loss = objective(*given, ids=ids)
    return [each.detach().double() for each in (loss, *torch.autograd.grad(3 * loss, given))]


def assert_equal(
    objective: tammes.Objective, engine: Triton, *, rows: int, d: int, ids: Tensor | None
) -> None:
    generator = torch.Generator().manual_seed(d)
    views = [(torch.randn(rows, d, generator=generator) / d**0.5).to(DEVICE) for _ in range(2)]
    with Launches() as counted:
        ours = outcome(dataclasses.replace(objective, engine=engine), views, ids)
    if not HAS_GPU:
        assert counted.kernels["row_gradients"] == 1, "the fused loss was not taken"
    exact = [view.double() for view in views]
    theirs = outcome(dataclasses.replace(objective, engine=Dense()), exact, ids)
    for one, other in zip(ours, theirs, strict=True):
        error = float((one - other).abs().max() / (1e-3 + other.abs().max()))
        assert error < 5e-5, f"differs by {error:.1e}"


@pytest.mark.parametrize("name", LOSSES)
def test_fused_losses_equal_dense(name: str) -> None:
    assert_equal(LOSSES[name], Triton(launch=SMALL), rows=21, d=17, ids=None)


@pytest.mark.parametrize("d", [1, 16, 100])
def test_any_dimension_and_the_usual_launches(d: int) -> None:
    assert_equal(LOSSES["hcl"], Triton(), rows=20, d=d, ids=None)


def test_ids_in_any_order_and_atomics() -> None:
    ids = torch.randperm(21, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    assert_equal(LOSSES["hcl"], Triton(launch=SMALL, deterministic=False), rows=21, d=17, ids=ids)


def test_both_passes_have_shapes_that_differ() -> None:
    backward = dataclasses.replace(SMALL, rows=16, width=16)
    assert_equal(LOSSES["hcl"], Triton(launch=SMALL, backward=backward), rows=21, d=33, ids=None)


def test_second_derivatives_are_refused() -> None:
    view = torch.randn(8, 4, device=DEVICE, requires_grad=True)
    loss = dataclasses.replace(LOSSES["simclr"], engine=Triton(launch=SMALL))(view, view.detach().flip(1))
    (gradient,) = torch.autograd.grad(loss, view, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        gradient.sum().backward()


def test_a_hopeless_pair_keeps_its_digits() -> None:
    """The positive far below its negatives: the loss is the excess; far above: it is not zero."""
    view = torch.eye(8, device=DEVICE)
    objective = dataclasses.replace(recipes.simclr(temperature=0.05), engine=Triton(launch=SMALL))
    easy = objective(view, view)
    assert float(easy) == pytest.approx(14 * 2.061153622438558e-9, rel=1e-3)
    assert float(objective(view, -view)) > 20


@interpreted
@pytest.mark.parametrize(("kind", "most"), [(torch.float32, 10), (torch.bfloat16, 15)], ids=str)
@pytest.mark.parametrize("name", ["simclr", "dcl", "hcl", "ifm"])
def test_launches_of_a_step(name: str, kind: torch.dtype, most: int) -> None:
    """Two kernels see S; two more, and these operations of torch, are all that stands around them."""
    objective = dataclasses.replace(LOSSES[name], engine=Triton(launch=SMALL))
    with as_on_a_device():
        for _ in range(2):  # the first call makes the layout
            views = [torch.randn(20, 16, dtype=kind, requires_grad=True) for _ in range(2)]
            with Launches() as counted:
                objective(*views).backward()
    assert dict(counted.kernels) == {
        "triangle_sums": 1, "softmax_rows": 1, "shared_gradient": 1, "row_gradients": 1,
    }  # fmt: skip
    # The operations, and the copy of the lengths to the host.
    assert sum(counted.operations.values()) + 1 <= most, str(counted.operations)


@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
@pytest.mark.parametrize("name", ["simclr", "hcl"])
@pytest.mark.parametrize("d", [128, 512])
def test_a_step_is_captured_as_a_graph(name: str, d: int) -> None:
    """On the stream that has warmed up, whose last check is still unread; then eager calls go on."""
    views = [torch.randn(256, d, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(2)]
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    def step() -> Tensor:
        for view in views:
            view.grad = None
        loss = LOSSES[name](*views)
        loss.backward()
        return loss.detach()

    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        expected = [step().clone(), *(view.grad.clone() for view in views if view.grad is not None)]
        with torch.cuda.graph(graph, stream=stream):
            loss = step()
    graph.replay()
    torch.cuda.synchronize()
    found = [loss, *(view.grad for view in views if view.grad is not None)]
    assert len(found) == 3
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one, other)
    for _ in range(3):
        assert torch.equal(step(), expected[0])
