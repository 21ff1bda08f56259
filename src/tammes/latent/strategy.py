"""A sampling strategy: which points become anchors, and where their positives come from."""

from __future__ import annotations

from dataclasses import dataclass, field

from tammes.latent.anchor_choice import AnchorChoice, FromData
from tammes.latent.positives import Positives


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """What the inner loop of both algorithms does, in two parts.

    Args:
        positives: draws a positive of each anchor.
        anchors: draws the anchors.

    Raises:
        ValueError: a part of the wrong kind.

    Example:
        >>> from tammes.latent import Observed
        >>> Strategy(positives=Observed(scale=0.2))
        Strategy(positives=Observed(scale=0.2), anchors=FromData())
    """

    positives: Positives
    anchors: AnchorChoice = field(default_factory=FromData)

    def __post_init__(self) -> None:
        if not isinstance(self.positives, Positives):
            raise ValueError(f"Strategy.positives must be a Positives, got {self.positives!r}")
        if not isinstance(self.anchors, AnchorChoice):
            raise ValueError(f"Strategy.anchors must be an AnchorChoice, got {self.anchors!r}")
