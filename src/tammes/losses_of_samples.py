"""The loss of each anchor from its negatives and positives: statistic, correction, contrast, perturbation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from tammes.batch import Batch
from tammes.contrast import Contrast
from tammes.contrast.contrast import Shift
from tammes.correction import Correction
from tammes.coupling import Fit
from tammes.perturbation import Perturbation
from tammes.reduce import WeightedNegatives, WeightedPositives, smallest_similarity
from tammes.samples_by_anchor import moved_samples
from tammes.temperature import LogitScale


@dataclass(frozen=True, kw_only=True)
class LossesOfSamples:
    """The contrast's statistic of each anchor's negatives, corrected, against its positives.

    With a perturbation the same is done for the shifted logits, and both losses are combined.

    Args:
        contrast: makes the statistic, and the loss from it.
        correction: subtracts the false negatives from the statistic; None for none.
        perturbation: shift of the logits, or move of the candidates; None for none.

    Source: Robinson (2023), chapters 3 and 4.
    """

    contrast: Contrast
    correction: Correction | None = None
    perturbation: Perturbation | None = None

    def __call__(
        self, batch: Batch, fit: Fit, negatives: WeightedNegatives, positives: WeightedPositives
    ) -> Float[Tensor, " n"]:
        """Return the loss of each anchor.

        Args:
            batch: the batch, for the lengths and moves of a perturbation.
            fit: the coupling fitted to it.
            negatives: the weighted negatives of each anchor.
            positives: its weighted positives.
        """

        def shifted(shift: Shift) -> Tensor:
            statistic, _ = self._statistic(negatives, positives, positives, shift, batch.scale)
            return self.contrast.losses(statistic, negatives, positives, shift)

        perturbation = self.perturbation
        if perturbation is None:
            return shifted(0.0)
        plain = shifted(0.0) if perturbation.takes_plain else None
        if (displacement := perturbation.displacement) is None:
            euclidean = perturbation.stretch is None
            lengths = batch.lengths if euclidean else perturbation.lengths(batch.anchors.in_graph())
            shift = perturbation.shift(lengths, batch.scale.temperature)
            return perturbation.combine(plain, shifted(batch.scale.logits(shift)))
        moved, away, towards = moved_samples(batch, fit.weight, displacement, (negatives, positives))
        statistic, _ = self._statistic(moved, away, towards, 0.0, batch.scale)
        return perturbation.combine(plain, self.contrast.losses(statistic, moved, away, 0.0))

    def on_floor(
        self, negatives: WeightedNegatives, positives: WeightedPositives, scale: LogitScale
    ) -> Bool[Tensor, " n"]:
        """Return where the correction is on its floor."""
        _, on_floor = self._statistic(negatives, positives, positives, 0.0, scale)
        assert on_floor is not None
        return on_floor

    def overtaken(
        self, batch: Batch, fit: Fit
    ) -> Callable[[WeightedNegatives, WeightedPositives], Bool[Tensor, " e"]]:
        """Return a function that returns `(e,)` where a perturbed positive lies below all negatives."""
        perturbation = self.perturbation
        assert perturbation is not None
        displacement = perturbation.displacement
        constant = None if displacement is None else batch.without_graph()

        def overtaken(negatives: WeightedNegatives, positives: WeightedPositives) -> Tensor:
            if constant is not None and displacement is not None:
                moved, away, _ = moved_samples(constant, fit.weight, displacement, (negatives, positives))
                return away.logit < away.of_anchor(moved.smallest())
            # The anchors of the samples hold the factor of a temperature for each anchor.
            shift = perturbation.shift(
                perturbation.lengths(negatives.negatives.anchors), negatives.temperature
            )
            smallest = smallest_similarity(negatives.negatives) / negatives.temperature
            return positives.logit < positives.of_anchor(smallest + 2 * shift)

        return overtaken

    def _statistic(
        self,
        negatives: WeightedNegatives,
        positives: WeightedPositives,
        false_negatives: WeightedPositives,
        shift: Shift,
        scale: LogitScale,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the statistic of each anchor's true negatives, and where the correction is on its floor."""
        statistic = self.contrast.statistic(negatives, positives, shift)
        if self.correction is None:
            return statistic, None
        # A false negative is perturbed as the negative it is taken for: upwards.
        least = scale.logits(self.correction.least_similarity / scale.temperature)
        return self.correction(
            statistic,
            self.contrast.statistic(false_negatives, positives, shift),
            self.contrast.lower_bound(least + shift),
            log_domain=self.contrast.log_domain,
        )
