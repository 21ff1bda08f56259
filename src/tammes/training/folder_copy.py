"""A copy of a run's folder on an object store, or at any other address that fsspec writes to."""

import shutil
import warnings
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec

from tammes.atomic import partial_files, write_atomically

CONFIG_FILE = "config.yaml"


class CopyWarning(UserWarning):
    """The copy of a run could not be brought up to date; the training goes on."""


class FolderCopy:
    """Copy of a folder at an address, brought up to date file by file.

    A file there is replaced as a whole: a reader finds the old content or the new. Files that have not
    changed since they were copied are left out. While a training runs, `begin` copies beside it; where that
    fails, the next one tries again, and `finish` raises an error if the copy is still behind.

    Args:
        address: address of the folder, as fsspec has them: `s3://bucket/runs/pets`, `gs://...`, `file:///...`.

    Raises:
        ValueError: for an address without a protocol, or with one that is unknown or needs another package.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "config.yaml")
        ...     _ = file.write_text("seed: 0")
        ...     copy = FolderCopy("memory://runs/example")
        ...     copy.finish(Path(folder), [file])
        ...     copy.fetch(Path(folder, "again"))
        ...     Path(folder, "again", "config.yaml").read_text()
        'seed: 0'
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._files, self._root = _opened(address)
        self._sent: dict[str, tuple[int, int]] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="copy")
        self._pending: Future[None] | None = None

    def __repr__(self) -> str:
        return f"FolderCopy({self.address!r})"

    def prepare(self, names: Sequence[str], *, overwrite: bool) -> None:
        """Make sure that a new run may be copied to the address.

        Args:
            names: files of a run, relative to its folder.
            overwrite: whether to delete those of another run.

        Raises:
            ValueError: if there is a run, and it is not to be overwritten.
            OSError: if the address cannot be read or written to.
        """
        try:
            there = [name for name in names if self._files.exists(f"{self._root}/{name}")]
            if there and overwrite:
                self._files.rm([f"{self._root}/{name}" for name in there])
        except Exception as error:
            raise OSError(f"cannot use {self.address} ({_words(error)})") from error
        if there and not overwrite:
            raise ValueError(
                f"there is a run at {self.address} already: resume it, replace it with overwrite=True, or "
                "name another address"
            )

    def begin(self, folder: Path, files: Sequence[Path]) -> None:
        """Copy the files that have changed, in another thread; nothing if that is still busy.

        Args:
            folder: folder that is copied.
            files: files in it, in the order in which they are copied; those that do not exist are left out.
        """
        if self._pending is not None and not self._pending.done():
            return
        self._warn_of_failure()
        self._pending = self._thread.submit(self._send, folder, tuple(files))

    def finish(self, folder: Path, files: Sequence[Path]) -> None:
        """Copy the files that have changed, and wait for them.

        Raises:
            OSError: if the copy cannot be brought up to date.
        """
        if self._pending is not None:
            self._pending.exception()  # waits; what failed is tried again
            self._pending = None
        try:
            self._send(folder, tuple(files))
        except Exception as error:  # stores raise errors of their own kinds
            raise OSError(
                f"the run in {folder} could not be copied to {self.address} ({_words(error)}): mend that, "
                "then copy the folder, or resume the run, which copies it again"
            ) from error

    def fetch(self, folder: Path) -> None:
        """Copy the run at the address into a folder, from the beginning if an earlier copy was interrupted.

        Raises:
            ValueError: if there is no run at the address, or the folder holds a run or other files.
            OSError: if the address cannot be read.
        """
        if folder.exists() and (not folder.is_dir() or (folder / CONFIG_FILE).exists()):
            raise ValueError(f"{folder} is not empty: resume the run that is there, or name another folder")
        try:
            names = [name.removeprefix(f"{self._root}/") for name in self._files.find(self._root)]
            if CONFIG_FILE not in names:
                raise ValueError(f"there is no run at {self.address} (no {CONFIG_FILE})")
            left = {each for name in names for each in (folder / name, *partial_files(folder / name))}
            if others := sorted(each for each in folder.rglob("*") if each.is_file() and each not in left):
                raise ValueError(f"{folder} is not empty, it holds {others[0]}: name another folder")
            for name in sorted(names, key=CONFIG_FILE.__eq__):  # last, so that a part of a run is no run
                file = folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(file, self._files.cat_file(f"{self._root}/{name}"))
        except ValueError:
            raise
        except Exception as error:
            raise OSError(f"cannot read {self.address} ({_words(error)})") from error

    def _send(self, folder: Path, files: Sequence[Path]) -> None:
        for file in files:
            if not file.exists():
                continue
            name, found = file.relative_to(folder).as_posix(), file.stat()
            stamp = found.st_mtime_ns, found.st_size
            if self._sent.get(name) == stamp:
                continue
            target = f"{self._root}/{name}"
            self._files.makedirs(target.rpartition("/")[0], exist_ok=True)
            with (
                file.open("rb") as source,
                self._files.transaction,
                self._files.open(target, "wb") as copied,
            ):
                shutil.copyfileobj(source, copied, 1 << 22)
            self._sent[name] = stamp

    def _warn_of_failure(self) -> None:
        error = None if self._pending is None else self._pending.exception()
        if error is not None:
            warnings.warn(
                f"the run could not be copied to {self.address} ({_words(error)}): training goes on, and the "
                "next checkpoint tries again",
                CopyWarning,
                stacklevel=3,
            )


# The packages of the usual stores; of the others fsspec's message names it.
_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "adlfs"),
}


def _opened(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    protocol, found, rest = address.partition("://")
    if not (found and protocol and rest.strip("/")):
        raise ValueError(
            f"expected an address such as s3://bucket/runs/pets for the copy of a run, got {address!r}"
        )
    try:
        files, root = fsspec.core.url_to_fs(address)
    except ImportError as error:
        package = _PACKAGES.get(protocol)
        how = f"`python -m pip install {package}` installs it" if package else str(error)
        raise ValueError(f"{protocol}:// needs another package: {how}") from error
    except ValueError as error:
        known = ", ".join(sorted(fsspec.available_protocols()))
        raise ValueError(f"{protocol}:// is no protocol that fsspec has; there are {known}") from error
    return files, root.rstrip("/")


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
