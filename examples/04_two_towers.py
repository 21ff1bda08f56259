"""
Queries and documents: two towers
=================================

Two encoders, one of queries and one of documents, are trained so that a query finds its document. The data here are
drawn: a document is a point with a topic and details, its query is a noisy view of it, and a hard negative is another
document of the same topic. In practice they come from a search engine's second page.
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
# :class:`tammes.TwoTowers` makes pairs of one direction or both; every objective takes them. The hard negatives of
# all queries are candidates of each.


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
# Similarities of 48 new queries and their documents, sorted by topic: the diagonal are the right answers, and the blocks
# around it the documents that are easily confused with them.

queries, documents, _, topic = batch(48)
order = topic.argsort()
figure, axes = plt.subplots(1, 2, figsize=(9, 4.4))
for place, hard in zip(axes, (False, True), strict=True):
    torch.manual_seed(1)
    query_tower, document_tower = trained(hard)
    with torch.no_grad():
        found = nn.functional.normalize(query_tower(queries[order]))
        similarity = found @ nn.functional.normalize(document_tower(documents[order])).T
        many = batch(2000)
        scores = nn.functional.normalize(query_tower(many[0])) @ nn.functional.normalize(document_tower(many[1])).T
        first = (scores.argmax(1) == torch.arange(2000)).float().mean()
    drawn = place.imshow(similarity, vmin=-1, vmax=1, cmap="RdBu_r")
    print(f"{'with hard negatives' if hard else 'batch alone'}: {100 * first:.0f} % found first among 2,000 documents")
    place.set(title="with hard negatives" if hard else "negatives of the batch alone", xlabel="documents", ylabel="queries")
figure.colorbar(drawn, ax=axes, shrink=0.8, label="similarity")
plt.show()
