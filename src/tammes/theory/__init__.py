"""Theory of negatives, of positives near a boundary and of points far apart, as functions of numbers."""

from tammes.theory.batch import collision_probability_in_batch
from tammes.theory.best_k import best_k, closed_form_best_k, log_bound, near_best_k
from tammes.theory.cap import (
    band_probability,
    band_probability_bound,
    cap_area,
    cap_probability,
    sphere_area,
)
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.class_terms import ClassTerms, class_terms
from tammes.theory.classification_bound import ClassificationBound
from tammes.theory.collision import collision_probability, coverage, negatives_until_collision
from tammes.theory.coupon import expected_draws, expected_draws_bound, harmonic_number
from tammes.theory.debiasing import (
    DebiasedGeneralization,
    DebiasingBound,
    DebiasingError,
    OnePositive,
    biased_gap,
    debiasing_error,
    one_positive,
)
from tammes.theory.feature_modification import (
    LossGradients,
    cosine_gradient,
    gradients,
    normalized_gradients,
    worst_case_in_balls,
)
from tammes.theory.feature_suppression import (
    blend,
    conditional_distance,
    limit_of_infonce,
    one_feature,
    sample_latents,
    share_features,
    uniform_minimum,
)
from tammes.theory.floor import hinge_floor, logistic_floor
from tammes.theory.generalization import (
    Contraction,
    contraction,
    erm_excess,
    generalization,
    simulated_contraction,
)
from tammes.theory.hard_limit import (
    NearestMedoid,
    NearestNeighborBound,
    hard_loss,
    limit_loss,
    nearest_medoid,
    worst_case_loss,
)
from tammes.theory.hard_sampling import HardSample, acceptance_rate, sample_hard
from tammes.theory.margin import margin_loss, margin_risk, margins
from tammes.theory.packing import Optimum, Packing, fejes_toth_bound, optimum, pack, simplex_is_optimal
from tammes.theory.partition_function import log_partition
from tammes.theory.population import Population
from tammes.theory.recommendation import Recommendation, Regime
from tammes.theory.refined import (
    NceLosses,
    RefinedBound,
    hinge,
    intra_class_deviation,
    logistic,
    mean_classifier_risk,
    rademacher_complexity,
    simulate_nce,
    uniform_deviation,
)
from tammes.theory.sample_complexity import Round, SampleComplexity, consistent_samples
from tammes.theory.transfer import (
    covering_draws,
    covering_rounds,
    log_transfer_coefficient,
    transfer_coefficient,
)
from tammes.theory.two_representations import TwoRepresentations

__all__ = [
    "ClassDistribution",
    "ClassTerms",
    "ClassificationBound",
    "Contraction",
    "DebiasedGeneralization",
    "DebiasingBound",
    "DebiasingError",
    "HardSample",
    "LossGradients",
    "NceLosses",
    "NearestMedoid",
    "NearestNeighborBound",
    "OnePositive",
    "Optimum",
    "Packing",
    "Population",
    "Recommendation",
    "RefinedBound",
    "Regime",
    "Round",
    "SampleComplexity",
    "TwoRepresentations",
    "acceptance_rate",
    "band_probability",
    "band_probability_bound",
    "best_k",
    "biased_gap",
    "blend",
    "cap_area",
    "cap_probability",
    "class_terms",
    "closed_form_best_k",
    "collision_probability",
    "collision_probability_in_batch",
    "conditional_distance",
    "consistent_samples",
    "contraction",
    "cosine_gradient",
    "coverage",
    "covering_draws",
    "covering_rounds",
    "debiasing_error",
    "erm_excess",
    "expected_draws",
    "expected_draws_bound",
    "fejes_toth_bound",
    "generalization",
    "gradients",
    "hard_loss",
    "harmonic_number",
    "hinge",
    "hinge_floor",
    "intra_class_deviation",
    "limit_loss",
    "limit_of_infonce",
    "log_bound",
    "log_partition",
    "log_transfer_coefficient",
    "logistic",
    "logistic_floor",
    "margin_loss",
    "margin_risk",
    "margins",
    "mean_classifier_risk",
    "near_best_k",
    "nearest_medoid",
    "negatives_until_collision",
    "normalized_gradients",
    "one_feature",
    "one_positive",
    "optimum",
    "pack",
    "rademacher_complexity",
    "sample_hard",
    "sample_latents",
    "share_features",
    "simplex_is_optimal",
    "simulate_nce",
    "simulated_contraction",
    "sphere_area",
    "transfer_coefficient",
    "uniform_deviation",
    "uniform_minimum",
    "worst_case_in_balls",
    "worst_case_loss",
]
