"""Studies of chapter 6: a search of the learning rate, the arms of an entry, and its page."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from matplotlib.figure import Figure as Drawing

from tammes.papers import arms
from tammes.papers.claim import claim, data_files
from tammes.papers.entry import Request
from tammes.papers.finding import Check, Finding
from tammes.papers.image_sets import Parts, image_sets
from tammes.papers.page import Figure, Numbers, PaperPage, write_page
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_masked.bases import Bases, searched_run
from tammes.papers.robinson_masked.measured import MaskedScore, measured
from tammes.papers.robinson_masked.runs import MaskedRun
from tammes.papers.robinson_masked.scale import MaskedScale, scale_of
from tammes.papers.robinson_masked.training import Drawn, base_run, drawer, precision_of, step_flops
from tammes.papers.study import Results, complete
from tammes.papers.unfinished import Unfinished

APART = 1000
"""The search has the first seed plus this, which no arm has."""
Scores = arms.ArmScores[MaskedRun, MaskedScore]
Measure = Callable[[MaskedRun], MaskedScore]
Column = Callable[[Scores, str], str]
"""Function from the scores of a set and the name of an arm to a cell of the page's table."""
SEARCH = (
    "The learning rate is the one setting that is searched: for each method the same rates, on a fifth of "
    "the training images, with the short schedule and a seed that no arm has. Arms of CAN with other terms "
    "or settings keep its rate.",
    "Encoders that another entry of the chapter has measured in a folder beside this one are taken from it.",
)


@dataclass(frozen=True, kw_only=True)
class MaskedPlan:
    """What an entry trains, and its page.

    Args:
        title: heading of the page.
        searched: methods whose learning rates are searched.
        arms: function from the runs of a set to the arms of one seed, the untrained encoder first.
        findings: function from the scores of a set to the thesis's statements beside our numbers.
        overview: function that draws the first set.
        figures: function from the scores of a set to the rows of panels.
        columns: functions that write the cells of a row of the table, by header.
        note: sentence below the table.
        remarks: paragraphs that say how to read the page.
    """

    title: str
    searched: Sequence[str]
    arms: Callable[[Bases], Sequence[MaskedRun]]
    findings: Callable[[Scores, Bases], tuple[Finding | Check, ...]]
    overview: Callable[[Scores, Bases], Drawing]
    figures: Callable[[Scores, Bases], Iterable[Figure]]
    columns: Mapping[str, Column]
    note: str
    remarks: tuple[str, ...]

    def run(self, request: Request) -> None:
        """Search, then train and measure every arm on each set; the table resumes, and the page grows.

        This is no `Study`: which cells are measured depends on the search.
        """
        scale = scale_of(request)
        sets = image_sets(request.required_data(), size=scale.side)
        unfinished = Unfinished(study=request.out, alone=request.sharing.writes) if scale.resumes else None
        study = MaskedStudy(sets=sets, scale=scale, draw=drawer(sets), unfinished=unfinished)
        protocol = Protocol(
            seeds=scale.seeds,
            controls=("untrained encoder",),
            measured_on="test images",
            search={f"learning rate of {method}": scale.rates for method in self.searched},
            searched_on="validation images, a part of the training images",
        )
        claim(request, protocol)
        results = Results(request.out / "table.csv", MaskedRun, MaskedScore, request.sharing)
        known = beside(request.out)
        shown: dict[str, Bases] = {}
        for data in study.sets:
            bases = study.bases(results, known, data, self.searched)
            shown[data] = bases
            cells = [replace(run, seed=seed) for seed in scale.seeds for run in self.arms(bases)]
            cells = list(dict.fromkeys(cells))
            try:
                study.complete(results, known, cells)
            finally:
                page = self.page(results.known, shown)
                if page is not None:
                    write_page(page, request, protocol)

    def page(self, results: Mapping[MaskedRun, MaskedScore], shown: Mapping[str, Bases]) -> PaperPage | None:
        """Return the page of what has been measured; None before all arms of a seed are there.

        Args:
            results: scores of the cells so far, those of the search among them.
            shown: runs of each set.
        """
        found: dict[str, Scores] = {}
        for bases in shown.values():
            cells = [replace(run, seed=seed) for seed in bases.scale.seeds for run in self.arms(bases)]
            here = {cell: results[cell] for cell in dict.fromkeys(cells) if cell in results}
            if all(run in here for run in self.arms(bases)):
                found |= Scores.by_set(here)
        if not found:
            return None
        first = next(iter(found))
        return PaperPage(
            title=self.title,
            overview=self.overview(found[first], shown[first]),
            findings=tuple(
                finding for data, scores in found.items() for finding in self.findings(scores, shown[data])
            ),
            figures=tuple(
                figure for data, scores in found.items() for figure in self.figures(scores, shown[data])
            ),
            numbers=Numbers(
                header=("encoder", *self.columns, "seeds"),
                rows=tuple(
                    (
                        f"{data}, {arm}",
                        *(write(scores, arm) for write in self.columns.values()),
                        str(len(scores.scores[arm])),
                    )
                    for data, scores in found.items()
                    for arm in scores.names
                ),
                note=self.note,
            ),
            remarks=(*self.remarks, *SEARCH),
            settings={name: words for data in found for name, words in _settings(shown[data]).items()},
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class MaskedStudy:
    """Sets of images, and how encoders are searched for and measured on them.

    Args:
        sets: sets by name, whole.
        scale: size of the study.
        draw: function that draws the images of a run.
        unfinished: place of the training that the study may be stopped in; None starts each training anew.
    """

    sets: Mapping[str, Parts]
    scale: MaskedScale
    draw: Callable[[MaskedRun], Drawn]
    unfinished: Unfinished | None = None

    def bases(
        self,
        results: Results[MaskedRun, MaskedScore],
        known: Mapping[MaskedRun, MaskedScore],
        data: str,
        methods: Sequence[str],
    ) -> Bases:
        """Search the learning rate of each method, and count the operations of its steps.

        Args:
            results: known scores; each measured cell is appended.
            known: scores of other entries.
            data: name of the set.
            methods: methods to be searched.
        """
        base = base_run(data, self.sets[data], self.scale)
        if not self.scale.learning:
            return Bases(base=base, scale=self.scale, rates={}, flops={})
        apart = replace(base, seed=base.seed + APART)
        rates, flops = {}, {}
        for method in methods:
            cells = [searched_run(apart, method, rate) for rate in self.scale.rates]
            scores = self.complete(results, known, cells)
            best = max(cells, key=lambda run: scores[run].probe)
            rates[method] = best.learning_rate
            flops[method] = step_flops(replace(best, seed=base.seed), self.sets[data][0])
        return Bases(base=base, scale=self.scale, rates=rates, flops=flops)

    def complete(
        self,
        results: Results[MaskedRun, MaskedScore],
        known: Mapping[MaskedRun, MaskedScore],
        cells: Sequence[MaskedRun],
    ) -> dict[MaskedRun, MaskedScore]:
        """Measure the cells that neither this entry nor others have, and return the scores of all cells."""
        for cell in cells:
            if cell in known and cell not in results.known:
                results.append(cell, known[cell])
        return complete(results, cells, self._measure, name=_name)

    def _measure(self, run: MaskedRun) -> MaskedScore:
        return measured(run, self.draw(run), unfinished=self.unfinished)


def beside(out: Path) -> dict[MaskedRun, MaskedScore]:
    """Return the scores that other entries of the chapter have in the folders beside one.

    A cell has all settings that its score depends on, so that it is the same in each where the data are. One
    that is fine-tuned lends what is measured before that, too. A table of other data under the same name
    lends nothing, nor does one that cannot be read, such as one with other columns.

    Args:
        out: folder of an entry.
    """
    found: dict[MaskedRun, MaskedScore] = {}
    ours = data_files(out)
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(out.resolve().parent.glob("masked-*/table.csv")):
            theirs = data_files(path.parent)
            if path.parent == out.resolve() or (theirs != ours and None not in (theirs, ours)):
                continue
            # A copy, since reading a table cuts off a line that is being written.
            copy = shutil.copy(path, Path(folder, "table.csv"))
            with contextlib.suppress(ValueError):
                found |= Results(Path(copy), MaskedRun, MaskedScore).known
    return {run.frozen: score.frozen for run, score in found.items()} | found


def percent(pick: Callable[[MaskedScore], float]) -> Column:
    """Return the column of a share, in percent with its interval over the seeds; a dash if not measured."""

    def write(scores: Scores, arm: str) -> str:
        values = [pick(score) for score in scores.scores[arm].values()]
        return "–" if any(value != value for value in values) else scores.mean(arm, pick).percent

    return write


def number(pick: Callable[[MaskedScore], float], digits: int, *, scale: float = 1.0) -> Column:
    """Return the column of the mean of a number; a dash if it was not measured."""

    def write(scores: Scores, arm: str) -> str:
        mean = sum(map(pick, scores.scores[arm].values())) / len(scores.scores[arm])
        return "–" if mean != mean else f"{scale * mean:.{digits}f}"

    return write


def _name(run: MaskedRun) -> str:
    where = f"seed {run.seed}" if run.measured_on == "test images" else "searching"
    return f"{run.data}, {run.arm}, rate {run.learning_rate:g}, {where}"


def _settings(bases: Bases) -> dict[str, str]:
    base, scale = bases.base, bases.scale
    rates = ", ".join(f"{method} {rate:g}" for method, rate in bases.rates.items())
    return {
        base.data: f"{base.images:,} training images, {base.test_images:,} test images, batches of "
        f"{base.batch_size}",
        f"learning rates on {base.data}": rates or "none",
        "encoder": f"{base.encoder}, trained on this machine with precision {precision_of(base.encoder)}",
        "schedules": f"{scale.epochs} epochs, a short one of {scale.short}, and {scale.ablation} for losses, "
        "terms and settings; AdamW, half a cosine",
        "fine-tuning": f"{scale.tuned_epochs} epochs, the same settings for every encoder",
    }
