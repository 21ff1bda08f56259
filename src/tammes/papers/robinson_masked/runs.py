"""Trainings of chapter 6: MAE, SimCLR and CAN, and CAN without some of its terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tammes.masked import Weights
from tammes.papers.arms import UNTRAINED
from tammes.training import Masked

MAE, SIMCLR, CAN = "MAE", "SimCLR", "CAN"
AN, CN, CA, NOISE, UNTOLD, A = (
    "AN, without contrast",
    "CN, without reconstruction",
    "CA, without noise",
    "CA with noise",
    "CAN without the level",
    "A, reconstruction alone",
)
"""Letters as in Table 6.5: contrast, autoencoding, noise."""
CONTRAST, SHARE, NOISE_LEVEL, RATE = 0.03, 0.7, 0.05, 0.5
"""Settings of CAN in the thesis: lambda_InfoNCE, lambda, sigma_max and the masking rate."""


@dataclass(frozen=True, kw_only=True)
class MaskedRun:
    """Training of one encoder and its measurements, with all settings that a score depends on.

    Args:
        data: name of the set of images.
        method: name of the method, in `METHODS`.
        rate: share of the patches that are hidden.
        contrast: lambda_InfoNCE of section 6.2.5, for methods with several terms.
        share: lambda, the share of the reconstruction in the rest.
        noise: largest level of the noise, for methods with noise.
        learning_rate: largest learning rate.
        images: number of training images.
        test_images: number of images to measure on.
        epochs: epochs of training; 0 for the untrained encoder.
        batch_size: images of a step.
        encoder: name of the encoder.
        tuned_epochs: epochs of fine-tuning.
        corrupted_images: number of test images that are corrupted after fine-tuning; 0 for no fine-tuning,
            and a linear readout of the frozen features alone.
        measured_on: "test images", or "validation images" in the search.
        seed: random seed of the images, the weights, the views and the masks.
    """

    data: str
    method: str
    rate: float
    contrast: float = CONTRAST
    share: float = SHARE
    noise: float = 0.0
    learning_rate: float
    images: int
    test_images: int
    epochs: int
    batch_size: int
    encoder: str
    tuned_epochs: int = 0
    corrupted_images: int = 0
    measured_on: str = "test images"
    seed: int

    @property
    def frozen(self) -> MaskedRun:
        """The run of the same encoder that is not fine-tuned."""
        return replace(self, tuned_epochs=0, corrupted_images=0)

    @property
    def arm(self) -> str:
        """The method with the settings that differ from its usual ones, and its epochs."""
        if self.method == UNTRAINED:
            return UNTRAINED
        usual = METHODS[self.method]
        parts = [self.method]
        parts += [f"rate {self.rate:g}"] if self.rate != usual.rate else []
        parts += [f"contrast {self.contrast:g}"] if self.contrast != CONTRAST else []
        parts += [f"lambda {self.share:g}"] if self.share != SHARE else []
        parts += [f"noise {self.noise:g}"] if self.noise != usual.noise else []
        return ", ".join([*parts, f"{self.epochs} epochs"])


@dataclass(frozen=True, kw_only=True)
class Method:
    """Terms of a method, and how it treats images.

    Args:
        terms: letters of its terms: C for contrast, A for autoencoding, N for denoising.
        rate: usual rate of the masks.
        noise: usual level of the noise.
        tell_noise: whether the decoder gets the level.
        crops_alone: whether views are cropped and mirrored, and keep their colors.
        like: method whose learning rate it has.
    """

    terms: str
    rate: float = RATE
    noise: float = 0.0
    tell_noise: bool = True
    crops_alone: bool = False
    like: str = CAN

    @property
    def views(self) -> int:
        """Views of an image in a step."""
        return 2 if "C" in self.terms else 1


METHODS: Mapping[str, Method] = {
    MAE: Method(terms="A", rate=0.75, crops_alone=True, like=MAE),
    SIMCLR: Method(terms="C", rate=0.0, like=SIMCLR),
    CAN: Method(terms="CAN", noise=NOISE_LEVEL),
    AN: Method(terms="AN", noise=NOISE_LEVEL),
    CN: Method(terms="CN", noise=NOISE_LEVEL),
    CA: Method(terms="CA"),
    NOISE: Method(terms="CA", noise=NOISE_LEVEL),
    UNTOLD: Method(terms="CAN", noise=NOISE_LEVEL, tell_noise=False),
    A: Method(terms="A", like=MAE),
}
"""Method of a run, by its name."""


def masked_of(run: MaskedRun) -> Masked:
    """Return the masks and weights of a run; the single term of a method has a weight of 1.

    Example:
        >>> run = MaskedRun(data="", method=MAE, rate=0.75, learning_rate=1e-3, images=1, test_images=1,
        ...     epochs=1, batch_size=1, encoder="", seed=0)
        >>> masked_of(run).weights
        Weights(contrast=0.0, reconstruction=1.0, denoising=0.0)
    """
    method = METHODS[run.method]
    printed = Weights.printed(run.contrast, run.share)
    named = {"C": printed.contrast, "A": printed.reconstruction, "N": printed.denoising}
    if len(method.terms) == 1:
        named = dict.fromkeys(named, 1.0)
    weights = {letter: weight if letter in method.terms else 0.0 for letter, weight in named.items()}
    return Masked(
        contrast=weights["C"],
        reconstruction=weights["A"],
        denoising=weights["N"],
        rate=run.rate,
        noise=run.noise,
        tell_noise=method.tell_noise,
    )
