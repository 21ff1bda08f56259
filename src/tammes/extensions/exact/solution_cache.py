"""Cache of exact answers in a file."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tammes.extensions.exact.integer_program import Answer


@dataclass(frozen=True, kw_only=True)
class SolutionCache:
    """Proved answers in a file, one line of JSON each, so that no problem is solved twice.

    Several processes may add to one file. A broken line (after a full disk, say) is skipped.

    Args:
        path: the file, created with its folder when the first answer is added; None keeps nothing.
    """

    path: Path | None = None

    def load(self) -> dict[str, Answer]:
        """Return all answers in the file by their keys."""
        if self.path is None or not self.path.exists():
            return {}
        known = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                known[str(entry["key"])] = Answer(
                    score=float(entry["worth"]),
                    bound=float(entry["bound"]),
                    members=tuple(int(each) for each in entry["members"]),
                )
            except (ValueError, KeyError, TypeError):
                continue
        return known

    def add(self, answers: dict[str, Answer]) -> None:
        """Append the proved answers; a later attempt may improve the others.

        Raises:
            OSError: if the file cannot be written.
        """
        # The score is the entry "worth": files that exist keep their format.
        lines = [
            json.dumps({"key": key, "worth": each.score, "bound": each.bound, "members": each.members})
            for key, each in answers.items()
            if each.proved
        ]
        if self.path is None or not lines:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())


def key_of(problem: str, size: int, pairs: Sequence[tuple[int, int]]) -> str:
    """Return the key of one input of a problem, a hash of its size and pairs in any order.

    >>> key_of("clique", 3, [(0, 1)]) == key_of("clique", 3, [(0, 1)]) != key_of("clique", 4, [(0, 1)])
    True
    """
    text = json.dumps([problem, size, sorted(pairs)])
    return hashlib.sha256(text.encode()).hexdigest()
