"""
Your own texts
==============

Sentences need no augmentation: two sentences of one document are a pair. The documents are a folder of text
files; here six are written first, with sentences made of each subject's own words and of words that all
share.
"""

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import tammes
from tammes.data import texts
from tammes.encoders import BagOfWordsConfig
from tammes.positives import SameClass
from tammes.training import Adam, RunFolder, TrainingConfig, embed, train

work = Path(tempfile.mkdtemp())
draw = random.Random(0)
SHARED = "the a of and with in on is was it this often never small large new old seen made found given kept"
SUBJECTS = {
    "rain": "rain cloud storm drizzle umbrella puddle thunder wind flood forecast",
    "bread": "flour yeast oven dough crust loaf knead bakery salt rye",
    "rails": "train track station signal carriage platform timetable engine tunnel bridge",
    "bees": "hive honey pollen queen swarm nectar comb flower sting wax",
    "chess": "pawn bishop rook opening endgame mate sacrifice castle gambit board",
    "ships": "harbor sail anchor mast captain deck tide voyage rope cargo",
}

# %%
# Each sentence has two to four words of its subject among eight to eleven others.

(work / "articles").mkdir()
for name, words in SUBJECTS.items():
    sentences = []
    for _ in range(120):
        chosen = draw.sample(words.split(), draw.randint(2, 4)) + draw.choices(
            SHARED.split(), k=draw.randint(8, 11)
        )
        draw.shuffle(chosen)
        sentences.append(" ".join(chosen).capitalize() + ".")
    (work / "articles" / f"{name}.txt").write_text("\n".join(sentences))
articles = texts(work / "articles")
print(articles, "such as:", articles[0][0])

# %%
# A bag of words is an encoder, too. With raw inner products and the logistic loss this is the model of Ash et
# al. (2022); each anchor has 40 negatives, drawn afresh.

config = TrainingConfig(
    objective=tammes.recipes.logistic(selection=tammes.Subset(k=40)),
    encoder=BagOfWordsConfig(dim=32, minimum_count=2),
    head=None,
    augmentation=None,
    positives=SameClass(),
    optimizer=Adam(learning_rate=0.05),
    batch_size=90,
    epochs=30,
)
untrained = train(replace(config, epochs=1, optimizer=Adam(learning_rate=1e-9)), articles)
run = train(config, articles, source="articles", folder=RunFolder(path=work / "run"))

# %%
# The two directions of largest variance, before and after the training. Sentences of a document share few
# words, and yet come together.


def plane(points):
    centered = points - points.mean(0)
    return centered @ torch.linalg.svd(centered, full_matrices=False).Vh[:2].T


figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
for place, each, title in zip(axes, (untrained, run), ("untrained", "trained"), strict=True):
    points = plane(embed(each.model, articles)[0])
    for label, name in enumerate(articles.classes):
        own = points[articles.labels == label]
        place.scatter(own[:, 0], own[:, 1], s=12, label=Path(name).stem)
    place.set(title=title, xticks=[], yticks=[])
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
figure.tight_layout()

# %%
# The encoder of a run embeds lists of strings.

encoder = tammes.load(work / "run")
query, *others = torch.nn.functional.normalize(
    encoder.embed(
        ["The yeast was kept in the oven.", "A loaf of rye.", "The bishop was never seen on this board."]
    )
)
print([round(float(query @ other), 2) for other in others])
plt.show()
