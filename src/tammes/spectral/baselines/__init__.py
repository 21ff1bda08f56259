"""What was done about the signs of eigenvectors before: nothing invariant is learned here."""

from tammes.spectral.baselines.absolute import AbsoluteValues
from tammes.spectral.baselines.canonical import CanonicalSigns
from tammes.spectral.baselines.flips import RandomFlips

__all__ = ["AbsoluteValues", "CanonicalSigns", "RandomFlips"]
