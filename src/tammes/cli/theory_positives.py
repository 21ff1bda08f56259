"""`tammes theory positives`: how many samples near a boundary are worth as many as at random."""

import json
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from tammes.theory import SampleComplexity


@dataclass(frozen=True, kw_only=True)
class Positives:
    """How many samples separate two classes, drawn at random or near the present boundary.

    tammes theory positives --dimension 64 --error 0.001

    Args:
        dimension: Of the embeddings.
        error: The share of directions that may be on the wrong side.
        delta: The probability of failing.
        json: Print numbers for other programs instead of a table and words.
    """

    dimension: int
    error: float = 0.01
    delta: float = 0.05
    json: bool = False

    def say(self) -> None:
        """Print what the theory says."""
        if not 2 <= self.dimension <= 10**6:
            raise ValueError(f"--dimension must be from 2 to 1,000,000, got {self.dimension}")
        for name, value in (("--error", self.error), ("--delta", self.delta)):
            if not 1e-12 <= value < 1:
                raise ValueError(f"{name} must be from 1e-12 to below 1, got {value}")
        complexity = SampleComplexity(dimension=self.dimension, error=self.error, delta=self.delta)
        if self.json:
            print(json.dumps(_numbers(complexity)))
            return
        console = Console(highlight=False)
        console.print(_table(complexity))
        console.print()
        console.print(_words(complexity), markup=False)


def _numbers(complexity: SampleComplexity) -> dict[str, object]:
    return {
        "passive": complexity.passive,
        "active": complexity.active,
        "draws": complexity.draws,
        "rounds": [asdict(each) | {"draws": each.draws} for each in complexity.rounds],
    }


def _table(complexity: SampleComplexity) -> Table:
    table = Table()
    for name in ("round", "accepted within", "share accepted", "samples", "draws", "error after it"):
        table.add_column(name, justify="right")
    for each in complexity.rounds:
        within = "everything" if each.accepted == 1 else f"{each.threshold:.3g}"
        samples, draws = f"{each.samples:,}", f"{each.draws:,.0f}"
        table.add_row(str(each.number), within, f"{each.accepted:.2g}", samples, draws, f"{each.error:.2g}")
    return table


def _words(complexity: SampleComplexity) -> str:
    passive, active, draws = complexity.passive, complexity.active, complexity.draws
    return (
        f"Drawn at random, {passive:,} samples do; near the boundary {active:,}, which is "
        f"{'fewer' if active < passive else 'not fewer'}. But {draws:,.0f} must be drawn and looked at to "
        f"accept so many, which is {'more' if draws > passive else 'still fewer'} than at random: what is "
        "near the boundary saves labels and updates sooner than draws. The numbers are bounds with their "
        "constant taken as 1, to be compared and not relied on."
    )
