"""
Packings one can turn
=====================

How far apart can n points of a sphere be? The question is Tammes' (1930), and the package is named for it: an
encoder that is trained against its hardest negatives solves it when it places its classes (Robinson, 2023,
Theorem 3).
"""

import html

import matplotlib.pyplot as plt

from tammes.report.packing import packing_page
from tammes.theory import pack

# %%
# :func:`tammes.theory.pack` returns points, the angle between the two nearest, the pairs that touch, and who
# proved that no points do better.

packings = {count: pack(count, 3) for count in (4, 6, 8, 10, 12, 24)}
for count, packing in packings.items():
    angle, contacts = packing.angle_degrees, len(packing.contacts)
    print(f"{count:3} points, {angle:9.5f} degrees, {contacts:2} contacts, {packing.proof}")

# %%
# Points and contacts. Eight points are no cube: the square antiprism is better.

figure = plt.figure(figsize=(10, 6.6))
for number, (count, packing) in enumerate(packings.items()):
    place = figure.add_subplot(2, 3, number + 1, projection="3d")
    for i, j in packing.contacts:
        place.plot(*packing.points[[i, j]].T, color="0.5", linewidth=1)
    place.scatter(*packing.points.T, s=40, c=packing.points[:, 2], cmap="viridis", depthshade=False)
    place.set_box_aspect((1, 1, 1))
    place.set_axis_off()
    place.set_title(f"{count} points, {packing.angle_degrees:.2f} degrees", fontsize=10)
figure.tight_layout()

# %%
# Drag it. ``tammes theory packing --classes 24 --dim 3 --figure packing.html`` writes the same page.


class Turned:
    """A packing as a page within this page."""

    def __init__(self, packing):
        self.page = packing_page(packing, ["The snub cube."])

    def _repr_html_(self):
        style = "width: 100%; height: 52rem; border: 0"
        return f'<iframe srcdoc="{html.escape(self.page)}" style="{style}"></iframe>'


Turned(packings[24])
