"""Runs from which the entries of chapter 6 pick their arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tammes.papers.arms import UNTRAINED
from tammes.papers.robinson_masked.runs import METHODS, SIMCLR, MaskedRun
from tammes.papers.robinson_masked.scale import MaskedScale


@dataclass(frozen=True, kw_only=True)
class Bases:
    """Runs of one set of images.

    Args:
        base: CAN with the short schedule and the first learning rate.
        scale: size of the study.
        rates: learning rate that the search has found, by method.
        flops: floating-point operations of a step for each image, by method; empty without learning.
    """

    base: MaskedRun
    scale: MaskedScale
    rates: Mapping[str, float]
    flops: Mapping[str, float]

    def untrained(self, *, tuned: bool = False) -> MaskedRun:
        """Return the run of the encoder with its first weights.

        Args:
            tuned: whether it is fine-tuned, too, which is training from scratch.
        """
        return self._measured(replace(self.base, method=UNTRAINED, epochs=0), tuned=tuned)

    def run(
        self,
        method: str,
        *,
        epochs: int | None = None,
        rate: float | None = None,
        noise: float | None = None,
        contrast: float | None = None,
        share: float | None = None,
        tuned: bool = False,
    ) -> MaskedRun:
        """Return a run of a method, with its usual settings where none are given.

        A method that ablates the contrast has one view of an image in a step and not two. It gets batches and
        epochs that are twice as large: as many steps, and as many views in each.

        Args:
            method: name of the method.
            epochs: epochs; those of ablations by default.
            rate: rate of the masks.
            noise: largest level of the noise.
            contrast: lambda_InfoNCE.
            share: lambda.
            tuned: whether it is fine-tuned, too.
        """
        usual = METHODS[method]
        times = 2 if usual.views == 1 and not usual.crops_alone else 1
        found = replace(
            self.base,
            method=method,
            rate=usual.rate if rate is None else rate,
            noise=usual.noise if noise is None else noise,
            contrast=self.base.contrast if contrast is None else contrast,
            share=self.base.share if share is None else share,
            learning_rate=self.rates.get(usual.like, self.base.learning_rate),
            epochs=times * self._epochs(epochs),
            batch_size=times * self.base.batch_size,
        )
        return self._measured(found, tuned=tuned)

    def at_equal_flops(self, method: str, *, tuned: bool = False) -> MaskedRun:
        """Return a run of a method with as many operations as SimCLR has in the long schedule."""
        times = self.flops[SIMCLR] / self.flops[method] if self.flops else 1.0
        return self.run(method, epochs=max(1, round(times * self.scale.epochs)), tuned=tuned)

    def short(self, method: str) -> MaskedRun:
        """Return a run of a method with the short schedule."""
        return self.run(method, epochs=self.scale.short)

    def long(self, method: str, *, tuned: bool = False) -> MaskedRun:
        """Return a run of a method with the long schedule."""
        return self.run(method, epochs=self.scale.epochs, tuned=tuned)

    def _epochs(self, epochs: int | None) -> int:
        if not self.scale.learning:
            return 0
        return self.scale.ablation if epochs is None else epochs

    def _measured(self, run: MaskedRun, *, tuned: bool) -> MaskedRun:
        if not tuned:
            return run
        return replace(
            run,
            tuned_epochs=self.scale.tuned_epochs if self.scale.learning else 0,
            corrupted_images=min(self.scale.corrupted_images, run.test_images),
        )


def searched_run(base: MaskedRun, method: str, learning_rate: float) -> MaskedRun:
    """Return the run of the search for a method with a learning rate.

    Args:
        base: CAN with the short schedule and the seed of the search.
        method: name of the method.
        learning_rate: its learning rate.
    """
    usual = METHODS[method]
    return replace(
        base,
        method=method,
        rate=usual.rate,
        noise=usual.noise,
        learning_rate=learning_rate,
        measured_on="validation images",
    )
