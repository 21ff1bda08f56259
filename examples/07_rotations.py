"""
Augmentations as rotations: CARE
================================

InfoNCE asks that a change of the input leaves its embedding where it is. CARE (Robinson, 2023, chapter 5) also asks that
what it moves, it moves *alike*: one change of all inputs should be one rotation of all embeddings. On the circle one can
see it.
"""

import math

import matplotlib.pyplot as plt
import torch
from torch import nn

import tammes
from tammes.diagnostics import wahba_error
from tammes.equivariance import equivariance_loss

# %%
# The inputs: a bump on a ring of 24 sensors, at an angle and of a width. The change of an input: all bumps turn by the
# same angle, and noise is added.

SENSORS = torch.arange(24) * 2 * math.pi / 24


def bumps(angle, width):
    """Return the readings of the sensors."""
    return torch.exp((torch.cos(SENSORS - angle[:, None]) - 1) / width[:, None])


def group(rows):
    """Return two views of random bumps; each view has one turn for all rows."""
    angle, width = 2 * math.pi * torch.rand(rows), 0.25 + 0.1 * torch.rand(rows)
    turns = 0.4 * torch.randn(2)
    return [bumps(angle + turn, width) + 0.02 * torch.randn(rows, 24) for turn in turns]


# %%
# A batch has 8 groups of 16 rows; the rows of a group share a change in each view. The loss on angles is added to InfoNCE.


def trained(weight):
    """Return an encoder onto the circle after 400 steps."""
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(encoder.parameters(), lr=2e-3)
    objective = tammes.recipes.simclr(temperature=0.5)
    for _ in range(400):
        groups = [group(16) for _ in range(8)]
        view_a, view_b = (encoder(torch.cat(views)) for views in zip(*groups, strict=True))
        loss = objective(view_a, view_b)
        if weight:
            loss = loss + weight * equivariance_loss(view_a, view_b, groups=8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return encoder


# %%
# How far does a turn of 40 degrees move each embedding? If it acts as a rotation, all by the same angle: a level line.
# Wahba's error is the distance from the nearest rotation.

angle = torch.linspace(0, 2 * math.pi, 300)
width = torch.full((300,), 0.3)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True)
for place, (name, weight) in zip(axes, {"SimCLR": 0.0, "CARE": 5.0}.items(), strict=True):
    encoder = trained(weight)
    with torch.no_grad():
        before = nn.functional.normalize(encoder(bumps(angle, width)))
        after = nn.functional.normalize(encoder(bumps(angle + math.radians(40), width)))
    turned = torch.atan2(
        before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0], (before * after).sum(1)
    ).rad2deg()
    place.plot(angle.rad2deg(), turned)
    place.axhline(40, color="0.7", linewidth=1)
    place.set(title=f"{name}: Wahba's error {wahba_error(before, after):.1f}", xlabel="angle of the bump, degrees")
axes[0].set_ylabel("movement of the embedding, degrees")
figure.tight_layout()
plt.show()
