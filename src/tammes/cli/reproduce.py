"""`tammes reproduce`: experiments of the papers, with their numbers beside ours."""

from collections.abc import Sequence
from pathlib import Path

from tammes.cli.console import plain_console
from tammes.cli.jobs import Member, Team
from tammes.cli.options.parsing import check_word
from tammes.cli.options.reproduce import Reproduce
from tammes.papers import Entry, entries
from tammes.papers.sharing import ALONE, Sharing


def main(choice: Reproduce) -> None:
    """List the experiments, or repeat one."""
    known = {entry.name: entry for entry in entries()}
    if choice.list:
        _show(list(known.values()))
        return
    if choice.name is None:
        raise ValueError("name an experiment, or list all: tammes reproduce --list")
    check_word("entry", choice.name, known)
    entry = known[choice.name]
    if entry.data is not None and choice.data is None and not entry.optional:
        raise ValueError(f"{entry.name} needs --data: {entry.data}")
    out = choice.out or Path("reproductions") / entry.name
    entry.check(budget=choice.budget, data=choice.data)
    console = plain_console()
    console.print(f"{entry.statement} ({entry.source})")
    if choice.jobs == 1:
        _reproduce(entry, choice, out, ALONE)
    else:
        with Team(measure_some, choice, out, jobs=choice.jobs) as team:
            sharing = Sharing(
                measured=lambda cells, _, name: team.round([name(number) for number in range(cells)])
            )
            _reproduce(entry, choice, out, sharing)
    console.print(f"open {out / 'report.html'}")


def _reproduce(entry: Entry, choice: Reproduce, out: Path, sharing: Sharing) -> None:
    entry.reproduce(
        out,
        budget=choice.budget,
        seed=choice.seed,
        seeds=choice.seeds,
        data=choice.data,
        learning=not choice.no_learning,
        sharing=sharing,
    )


def measure_some(choice: Reproduce, out: Path, member: Member) -> None:
    """Measure some of the cells of an experiment, as a process of a team.

    Args:
        choice: the experiment.
        out: folder of the study, in which the first process writes.
        member: gives out numbers of cells, and takes their scores.
    """
    (entry,) = (entry for entry in entries() if entry.name == choice.name)
    sharing = Sharing(writes=False, measured=lambda cells, measure, name: enumerate(member.round(measure)))
    _reproduce(entry, choice, out, sharing)


def _show(found: Sequence[Entry]) -> None:
    """Print a line for each entry; running one prints its whole statement and its source."""
    console = plain_console()
    widest = max(len(entry.name) for entry in found)
    for entry in found:
        needs = "" if entry.data is None else "(--data)" if entry.optional else "--data"
        line = f"{entry.name:<{widest}}  {needs:<8}  {entry.statement}"
        is_seen = console.is_terminal  # by a program, lines are whole
        console.print(line, no_wrap=True, overflow="ellipsis" if is_seen else "ignore", crop=is_seen)
