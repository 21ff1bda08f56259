"""Weights of the terms of CAN, and what each term needs to have something to learn."""

from __future__ import annotations

from dataclasses import dataclass

from tammes.checks import check_number
from tammes.masked.masking import hidden_count


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of the three terms.

        L  =  contrast L_InfoNCE + reconstruction L_rec + denoising L_denoise

    Raises:
        ValueError: a negative weight, or none above 0.

    Example:
        >>> Weights.printed()
        Weights(contrast=0.03, reconstruction=0.679, denoising=0.291)
    """

    contrast: float
    """Weight of the contrast of the two views."""

    reconstruction: float
    """Weight of the hidden patches."""

    denoising: float = 0.0
    """Weight of the noise in the visible patches."""

    def __post_init__(self) -> None:
        for name in ("contrast", "reconstruction", "denoising"):
            check_number(name, getattr(self, name), minimum=0)
        if self.contrast == self.reconstruction == self.denoising == 0:
            raise ValueError(
                "expected a weight above 0 for contrast, reconstruction or denoising, got 0 for all"
            )

    def check(self, *, rate: float, noise: float, patches: int) -> None:
        """Check that each term with a weight has something to learn.

        Args:
            rate: share of the patches that are hidden.
            noise: largest level of the noise.
            patches: number of patches of an image.

        Raises:
            ValueError: a rate out of its range, that hides all patches or no whole number of them; a
                reconstruction without hidden patches; denoising without noise.
        """
        hidden = hidden_count(patches, rate)  # refuses a rate that is no whole number of patches
        self.check_tasks(rate=hidden / patches, noise=noise)

    def check_tasks(self, *, rate: float, noise: float) -> None:
        """Check that the terms with weights have hidden patches to reconstruct and noise to predict.

        Args:
            rate: share of the patches that are hidden.
            noise: largest level of the noise.

        Raises:
            ValueError: a reconstruction without hidden patches; denoising without noise.
        """
        if self.reconstruction and not rate:
            raise ValueError(
                "expected a rate above 0 with a weight for the reconstruction, got 0: there is nothing to "
                "reconstruct; choose a rate above 0, or no weight for the reconstruction"
            )
        if self.denoising and not noise:
            raise ValueError(
                "expected noise above 0 with a weight for denoising, got 0: choose noise, or no weight for it"
            )

    @classmethod
    def printed(cls, contrast: float = 0.03, reconstruction: float = 0.7) -> Weights:
        """Return weights whose sum is 1, by the two numbers of section 6.2.5.

        Args:
            contrast: lambda_InfoNCE, from 0 to 1.
            reconstruction: lambda, the share of the reconstruction in the rest, from 0 to 1.

        Raises:
            ValueError: a number out of its range.
        """
        check_number("contrast", contrast, minimum=0, maximum=1)
        check_number("reconstruction", reconstruction, minimum=0, maximum=1)
        rest = 1 - contrast
        return cls(
            contrast=contrast,
            reconstruction=round(rest * reconstruction, 12),
            denoising=round(rest * (1 - reconstruction), 12),
        )
