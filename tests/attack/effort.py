"""How long the attack lasts, by environment variables, and the figures that it leaves."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

FIGURES = "TAMMES_ATTACK_FIGURES"
SEED = "TAMMES_ATTACK_SEED"


def effort(name: str, quick: int) -> int:
    """Return the number of cases that an attack tries: TAMMES_ATTACK_<NAME>, or `quick` without it.

    Args:
        name: name of the attack, such as "objectives".
        quick: number of cases in `make test`.
    """
    text = os.environ.get(_variable(name))
    if text is None:
        return quick
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ValueError(f"{_variable(name)} must be a positive number of cases, got {text!r}")
    return int(text)


def is_long(name: str) -> bool:
    """Whether the attack was given an effort: then it draws afresh each time, else always the same cases."""
    return _variable(name) in os.environ


def seed_of(name: str) -> int:
    """Return the seed of an attack: TAMMES_ATTACK_SEED, or a fresh one in a long run and 0 in a quick one."""
    given = os.environ.get(SEED)
    if given is not None:
        return int(given)
    return secrets.randbelow(2**32) if is_long(name) else 0


def record(name: str, **figures: object) -> None:
    """Append a line of JSON to the file named by TAMMES_ATTACK_FIGURES; nothing without it.

    Args:
        name: name of the attack.
        figures: what it did, such as `tried=20, refused=3, failed=0, seed=0`.
    """
    path = os.environ.get(FIGURES)
    if path:
        # One short write in append mode, so that lines of several processes do not mix.
        with Path(path).open("a") as file:
            file.write(json.dumps({"attack": name, **figures}) + "\n")


def _variable(name: str) -> str:
    return f"TAMMES_ATTACK_{name.upper()}"
