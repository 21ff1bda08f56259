import pytest
import torch
from torch import nn

from tammes.encoders import ProjectionHeadConfig


def test_two_layers_are_linear_relu_linear() -> None:
    head = ProjectionHeadConfig(dim=5, hidden=7).build(features=3)
    first, middle, last = head.layers
    assert isinstance(first, nn.Linear)
    assert isinstance(middle, nn.ReLU)
    assert isinstance(last, nn.Linear)
    x = torch.rand(4, 3)
    expected = (x @ first.weight.T + first.bias).clamp(min=0) @ last.weight.T + last.bias
    assert torch.allclose(head(x), expected, atol=1e-6)
    assert head(x).shape == (4, 5)
    assert (head.features, head.dim) == (3, 5)


def test_one_layer_is_linear() -> None:
    head = ProjectionHeadConfig(dim=2, layers=1).build(features=3)
    assert [type(layer) for layer in head.layers] == [nn.Linear]


def test_batch_norm_follows_each_linear_layer() -> None:
    head = ProjectionHeadConfig(dim=5, hidden=7, batch_norm=True).build(features=3)
    kinds = [nn.Linear, nn.BatchNorm1d, nn.ReLU, nn.Linear, nn.BatchNorm1d]
    assert [type(layer) for layer in head.layers] == kinds
    first, last = (layer.weight for layer in head.layers if isinstance(layer, nn.Linear))
    x = torch.rand(40, 3)

    def normalized(rows: torch.Tensor) -> torch.Tensor:
        return (rows - rows.mean(dim=0)) / (rows.var(dim=0, correction=0) + 1e-5).sqrt()

    expected = normalized(normalized(x @ first.T).clamp(min=0) @ last.T)
    torch.testing.assert_close(head(x), expected, rtol=1e-4, atol=1e-5)


def test_hidden_layers_are_as_wide_as_the_features() -> None:
    head = ProjectionHeadConfig(dim=2, layers=3).build(features=6)
    shapes = [layer.weight.shape for layer in head.layers if isinstance(layer, nn.Linear)]
    assert shapes == [(6, 6), (6, 6), (2, 6)]


@pytest.mark.parametrize("field", ["dim", "layers", "hidden"])
def test_impossible_settings_are_refused(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} must be an integer of at least 1, got 0"):
        ProjectionHeadConfig(**{field: 0})


def test_heads_without_end_are_refused() -> None:
    with pytest.raises(ValueError, match="layers must be at most 100, got 123456789"):
        ProjectionHeadConfig(layers=123_456_789)
