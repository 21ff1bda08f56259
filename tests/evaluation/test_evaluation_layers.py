from __future__ import annotations

import pytest
from torch import nn

from tammes.encoders import (
    ConvNetConfig,
    ModuleEncoder,
    ResNet9Config,
    ResNetConfig,
    VisionTransformerConfig,
)
from tammes.evaluation.layers import layer_groups, layers_of


def first_names(network: nn.Module) -> list[str]:
    """The first parameter of each layer, after a check that each parameter is in one layer."""
    names = {parameter: name for name, parameter in network.named_parameters()}
    layers = layers_of(network)
    assert sorted(names[each] for layer in layers for each in layer) == sorted(names.values())
    return [names[layer[0]] for layer in layers]


def test_blocks_of_a_transformer_are_its_layers() -> None:
    for positions in ("learned", "sine-cosine"):
        config = VisionTransformerConfig(width=8, heads=1, depth=3, positions=positions)  # type: ignore[arg-type]
        assert first_names(config.build(1, 8)) == [
            "position" if positions == "learned" else "embedding.weight",
            *(f"blocks.{block}.first_norm.weight" for block in range(3)),
            "norm.weight",
        ]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (ResNetConfig(depth=18).build(3, 8), ["stem.0", "blocks.0", "blocks.2", "blocks.4", "blocks.6"]),
        (ResNet9Config(width=8).build(3, 8), ["layers.0", "layers.3", "layers.4", "layers.8"]),
        (ConvNetConfig(width=8).build(3, 8), ["layers.0", "layers.3", "layers.9"]),
    ],
)
def test_stages_of_a_convolutional_network_are_its_layers(network: nn.Module, expected: list[str]) -> None:
    found = first_names(network)
    assert len(found) == len(expected)
    assert all(name.startswith(f"{start}.") for name, start in zip(found, expected, strict=True))


class TwoStages(nn.Module):
    """As others lay a residual network out: stages beside each other, which are no sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, stride=2)
        self.pool = nn.MaxPool2d(2)
        self.stage1 = nn.Sequential(nn.Sequential(nn.Conv2d(4, 4, 1)), nn.Conv2d(4, 4, 1))
        self.stage2 = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2), nn.Conv2d(8, 8, 1))


def test_any_other_module_has_layers_too() -> None:
    assert first_names(TwoStages()) == ["stem.weight", "stage1.0.0.weight", "stage2.0.weight"]
    perceptron = nn.Sequential(nn.Flatten(), nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 3))
    wrapped = ModuleEncoder(perceptron, channels=1, size=4, name="a perceptron")
    assert first_names(wrapped) == ["module.1.weight", "module.3.weight"]
    assert layers_of(nn.Flatten()) == []
    assert first_names(nn.Linear(2, 2)) == ["weight"]


def test_frozen_and_shared_parameters_are_in_one_layer_at_most() -> None:
    shared = nn.Linear(2, 2)
    frozen = nn.Linear(2, 2).requires_grad_(requires_grad=False)
    layers = layers_of(nn.Sequential(shared, frozen, nn.Tanh(), shared, nn.Linear(2, 3)))
    assert [[tuple(each.shape) for each in layer] for layer in layers] == [[(2, 2), (2,)], [(3, 2), (3,)]]


def rates(network: nn.Module, head: nn.Module) -> dict[str, tuple[float, float]]:
    groups = layer_groups(network, head, learning_rate=0.8, decay=0.5, weight_decay=0.05)
    of = {each: (group["lr"], group["weight_decay"]) for group in groups for each in group["params"]}
    modules = {"network": network, "head": head}
    named = {
        f"{key}.{name}": of.pop(each)
        for key, module in modules.items()
        for name, each in module.named_parameters()
    }
    assert not of
    return named


def test_rates_fall_toward_the_input_exactly() -> None:
    """As He et al. have it: decay^(blocks + 1) for the patches, decay^(blocks - i) for block i, then 1."""
    config = VisionTransformerConfig(width=8, heads=1, depth=3, positions="learned")
    found = rates(config.build(1, 8), nn.Linear(8, 2))
    assert found["head.weight"] == (0.8, 0.05)
    assert found["head.bias"] == found["network.norm.weight"] == (0.8, 0.0)
    for block in range(3):
        rate = 0.8 * 0.5 ** (3 - block)
        assert found[f"network.blocks.{block}.attention.inputs.weight"] == (rate, 0.05)
        assert found[f"network.blocks.{block}.first_norm.weight"] == (rate, 0.0)
    assert found["network.embedding.weight"] == (0.8 * 0.5**4, 0.05)
    assert found["network.position"] == (0.8 * 0.5**4, 0.0)


def test_rates_of_stages_fall_from_the_head() -> None:
    found = rates(ResNet9Config(width=8).build(3, 8), nn.Linear(32, 2))
    convolutions = [f"network.layers.{layer}.weight" for layer in (0, 4, 8)]
    assert [found[name] for name in convolutions] == [(0.05, 0.05), (0.2, 0.05), (0.4, 0.05)]
    assert found["network.layers.3.branch.0.weight"] == (0.1, 0.05)
    assert found["network.layers.1.weight"] == (0.05, 0.0)
    assert found["head.weight"] == (0.8, 0.05)


def test_a_decay_of_one_gives_one_rate() -> None:
    network = ResNet9Config(width=8).build(3, 8)
    groups = layer_groups(network, nn.Linear(32, 2), learning_rate=0.3, decay=1, weight_decay=0.0)
    assert {group["lr"] for group in groups} == {0.3}
    with pytest.raises(ValueError, match="decay must be a finite number above 0 and at most 1"):
        layer_groups(network, nn.Linear(32, 2), learning_rate=0.3, decay=1.5, weight_decay=0.0)
