"""The texture of a mesh, learned from pictures as a function of the eigenfunctions at each point.

Robinson (2023), sections 7.3.3, E.4.1 and E.11.5, Tables 7.3 and E.7, Figures 7-4, E-2 and E-3.
"""

from collections.abc import Mapping
from statistics import mean

from matplotlib.figure import Figure as Drawing

from tammes.papers.entry import Entry, Request
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral.texture_figures import encodings, even_parts, renderings
from tammes.papers.robinson_spectral.texture_networks import ABSOLUTE, FLIPS, INTRINSIC, METHODS, SIGNNET
from tammes.papers.robinson_spectral.texture_training import (
    EIGENFUNCTIONS,
    POINTS,
    STEPS,
    TEST_VIEWS,
    TRAINING_VIEWS,
    Cell,
    Laboratory,
    Measured,
)
from tammes.papers.study import Study

SEEDS = 2
PAPER: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    INTRINSIC: ((34.25, 0.099), (32.29, 0.119)),
    ABSOLUTE: ((34.67, 0.106), (32.42, 0.132)),
    FLIPS: ((23.15, 1.28), (21.52, 1.05)),
    SIGNNET: ((34.91, 0.090), (32.43, 0.125)),
}
"""Table 7.3: PSNR and DSSIM on the cat, then on the human."""
REMARKS = (
    "The paper's meshes, a cat and a human, are not free to be passed on. Any mesh with a texture will do; "
    "numbers of different meshes do not compare, only the order of the methods does.",
    "As in the paper, networks learn from pictures of five cameras and are measured on others. PSNR is of "
    "the pixels that show the mesh. DSSIM is a hundred times (1 - SSIM) / 2 of the whole picture on white, "
    "with a Gaussian window of 11 pixels. LPIPS is left out: it is a network whose weights would have to be "
    "downloaded.",
    "The change of colors is the mean over the first picture, of colors from 0 to 1, when every other "
    "eigenfunction is given the other sign, which is as good a decomposition of the same mesh.",
    "φ acts entry by entry, so that φ(v) + φ(-v) is a function of |v|: that it is the same on both sides "
    "of a mesh with a mirror plane follows, since its eigenfunctions are even or odd where eigenvalues are "
    "distinct.",
    "The paper takes about 75,000 steps with 4,096 points at a rate of 1e-4 (the published code of intrinsic "
    "neural fields).",
)


def run(request: Request) -> None:
    """Fit the texture by each method."""
    laboratory = Laboratory(request.required_data(), request.out / "fields")
    eigenfunctions = len(laboratory.surface().eigenvalues)
    Study(
        cells=cells(budget=request.budget, seed=request.seed, eigenfunctions=eigenfunctions),
        scores=Measured,
        measure=laboratory.measure,
        name=lambda cell: f"{cell.method}, seed {cell.seed}",
        page=lambda known: page(known, laboratory),
        partial=True,
    ).run(request)


def cells(*, budget: float, seed: int, eigenfunctions: int) -> list[Cell]:
    """All cells, seed by seed: the smaller the budget, the fewer steps, points of each and test pictures."""
    part = budget**0.5
    return [
        Cell(
            method=method,
            steps=max(10, round(STEPS * part)),  # a tenth of them is the rise of the rate
            test_views=max(1, round(TEST_VIEWS * part)),
            eigenfunctions=eigenfunctions,
            batch_size=max(2, round(POINTS * part)),
            seed=seed + number,
        )
        for number in range(SEEDS)
        for method in METHODS
    ]


def page(results: Mapping[Cell, Measured], laboratory: Laboratory) -> PaperPage:
    """Return the page of what has been measured."""
    cell = next(iter(results))
    surface = laboratory.surface()
    overview, figures = pictures(results, laboratory)
    return PaperPage(
        title="Texture from eigenfunctions",
        overview=overview,
        findings=findings(results),
        figures=figures,
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "mesh": f"{len(surface.mesh.vertices):,} vertices, not the paper's",
            "eigenfunctions": f"{cell.eigenfunctions:,} (the paper's: {EIGENFUNCTIONS:,})",
            "steps": f"{cell.steps:,} with {cell.batch_size:,} points (of the full work: "
            f"{STEPS:,}, {POINTS:,})",
            "pictures": f"{TRAINING_VIEWS} to train on, {cell.test_views} to test on (the paper's: "
            f"{TRAINING_VIEWS}, {TEST_VIEWS}), {cell.side} x {cell.side} pixels",
            "Adam, learning rate": f"up to {cell.learning_rate:g} in a tenth of the steps, then to 0",
            "seeds": str(len({each.seed for each in results})),
        },
    )


def pictures(results: Mapping[Cell, Measured], laboratory: Laboratory) -> tuple[Drawing, tuple[Figure, ...]]:
    """Draw what the networks of the first seed, if they were kept, make of the mesh."""
    first = {cell.method: cell for cell in reversed(list(results))}
    found = {method: laboratory.field(first[method]) for method in METHODS if method in first}
    fields = {method: field for method, field in found.items() if field is not None}
    surface = laboratory.surface()
    drawing = renderings(surface, fields)
    shown = [
        _figure(
            drawing,
            title="The texture, and what was learned",
            words="From two cameras that no network was trained on.",
        )
    ]
    if SIGNNET in fields:
        shown += [
            _figure(
                even_parts(surface, fields[SIGNNET]),
                title="What SignNet makes of an eigenfunction",
                words="Above, eigenfunctions (red and blue: the signs). Below, the first principal component "
                "of φ(v) + φ(-v), as in Figures 7-4 and E-2.",
            ),
            _figure(
                encodings(surface, fields[SIGNNET]),
                title="What SignNet makes of all of them",
                words="The first three principal components of its output, as in Figure E-3.",
            ),
        ]
    return drawing, tuple(shown)


def _figure(drawing: Drawing, *, title: str, words: str) -> Figure:
    return Figure(title=title, words=words, panels=(panel(drawing, f"{title}. {words}"),), wide=True)


def findings(results: Mapping[Cell, Measured]) -> tuple[Finding, ...]:
    """The paper's statements beside our numbers, as far as they are there."""
    ours = summary(results)
    found = []
    if SIGNNET in ours:
        for other in METHODS:
            if other == SIGNNET or other not in ours:
                continue
            ahead = ours[SIGNNET].psnr - ours[other].psnr
            theirs = PAPER[SIGNNET][0][0] - PAPER[other][0][0]
            found.append(
                Finding(
                    paper=f"SignNet is ahead of {other}: by {theirs:.2f} dB on the cat.",
                    ours=f"SignNet has {ours[SIGNNET].psnr:.2f} dB, {other} {ours[other].psnr:.2f} dB.",
                    agrees=ahead > 0,
                )
            )
        found.append(
            Finding(
                paper="SignNet does not depend on the signs of eigenfunctions.",
                ours=f"Other signs change its colors by {ours[SIGNNET].change:.1g}"
                + (
                    f", those of the {INTRINSIC} by {ours[INTRINSIC].change:.2f}."
                    if INTRINSIC in ours
                    else "."
                ),
                agrees=ours[SIGNNET].change < 1e-5,
            )
        )
    return tuple(found)


def summary(results: Mapping[Cell, Measured]) -> dict[str, Measured]:
    """Means over seeds, by method."""
    found = {}
    for method in METHODS:
        rows = [measured for cell, measured in results.items() if cell.method == method]
        if rows:
            found[method] = Measured(
                psnr=mean(row.psnr for row in rows),
                dssim=mean(row.dssim for row in rows),
                change=mean(row.change for row in rows),
                parameters=rows[0].parameters,
                seconds=mean(row.seconds for row in rows),
            )
    return found


def numbers(results: Mapping[Cell, Measured]) -> Numbers:
    """A row for each method: ours, and the paper's on its meshes."""
    rows = []
    for method, ours in summary(results).items():
        seeds = [measured.psnr for cell, measured in results.items() if cell.method == method]
        (cat, cat_dssim), (human, human_dssim) = PAPER[method]
        rows.append(
            (
                method,
                f"{ours.parameters:,}",
                f"{ours.psnr:.2f}" + (f" ({min(seeds):.2f} to {max(seeds):.2f})" if len(seeds) > 1 else ""),
                f"{ours.dssim:.3f}",
                f"{ours.change:.2g}",
                f"{cat:.2f}, {cat_dssim:.3f}",
                f"{human:.2f}, {human_dssim:.3f}",
                f"{ours.seconds:.0f}",
            )
        )
    return Numbers(
        header=(
            "",
            "parameters",
            "PSNR",
            "DSSIM",
            "change of colors",
            "the paper's cat",
            "the paper's human",
            "seconds",
        ),
        rows=tuple(rows),
        note="PSNR in dB, higher is better; a hundred times DSSIM, lower is better; means over seeds, and "
        "their range. The paper's: PSNR, DSSIM.",
    )


ENTRY = Entry(
    name="spectral-texture",
    statement="A neural field on the eigenfunctions of a mesh learns its texture better when SignNet takes "
    "care of their signs, with no more parameters; with random flips it hardly learns.",
    source="Robinson (2023), section 7.3.3, Table 7.3",
    data="a folder with a textured mesh in it: one .obj file with places on a picture, one .png or .jpg",
    run=run,
)
