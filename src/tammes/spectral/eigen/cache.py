"""Files of eigenpairs, named by a hash of the graphs they belong to."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tammes.checks import check_file
from tammes.spectral.eigen.eigenpairs import Eigenpairs

LAYOUT = "tammes eigenpairs 2"
"""Version of the files; part of their names, so that files of an older layout are not read."""

CHECKSUM = "checksum"


def content_key(settings: str, *tensors: Tensor | None) -> str:
    """Return a hash of the settings and of the contents of the tensors.

    Example:
        >>> import torch
        >>> one, two = torch.tensor([1]), torch.tensor([2])
        >>> content_key("all", one) == content_key("all", two)
        False
    """
    digest = hashlib.sha256(f"{LAYOUT} {settings}".encode())
    for tensor in tensors:
        if tensor is None:
            digest.update(b"none")
        else:
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:40]


def save_eigenpairs(pairs: Eigenpairs, path: Path) -> None:
    """Write eigenpairs to a file that appears complete or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"vectors": pairs.vectors.cpu().contiguous(), "values": pairs.values.cpu().contiguous()}
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(safetensors.torch.save(content, metadata={CHECKSUM: _checksum(content)}))
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def load_eigenpairs(path: Path, *, nodes: int, graphs: int) -> Eigenpairs:
    """Read eigenpairs from a file of `save_eigenpairs`.

    Raises:
        ValueError: where the file is damaged, or holds the eigenpairs of other graphs.
    """
    try:
        with safe_open(check_file(path), framework="pt") as file:
            content = {name: file.get_tensor(name) for name in ("vectors", "values")}
            checksum = (file.metadata() or {}).get(CHECKSUM)
        pairs = Eigenpairs(vectors=content["vectors"], values=content["values"])
        if (len(pairs.vectors), len(pairs.values)) != (nodes, graphs):
            raise KeyError(f"{len(pairs.vectors)} nodes of {len(pairs.values)} graphs")
        if checksum != _checksum(content):
            raise KeyError("its numbers do not match its checksum")
        return pairs
    except (SafetensorError, KeyError) as error:
        raise ValueError(
            f"{path} holds no eigenpairs ({error}); delete it, and they are computed again"
        ) from error


def _checksum(content: dict[str, Tensor]) -> str:
    return content_key(CHECKSUM, content["vectors"], content["values"])
