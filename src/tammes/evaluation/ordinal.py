"""The ordinal probe: accuracy and 1-off accuracy of a logistic regression on frozen features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Integer
from torch import Tensor

from tammes.checks import check_shape
from tammes.estimate import Estimate
from tammes.evaluation.cross_validation import CrossValidation
from tammes.evaluation.features import LabeledFeatures
from tammes.evaluation.probe import LinearProbe


@dataclass(frozen=True, kw_only=True)
class OrdinalScore:
    """Accuracies of predicted grades.

    Args:
        accuracy: share of the points whose grade is predicted.
        one_off: share of the points whose grade, or one beside it, is predicted (1-off accuracy).

    Example:
        >>> OrdinalScore.of(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 2, 2, 0])).one_off.mean
        0.75
    """

    accuracy: Estimate
    one_off: Estimate

    @classmethod
    def of(cls, predicted: Integer[Tensor, " n"], grades: Integer[Tensor, " n"]) -> OrdinalScore:
        """Measure predictions, with Wilson's intervals over the points.

            accuracy  =  share of |p_i - y_i| = 0 ,        1-off  =  share of |p_i - y_i| <= 1

        Args:
            predicted: rank of the predicted grade of each point.
            grades: rank of the grade of each point.

        Raises:
            ValueError: If the numbers differ, or there are none.

        Source: Robinson (2023), section 4.4.2.
        """
        check_shape("grades, one for each prediction,", grades.shape, tuple(predicted.shape))
        n = len(grades)
        if n == 0:
            raise ValueError("expected at least one grade, got none")
        apart = (predicted.cpu().long() - grades.cpu().long()).abs()  # of bytes, 0 - 1 would be 255
        return cls(
            accuracy=Estimate.of_share(int((apart == 0).sum()) / n, n),
            one_off=Estimate.of_share(int((apart <= 1).sum()) / n, n),
        )


def ordinal_probe(
    points: LabeledFeatures, *, validation: CrossValidation | None = None, probe: LinearProbe | None = None
) -> OrdinalScore:
    """Return the accuracies of grades that a logistic regression predicts, each from the other folds.

    Args:
        points: features, and the rank of each point's grade.
        validation: folds; None for five. Repetitions are pooled, which does not lengthen the sample that the
            intervals are for: with several, they are taken of their mean.
        probe: logistic regression; None for the usual one.

    Raises:
        ValueError: a grade with fewer points than folds.

    Example:
        >>> points = LabeledFeatures(
        ...     features=torch.eye(3).repeat(5, 1), labels=torch.arange(3).repeat(5)
        ... )
        >>> ordinal_probe(points).accuracy.mean
        1.0
    """
    validation = CrossValidation(folds=5) if validation is None else validation
    probe = LinearProbe() if probe is None else probe
    right = near = 0
    for known, tested in validation.splits(points.labels):
        train = LabeledFeatures(features=points.features[known], labels=points.labels[known])
        predicted = probe.predict(train, points.features[tested]).long()
        apart = (predicted - points.labels[tested].cpu().long()).abs()
        right, near = right + int((apart == 0).sum()), near + int((apart <= 1).sum())
    n = len(points)
    accuracy, one_off = (Estimate.of_share(each / (n * validation.repeats), n) for each in (right, near))
    return OrdinalScore(accuracy=accuracy, one_off=one_off)


def constant_guess(grades: Integer[Tensor, " n"]) -> OrdinalScore:
    """Return the accuracies of the best constant: of the commonest grade, and of the best middle grade.

    Each is the best that features without information could reach, and the two may need different grades.

    Example:
        >>> guess = constant_guess(torch.tensor([0, 0, 0, 1, 2, 2, 3, 3]))
        >>> guess.accuracy.mean, guess.one_off.mean
        (0.375, 0.75)
    """
    scores = [OrdinalScore.of(torch.full_like(grades, grade), grades) for grade in grades.unique().tolist()]
    return OrdinalScore(
        accuracy=max((score.accuracy for score in scores), key=lambda each: each.mean),
        one_off=max((score.one_off for score in scores), key=lambda each: each.mean),
    )
