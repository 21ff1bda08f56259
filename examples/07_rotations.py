"""
Augmentations as rotations: CARE
================================

InfoNCE asks that a change of the input leaves its embedding where it is. CARE (Robinson, 2023, chapter 5)
also asks that what it moves, it moves *alike*: one change of all inputs should be one rotation of all
embeddings. On the sphere one can see it.
"""

import math

import matplotlib.pyplot as plt
import torch
from torch import nn

import tammes
from tammes.diagnostics import wahba_error
from tammes.equivariance import equivariance_loss

# %%
# The inputs: a bump on a ring of 24 sensors, at an angle and of a width. The change of an input: all bumps
# turn by the same angle, and noise is added.

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
# A batch has 8 groups of 16 rows; the rows of a group share a change in each view. The loss on angles is
# added to InfoNCE.


def trained(weight):
    """Return an encoder onto the sphere after 400 steps."""
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
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
# Where do the embeddings lie as a bump goes around the ring, and how far does a turn of 40 degrees move each
# of them? If it acts as a rotation, the path is a circle and every embedding moves by the same angle. Under
# InfoNCE alone the path is a saddle, and the movement varies more. Wahba's error is the distance from the
# nearest rotation.

angle = torch.linspace(0, 2 * math.pi, 300)
width = torch.full((300,), 0.3)
figure = plt.figure(figsize=(10.5, 3.8), layout="constrained")
spheres = [figure.add_subplot(1, 3, place + 1, projection="3d") for place in range(2)]
moved = figure.add_subplot(1, 3, 3)
for place, (name, weight) in zip(spheres, {"SimCLR": 0.0, "CARE": 5.0}.items(), strict=True):
    encoder = trained(weight)
    with torch.no_grad():
        before = nn.functional.normalize(encoder(bumps(angle, width)))
        after = nn.functional.normalize(encoder(bumps(angle + math.radians(40), width)))
    # Turned so that the plane nearest to the path is level.
    level = before @ torch.linalg.svd(before - before.mean(0), full_matrices=False).Vh.T
    place.scatter(*level.T, c=angle, cmap="twilight", s=10, depthshade=False)
    place.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1), xticks=[], yticks=[], zticks=[])
    place.set_box_aspect((1, 1, 1), zoom=1.1)
    place.view_init(elev=22)
    place.set_title(f"{name}\nWahba's error {wahba_error(before, after):.1f}", fontsize=10, y=0.96)
    moved.plot(angle.rad2deg(), (before * after).sum(1).clamp(-1, 1).acos().rad2deg(), label=name)
moved.set(ylim=(0, None), xticks=range(0, 361, 90))
moved.set(xlabel="angle of the bump, degrees", ylabel="movement of the embedding, degrees")
moved.legend(frameon=False)
plt.show()
