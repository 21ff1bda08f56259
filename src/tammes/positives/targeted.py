"""Positives that vary freely in what does not matter, and little in what does."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from jaxtyping import Int64
from torch import Tensor

from tammes.checks import is_finite
from tammes.positives.augmentation import Handwriting, Identity, Photographs
from tammes.positives.same_instance import SameInstance


@dataclass(frozen=True, kw_only=True)
class Targeted:
    """Two augmentations out of one: the anchor varies little, its positive freely in the factors named.

    With s_f the strength of factor f in the augmentation (its `neutral` value changes nothing) and the
    fraction c,

        anchor    s_f  ->  neutral + c (s_f - neutral)     for all factors,
        positive  s_f  ->  s_f                             for those that vary freely, as the anchor else.

    So what differs between the two views is mostly what is said not to matter. c = 1 is the augmentation
    itself for both.

    Args:
        freely: The factors that vary freely, by the names of the augmentation's settings: brightness, hue.
        little: c, the part of their strength that is left to the others.

    Raises:
        ValueError: For no factor, one that is named twice, or a fraction outside [0, 1].

    Source: Weber and Bachman (2022), Algorithm 2 and sec. IV.B, info-active: informative latents are
    perturbed little, the others drawn anew. Here it acts on what is observed, where only the factors that
    an augmentation knows can be told apart.

    Example:
        >>> targeted = Targeted(freely=("noise",), little=0.5)
        >>> anchor, positive = targeted.augmentations(Handwriting(noise=0.1, rotation=10))
        >>> (anchor.noise, anchor.rotation), (positive.noise, positive.rotation)
        ((0.05, 5.0), (0.1, 5.0))
    """

    freely: tuple[str, ...]
    little: float = 0.25

    def __post_init__(self) -> None:
        if isinstance(self.freely, str):
            raise ValueError(f"freely must be a tuple of names, as in ({self.freely!r},), got a string")
        if not self.freely:
            raise ValueError("name the factors that vary freely, as in --positives.freely brightness hue")
        if len(set(self.freely)) < len(self.freely):
            raise ValueError(f"a factor is named twice: {', '.join(self.freely)} (--positives.freely)")
        if not (is_finite(self.little) and 0 <= self.little <= 1):
            raise ValueError(f"little must be a fraction from 0 to 1, got {self.little} (--positives.little)")

    def augmentations(
        self, augmentation: Photographs | Handwriting | Identity
    ) -> tuple[Photographs | Handwriting | Identity, Photographs | Handwriting | Identity]:
        """The augmentations of anchors and of positives.

        Args:
            augmentation: with every factor at its full strength.

        Raises:
            ValueError: For a factor that it does not have.
        """
        factors = augmentation.neutral
        unknown = [name for name in self.freely if name not in factors]
        if unknown:
            raise ValueError(
                f"{', '.join(unknown)} is no factor of {type(augmentation).__name__} "
                f"(--positives.freely); it has {', '.join(factors) or 'none'}"
            )
        others = [name for name in factors if name not in self.freely]
        return self._weakened(augmentation, factors), self._weakened(augmentation, others)

    def _weakened(
        self, augmentation: Photographs | Handwriting | Identity, names: Collection[str]
    ) -> Photographs | Handwriting | Identity:
        c, neutral, strengths = self.little, augmentation.neutral, vars(augmentation)
        # Not neutral + c (s - neutral): c = 1 must leave the strength as it is, to the last digit.
        return replace(augmentation, **{f: (1 - c) * neutral[f] + c * strengths[f] for f in names})

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "pairs 2"]:
        """The pairs of one epoch: every row with itself. See `SameInstance`."""
        return SameInstance().pairs(labels, seed=seed)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """The rows that are in no pair of any epoch: none."""
        return SameInstance().unpaired(labels)
