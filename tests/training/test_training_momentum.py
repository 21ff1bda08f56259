from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from tammes import recipes
from tammes.training import MomentumEncoder, QueueConfig


def make_model() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4)).double()


def drawn(step: int) -> torch.Tensor:
    return torch.randn(10, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(step))


def go(
    model: nn.Module, keys: MomentumEncoder, optimizer: torch.optim.Optimizer, steps: range, momentum: float
) -> None:
    """The raw loop of the documentation."""
    objective = recipes.simclr(temperature=0.5)
    for step in steps:
        loss = objective(model(drawn(step)), keys(drawn(step) + 0.1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        keys.update(model, momentum=momentum)


def made() -> tuple[nn.Module, MomentumEncoder, torch.optim.Optimizer]:
    model = make_model()
    return model, MomentumEncoder(model), torch.optim.Adam(model.parameters(), lr=0.01)


@pytest.mark.equal_bits
def test_it_starts_as_the_model_and_is_no_part_of_it() -> None:
    model, keys, _ = made()
    model.eval()
    keys.eval()
    assert torch.equal(keys(drawn(0)), model(drawn(0)))
    assert not any(weight.requires_grad for weight in keys.parameters())
    assert not keys(drawn(0).requires_grad_()).requires_grad
    with torch.no_grad():
        model[0].weight.zero_()
    assert keys.model[0].weight.any()


def test_the_weights_are_the_average_over_all_steps() -> None:
    model, keys, optimizer = made()
    expected = [weight.detach().clone() for weight in model.parameters()]
    for step in range(5):
        go(model, keys, optimizer, range(step, step + 1), momentum=0.9)
        pairs = zip(expected, model.parameters(), strict=True)
        expected = [0.9 * old + 0.1 * weight.detach() for old, weight in pairs]
    for own, average in zip(keys.parameters(), expected, strict=True):
        torch.testing.assert_close(own, average, rtol=1e-13, atol=1e-13)


@pytest.mark.equal_bits
def test_buffers_are_the_models() -> None:
    model, keys, optimizer = made()
    model[0].register_buffer("scratch", torch.zeros(2), persistent=False)
    keys.model[0].register_buffer("scratch", torch.ones(2), persistent=False)
    go(model, keys, optimizer, range(3), momentum=0.9)
    for (name, own), (_, buffer) in zip(keys.model.named_buffers(), model.named_buffers(), strict=True):
        assert torch.equal(own, buffer), name
    assert int(model[1].num_batches_tracked) == 3


@pytest.mark.equal_bits
@pytest.mark.parametrize(("momentum", "follows"), [(0.0, True), (1.0, False)])
def test_at_its_ends_it_is_the_model_or_stands_still(momentum: float, follows: bool) -> None:
    model, keys, optimizer = made()
    first = keys.model[0].weight.clone()
    go(model, keys, optimizer, range(2), momentum=momentum)
    assert torch.equal(keys.model[0].weight, model[0].weight if follows else first)


@pytest.mark.equal_bits
def test_saved_and_loaded_it_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = made()
    go(*whole, range(6), momentum=0.9)
    model, keys, optimizer = made()
    go(model, keys, optimizer, range(4), momentum=0.9)
    torch.save([each.state_dict() for each in (model, keys, optimizer)], tmp_path / "saved")
    resumed = made()
    for each, state in zip(resumed, torch.load(tmp_path / "saved", weights_only=True), strict=True):
        each.load_state_dict(state)
    go(*resumed, range(4, 6), momentum=0.9)
    for first, second in zip(whole[:2], resumed[:2], strict=True):
        for name, value in first.state_dict().items():
            assert torch.equal(value, second.state_dict()[name]), name


def test_in_training_mode_a_key_depends_on_its_batch_and_in_evaluation_mode_not() -> None:
    _, keys, _ = made()
    alone = slice(0, 2)
    assert not torch.allclose(keys(drawn(0))[alone], keys(drawn(0)[alone]))
    keys.eval()
    torch.testing.assert_close(keys(drawn(0))[alone], keys(drawn(0)[alone]))


def test_a_rising_momentum_starts_as_asked_and_ends_at_one() -> None:
    queue = QueueConfig(momentum=0.99, rising=True)
    values = [queue.momentum_at(step=step, steps=10) for step in range(11)]
    assert values == sorted(values)
    assert values[0] == 0.99
    assert values[5] == pytest.approx(0.995)
    assert values[10] == 1.0


@pytest.mark.parametrize("momentum", [-0.1, 1.1, float("nan")])
def test_a_momentum_that_is_none_is_refused(momentum: float) -> None:
    model, keys, _ = made()
    with pytest.raises(ValueError, match="momentum must be a finite number at least 0 and at most 1, got"):
        keys.update(model, momentum=momentum)


@pytest.mark.parametrize(
    ("other", "named"),
    [(lambda: nn.Linear(6, 4), "0.weight, 0.bias"), (lambda: nn.Sequential(nn.Linear(6, 9)), "0.weight")],
)
def test_another_model_is_refused(other: Callable[[], nn.Module], named: str) -> None:
    _, keys, _ = made()
    with pytest.raises(ValueError, match=f"the model that it was copied from.* differ .*: {named}"):
        keys.update(other(), momentum=0.9)


def test_a_wrapped_model_is_refused_with_what_to_give() -> None:
    model, keys, _ = made()
    wrapped = nn.Module()
    wrapped.module = model  # as DistributedDataParallel has it
    with pytest.raises(ValueError, match=r"give the model within DistributedDataParallel, model\.module"):
        keys.update(wrapped, momentum=0.9)


@pytest.mark.equal_bits
@pytest.mark.parametrize("change", [nn.Module.double, nn.Module.half, lambda model: model.to("meta")])
def test_a_model_of_another_type_or_device_is_refused_before_a_weight_moved(
    change: Callable[[nn.Module], nn.Module],
) -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 4))
    keys = MomentumEncoder(model)
    before = keys.model[0].weight.clone()
    with torch.no_grad():
        model[0].weight.zero_()
    change(model[1])
    with pytest.raises(ValueError, match=r"differ in name, shape, type or device: 1.weight, 1.bias"):
        keys.update(model, momentum=0.5)
    assert torch.equal(keys.model[0].weight, before)
