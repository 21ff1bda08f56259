"""Data sets: images, sentences and graphs, from folders and files included in scikit-learn, or drawn."""

from tammes.data.cifar10 import cifar10
from tammes.data.digits import digits
from tammes.data.folder import MixedFolderWarning, folder, usual_shape
from tammes.data.glyphs import glyphs
from tammes.data.images import Images, Pixels, TensorPixels, as_floats
from tammes.data.listing import SkippedFilesWarning
from tammes.data.mnist import mnist
from tammes.data.published import Published, published_at
from tammes.data.svhn import svhn
from tammes.data.texts import Texts
from tammes.data.texts_loading import texts
from tammes.data.tokens import Tokens
from tammes.data.vocabulary import Vocabulary

__all__ = [
    "Images",
    "MixedFolderWarning",
    "Pixels",
    "Published",
    "SkippedFilesWarning",
    "TensorPixels",
    "Texts",
    "Tokens",
    "Vocabulary",
    "as_floats",
    "cifar10",
    "digits",
    "folder",
    "glyphs",
    "mnist",
    "published_at",
    "svhn",
    "texts",
    "usual_shape",
]
