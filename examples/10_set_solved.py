"""
A set solved
============

The largest clique of a graph has no gradient: sets are all or nothing. An extension reads the outputs of a
network as a distribution over a few sets, and its mean over them has one (Robinson, 2023, chapter 8). So a
network can be trained to solve a problem without having seen a solution.
"""

import matplotlib.pyplot as plt
import networkx as nx
import torch

from tammes.extensions import Graphs, Lovasz, Neural, exact_answers, maximum_clique
from tammes.extensions.solvers import ByNeural, FitConfig, NetworkConfig, SolverNetwork, search

# %%
# A random graph of 60 nodes in which a clique of nine is hidden.

graph = nx.gnp_random_graph(60, 0.25, seed=1)
hidden = list(range(0, 54, 6))
graph.add_edges_from((i, j) for i in hidden for j in hidden if i < j)
edges = torch.tensor(list(graph.edges)).T
graphs = Graphs.of(edges, sizes=(60,))

# %%
# The objective that is descended on: of any set, the sum of an extension. Its gradient flows through the
# probabilities.

problem = maximum_clique(graphs)
x = torch.rand(60, generator=torch.Generator().manual_seed(0), requires_grad=True)
value = Lovasz()(x, problem.objective)
value.sum().backward()
print(f"extension {value.item():.2f}, gradient of {x.grad.count_nonzero()} of 60 nodes")

# %%
# A network searches this one graph; with random features it sees other inputs at each step.

history = []
network = SolverNetwork(
    NetworkConfig(width=32, layers=3, noise=8), scalar=False, generator=torch.Generator().manual_seed(0)
)
score, members = search(
    network,
    ByNeural(neural=Neural()),
    maximum_clique,
    graphs,
    FitConfig(epochs=60, learning_rate=1e-3),
    on_step=history.append,
)
answer = exact_answers(problem)[0]
print(f"found a clique of {score:.0f} in {len(history)} steps; integer programming proves {answer.score:.0f}")

# %%
# The clique that was found.

places = nx.spring_layout(graph, seed=2, k=0.5)
inside = members.nonzero()[:, 0].tolist()
figure, axes = plt.subplots(figsize=(7, 6))
nx.draw_networkx_edges(graph, places, ax=axes, edge_color="0.85")
nx.draw_networkx_edges(graph.subgraph(inside), places, ax=axes, edge_color="C3", width=1.6)
nx.draw_networkx_nodes(
    graph, places, ax=axes, node_size=60, node_color=["C3" if n in inside else "0.6" for n in graph]
)
axes.set_axis_off()
figure.tight_layout()
plt.show()
