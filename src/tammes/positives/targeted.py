"""Positives that vary freely in irrelevant factors, and little in all others."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from jaxtyping import Int64
from torch import Tensor

from tammes.checks import check_number
from tammes.positives.augmentation import Handwriting, Identity, Photographs
from tammes.positives.same_instance import SameInstance


@dataclass(frozen=True, kw_only=True)
class Targeted:
    """Two augmentations made from one: the anchor varies little, its positive freely in some factors.

    With s_f the strength of factor f in the augmentation (its `neutral` value changes nothing) and the
    fraction c,

        anchor    s_f  ->  neutral + c (s_f - neutral)     for all factors,
        positive  s_f  ->  s_f                             for the free factors, as the anchor for others.

    The two views then differ mostly in the free factors. c = 1 is the augmentation itself for both.

    Args:
        freely: free factors, by the names of the augmentation's settings, such as brightness and hue.
        little: fraction c of the strength that remains for the other factors, from 0 to 1.

    Raises:
        ValueError: no factor, a repeated one, or a fraction out of its range.

    Source: Weber and Bachman (2022), Algorithm 2 and sec. IV.B, info-active: informative latents are
    perturbed little, the others drawn anew.

    Differs: it acts on observations instead of latents, and so separates only the factors of an augmentation.

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
            raise ValueError("freely must name at least one factor, such as brightness, got none")
        if len(set(self.freely)) < len(self.freely):
            raise ValueError(f"freely must name each factor once, got {', '.join(self.freely)}")
        check_number("little", self.little, minimum=0, maximum=1)

    def augmentations(
        self, augmentation: Photographs | Handwriting | Identity
    ) -> tuple[Photographs | Handwriting | Identity, Photographs | Handwriting | Identity]:
        """Return the augmentations of anchors and of positives.

        Args:
            augmentation: augmentation with every factor at its full strength.

        Raises:
            ValueError: `freely` names a factor that the augmentation does not have.
        """
        factors = augmentation.neutral
        unknown = [name for name in self.freely if name not in factors]
        if unknown:
            raise ValueError(
                f"freely must name factors of {type(augmentation).__name__}, which has "
                f"{', '.join(factors) or 'none'}; got {', '.join(unknown)}"
            )
        others = [name for name in factors if name not in self.freely]
        return self._weakened(augmentation, factors), self._weakened(augmentation, others)

    def _weakened(
        self, augmentation: Photographs | Handwriting | Identity, names: Collection[str]
    ) -> Photographs | Handwriting | Identity:
        c, neutral, strengths = self.little, augmentation.neutral, vars(augmentation)
        # Not neutral + c (s - neutral), which rounds: c = 1 must leave the strength bit for bit.
        return replace(augmentation, **{f: (1 - c) * neutral[f] + c * strengths[f] for f in names})

    def pairs(self, labels: Int64[Tensor, " n"], *, seed: int) -> Int64[Tensor, "pairs 2"]:
        """Return the pairs of one epoch: every row with itself, as `SameInstance` does."""
        return SameInstance().pairs(labels, seed=seed)

    def unpaired(self, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " rows"]:
        """Return the rows that no epoch pairs: none."""
        return SameInstance().unpaired(labels)
