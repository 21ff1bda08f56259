"""
Digits with hard negatives
==========================

Which negatives of a handwritten digit count, and how much? A small network is trained on scikit-learn's scans
in a plain loop of PyTorch. Then the weights that :class:`tammes.Uniform` and :class:`tammes.Hard` give to the
negatives of one scan are set side by side.
"""

import matplotlib.pyplot as plt
import torch

import tammes
from tammes.data import as_floats, digits
from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
from tammes.evaluation import KNN, LabeledFeatures
from tammes.positives import Handwriting

torch.manual_seed(0)
train, test = digits("train"), digits("test")
images = as_floats(train.batch(torch.arange(len(train))))
augmentation = Handwriting()

# %%
# The loop is yours. The loss takes the embeddings of two views; the other rows of the batch are the
# negatives. A tenth of them show the anchor's digit, which is the ``class_prior`` of the correction.

encoder = ConvNetConfig(width=16).build(channels=train.channels, size=train.size)
head = ProjectionHeadConfig(dim=64).build(features=encoder.features)
objective = tammes.recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)

for step in range(60):
    batch = images[torch.randint(len(images), (256,))]
    view_a, view_b = augmentation(batch, seed=2 * step), augmentation(batch, seed=2 * step + 1)
    loss = objective(head(encoder(view_a)), head(encoder(view_b)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.3f}, effective negatives {objective.last['effective_negatives']:.0f} of 510")

# %%
# How good are the features? Twenty nearest neighbors vote, with labels that the training never saw.

with torch.no_grad():
    features = encoder(images)
    tested = encoder(as_floats(test.batch(torch.arange(len(test)))))
knn = KNN().accuracy(
    LabeledFeatures(features=features, labels=train.labels),
    LabeledFeatures(features=tested, labels=test.labels),
)
print(f"kNN {100 * knn:.1f} %")

# %%
# The heaviest negatives of one scan. Under uniform weights each has 1 / 510 of the weight; hard weights grow
# with the similarity, so that the first ones look like the anchor, and some of them *are* the anchor's digit.

rows = torch.arange(256)
with torch.no_grad():
    view_a, view_b = augmentation(images[rows], seed=0), augmentation(images[rows], seed=1)
    embeddings = head(encoder(view_a)), head(encoder(view_b))
hard = tammes.Objective(temperature=0.5, coupling=tammes.Hard(beta=5.0)).weights(*embeddings)
uniform = tammes.Objective(temperature=0.5).weights(*embeddings)

anchor, views, labels = 3, torch.cat([view_a, view_b]), train.labels[rows].repeat(2)
heaviest = hard[anchor].argsort(descending=True)[:9]
figure, axes = plt.subplots(1, 10, figsize=(11, 1.8))
axes[0].imshow(views[anchor, 0], cmap="gray")
axes[0].set_title("anchor\n", fontsize=9)
for place, row in zip(axes[1:], heaviest, strict=True):
    place.imshow(views[row, 0], cmap="gray")
    false = labels[row] == labels[anchor]
    times = hard[anchor, row] / uniform[anchor, row]
    place.set_title(
        f"{times:.0f} times" + ("\nfalse" if false else "\n"), fontsize=9, color="C3" if false else "C0"
    )
for place in axes:
    place.set_axis_off()
figure.tight_layout()

# %%
# The share of the weight on false negatives says what a coupling costs: here it grows as the weights grow
# harder, which is why ten digits gain less by hard negatives than data with many classes do.

betas = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0]
shares = []
for beta in betas:
    coupling = tammes.Hard(beta=beta) if beta else tammes.Uniform()
    weights = tammes.Objective(temperature=0.5, coupling=coupling).weights(*embeddings)
    shares.append(float((weights * (labels[:, None] == labels)).sum(1).mean()))
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(betas, [100 * share for share in shares], marker="o")
axes.set(xlabel="beta", ylabel="% of the weight on false negatives", ylim=(0, None))
figure.tight_layout()
plt.show()
