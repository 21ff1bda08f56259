"""
Queries and documents: two towers
=================================

Two encoders, one of queries and one of documents, are trained so that a query finds its document. The data
here are drawn: a document is a point with a topic and details, its query is a noisy view of it, and a hard
negative is another document of the same topic. In practice they come from a search engine's second page.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import tammes

torch.manual_seed(0)
TOPICS, DIM = 12, 24
topics = 3 * torch.randn(TOPICS, DIM)


def batch(size):
    """Return queries, their documents, two hard negatives of each, and the topics."""
    topic = torch.randint(TOPICS, (size,))
    documents = topics[topic] + torch.randn(size, DIM)
    others = topics[topic][:, None] + torch.randn(size, 2, DIM)
    queries = documents + 0.5 * torch.randn(size, DIM)
    return queries, documents, others, topic


# %%
# :class:`tammes.TwoTowers` makes pairs of one direction or both; every objective takes them. The hard
# negatives of all queries are candidates of each.


def trained(with_hard_negatives):
    """Return both towers after 300 steps."""
    towers = [nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 16)) for _ in range(2)]
    query_tower, document_tower = towers
    optimizer = torch.optim.Adam([p for tower in towers for p in tower.parameters()], lr=3e-3)
    objective, source = tammes.recipes.simclr(temperature=0.1), tammes.TwoTowers()
    for _ in range(300):
        queries, documents, others, _ = batch(48)
        hard = document_tower(others) if with_hard_negatives else None
        loss = objective(source(query_tower(queries), document_tower(documents), hard))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return query_tower, document_tower


# %%
# 2,000 new queries look for their documents. On the left, the similarities of 48 of them, sorted by topic:
# the diagonal are the right answers, the blocks around it the documents that are easily confused with them.
# On the right, how far the right document is ahead of the best wrong one: below zero the query finds another.
# It is one training of each.


def similarities(towers, queries, documents):
    """Return the cosines of all queries and documents."""
    with torch.no_grad():
        found, stored = (
            nn.functional.normalize(tower(x)) for tower, x in zip(towers, (queries, documents), strict=True)
        )
    return found @ stored.T


queries, documents, _, topic = batch(2000)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for name, hard in {"negatives of the batch": False, "and hard negatives": True}.items():
    torch.manual_seed(1)
    towers = trained(hard)
    scores = similarities(towers, queries, documents)
    right = scores.diagonal()
    margin = right - scores.masked_fill(torch.eye(2000, dtype=torch.bool), -1).amax(1)
    print(f"{name}: {100 * (margin > 0).float().mean():.0f} % find their document first of 2,000")
    axes[1].hist(margin, bins=60, range=(-0.3, 0.5), histtype="step", linewidth=1.6, label=name)
order = topic[:48].argsort()
drawn = axes[0].imshow(scores[order][:, order], vmin=-1, vmax=1, cmap="RdBu_r")
axes[0].set(title="with hard negatives", xlabel="documents", ylabel="queries")
figure.colorbar(drawn, ax=axes[0], shrink=0.9, label="similarity")
axes[1].axvline(0, color="0.6", linewidth=1)
axes[1].set(xlabel="right document, ahead of the best wrong one", ylabel="queries", ylim=(0, 230))
axes[1].legend(frameon=False, loc="upper left")
plt.show()
