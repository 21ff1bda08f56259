"""
Graphs
======

A graph is contrasted with the nodes of others (InfoGraph), without labels. The graphs are drawn with
networkx: four ways in which a network can grow. No node has a feature; all that an encoder sees is who is
joined to whom.
"""

import matplotlib.pyplot as plt
import networkx as nx
import torch
from torch_geometric.utils import from_networkx

import tammes
from tammes.data import graphs_of
from tammes.encoders import GINEncoderConfig
from tammes.positives import OwnGraph
from tammes.training import TrainingConfig, embed, train

KINDS = {
    "tree": lambda n, s: nx.random_labeled_tree(n, seed=s),
    "small world": lambda n, s: nx.connected_watts_strogatz_graph(n, 4, 0.1, seed=s),
    "hubs": lambda n, s: nx.barabasi_albert_graph(n, 2, seed=s),
    "random": lambda n, s: nx.gnm_random_graph(n, 2 * n, seed=s),
}
drawn = [(kind, draw(20 + seed % 15, seed)) for seed in range(60) for kind, draw in KINDS.items()]

# %%
# Graphs of torch_geometric become a set of graphs, which a training takes like images or texts.

rows = []
for label, (_, graph) in zip(list(range(4)) * 60, drawn, strict=True):
    data = from_networkx(graph)
    data.y = torch.tensor([label])
    rows.append(data)
graphs = graphs_of(rows)
print(graphs)

# %%
# The positives of a node are its own graph, its negatives the other graphs of the batch.

config = TrainingConfig(
    objective=tammes.recipes.jsd(),
    encoder=GINEncoderConfig(width=16, layers=3),
    head=None,
    augmentation=None,
    positives=OwnGraph(),
    batch_size=40,
    epochs=10,
)
run = train(config, graphs)
features = embed(run.model, graphs)[0]

# %%
# The kinds come apart, though nothing has named them. Features are sums over the nodes, so that the logarithm
# is drawn.

points = features.clamp(min=0).log1p()
points = points - points.mean(0)
points = points @ torch.linalg.svd(points, full_matrices=False).Vh[:2].T

figure = plt.figure(figsize=(10, 4.6))
plane = figure.add_axes((0.42, 0.08, 0.56, 0.84))
for label, kind in enumerate(KINDS):
    own = points[graphs.labels == label]
    plane.scatter(own[:, 0], own[:, 1], s=14, color=f"C{label}", label=kind)
    place = figure.add_axes((0.2 * (label % 2), 0.5 - 0.5 * (label // 2), 0.2, 0.44))
    place.set_title(kind, fontsize=10, color=f"C{label}")
    nx.draw(
        drawn[label][1],
        nx.kamada_kawai_layout(drawn[label][1]),
        ax=place,
        node_size=18,
        node_color=f"C{label}",
        edge_color="0.7",
    )
plane.set(xticks=[], yticks=[])
plane.legend(frameon=False)
plt.show()
