"""`tammes theory packing`: points as far apart as they can be, which the hard limit of the loss looks for."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tammes.checks import check_integer, check_number, check_seed
from tammes.cli.console import plain_console
from tammes.cli.options.theory import TheoryPacking
from tammes.cli.output import counted, prepare_output
from tammes.theory import Packing, fejes_toth_bound, pack

FIGURES = (".svg", ".png", ".pdf")
PAGE = ".html"
MOST = 1000
"""Most points and dimensions; a search with a thousand points takes minutes."""


def print_packing(choice: TheoryPacking) -> None:
    """Search the points, and print and draw them."""
    _check(choice)
    packing = pack(
        choice.classes,
        choice.dim,
        weights=choice.weights,
        restarts=choice.restarts,
        generator=np.random.default_rng(choice.seed),
    )
    if choice.figure is not None:
        _draw(packing, choice.figure)
    if choice.json:
        print(json.dumps(_numbers(packing)))
        return
    console = plain_console()
    for paragraph in _paragraphs(packing):
        console.print(paragraph)
    if choice.figure is not None:
        console.print(f"The figure is in {choice.figure}")


def _draw(packing: Packing, file: Path) -> None:
    # Matplotlib takes longer to import than a small packing to find.
    if file.suffix == PAGE:
        from tammes.report.packing import packing_page

        file.write_text(packing_page(packing, _paragraphs(packing)), encoding="utf-8")
    else:
        from tammes.report.figures.packing import packing_figure

        packing_figure(packing).savefig(file, facecolor="white", dpi=200)


def _check(choice: TheoryPacking) -> None:
    """Refuse what the library would, by the names of the options, and sizes that take too long."""
    if not 2 <= choice.classes <= MOST:
        raise ValueError(f"--classes must be from 2 to {MOST:,}, got {choice.classes}")
    if not 1 <= choice.dim <= MOST:
        raise ValueError(f"--dim must be from 1 to {MOST:,}, got {choice.dim}")
    if choice.restarts is not None:
        check_integer("--restarts", choice.restarts)
    check_seed("--seed", choice.seed)
    if choice.weights is not None and len(choice.weights) != choice.classes:
        raise ValueError(
            f"--weights must have a number for each of {choice.classes} classes, got {len(choice.weights)}"
        )
    for weight in choice.weights or ():
        check_number("--weights", weight, above=0)
    if choice.figure is not None:
        if choice.figure.suffix not in (*FIGURES, PAGE):
            raise ValueError(f"--figure must end in {', '.join((*FIGURES, PAGE))}, got {choice.figure}")
        if choice.figure.suffix == PAGE and choice.dim != 3:
            raise ValueError(
                f"--figure {PAGE} is a sphere to turn, for --dim 3: got {choice.dim}; draw an .svg"
            )
        prepare_output(choice.figure)


def _numbers(packing: Packing) -> dict[str, object]:
    count, dim = packing.points.shape
    return {
        "classes": count,
        "dim": dim,
        "distance": packing.distance,
        "angle_degrees": packing.angle_degrees,
        "certified": packing.certified,
        "proof": packing.proof,
        "contacts": len(packing.contacts),
        "mean_squared_distance": packing.mean_squared_distance,
        "nearest_distances": packing.nearest_distances.tolist(),
        "points": packing.points.tolist(),
    }


def _paragraphs(packing: Packing) -> Sequence[str]:
    count, dim = packing.points.shape
    said = (
        f"{count} points in {counted(dim, 'dimension')}: the nearest two are {packing.distance:.9f} apart, "
        f"an angle of {packing.angle_degrees:.7f} degrees, as "
        f"{'is' if len(packing.contacts) == 1 else 'are'} {counted(len(packing.contacts), 'pair')} in all."
    )
    free = count - len(np.unique(packing.contacts))
    if free:
        said += f" {counted(free, 'point')} can move freely."
    if packing.weights is not None:
        said += f" The weighted mean of squared nearest distances is {packing.mean_squared_distance:.9f}."
        merged = int((packing.nearest_distances < 1e-6).sum())
        if merged:
            said += f" {merged} classes share a place: the others gain more than these lose."
    return said, _standing(packing)


def _standing(packing: Packing) -> str:
    """Return what is known of the optimum."""
    if packing.proof is not None:
        return f"No points do better. Proof: {packing.proof}."
    count, dim = packing.points.shape
    said = "Found by search; no proof says that none do better."
    if dim == 3 and packing.weights is None:
        said += f" More than {fejes_toth_bound(count):.3f} degrees is impossible: Fejes Toth (1943)."
    return said
