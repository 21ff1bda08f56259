"""Training of sentence encoders on adjacent sentences, and their six published tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tammes.data import Texts, Words, texts
from tammes.encoders import GRUConfig, TwoTowersConfig
from tammes.evaluation.sentence_tasks import (
    LogisticProtocol,
    SentenceClasses,
    SentencePairs,
    evaluate,
    find_tasks,
    random_words,
    tfidf_svd,
)
from tammes.evaluation.sentence_tasks.tasks import Embed
from tammes.papers.entry import Request
from tammes.positives import Adjacent
from tammes.training import Adam, Cosine, Machine, TrainingConfig, embed, train
from tammes.training.config import RunConfig
from tammes.training.examples import Examples
from tammes.training.model import Model, build_model
from tammes.training.quick_thoughts import quick_thoughts

SEEDS, FEWEST_SEEDS = 5, 3
LONGEST = 32
"""Words of a sentence that the encoder reads."""
UNTRAINED = "untrained encoder"
SVD, RANDOM = "tf-idf and SVD", "bag of random vectors"
FLOORS = (UNTRAINED, SVD, RANDOM)
TASKS = ("MR", "CR", "SUBJ", "MPQA", "TREC", "MSRP")
Tasks = Mapping[str, SentenceClasses | SentencePairs]


@dataclass(frozen=True, kw_only=True)
class SentenceRun:
    """Features of one kind: of a trained encoder, an untrained one, or a floor.

    Args:
        arm: name of the objective, or of the floor.
        beta: concentration of hard negatives.
        class_prior: probability that a negative is a false one.
        sentences: sentences of the books, which are all trained on.
        batch_size: sentences of a step, a run of a book.
        width: units of each of the two networks; features have twice as many numbers.
        epochs: epochs of training.
        rate: peak of the learning rate.
        seed: random seed of the weights and of the order.
    """

    arm: str
    beta: float
    class_prior: float
    sentences: int
    batch_size: int
    width: int
    epochs: int
    rate: float
    seed: int


@dataclass(frozen=True, kw_only=True)
class SentenceScore:
    """Accuracies from 0 to 1 on the six tasks, and what the training came to.

    Args:
        mr: movie reviews, ten folds.
        cr: product reviews, ten folds.
        subj: subjectivity, ten folds.
        mpqa: opinion polarity, ten folds.
        trec: kinds of questions, test set.
        msrp: paraphrases, test set.
        msrp_f1: F1 of the same.
        loss: mean training loss of the last epoch.
        on_floor: share of anchors of the last step whose corrected mean over negatives lies on its floor.
        steps: training steps.
        seconds: processor time of the training.
    """

    mr: float
    cr: float
    subj: float
    mpqa: float
    trec: float
    msrp: float
    msrp_f1: float
    loss: float
    on_floor: float
    steps: int
    seconds: float

    def of(self, task: str) -> float:
        """Return the accuracy on a task of `TASKS`."""
        found = {
            "MR": self.mr,
            "CR": self.cr,
            "SUBJ": self.subj,
            "MPQA": self.mpqa,
            "TREC": self.trec,
            "MSRP": self.msrp,
        }
        return found[task]


@dataclass(frozen=True, kw_only=True)
class SentenceScale:
    """Size of the study.

    Args:
        books_step: distance of the books that are trained on, in the order of their names; 1 for all.
        sentences: largest number of sentences that are trained on, the first ones; None for all.
        width: units of each network.
        epochs: epochs of training.
        batch_size: sentences of a step.
        minimum_count: occurrences of a word of the vocabulary.
        folds: folds of the classification, and of the search for C.
        seeds: random seeds of every arm.
        learning: whether encoders are trained; else all keep their first weights.
    """

    width: int
    epochs: int
    books_step: int = 1
    sentences: int | None = None
    batch_size: int = 256
    minimum_count: int = 10
    folds: int = 10
    seeds: Sequence[int]
    learning: bool = True


def scale_of(request: Request) -> SentenceScale:
    """Return the size that a budget has.

    The whole budget trains networks of 256 units for ten epochs, a fifth of it for two. Below, networks have
    128 units and read the books once; below a tenth, every second book. Below a hundredth, networks of 8
    units read the first 8,000 sentences, for a trial.
    """
    large = request.budget >= 0.2
    tiny = request.budget < 0.01
    return SentenceScale(
        width=256 if large else 8 if tiny else 128,
        epochs=max(1, round(10 * request.budget)),
        books_step=1 if request.budget >= 0.1 or tiny else 2,
        sentences=8000 if tiny else None,
        folds=3 if tiny else 10,
        batch_size=32 if tiny else 256,
        seeds=request.seed_range(SEEDS, fewest=FEWEST_SEEDS),
        learning=request.learning,
    )


def read_data(folder: Path, scale: SentenceScale) -> tuple[Texts, Tasks]:
    """Read `books`, a folder of running prose, and `tasks`, a folder with the published files.

    Args:
        folder: folder of the two.
        scale: size of the study, which says how many books are read.

    Raises:
        ValueError: a folder without one of the two, or without a file.
    """
    for name in ("books", "tasks"):
        if not (folder / name).is_dir():
            raise ValueError(
                f"expected two folders in {folder}, books (plain text) and tasks (MR, CR, SUBJ, MPQA, TREC "
                f"and MSRP as published), found no {name}"
            )
    books = texts(folder / "books", prose=True)
    if scale.books_step > 1:
        books = books.subset((books.documents % scale.books_step == 0).nonzero()[:, 0].tolist())
    if scale.sentences is not None:
        books = books.subset(range(len(books))[: scale.sentences])
    return books, read_tasks(folder / "tasks")


def read_tasks(folder: Path) -> Tasks:
    """Read the six tasks from the published files, in a folder or in one below it.

    Raises:
        ValueError: a task that is missing, or stands in two places.
    """
    found = {task.name: task for task in find_tasks(folder)}
    missing = [name for name in TASKS if name not in found]
    if missing:
        raise ValueError(f"expected {', '.join(TASKS)} in {folder}, found no {' and no '.join(missing)}")
    return {
        name: task
        for name, task in found.items()
        if name in TASKS and isinstance(task, SentenceClasses | SentencePairs)
    }


def measurer(books: Texts, tasks: Tasks, scale: SentenceScale) -> Callable[[SentenceRun], SentenceScore]:
    """Return the function that trains and measures one encoder, or a floor.

    Args:
        books: sentences to train on.
        tasks: tasks to measure on.
        scale: size of the study.
    """

    @cache
    def vocabulary() -> Examples:
        return Examples.of(books, Words(minimum_count=scale.minimum_count).of(books.sentences))

    return lambda run: fit(run, scale, vocabulary, tasks)


def config_of(run: SentenceRun, scale: SentenceScale) -> TrainingConfig:
    """Return the settings of a training."""
    tower = GRUConfig(
        width=run.width,
        embedding=run.width,
        max_length=LONGEST,
        tokens=Words(minimum_count=scale.minimum_count),
    )
    return TrainingConfig(
        objective=quick_thoughts(beta=run.beta, class_prior=run.class_prior),
        encoder=TwoTowersConfig(tower=tower),
        head=None,
        augmentation=None,
        positives=Adjacent(),
        optimizer=Adam(
            learning_rate=run.rate, weight_decay=0.0, schedule=Cosine(warmup_epochs=0), clip_norm=5.0
        ),
        batch_size=run.batch_size,
        epochs=max(1, run.epochs),
        seed=run.seed,
    )


def fit(
    run: SentenceRun, scale: SentenceScale, examples: Callable[[], Examples], tasks: Tasks
) -> SentenceScore:
    """Train and measure one encoder, or measure a floor.

    Args:
        run: the features.
        scale: size of the study.
        examples: function that returns the tokenized books, made when the first encoder needs them.
        tasks: tasks to measure on.
    """
    if run.arm == RANDOM:
        return _score(lambda corpus: random_words(2 * run.width, seed=run.seed), tasks, scale)
    if run.arm == SVD:
        return _score(lambda corpus: tfidf_svd(corpus, 2 * run.width), tasks, scale)
    config, books = config_of(run, scale), examples()
    if run.epochs == 0:
        model = build_model(RunConfig(training=config, data=books.summary("books")), books.assets)
        return _score(lambda corpus: embedder_of(model), tasks, scale)
    start = time.process_time()
    trained = train(config, books, source="books", machine=Machine(accelerator="cpu"))
    last = trained.metrics[-1]
    return _score(
        lambda corpus: embedder_of(trained.model),
        tasks,
        scale,
        loss=last.loss or 0.0,
        on_floor=last.last.get("debias_floor_fraction", 0.0),
        steps=last.step,
        seconds=round(time.process_time() - start, 1),
    )


def embedder_of(model: Model) -> Embed:
    """Return the function that embeds sentences by a model."""
    return lambda sentences: embed(model, Texts.of(sentences), batch_size=512)[0]


def _score(
    embedder: Callable[[Sequence[str]], Embed],
    tasks: Tasks,
    scale: SentenceScale,
    *,
    loss: float = 0.0,
    on_floor: float = 0.0,
    steps: int = 0,
    seconds: float = 0.0,
) -> SentenceScore:
    protocol = LogisticProtocol(folds=scale.folds)
    found = {name: evaluate(task, embedder(task.corpus), protocol) for name, task in tasks.items()}
    accuracy = {name.lower(): found[name].metrics["accuracy"].mean for name in TASKS}
    return SentenceScore(
        **accuracy,
        msrp_f1=found["MSRP"].metrics["F1"].mean,
        loss=loss,
        on_floor=on_floor,
        steps=steps,
        seconds=seconds,
    )
