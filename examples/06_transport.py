"""
Transport made visible
======================

Three couplings on the same 40 embeddings. Uniform weights treat all negatives alike. Hard weights follow the
similarity, each anchor by itself, so that a row near many anchors is a heavy negative for all of them.
Transport also balances the columns: every candidate gets the same total weight.
"""

import math

import matplotlib.pyplot as plt
import torch

import tammes

# %%
# Points on a circle, crowded on the right, in two views that differ a little.

generator = torch.Generator().manual_seed(0)
angle = torch.cat(
    [0.5 * torch.randn(14, generator=generator), 2 * math.pi * torch.rand(6, generator=generator)]
)
angle = angle.sort().values
views = [torch.stack([a.cos(), a.sin()], dim=1) for a in (angle, angle + 0.05)]

couplings = {
    "uniform": tammes.Uniform(),
    "hard, beta = 1": tammes.Hard(beta=1.0),
    "transport, epsilon = 0.5": tammes.Transport(epsilon=0.5),
}
weights = {
    name: tammes.Objective(temperature=0.5, coupling=coupling).weights(*views)
    for name, coupling in couplings.items()
}

# %%
# The weights w_ij: a row for each anchor, a column for each candidate, of the first view and then of the
# second. Every row sums to one. The diagonals are empty: no row is its own negative, nor that of its other
# view.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for place, (name, w) in zip(axes, weights.items(), strict=True):
    drawn = place.imshow(w, cmap="viridis", vmin=0, vmax=0.1)
    place.set(title=name, xlabel="candidate j")
axes[0].set_ylabel("anchor i")
figure.colorbar(drawn, ax=axes, shrink=0.8, label="weight")

# %%
# The sums of the columns tell the couplings apart. Where they are not one, some candidates are pushed more
# than others.

figure, axes = plt.subplots(figsize=(8, 3))
for name, w in weights.items():
    axes.plot(w.sum(0)[:20], marker="o", markersize=4, label=name)
axes.set_xticks(range(0, 20, 5))
axes.set(xlabel="candidate j of the first view", ylabel="sum over the anchors of w_ij", ylim=(0, None))
axes.legend()
figure.tight_layout()

# %%
# For one anchor, the black star: how its weights lie on the circle.

anchor = 4
figure, axes = plt.subplots(1, 3, figsize=(11, 4.0), layout="constrained")
for place, (name, w) in zip(axes, weights.items(), strict=True):
    points = torch.cat(views)
    place.scatter(points[:, 0], points[:, 1], s=3000 * w[anchor], alpha=0.5)
    place.plot(*points[anchor], "k*", markersize=12)
    place.set(title=name, xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", xticks=[], yticks=[])
plt.show()
