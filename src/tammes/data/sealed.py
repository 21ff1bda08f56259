"""JSON with a checksum, so that a file that was changed since it was saved is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tammes.checks import check_file

_OWN = ("format", "sha256")


def seal(content: dict[str, Any], *, format: str) -> str:
    """Return the content as JSON, with the name of its format and a checksum.

    Args:
        content: mapping of strings to what JSON holds.
        format: name and version of the format.

    Example:
        >>> unseal(seal({"words": ["a"]}, format="words 1"), format="words 1", noun="list", path="here")
        {'words': ['a']}
    """
    document = {"format": format, "sha256": _checksum(content), **content}
    return json.dumps(document, ensure_ascii=False, indent=0) + "\n"


def unseal(text: str, *, format: str, noun: str, path: str) -> dict[str, Any]:
    """Return the content that `seal` was given.

    Args:
        text: the JSON.
        format: name and version that it must have.
        noun: kind of the content, for the message.
        path: where the text was found, for the message.

    Raises:
        ValueError: If it is something else, or was changed since it was saved.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a {noun} as JSON in {path}: {error}") from error
    if not isinstance(document, dict) or document.get("format") != format:
        raise ValueError(f"expected a {noun} in {path}, with {format!r} as its format")
    content = {name: value for name, value in document.items() if name not in _OWN}
    if document.get("sha256") != _checksum(content):
        raise ValueError(
            f"the {noun} in {path} was changed since it was saved (its checksum differs): "
            f"restore the file, or build the {noun} again"
        )
    return content


def read_sealed(path: Path, *, noun: str) -> str:
    """Return the text of a file of JSON.

    Raises:
        ValueError: If the bytes are no UTF-8, or the path is no regular file.
        OSError: If the file cannot be read.
    """
    try:
        return check_file(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"expected a {noun} as JSON in {path}: {error}") from error


def _checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
