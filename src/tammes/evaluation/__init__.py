"""Evaluation of features by labels that the encoder never saw."""

from tammes.evaluation.features import LabeledFeatures
from tammes.evaluation.knn import KNN, knn_accuracy
from tammes.evaluation.linear_classifier import LinearClassifier, MeanClassifier
from tammes.evaluation.probe import LinearProbe, ProbeNotConvergedWarning, linear_probe

__all__ = [
    "KNN",
    "LabeledFeatures",
    "LinearClassifier",
    "LinearProbe",
    "MeanClassifier",
    "ProbeNotConvergedWarning",
    "knn_accuracy",
    "linear_probe",
]
