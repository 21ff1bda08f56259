"""Image files: which are read, within how many pixels, and how they become tensors."""

import io
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from PIL import Image, ImageOps
from torch import Tensor

from tammes.checks import check_file

FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"})
TAIL = 4096
"""Bytes at the end of a file among which its end is looked for."""
MAX_PIXELS = 120_000_000
"""Most pixels of an image: cameras and scanners of 100 megapixels are within it."""
# Errors that Pillow's decoders are known to raise on damaged files.
DAMAGE = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    IndexError,
    struct.error,
)
# Pixels that are converted at a time, so that only one other buffer has the size of the image.
BAND = 2**22


def is_image(path: Path, *, unchecked: bool = False) -> bool:
    """Return whether a file is an image that `decode` reads, which is tried.

    Args:
        path: path of the file.
        unchecked: whether name, header and end of the file are enough; the pixels are then read only where
            the end is not that of a whole file.

    Example:
        >>> is_image(Path("notes.txt"))
        False
    """
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        with open_image(path) as image:
            if not _has_known_white(image):
                return False
            kind = image.format or ""
        return (unchecked and _ends(path, kind)) or _decodes(path)
    except DAMAGE:
        return False


def decoded(source: Path | bytes, *, size: int, channels: int) -> UInt8[Tensor, "channels size size"] | None:
    """Return the pixels of a file that is an image, or None for a damaged one or another file.

    Args:
        source: path of the file, or all its bytes.
        size: height and width in pixels.
        channels: number of channels, 1 (gray) or 3 (red, green, blue).

    Example:
        >>> decoded(b"no image", size=8, channels=3) is None
        True
    """
    try:
        with open_image(source) as image:
            if not _has_known_white(image):
                return None
        return decode(source, size=size, channels=channels)
    except DAMAGE:
        return None


def _ends(path: Path, kind: str) -> bool:
    """Return whether a file ends as whole files of its kind do; one with more behind that end may not."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL))
        tail = file.read()
        file.seek(0)
        head = file.read(12)
    if kind == "JPEG":
        # In the pixels of a JPEG, 0xff is followed by zero or a number of restart.
        return b"\xff\xd9" in tail
    if kind == "PNG":
        return b"IEND" in tail
    if kind == "GIF":
        return tail.endswith(b";")
    if kind == "WEBP":
        return int.from_bytes(head[4:8], "little") + 8 <= size
    if kind == "BMP":
        return int.from_bytes(head[2:6], "little") <= size
    return False


def _decodes(path: Path) -> bool:
    # An image of one pixel is the cheapest, and fails where a larger one would: the whole file is read.
    try:
        decode(path, size=1, channels=1)
    except ValueError:
        return False
    return True


def open_image(source: Path | bytes) -> Image.Image:
    """Read the header of an image file, given by its path or its bytes, and refuse one of too many pixels.

    Raises:
        ValueError: If there is no regular file, or its image has more than `MAX_PIXELS` pixels.
        Exception: Those of `DAMAGE` that Pillow raises on damaged files.
    """
    file = io.BytesIO(source) if isinstance(source, bytes) else check_file(source)
    with warnings.catch_warnings():
        # Pillow warns of and refuses other numbers of pixels than we do.
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            image = Image.open(file, formats=FORMATS)
        except Image.DecompressionBombError as error:
            raise ValueError(f"it has more than {MAX_PIXELS:,} pixels") from error
    if image.width * image.height > MAX_PIXELS:
        image.close()
        raise ValueError(f"it has {image.width} x {image.height} pixels, more than {MAX_PIXELS:,}")
    return image


def _has_known_white(image: Image.Image) -> bool:
    # 32-bit integers and floats come in any range; in a PNG, mode "I" is 16-bit (Pillow before 11).
    return image.mode != "F" and (image.mode != "I" or image.format == "PNG")


def decode(
    source: Path | bytes, *, size: int, channels: int, name: str | None = None
) -> UInt8[Tensor, "channels size size"]:
    """Read one image as uint8 (channels, size, size).

    The shorter side is scaled to `size` and the longer cropped to its center, in one antialiased step. The
    camera's orientation (EXIF) is applied, transparent pixels are blended with white, 16 bits become 8, and
    only the first of several frames is read.

    Decoding takes up to 9 bytes of memory for each pixel of the file (17 for WebP), that is 1.1 GB (2.0 GB)
    for the largest image.

    Args:
        source: path of the file, or all its bytes.
        size: height and width in pixels.
        channels: number of channels, 1 (gray) or 3 (red, green, blue).
        name: name of the image in messages; by default its path.

    Raises:
        ValueError: If the file cannot be decoded, or has more than `MAX_PIXELS` pixels; the message names it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     Image.new("RGB", (2, 3), "red").save(Path(root) / "red.png")
        ...     decode(Path(root) / "red.png", size=1, channels=3).flatten()
        tensor([255,   0,   0], dtype=torch.uint8)
    """
    try:
        with open_image(source) as image:
            # A large JPEG is decoded at a half, quarter or eighth where twice `size` remains: quicker.
            image.draft(None, (2 * size, 2 * size))
            ImageOps.exif_transpose(image, in_place=True)  # a copy would take as much memory again
            return as_pixels(image, size=size, channels=channels)
    except DAMAGE as error:
        raise ValueError(
            f"expected an image that can be decoded, got {name or _shown(source)}: {error}; "
            "remove it, or replace it with a whole copy"
        ) from error


def _shown(source: Path | bytes) -> str:
    return f"{len(source):,} bytes" if isinstance(source, bytes) else str(source)


def as_pixels(image: Image.Image, *, size: int, channels: int) -> UInt8[Tensor, "channels size size"]:
    """Return an image as uint8 (channels, size, size), scaled and cropped as `decode` does.

    Example:
        >>> as_pixels(Image.new("RGB", (2, 3), "red"), size=1, channels=3).flatten()
        tensor([255,   0,   0], dtype=torch.uint8)
    """
    plain = _converted(image, "L" if channels == 1 else "RGB")
    side = min(plain.size)
    left, top = (plain.width - side) / 2, (plain.height - side) / 2
    if plain.size != (size, size):
        box = (left, top, left + side, top + side)
        plain = plain.resize((size, size), Image.Resampling.BILINEAR, box=box)
    array = np.array(plain).reshape(size, size, channels)
    return torch.from_numpy(array).permute(2, 0, 1).contiguous()  # (channels, size, size)


def _converted(image: Image.Image, mode: str) -> Image.Image:
    """Return the image in mode L or RGB, without transparency."""
    if image.mode == mode and not image.has_transparency_data:
        return image
    rows = max(1, BAND // max(1, image.width))
    if rows >= image.height:
        return _eight_bits(image).convert(mode)
    plain = Image.new(mode, image.size)
    for top in range(0, image.height, rows):
        box = (0, top, image.width, min(top + rows, image.height))
        plain.paste(_eight_bits(image.crop(box)).convert(mode), box)
    return plain


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return the image without transparency and with at most 8 bits per channel."""
    if image.mode.startswith("I"):
        return Image.fromarray((np.asarray(image).astype(np.uint32) // 257).astype(np.uint8))
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image.convert("RGBA"))
    return image
