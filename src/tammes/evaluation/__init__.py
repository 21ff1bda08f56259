"""Evaluation of features by labels that the encoder never saw."""

from tammes.evaluation.attacks import PGD, attacked_accuracy, check_input_gradient, towards
from tammes.evaluation.cross_validation import CrossValidation
from tammes.evaluation.features import LabeledFeatures
from tammes.evaluation.few_shot import FewShot
from tammes.evaluation.fine_tuned import FineTuned, encoder_for_size
from tammes.evaluation.fine_tuning import FineTuning
from tammes.evaluation.image_classifier import ImageClassifier, ImageReadout
from tammes.evaluation.knn import KNN, knn_accuracy
from tammes.evaluation.layers import layer_groups, layers_of
from tammes.evaluation.linear_classifier import LinearClassifier, MeanClassifier
from tammes.evaluation.ordinal import OrdinalScore, constant_guess, ordinal_probe
from tammes.evaluation.probe import LinearProbe, ProbeNotConvergedWarning, linear_probe
from tammes.evaluation.readout import LinearReadout, feature_readouts
from tammes.evaluation.regression import MeasuredFeatures, RegressionValidation, RidgeProbe, r_squared
from tammes.evaluation.robust_sets import RobustSets, robust_sets
from tammes.evaluation.robustness import CorruptionScores, Robustness
from tammes.evaluation.shift import ShiftScores, measure_shift
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
    "PGD",
    "SVM",
    "CorruptionScores",
    "CrossValidation",
    "FewShot",
    "FineTuned",
    "FineTuning",
    "ImageClassifier",
    "ImageReadout",
    "LabeledFeatures",
    "LinearClassifier",
    "LinearProbe",
    "LinearReadout",
    "MeanClassifier",
    "MeasuredFeatures",
    "OrdinalScore",
    "ProbeNotConvergedWarning",
    "RegressionValidation",
    "RidgeProbe",
    "RobustSets",
    "Robustness",
    "ShiftScores",
    "attacked_accuracy",
    "check_input_gradient",
    "constant_guess",
    "degree_histograms",
    "distinct",
    "encoder_for_size",
    "equal_graphs",
    "feature_readouts",
    "knn_accuracy",
    "layer_groups",
    "layers_of",
    "leaked",
    "linear_probe",
    "measure_shift",
    "ordinal_probe",
    "r_squared",
    "robust_sets",
    "smoothed",
    "towards",
    "wl_features",
]
