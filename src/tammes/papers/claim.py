"""What the folder of a study holds: its settings and data, by which a resumed study recognizes it."""

import json
from pathlib import Path

from tammes.atomic import write_atomically
from tammes.checks import check_file
from tammes.data.file_digest import files_digest
from tammes.data.listing import files_below
from tammes.papers.entry import Request
from tammes.papers.protocol import Protocol

STUDY = "study.json"
"""File of the description."""
FILES = "data files"
"""Entry of the description of the data; a study of an older version has none, and resumes with any."""


def claim(request: Request, protocol: Protocol) -> None:
    """Make the folder of a study, and write what the study is into its `study.json`.

    Args:
        request: request to run the study.
        protocol: its seeds, controls and search space.

    Raises:
        ValueError: a folder that holds a study with another budget, data, seeds or search space, or a file in
            its place.
    """
    ours = {
        "entry": request.entry.name,
        "budget": f"{request.budget:g}",
        "data": request.data_name,
        "learning": str(request.learning),
        **protocol.in_words,
    }
    if request.data is not None and request.data.exists():
        ours[FILES] = description(request.data, without=request.out)
    path = request.out / STUDY
    if request.out.exists() and not request.out.is_dir():
        raise ValueError(f"expected a folder for the study, got the file {request.out}: name another place")
    request.out.mkdir(parents=True, exist_ok=True)
    if path.exists():
        try:
            theirs = dict(json.loads(check_file(path).read_text(encoding="utf-8")))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"expected the settings of a study in {path}, got something else ({error}); move the folder "
                "away, or choose another one"
            ) from error
        differences = [
            f"{name}: {theirs.get(name, 'nothing')} there, {ours.get(name, 'nothing')} now"
            for name in {**theirs, **ours}
            if theirs.get(name) != ours.get(name) and (name != FILES or name in theirs)
        ]
        if differences:
            raise ValueError(
                f"{request.out} holds a study with other settings ({'; '.join(differences)}); give the same "
                "ones to resume it, or choose another folder"
            )
        return
    if request.sharing.writes:
        write_atomically(path, (json.dumps(ours, indent=1) + "\n").encode("utf-8"))


def data_files(study: Path) -> str | None:
    """Return the description of the data that the folder of a study holds; None if it has none.

    Args:
        study: folder of the study.

    Example:
        >>> data_files(Path("nowhere")) is None
        True
    """
    try:
        found = json.loads((study / STUDY).read_text(encoding="utf-8"))[FILES]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return str(found)


def description(data: Path, *, without: Path) -> str:
    """Return the number of files at a path, and a checksum of their names, sizes, beginnings and ends.

    Args:
        data: file or folder.
        without: folder whose files do not count: the results, which may be below the data; so may those of
            other studies, which do not count either.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     for name in ("a.txt", "b.txt"):
        ...         _ = Path(root, name).write_text(name)
        ...     description(Path(root), without=Path("out"))
        '2 files, checksum dd4d06c6b022'
    """
    root = data.resolve()
    names = files_below(root)[0] if root.is_dir() else [""]
    results = {without.resolve(), *((root / name).parent for name in names if Path(name).name == STUDY)}
    names = [name for name in names if results.isdisjoint((root / name).parents)]
    digest = files_digest([root / name for name in names], names=names, pieces=2)
    return f"{len(names):,} {'file' if len(names) == 1 else 'files'}, checksum {digest}"
