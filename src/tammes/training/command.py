"""The command that started a run, kept so that the run can be resumed by its folder alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tammes.checks import check_file


@dataclass(frozen=True, kw_only=True)
class Command:
    """Words of a command, and the folder that its paths are relative to.

    Args:
        words: words after `tammes train`.
        folder: folder in which the command was given.

    Example:
        >>> command = Command(words=("simclr", "--data", "digits"), folder=Path("/home/me"))
        >>> Command.of_json(command.to_json()) == command
        True
    """

    words: tuple[str, ...]
    folder: Path

    def to_json(self) -> str:
        """Return the command as the text of a file."""
        return json.dumps({"words": self.words, "folder": str(self.folder)}, indent=1)

    @staticmethod
    def of_json(text: str) -> Command:
        """Return the command of such a text.

        Raises:
            ValueError: another text.
        """
        try:
            content = json.loads(text)
            words, folder = content["words"], content["folder"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError(f"expected the words and the folder of a command: {error}") from error
        if not (isinstance(words, list) and all(isinstance(each, str) for each in [*words, folder])):
            raise ValueError("expected the words and the folder of a command, got values of other types")
        return Command(words=tuple(words), folder=Path(folder))

    @staticmethod
    def load(path: Path) -> Command:
        """Read the command from a file.

        Raises:
            ValueError: no such file, or one of another kind.
        """
        try:
            return Command.of_json(check_file(path).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise ValueError(
                f"the run in {path.parent} does not say by which command it was started (no {path.name}): "
                "repeat that command and add --resume"
            ) from error
        except ValueError as error:
            raise ValueError(
                f"{path}: {error}; repeat the command that started the run and add --resume"
            ) from error
