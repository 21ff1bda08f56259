"""Exact answers that are kept in a file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tammes.extensions.integer_program import Answer


@dataclass(frozen=True, kw_only=True)
class SolutionCache:
    """Answers in a file, a line of JSON each, so that what was proved once is not solved again.

    Several processes may add to one file. A line that is broken (by a full disk, say) is skipped.

    Args:
        path: the file; made, with its folder, when the first answer comes. None keeps nothing.
    """

    path: Path | None = None

    def look_up(self, key: str) -> Answer | None:
        """The answer that was kept under a key."""
        return self.known().get(key)

    def keep(self, answers: dict[str, Answer]) -> None:
        """Add those that are proved; the others may be better next time.

        Raises:
            OSError: if the file cannot be written.
        """
        proved = {key: answer for key, answer in answers.items() if answer.proved}
        if self.path is None or not proved:
            return
        lines = [
            json.dumps({"key": key, "worth": each.worth, "bound": each.bound, "members": each.members})
            for key, each in proved.items()
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def known(self) -> dict[str, Answer]:
        """All answers by their keys."""
        if self.path is None or not self.path.exists():
            return {}
        found = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                found[str(entry["key"])] = Answer(
                    worth=float(entry["worth"]),
                    bound=float(entry["bound"]),
                    members=tuple(int(each) for each in entry["members"]),
                )
            except (ValueError, KeyError, TypeError):
                continue
        return found


def key_of(problem: str, size: int, pairs: Sequence[tuple[int, int]]) -> str:
    """A name for one input of a problem, the same whenever the input is.

    >>> key_of("clique", 3, [(0, 1)]) == key_of("clique", 3, [(0, 1)]) != key_of("clique", 4, [(0, 1)])
    True
    """
    text = json.dumps([problem, size, sorted(pairs)])
    return hashlib.sha256(text.encode()).hexdigest()
