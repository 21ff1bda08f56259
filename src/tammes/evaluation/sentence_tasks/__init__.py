"""Tasks that measure encoders of sentences, their files as published, and features that take no training."""

from tammes.evaluation.sentence_tasks.classification import LogisticProtocol
from tammes.evaluation.sentence_tasks.floors import random_words, tfidf_svd
from tammes.evaluation.sentence_tasks.published import read_classes, read_msrp, read_trec
from tammes.evaluation.sentence_tasks.scores import TaskScore, evaluate
from tammes.evaluation.sentence_tasks.tasks import (
    Retrieval,
    ScoredPairs,
    SentenceClasses,
    SentencePairs,
    Task,
)

__all__ = [
    "LogisticProtocol",
    "Retrieval",
    "ScoredPairs",
    "SentenceClasses",
    "SentencePairs",
    "Task",
    "TaskScore",
    "evaluate",
    "random_words",
    "read_classes",
    "read_msrp",
    "read_trec",
    "tfidf_svd",
]
