"""What SignNet is compared with: other choices of signs, and itself without its invariance."""

from tammes.spectral.baselines.absolute import AbsoluteValues
from tammes.spectral.baselines.canonical import CanonicalSigns
from tammes.spectral.baselines.flips import RandomFlips
from tammes.spectral.baselines.one_sign import OneSign, OneSignConfig

__all__ = ["AbsoluteValues", "CanonicalSigns", "OneSign", "OneSignConfig", "RandomFlips"]
