"""Small pictures of the rows of a diagnosis, read from a folder of images."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageOps

from tammes.data.image_files import DAMAGE, open_image

SIDE = 48
"""Longer side in pixels."""
ROOM = 3_200_000
"""Characters of all pictures of a page, which stays below 5 MB."""
LISTED = 3


@dataclass(frozen=True, kw_only=True)
class Thumbnails:
    """Pictures of some rows, and which are not there.

    Args:
        found: picture of each row, as base64 of a WebP file.
        missing: names whose file is not there or cannot be read as an image.
        left_out: number of rows without a picture because the page would become too large.
    """

    found: Mapping[int, str]
    missing: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def words(self) -> str:
        """How many rows have a picture, and why others have none."""
        parts = [f"{len(self.found):,} of the rows shown"]
        if self.missing:
            names = ", ".join(self.missing[:LISTED]) + (", ..." if len(self.missing) > LISTED else "")
            parts.append(f"{len(self.missing):,} files are missing or no images ({names})")
        if self.left_out:
            parts.append(f"{self.left_out:,} left out, for the size of the page")
        return "; ".join(parts)


def check_folder(folder: Path) -> None:
    """Raise ValueError if there is no folder of images at this place.

    Example:
        >>> check_folder(Path("nowhere"))
        Traceback (most recent call last):
            ...
        ValueError: expected a folder of images, found none at nowhere
    """
    if not folder.is_dir():
        raise ValueError(f"expected a folder of images, found none at {folder}")


def thumbnails(folder: Path, names: Mapping[int, str], *, room: int = ROOM) -> Thumbnails:
    """Return small pictures of rows, in their order, as long as there is room.

    Args:
        folder: folder of the images.
        names: path of each row's image, relative to the folder; the most important rows first.
        room: number of characters that all pictures may take.

    Raises:
        ValueError: no such folder, or no image of any row in it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     Image.new("RGB", (64, 32)).save(Path(place, "a.png"))
        ...     found = thumbnails(Path(place), {7: "a.png", 8: "b.png"})
        >>> list(found.found), found.missing
        ([7], ('b.png',))
    """
    check_folder(folder)
    found: dict[int, str] = {}
    missing: list[str] = []
    used = left_out = 0
    for row, name in names.items():
        if used >= room:
            left_out += 1
            continue
        picture = _thumbnail(folder / name)
        if picture is None:
            missing.append(name)
            continue
        found[row] = picture
        used += len(picture)
    if names and not found:
        raise ValueError(f"expected the images of the rows in {folder}, such as {missing[0]}, found none")
    return Thumbnails(found=found, missing=tuple(missing), left_out=left_out)


def _thumbnail(path: Path) -> str | None:
    """Return a picture of a file; None for a file that is not there, is damaged, or is no image."""
    try:
        with open_image(path) as opened:
            opened.draft("RGB", (2 * SIDE, 2 * SIDE))  # of JPEG only a small version is decoded
            image = ImageOps.exif_transpose(opened)
            image = image.convert("RGBA" if "A" in image.getbands() else "RGB")
        image.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
        buffer = io.BytesIO()
        image.save(buffer, format="WEBP", quality=60)
    except (*DAMAGE, ValueError):
        return None
    return base64.b64encode(buffer.getvalue()).decode("ascii")
