"""Where the positives of an anchor come from."""

from tammes.positives.augmentation import Augmentation, Handwriting, Identity, Photographs
from tammes.positives.itself import Itself
from tammes.positives.neighbours import Neighbours
from tammes.positives.same_class import SameClass

__all__ = ["Augmentation", "Handwriting", "Identity", "Itself", "Neighbours", "Photographs", "SameClass"]
