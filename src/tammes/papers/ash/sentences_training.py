"""Training of quick-thoughts with k negatives a sentence, and its measurement on tasks and documents."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tammes.data import Words
from tammes.evaluation import LabeledFeatures, LinearClassifier, MeanClassifier
from tammes.evaluation.sentence_tasks import LogisticProtocol, evaluate
from tammes.papers.ash.sentences_corpus import SentenceCorpus
from tammes.papers.robinson_negatives.sentences_training import (
    SentenceRun,
    SentenceScale,
    Tasks,
    config_of,
    embedder_of,
)
from tammes.positives import Adjacent
from tammes.selection import All, OtherLabels, Selection, Subset
from tammes.training import Machine, TrainingConfig, train
from tammes.training.config import RunConfig
from tammes.training.examples import Examples
from tammes.training.model import Model, build_model

LINEAR_EPOCHS, LINEAR_RATE = 10, 0.01


@dataclass(frozen=True, kw_only=True)
class CountRun:
    """Training of one encoder, with all settings that its score depends on.

    Args:
        negatives: k, drawn for each sentence from its batch; 0 for the untrained encoder.
        run: contiguous sentences of a batch; 0 for the whole batch.
        collisions: whether sentences of the anchor's document may be drawn.
        beta: concentration of hard negatives.
        sentences: sentences that are trained on.
        documents: number of documents, the latent classes.
        batch_size: sentences of a step.
        width: units of each of the two networks.
        epochs: epochs of training; 0 for none.
        rate: peak of the learning rate.
        seed: random seed of the weights, the order and the negatives.
    """

    negatives: int
    run: int
    collisions: bool
    beta: float
    sentences: int
    documents: int
    batch_size: int
    width: int
    epochs: int
    rate: float
    seed: int

    def __str__(self) -> str:
        if not self.negatives:
            return f"untrained, seed {self.seed}"
        batch = f"runs of {self.run}" if self.run else "contiguous"
        more = "" if self.collisions else ", no collisions"
        hard = f", beta {self.beta:g}" if self.beta else ""
        return f"k = {self.negatives}, {batch}{more}{hard}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class CountScore:
    """Accuracies from 0 to 1, and what the training came to.

    Args:
        mr: movie reviews; NaN for a task that the plan leaves out, here and below.
        cr: product reviews.
        subj: subjectivity.
        mpqa: opinion polarity.
        trec: kinds of questions.
        msrp: paraphrases.
        mean: documents of held-out sentences, by the means of the documents.
        linear: the same by a trained linear classifier.
        colliding: expected share of the anchors with a negative of their own document.
        loss: mean training loss of the last epoch.
        steps: training steps.
        seconds: processor time of the training.
    """

    mr: float = math.nan
    cr: float = math.nan
    subj: float = math.nan
    mpqa: float = math.nan
    trec: float = math.nan
    msrp: float = math.nan
    mean: float
    linear: float
    colliding: float
    loss: float = 0.0
    steps: int = 0
    seconds: float = 0.0

    def of(self, task: str) -> float:
        """Return the accuracy on a task."""
        return float(vars(self)[task.lower()])

    @property
    def tasks(self) -> float:
        """Mean accuracy over the tasks that were measured."""
        found = [each for each in map(self.of, ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")) if each == each]
        return sum(found) / len(found)


def config(run: CountRun, scale: SentenceScale) -> TrainingConfig:
    """Return the settings of a training: those of `sentences-quick-thoughts`, with k negatives.

    Args:
        run: training.
        scale: size of the study.
    """
    same = SentenceRun(
        arm=str(run),
        beta=run.beta,
        class_prior=0.0,
        sentences=run.sentences,
        batch_size=run.batch_size,
        width=run.width,
        epochs=run.epochs,
        rate=run.rate,
        seed=run.seed,
    )
    found = config_of(same, scale)
    objective = replace(found.objective, selection=selection_of(run))
    return replace(found, objective=objective, positives=Adjacent(run=run.run or None))


def selection_of(run: CountRun) -> Selection:
    """Return who may be a negative, and how many are drawn.

    Example:
        >>> run = CountRun(negatives=8, run=4, collisions=False, beta=0.0, sentences=100, documents=2,
        ...     batch_size=16, width=8, epochs=1, rate=0.01, seed=0)
        >>> selection_of(run)
        Subset(k=8, among=OtherLabels())
    """
    if not run.collisions:
        return Subset(k=run.negatives, among=OtherLabels())
    # All of a batch need no sampling; a sentence at the end of a run has one more than the others.
    is_all = run.negatives == 0 or run.negatives >= run.batch_size - 3
    return All() if is_all else Subset(k=run.negatives)


def measurer(
    corpus: SentenceCorpus, tasks: Tasks, scale: SentenceScale, counts: Sequence[int]
) -> Callable[[CountRun], CountScore]:
    """Return the function that trains and measures one encoder.

    Args:
        corpus: documents to train on, and held-out sentences.
        tasks: tasks to measure on.
        scale: size of the study.
        counts: values of k.
    """

    @cache
    def examples() -> Examples:
        words = Words(minimum_count=scale.minimum_count).of(corpus.train.sentences)
        return Examples.of(corpus.train, words)

    @cache
    def colliding(run: int, seed: int) -> dict[int, float]:
        shares = corpus.colliding(run, counts, batch_size=scale.batch_size, seed=seed)
        return dict(zip(counts, shares, strict=True))

    def measure(run: CountRun) -> CountScore:
        share = colliding(run.run, run.seed)[run.negatives] if run.negatives and run.collisions else 0.0
        settings, start = config(run, scale), time.process_time()
        if run.epochs == 0:
            data = RunConfig(training=settings, data=examples().summary("books"))
            model = build_model(data, examples().assets)
            return _score(model, corpus, tasks, scale, run.seed, colliding=share)
        trained = train(settings, examples(), source="books", machine=Machine(accelerator="cpu"))
        last = trained.metrics[-1]
        return _score(
            trained.model,
            corpus,
            tasks,
            scale,
            run.seed,
            colliding=share,
            loss=last.loss or 0.0,
            steps=last.step,
            seconds=round(time.process_time() - start, 1),
        )

    return measure


def _score(
    model: Model,
    corpus: SentenceCorpus,
    tasks: Tasks,
    scale: SentenceScale,
    seed: int,
    *,
    colliding: float,
    loss: float = 0.0,
    steps: int = 0,
    seconds: float = 0.0,
) -> CountScore:
    embedder, protocol = embedder_of(model), LogisticProtocol(folds=scale.folds)
    found = {
        name.lower(): evaluate(task, embedder, protocol).metrics["accuracy"].mean
        for name, task in tasks.items()
    }
    learned, test = (
        LabeledFeatures(features=embedder(part.sentences), labels=part.required_labels())
        for part in (corpus.learned, corpus.test)
    )
    linear = LinearClassifier(epochs=LINEAR_EPOCHS, batch_size=256, learning_rate=LINEAR_RATE, seed=seed)
    return CountScore(
        **found,
        mean=MeanClassifier().accuracy(learned, test),
        linear=linear.accuracy(learned, test),
        colliding=colliding,
        loss=loss,
        steps=steps,
        seconds=seconds,
    )
