"""Training of a bag of words with k negatives, and its measurement on test sentences."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor, nn

from tammes import recipes
from tammes.encoders.bag_of_words import BagOfWords
from tammes.evaluation import LabeledFeatures, LinearClassifier, MeanClassifier
from tammes.objective import Objective
from tammes.papers.ash.text_corpus import Corpus, Sentences
from tammes.papers.ash.vision_training import device
from tammes.positives import SameClass
from tammes.selection import All, OtherLabels, Subset

LEARNING_RATE, CLIP = 0.01, 2.5
"""Ash et al. (2022), Table 1."""
_ROWS = 4096
"""Sentences embedded at a time for a measurement."""


@dataclass(frozen=True, kw_only=True)
class TextRun:
    """Training of one representation, with all settings that its score depends on.

    Args:
        corpus: name of the corpus.
        digest: hash of its content, split and vocabulary.
        classes: N, number of documents; the first N are taken.
        batch: B, pairs of sentences in a step.
        negatives: k, drawn for each sentence from the 2(B - 1) others.
        collisions: whether sentences of the anchor's own document may be drawn.
        seed: random seed of the first weights, the pairs and the negatives.
        dim: width of the embeddings.
        epochs: epochs of the representation; 0 for the untrained encoder.
        linear_epochs: epochs of the linear classifier.
        early: number of steps of an early measurement, to compare batches after equal steps; 0 for none.
    """

    corpus: str
    digest: str
    classes: int
    batch: int
    negatives: int
    collisions: bool
    seed: int
    dim: int
    epochs: int
    linear_epochs: int
    early: int

    def __str__(self) -> str:
        if not self.epochs:
            return f"N = {self.classes}, untrained, seed {self.seed}"
        kind = "" if self.collisions else ", no collisions"
        return f"N = {self.classes}, B = {self.batch}, k = {self.negatives}{kind}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class TextScore:
    """Measurements of a representation.

    Args:
        mean: accuracy of the mean classifier on test sentences.
        linear: accuracy of the trained linear classifier.
        loss: mean loss of the last epoch.
        steps: number of batches with an update, over all epochs.
        skipped: number of batches without one, because an anchor had fewer than k true negatives.
        mean_early: `mean` after the run's `early` steps; NaN without such a step.
        linear_early: `linear` after these steps.
    """

    mean: float
    linear: float
    loss: float
    steps: int
    skipped: int
    mean_early: float
    linear_early: float


def measure(cell: TextRun, corpus: Corpus, *, rate: float = LEARNING_RATE) -> TextScore:
    """Train and measure one representation.

    Args:
        cell: training.
        corpus: documents and their sentences.
        rate: learning rate of the representation.

    Raises:
        ValueError: k above 2(B - 1), more classes than there are, or fewer pairs than a batch has.
    """
    train, test = (part.to(device()) for part in corpus.of_first(cell.classes))
    encoder = first_encoder(cell, corpus.vocabulary).to(train.labels.device)
    early, losses, skipped = (math.nan, math.nan), [], 0
    for loss in training(cell, encoder, train, rate=rate):
        if loss is None:
            skipped += 1
            continue
        losses.append(loss)
        if len(losses) == cell.early:
            early = accuracies(cell, encoder, train, test)
    mean, linear = accuracies(cell, encoder, train, test)
    last = losses[-max(1, len(losses) // max(1, cell.epochs)) :]
    return TextScore(
        mean=mean,
        linear=linear,
        loss=float(torch.stack(last).mean()) if last else math.nan,
        steps=len(losses),
        skipped=skipped,
        mean_early=early[0],
        linear_early=early[1],
    )


def objective(cell: TextRun) -> Objective:
    """Return the logistic loss of Definition 1 with k negatives, averaged over both sentences of a pair.

    Raises:
        ValueError: k above 2(B - 1), all that a batch has.
    """
    most = 2 * (cell.batch - 1)
    if not 1 <= cell.negatives <= most:
        raise ValueError(
            f"expected from 1 to {most} negatives, all that a batch of {cell.batch} pairs has, got "
            f"{cell.negatives}"
        )
    if not cell.collisions:
        return recipes.logistic(selection=Subset(k=cell.negatives, among=OtherLabels()))
    # A subset of all negatives is all of them, and needs no sampling.
    return recipes.logistic(selection=All() if cell.negatives == most else Subset(k=cell.negatives))


def first_encoder(cell: TextRun, vocabulary: int) -> BagOfWords:
    """Return the encoder before training, the same for all runs of a seed and a width."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(cell.seed)
        return BagOfWords(vocabulary_size=vocabulary, dim=cell.dim)


def training(
    cell: TextRun, encoder: BagOfWords, train: Sentences, *, rate: float = LEARNING_RATE
) -> Iterator[Tensor | None]:
    """Train the encoder, and yield the loss of each batch, or None for one with too few true negatives.

    Raises:
        ValueError: k above 2(B - 1), or fewer pairs than a batch has.
    """
    loss_of = objective(cell)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=rate, fused=True)
    generator = torch.Generator().manual_seed(cell.seed)
    for epoch in range(cell.epochs):
        for rows in batches(train.labels, cell, epoch):
            labels = train.labels[rows[:, 0]]
            if not (cell.collisions or has_true_negatives(labels, cell.negatives)):
                yield None
                continue
            view_a, view_b = encoder(train.tokens.take(rows.T.reshape(-1))).chunk(2)  # (2 B) d -> B d, B d
            loss = loss_of(view_a, view_b, labels=labels, generator=generator)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(encoder.parameters(), CLIP)
            optimizer.step()
            yield loss.detach()


def batches(labels: Int[Tensor, " n"], cell: TextRun, epoch: int) -> Iterator[Int[Tensor, "batch 2"]]:
    """Return the pairs of an epoch, (B, 2) rows at a time, without those that do not fill a batch.

    Raises:
        ValueError: fewer pairs than a batch has.
    """
    # All runs of a seed pair the sentences alike, whatever k is.
    pairs = SameClass().pairs(labels.cpu(), seed=1_000_003 * cell.seed + epoch).to(labels.device)
    if len(pairs) < cell.batch:
        raise ValueError(
            f"expected at least {cell.batch} pairs for a batch, got {len(pairs)} from {cell.classes} "
            "classes: take a smaller batch, or more classes"
        )
    return iter(pairs[: len(pairs) // cell.batch * cell.batch].split(cell.batch))


def has_true_negatives(labels: Int[Tensor, " batch"], k: int) -> bool:
    """Return whether every anchor of a batch has k negatives of other documents; otherwise no update is made.

    Source: Ash et al. (2022), sec. 4, footnote 4.

    Example:
        >>> has_true_negatives(torch.tensor([0, 0, 1]), 2), has_true_negatives(torch.tensor([0, 0, 1]), 3)
        (True, False)
    """
    return 2 * (len(labels) - int(torch.bincount(labels).max())) >= k


def accuracies(cell: TextRun, encoder: BagOfWords, train: Sentences, test: Sentences) -> tuple[float, float]:
    """Return the accuracies of the mean classifier and of the trained linear classifier."""
    learned, tried = embedded(encoder, train), embedded(encoder, test)
    linear = LinearClassifier(
        epochs=cell.linear_epochs, batch_size=1000, learning_rate=LEARNING_RATE, seed=cell.seed
    )
    return MeanClassifier().accuracy(learned, tried), linear.accuracy(learned, tried)


@torch.no_grad()
def embedded(encoder: BagOfWords, sentences: Sentences) -> LabeledFeatures:
    """Return the embeddings of sentences with their labels."""
    rows = torch.arange(len(sentences), device=sentences.labels.device)
    parts = [encoder(sentences.tokens.take(some)) for some in rows.split(_ROWS)]
    return LabeledFeatures(features=torch.cat(parts), labels=sentences.labels)
