"""Where the runs of a page come from: dates, seconds, machines and versions, from what the runs recorded."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tammes.training.environment import Environment

Parts = Sequence[Environment]
"""Environment of each part of a run."""


def origin(runs: Sequence[Parts]) -> tuple[str, ...]:
    """Return when, for how long, and on which machine the runs were trained, in a sentence for each machine.

    Args:
        runs: what each run recorded; nothing for one of an older version.

    Example:
        >>> part = Environment(began="2026-01-31T12:00:00+00:00", seconds=41.3, processor="Xeon", cores=8,
        ...     threads=1, device="CPU", python_version="3.12.1", torch_version="2.13", tammes_version="0.1")
        >>> origin([[part]])[0][:70]
        'Trained on 2026-01-31 at 12:00 UTC in 41.3 seconds, on Xeon (8 cores, '
    """
    ends = [parts[-1].seconds for parts in runs if parts]
    if not ends:
        return ()
    seconds = None if None in ends else sum(each or 0.0 for each in ends)
    by_machine: dict[str, list[Environment]] = {}
    for part in (part for parts in runs for part in parts):
        by_machine.setdefault(part.machine, []).append(part)
    what = "Trained" if len(runs) == 1 else f"{len(ends)} runs, trained"
    sentences: list[str] = []
    for machine, parts in by_machine.items():
        how_long = ""
        if seconds is not None and len(by_machine) == 1:
            how_long = f" in {seconds:,.1f} seconds" + (" in all" if len(runs) > 1 else "")
        subject = "And" if sentences else what
        sentences.append(f"{subject} {_when(parts, len(runs))}{how_long}, on {machine}.")
    if seconds is not None and len(by_machine) > 1:
        sentences.append(f"The training took {seconds:,.1f} seconds in all.")
    if len(ends) < len(runs):
        sentences.append(f"{len(runs) - len(ends)} of the {len(runs)} runs did not record where.")
    return tuple(sentences)


def _when(parts: Parts, runs: int) -> str:
    """Return the date of the first part and, if another day or hour, of the last."""
    first, last = min(part.date for part in parts), max(part.date for part in parts)
    step = min(part.first_step for part in parts)
    from_step = f" from step {step} on" if runs == 1 and step > 0 else ""
    if _minute(first) == _minute(last):
        return f"on {_minute(first)}{from_step}"
    return f"between {_minute(first)} and {_minute(last)}{from_step}"


def _minute(date: datetime) -> str:
    return date.astimezone(UTC).strftime("%Y-%m-%d at %H:%M UTC")
