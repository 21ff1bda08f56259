"""What theory says of the number of negatives: pure functions of numbers."""

from tammes.theory.batch import collision_probability_in_batch
from tammes.theory.best_k import best_k, closed_form_best_k, log_bound, near_best_k
from tammes.theory.class_distribution import ClassDistribution
from tammes.theory.collision import collision_probability, coverage, negatives_until_collision
from tammes.theory.coupon import expected_draws, expected_draws_bound, harmonic_number
from tammes.theory.floor import hinge_floor, logistic_floor
from tammes.theory.transfer import (
    covering_draws,
    covering_rounds,
    log_transfer_coefficient,
    transfer_coefficient,
)
from tammes.theory.two_representations import Estimate, TwoRepresentations

__all__ = [
    "ClassDistribution",
    "Estimate",
    "TwoRepresentations",
    "best_k",
    "closed_form_best_k",
    "collision_probability",
    "collision_probability_in_batch",
    "coverage",
    "covering_draws",
    "covering_rounds",
    "expected_draws",
    "expected_draws_bound",
    "harmonic_number",
    "hinge_floor",
    "log_bound",
    "log_transfer_coefficient",
    "logistic_floor",
    "near_best_k",
    "negatives_until_collision",
    "transfer_coefficient",
]
