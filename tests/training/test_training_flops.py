"""Floating-point operations of a step: as products of matrices written out, on a CPU with its attention."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from tammes import recipes
from tammes.encoders import VisionTransformerConfig
from tammes.training import Machine, Masked, TrainingConfig, train
from tammes.training.flops import FlopCount, counted
from tiny import make_config, random_images


def test_attention_is_counted_forward_and_backward() -> None:
    query = torch.rand(2, 3, 16, 8, requires_grad=True)
    with FlopCount() as count:
        scaled_dot_product_attention(query, query, query).sum().backward()
    assert count.total == (2 + 5) * 2 * 2 * 3 * 16 * 16 * 8


def test_what_is_known_is_not_counted() -> None:
    with counted(7) as count:
        torch.rand(2, 3) @ torch.rand(3, 5)
    assert count.total == 7


def flops_of(config: TrainingConfig) -> list[float]:
    run = train(config, random_images(22), machine=Machine(accelerator="cpu"))
    return [row.last["flops"] / row.step for row in run.metrics]


@pytest.mark.parametrize(("masked", "visible"), [(None, 16), (Masked.mae(), 4)], ids=["simclr", "mae"])
def test_a_step_costs_what_its_visible_tokens_cost(masked: Masked | None, visible: int) -> None:
    """Linear layers and attention of the encoder, by hand; of MAE the decoder, too."""
    config = replace(
        make_config(),
        objective=recipes.simclr(temperature=0.1),
        encoder=VisionTransformerConfig(patch=2, width=12, depth=1, heads=3),
        head=None,
        masked=masked,
        epochs=2,
    )
    found = flops_of(config)
    assert found[0] == found[1]

    def block(rows: int, tokens: int, width: int) -> int:
        layers = 6 * rows * tokens * 12 * width**2  # forward 2 and backward 4, for 12 squares of weights
        return layers + 14 * rows * tokens**2 * width

    rows = 8 if masked is None else 4  # two views of four images, or one
    # The pixels need no gradient, so that the first layer has one product less.
    expected = block(rows, visible, 12) + 4 * rows * visible * 4 * 12
    if masked is not None:
        # The decoder widens the visible tokens and, once, the hidden one.
        expected += block(rows, 16, 96) * 2 + 6 * (rows * visible + 1) * 12 * 96 + 6 * rows * 16 * 96 * 4
    # Augmentations multiply small matrices, and SimCLR its similarities.
    assert expected < found[0] < (1.05 if masked is None else 1.0001) * expected
