"""Images to learn from: handwritten digits that need no download, and folders of the user's own."""

from tammes.data.digits import digits
from tammes.data.folder import MixedFolderWarning, SkippedFilesWarning, folder
from tammes.data.images import Images, Pixels, TensorPixels, as_floats

__all__ = [
    "Images",
    "MixedFolderWarning",
    "Pixels",
    "SkippedFilesWarning",
    "TensorPixels",
    "as_floats",
    "digits",
    "folder",
]
