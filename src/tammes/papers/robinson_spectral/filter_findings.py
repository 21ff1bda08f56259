"""What Robinson (2023), section E.10.3, says of its Table E.6, beside our errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tammes.data.filter_images import FILTERS
from tammes.estimate import Estimate
from tammes.papers.finding import Effect, Finding
from tammes.papers.robinson_spectral.filter_rows import ARMA, GPR, OURS, PAPER

CONSTANT = "mean of the target"
UNTRAINED = {method: f"{method}, untrained" for method in OURS}
Errors = Mapping[str, Mapping[str, Sequence[float]]]
"""Errors by method and filter, one for each seed."""
HARDEST = ("rejection", "comb")
"""Filters on which the paper's networks outperform all other methods, says its text."""


def findings(errors: Errors) -> tuple[Finding, ...]:
    """Return the paper's statements about the measured rows beside our numbers, and which rows these are."""
    found = [beyond_spectral(errors, method) for method in OURS if method in errors]
    if errors.keys() > PAPER.keys():
        found.append(beyond_all(errors))
    return (*found, rows(errors))


def beyond_spectral(errors: Errors, method: str) -> Finding:
    """Return the statement that one of our networks is below GPR-GNN and ARMA on all filters."""
    network, head = OURS[method]
    pairs = [(name, baseline) for name in FILTERS for baseline in (GPR, ARMA)]
    behind = [
        f"{name}, {_published(method, name)} against {PAPER[baseline][name][0]:.3f} of {baseline}"
        for name, baseline in pairs
        if PAPER[method][name][0] >= PAPER[baseline][name][0]
    ]
    return Finding(
        paper=f"Section E.10.3: {network} beats GPR-GNN and ARMA on all tasks. Table E.6, with {head}, "
        f"{_counted(len(pairs), behind)}",
        effects=tuple(
            Effect(
                name=f"{name}, below {baseline}",
                difference=Estimate.of_difference(errors[baseline][name], errors[method][name]),
            )
            for name, baseline in pairs
        ),
        controls=tuple(_learned(errors, method, FILTERS)),
    )


def beyond_all(errors: Errors) -> Finding:
    """Return the statement that all our networks are below all other methods on the hardest filters.

    Of the differences from the other methods, the one whose interval reaches lowest stands for all: if it is
    above zero, all are.
    """
    others = [method for method in PAPER if method not in OURS]
    pairs = [(name, method) for name in HARDEST for method in OURS]
    effects, behind = [], []
    for name, method in pairs:
        below = {other: Estimate.of_difference(errors[other][name], errors[method][name]) for other in others}
        closest = min(others, key=lambda other: (below[other].low, below[other].mean))
        effects.append(
            Effect(name=f"{name}, {method} below {closest}, the closest", difference=below[closest])
        )
        best = min(others, key=lambda other: PAPER[other][name][0])
        if PAPER[method][name][0] >= PAPER[best][name][0]:
            behind.append(
                f"{name}, {_published(method, name)} of {method} against {PAPER[best][name][0]:.3f} of {best}"
            )
    return Finding(
        paper="Section E.10.3: SignNet and BasisNet outperform all other methods on the band-rejection and "
        f"comb filters. Table E.6, with DeepSets and with a Transformer, {_counted(len(pairs), behind)}",
        effects=tuple(effects),
        controls=tuple(
            Effect(name=f"{method}, {effect.name}", difference=effect.difference)
            for method in OURS
            for effect in _learned(errors, method, HARDEST)
        ),
    )


def rows(errors: Errors) -> Finding:
    """Return which rows of the table are measured, and which are not; it states nothing to compare."""

    def named(methods: Iterable[str]) -> str:
        return ", ".join(
            f"DeepSets {method}" if OURS.get(method, ("", ""))[1] == "DeepSets" else method
            for method in methods
        )

    measured = f"Measured: {named(method for method in PAPER if method in errors)}."
    missing = named(method for method in PAPER if method not in errors)
    open_ = (
        f" Not measured: {missing}; so this leaves open whether SignNet and BasisNet outperform all other "
        "methods on the band-rejection and comb filters, as section E.10.3 says."
    )
    return Finding(
        paper=f"Table E.6 has {len(PAPER)} rows.", ours=measured + (open_ if missing else " None is missing.")
    )


def _learned(errors: Errors, method: str, names: Iterable[str]) -> Iterable[Effect]:
    """Yield the distance of a method below both controls, for each filter."""
    for name in names:
        controls = list(map(min, errors[CONSTANT][name], errors[UNTRAINED[method]][name]))
        yield Effect(
            name=f"{name}, below both controls",
            difference=Estimate.of_difference(controls, errors[method][name]),
        )


def _published(method: str, name: str) -> str:
    """Return the paper's error of a method."""
    return "{:.3f} (deviation {:.3f})".format(*PAPER[method][name])


def _counted(count: int, behind: Sequence[str]) -> str:
    """Return how many of the comparisons in the table agree with the text, and name those that do not."""
    words = f"says so of {count - len(behind)} in {count} comparisons"
    return f"{words}; not of {'; '.join(behind)}." if behind else f"{words}."
