"""Losses within libraries that need torchvision, in an environment that `make test-hosts` makes."""

from __future__ import annotations

import argparse
import dataclasses
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

pytest.importorskip("torchvision")
sys.path.insert(0, str(Path(__file__).parents[1] / "integrations"))

import ddp_losses
import lightly.loss
import open_clip
from lightly.models.modules import SimCLRProjectionHead
from lightly.transforms import SimCLRTransform
from open_clip_train.train import train_one_epoch
from PIL import Image

import tammes
from tammes.integrations import check_ddp
from tammes.integrations.lightly import ObjectiveLoss as LightlyLoss
from tammes.integrations.open_clip import ObjectiveLoss as ClipLoss

SIMCLR = tammes.recipes.simclr(temperature=0.1)
HCL = tammes.recipes.hcl(temperature=0.1, beta=0.5)


def views() -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(8, 5, generator=generator).requires_grad_() for _ in range(2)]


def assert_alike(ours: Tensor, theirs: Tensor, rows: list[Tensor]) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    slopes = (torch.autograd.grad(each, rows) for each in (ours, theirs))
    torch.testing.assert_close(*slopes, rtol=1e-5, atol=1e-6)


def test_without_hardness_it_is_lightlys_loss() -> None:
    a, b = views()
    assert_alike(LightlyLoss(SIMCLR)(a, b), lightly.loss.NTXentLoss(temperature=0.1)(a, b), [a, b])


def test_the_decoupled_loss_is_lightlys_less_a_constant() -> None:
    a, b = views()
    ours = tammes.recipes.decoupled(temperature=0.1)(a, b) + math.log(2 * len(a) - 2)
    assert_alike(ours, lightly.loss.DCLLoss(temperature=0.1)(a, b), [a, b])


def test_a_loop_of_lightlys_trains_with_it() -> None:
    torch.manual_seed(0)
    transform = SimCLRTransform(input_size=16, cj_prob=0.0, random_gray_scale=0.0, gaussian_blur=0.0)
    colors = torch.randint(256, (8, 3)).tolist()
    images = [Image.new("RGB", (24, 24), tuple(color)) for color in colors]
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), SimCLRProjectionHead(8 * 49, 32, 16)
    )
    criterion = LightlyLoss(HCL)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(20):
        a, b = (torch.stack(batch) for batch in zip(*(transform(image) for image in images), strict=True))
        loss = criterion(model(a), model(b))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert sum(losses[-5:]) < sum(losses[:5])


def test_without_hardness_it_is_open_clips_loss() -> None:
    scale = torch.tensor(10.0, requires_grad=True)
    unit = [nn.functional.normalize(each.detach()).requires_grad_() for each in views()]
    ours, theirs = ClipLoss(dataclasses.replace(SIMCLR, normalize=False)), open_clip.loss.ClipLoss()
    assert_alike(ours(*unit, scale), theirs(*unit, scale), [*unit, scale])


class Data:
    """Batches in the form that open_clip's loop reads."""

    def __init__(self, dataset: TensorDataset) -> None:
        self.dataloader: Any = DataLoader(dataset, batch_size=8)
        self.dataloader.num_batches, self.dataloader.num_samples = len(self.dataloader), len(dataset)

    def set_epoch(self, epoch: int) -> None:
        pass


@pytest.mark.parametrize("accumulated", [1, 2])
def test_the_loop_of_open_clip_trains_with_it(accumulated: int) -> None:
    torch.manual_seed(0)
    model = open_clip.CLIP(
        embed_dim=16,
        vision_cfg={"layers": 1, "width": 64, "patch_size": 8, "image_size": 16},
        text_cfg={"context_length": 8, "vocab_size": 32, "width": 16, "heads": 2, "layers": 1},
        output_dict=True,
    )
    data = Data(TensorDataset(torch.randn(16, 3, 16, 16), torch.randint(1, 32, (16, 8))))
    settings = argparse.Namespace(
        device="cpu",
        precision="fp32",
        distill=False,
        accum_freq=accumulated,
        skip_scheduler=True,
        horovod=False,
        grad_clip_norm=None,
        log_every_n_steps=100,
        world_size=1,
        rank=0,
        local_rank=0,
        batch_size=8,
        log_local=False,
        wandb=False,
    )
    loss, optimizer = ClipLoss(HCL), torch.optim.Adam(model.parameters(), lr=1e-3)

    def value() -> float:
        with torch.no_grad():
            return float(loss(**model(*data.dataloader.dataset[:8]), output_dict=True)["contrastive_loss"])

    before = value()
    for epoch in range(5):
        train_one_epoch(model, {"train": data}, loss, epoch, optimizer, None, None, None, settings)
    assert value() < before


def test_gradients_of_their_losses_under_ddp() -> None:
    assert check_ddp(ddp_losses.lightly).is_right
    assert check_ddp(ddp_losses.clip_local_with_gradient).is_right
    by_default = check_ddp(ddp_losses.clip)
    assert by_default.has_right_direction
    assert by_default.factor == pytest.approx(0.5)


def test_the_benchmark_of_training_runs_beside_lightly() -> None:
    script = Path(__file__).parents[2] / "benchmarks" / "training.py"
    done = subprocess.run(
        [sys.executable, str(script), "--smoke"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for row in ("| 1 | 32-true | lightly |", "| 1 | bf16-mixed | lightly |", "| 0 | lightly |"):
        assert row in done.stdout
