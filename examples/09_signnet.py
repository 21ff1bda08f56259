"""
SignNet on a molecule
=====================

Eigenvectors of a graph's Laplacian say where a node is, but each has two signs, and a solver returns either.
SignNet makes positional encodings of them that do not depend on that choice. Here on caffeine, of which a
table of bonds is all that is needed.
"""

import matplotlib.pyplot as plt
import networkx as nx
import torch

from tammes.spectral import GINConfig, SignNet, eigenpairs

# Heavy atoms: two rings that share an edge, two oxygens (9, 11) and three methyl groups (10, 12, 13).
BONDS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (3, 6), (6, 7), (7, 8), (8, 4)]
BONDS += [(1, 9), (0, 10), (5, 11), (2, 12), (8, 13)]

bonds = torch.tensor(BONDS).T
edge_index, batch = torch.cat([bonds, bonds.flip(0)], dim=1), torch.zeros(14, dtype=torch.long)
pairs = eigenpairs(edge_index, batch, count=6)

# %%
# Two networks see the same eigenvectors with different signs, as two solvers might return them: one that
# takes them as they are, and SignNet.

torch.manual_seed(0)
signnet = SignNet(dim=1, phi=GINConfig(width=16, layers=2)).eval()
plain = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))

signs = torch.tensor([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
vectors, values = pairs.vectors.float(), pairs.values.float()
with torch.no_grad():
    rows = {
        "eigenvector 2": [vectors[:, 1], (signs * vectors)[:, 1]],
        "plain network": [plain(v)[:, 0] for v in (vectors, signs * vectors)],
        "SignNet": [signnet(None, edge_index, batch, v, values)[:, 0] for v in (vectors, signs * vectors)],
    }
for name, (one, other) in rows.items():
    print(f"{name}: largest change {float((one - other).abs().max()):.1e}")

# %%
# Above with one choice of signs, below with another.

places = nx.kamada_kawai_layout(nx.Graph(BONDS))
at = torch.tensor([tuple(places[node]) for node in range(14)])
figure, axes = plt.subplots(2, 3, figsize=(10, 5))
for column, (name, both) in enumerate(rows.items()):
    low, high = min(each.min() for each in both), max(each.max() for each in both)
    for place, column_of_nodes in zip(axes[:, column], both, strict=True):
        nx.draw_networkx_edges(nx.Graph(BONDS), places, ax=place, edge_color="0.6")
        place.scatter(*at.T, c=column_of_nodes, vmin=low, vmax=high, s=160, zorder=2, edgecolors="0.3")
        place.set_axis_off()
    axes[0, column].set_title(name)
figure.tight_layout()
plt.show()
