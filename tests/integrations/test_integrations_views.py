"""Losses that lightly and open_clip call, without either of them."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor

import tammes
from tammes.integrations import lightly, open_clip

HCL = tammes.recipes.hcl(temperature=0.3, beta=0.5)


def views() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(8, 5, generator=generator).requires_grad_() for _ in range(2)]


def assert_alike(ours: Tensor, theirs: Tensor, rows: list[Tensor]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    slopes = (torch.autograd.grad(each, rows) for each in (ours, theirs))
    torch.testing.assert_close(*slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("gather", [False, True])
def test_lightly_calls_it_with_two_views(gather: bool) -> None:
    a, b = views()
    assert_alike(lightly.ObjectiveLoss(HCL, gather_distributed=gather)(a, b), HCL(a, b), [a, b])


def test_lightly_may_train_a_temperature() -> None:
    temperature = tammes.LearnedTemperature(initial=0.2)
    loss = lightly.ObjectiveLoss(HCL, temperature=temperature)
    a, b = views()
    assert_alike(loss(a, b), HCL(a, b, temperature=temperature()), [a, b])
    assert list(loss.parameters()) == list(temperature.parameters())


def test_open_clip_gives_the_inverse_of_the_temperature() -> None:
    images, texts = views()
    scale = torch.tensor(8.0, requires_grad=True)
    loss = open_clip.ObjectiveLoss(tammes.recipes.simclr(temperature=1.0))(images, texts, scale)
    unit, others = (rows / rows.norm(dim=1, keepdim=True) for rows in (images, texts))
    logits, own = scale * unit @ others.T, torch.arange(8)
    cross_entropy = torch.nn.functional.cross_entropy
    assert_alike(
        loss, (cross_entropy(logits, own) + cross_entropy(logits.T, own)) / 2, [images, texts, scale]
    )


def test_open_clip_may_ask_for_a_dictionary() -> None:
    images, texts = views()
    loss = open_clip.ObjectiveLoss(HCL, source=tammes.TwoTowers())
    found = loss(image_features=images, text_features=texts, logit_scale=torch.tensor(8.0), output_dict=True)
    expected = dataclasses.replace(HCL, temperature=1 / 8)(tammes.TwoTowers()(images, texts))
    torch.testing.assert_close(found["contrastive_loss"], expected)


def test_open_clip_with_the_bias_of_siglip() -> None:
    images, texts = views()
    scale, bias = torch.tensor(8.0), torch.tensor(-5.0, requires_grad=True)
    sigmoid = tammes.recipes.sigmoid()
    loss = open_clip.ObjectiveLoss(sigmoid)(images, texts, scale, bias)
    pairs = tammes.TwoTowers(symmetric=True)(images, texts)
    torch.testing.assert_close(loss, sigmoid(pairs, temperature=1 / scale, bias=bias.detach()))
    loss.backward()
    assert bias.grad != 0


def test_open_clip_without_a_bias() -> None:
    images, texts = views()
    with pytest.raises(
        ValueError, match=r"InfoNCE.* has no logit bias: make the model without init_logit_bias"
    ):
        open_clip.ObjectiveLoss(HCL)(images, texts, torch.tensor(8.0), torch.tensor(0.0))
    with pytest.raises(ValueError, match=r"logit_scale must be a tensor of one number, got 8\.0"):
        open_clip.ObjectiveLoss(HCL)(images, texts, 8.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="source must be"):
        open_clip.ObjectiveLoss(HCL, source=tammes.Gather())  # type: ignore[arg-type]
