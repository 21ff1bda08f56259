"""Evaluation of features by labels that the encoder never saw."""

from tammes.evaluation.cross_validation import CrossValidation
from tammes.evaluation.features import LabeledFeatures
from tammes.evaluation.knn import KNN, knn_accuracy
from tammes.evaluation.linear_classifier import LinearClassifier, MeanClassifier
from tammes.evaluation.probe import LinearProbe, ProbeNotConvergedWarning, linear_probe
from tammes.evaluation.smoothing import smoothed
from tammes.evaluation.svm import SVM
from tammes.evaluation.weisfeiler_lehman import (
    degree_histograms,
    distinct,
    equal_graphs,
    leaked,
    wl_features,
)

__all__ = [
    "KNN",
    "SVM",
    "CrossValidation",
    "LabeledFeatures",
    "LinearClassifier",
    "LinearProbe",
    "MeanClassifier",
    "ProbeNotConvergedWarning",
    "degree_histograms",
    "distinct",
    "equal_graphs",
    "knn_accuracy",
    "leaked",
    "linear_probe",
    "smoothed",
    "wl_features",
]
