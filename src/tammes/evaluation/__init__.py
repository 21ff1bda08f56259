"""Evaluation of features by labels that the encoder never saw."""

from tammes.evaluation.cross_validation import CrossValidation
from tammes.evaluation.features import LabeledFeatures
from tammes.evaluation.knn import KNN, knn_accuracy
from tammes.evaluation.linear_classifier import LinearClassifier, MeanClassifier
from tammes.evaluation.ordinal import OrdinalScore, constant_guess, ordinal_probe
from tammes.evaluation.probe import LinearProbe, ProbeNotConvergedWarning, linear_probe
from tammes.evaluation.regression import MeasuredFeatures, RegressionValidation, RidgeProbe, r_squared
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
    "MeasuredFeatures",
    "OrdinalScore",
    "ProbeNotConvergedWarning",
    "RegressionValidation",
    "RidgeProbe",
    "constant_guess",
    "degree_histograms",
    "distinct",
    "equal_graphs",
    "knn_accuracy",
    "leaked",
    "linear_probe",
    "ordinal_probe",
    "r_squared",
    "wl_features",
]
