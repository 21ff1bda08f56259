"""Where the positives of an anchor come from."""

from tammes.positives.augmentation import Augmentation, Handwriting, Identity, Photographs

__all__ = ["Augmentation", "Handwriting", "Identity", "Photographs"]
