"""Protocol of a study: what its verdicts rest on, declared before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Seeds, controls and search space of a study, as its page prints them.

    Args:
        seeds: random seeds that every method shares.
        controls: what needs no learning, measured as the methods are ("untrained network", "raw pixels",
            "chance").
        measured_on: part of the data that the findings are about ("test images").
        search: values of each searched setting, the same for every method; empty for no search.
        searched_on: part of the data by which the search chooses ("validation images"); empty for no search.

    Raises:
        ValueError: no seed or one twice, no control, a search that touches the part that is measured on or
            any test data, or a search without a part to choose on.

    Example:
        >>> protocol = Protocol(seeds=range(3), controls=("untrained network",), measured_on="test images")
        >>> protocol.in_words["seeds"]
        '0, 1, 2'
    """

    seeds: Sequence[int]
    controls: Sequence[str]
    measured_on: str
    search: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    searched_on: str = ""

    def __post_init__(self) -> None:
        if len(set(self.seeds)) < max(1, len(self.seeds)):
            raise ValueError(f"a study needs different seeds, got {list(self.seeds)}")
        if not self.controls:
            raise ValueError(
                "a study needs a control: the untrained network, the raw input or chance, measured as its "
                "methods are"
            )
        if bool(self.search) != bool(self.searched_on):
            raise ValueError(
                "a search needs the part of the data by which it chooses, and only a search has one: got "
                f"search={dict(self.search)}, searched_on={self.searched_on!r}"
            )
        if self.searched_on and (self.searched_on == self.measured_on or "test" in self.searched_on.lower()):
            raise ValueError(
                f"a search on {self.searched_on!r} touches the data that the findings are about: choose on a "
                "validation part"
            )

    @property
    def in_words(self) -> dict[str, str]:
        """Names and values, in the order of the page."""
        searched = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in self.search.items())
        return {
            "seeds": ", ".join(map(str, self.seeds)),
            "controls": ", ".join(self.controls),
            "measured on": self.measured_on,
            "searched": f"{searched}; chosen on {self.searched_on}" if searched else "nothing",
        }
