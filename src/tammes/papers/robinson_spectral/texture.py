"""The texture of a mesh, learned from pictures as a function of the eigenfunctions at each point.

Robinson (2023), sections 7.3.3, E.4.1 and E.11.5, Tables 7.3 and E.7, Figures 7-4, E-2 and E-3.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import torch
from matplotlib import colormaps
from matplotlib.figure import Figure as Drawing
from torch import Tensor

from tammes.papers.entry import Entry, Request
from tammes.papers.page import Figure, Finding, Numbers, PaperPage, panel
from tammes.papers.robinson_spectral import texture_training as training
from tammes.papers.robinson_spectral.molecules import principal_components
from tammes.papers.robinson_spectral.texture_networks import (
    ABSOLUTE,
    FLIPS,
    INTRINSIC,
    METHODS,
    SIGNNET,
    Field,
)
from tammes.papers.robinson_spectral.texture_training import Surface, TextureRun, TextureScore, rendered
from tammes.papers.robinson_spectral.texture_views import View, view
from tammes.papers.study import Study
from tammes.report.figures.canvas import TEXT
from tammes.report.palette import INK

SEEDS = 2
PAPER: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    INTRINSIC: ((34.25, 0.099), (32.29, 0.119)),
    ABSOLUTE: ((34.67, 0.106), (32.42, 0.132)),
    FLIPS: ((23.15, 1.28), (21.52, 1.05)),
    SIGNNET: ((34.91, 0.090), (32.43, 0.125)),
}
"""Table 7.3: PSNR and DSSIM on the cat, then on the human."""
PAGE_SIDE = 220
"""Pixels of a picture's height and width on the page."""
FRONT, BACK, FACE = (0.6, 0.3, -0.74), (-0.55, 0.45, 0.7), (0.1, 0.4, -0.9)
"""Directions of cameras used for the page alone; the last one sees both sides of a mesh."""
SHOWN = (1, 2, 4, 9, 19)
"""Numbers of the eigenfunctions that are drawn, from 1."""
_SIGNED, _UNSIGNED = colormaps["RdBu"], colormaps["viridis"]
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
    fields = request.out / "fields"
    surface = training.decomposed(request.required_data(), fields)
    Study(
        cells=cells(budget=request.budget, seed=request.seed, eigenfunctions=len(surface.eigenvalues)),
        scores=TextureScore,
        measure=training.measurer(surface, fields),
        name=lambda cell: f"{cell.method}, seed {cell.seed}",
        page=lambda results: page(results, surface, fields),
        partial=True,
    ).run(request)


def cells(*, budget: float, seed: int, eigenfunctions: int) -> list[TextureRun]:
    """Return all runs, seed by seed: a small budget means fewer steps, points of a step and test pictures."""
    part = budget**0.5
    return [
        TextureRun(
            method=method,
            steps=max(10, round(training.STEPS * part)),  # the rate rises for a tenth of them
            test_views=max(1, round(training.TEST_VIEWS * part)),
            eigenfunctions=eigenfunctions,
            batch_size=max(2, round(training.POINTS * part)),
            seed=seed + number,
        )
        for number in range(SEEDS)
        for method in METHODS
    ]


def page(results: Mapping[TextureRun, TextureScore], surface: Surface, fields: Path) -> PaperPage:
    """Return the page of the results."""
    cell = next(iter(results))
    overview, figures = pictures(results, surface, fields)
    return PaperPage(
        title="Texture from eigenfunctions",
        overview=overview,
        findings=findings(results),
        figures=figures,
        numbers=numbers(results),
        remarks=REMARKS,
        settings={
            "mesh": f"{len(surface.mesh.vertices):,} vertices, not the paper's",
            "eigenfunctions": f"{cell.eigenfunctions:,} (the paper's: {training.EIGENFUNCTIONS:,})",
            "steps": f"{cell.steps:,} with {cell.batch_size:,} points (of the full work: "
            f"{training.STEPS:,}, {training.POINTS:,})",
            "pictures": f"{training.TRAINING_VIEWS} to train on, {cell.test_views} to test on (the paper's: "
            f"{training.TRAINING_VIEWS}, {training.TEST_VIEWS}), {cell.side} x {cell.side} pixels",
            "Adam, learning rate": f"up to {cell.learning_rate:g} in a tenth of the steps, then to 0",
            "seeds": str(len({each.seed for each in results})),
        },
    )


def pictures(
    results: Mapping[TextureRun, TextureScore], surface: Surface, folder: Path
) -> tuple[Drawing, tuple[Figure, ...]]:
    """Draw the mesh by the networks of the first seed, if they were saved."""
    first = {cell.method: cell for cell in reversed(list(results))}
    found = {
        method: training.saved_field(first[method], surface, folder) for method in METHODS if method in first
    }
    fields = {method: field for method, field in found.items() if field is not None}
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


def seen(surface: Surface, camera: tuple[float, float, float]) -> View:
    """Return what a camera of the page sees."""
    direction = torch.nn.functional.normalize(torch.tensor(camera, dtype=torch.float64), dim=0)
    return view(surface.mesh.vertices, surface.mesh.faces, direction, side=PAGE_SIDE)


def renderings(surface: Surface, fields: Mapping[str, Field]) -> Drawing:
    """Draw the mesh with its texture, then with the colors of each network, from two sides."""
    columns = ("texture", *fields)
    rows = []
    for camera in (FRONT, BACK):
        points = seen(surface, camera)
        colors = [surface.colors(points), *(rendered(field, surface, points) for field in fields.values())]
        rows.append([points.picture(each) for each in colors])
    return _grid(rows, columns)


def even_parts(surface: Surface, field: Field) -> Drawing:
    """Draw eigenfunctions, and below each the first principal component of phi(v) + phi(-v)."""
    points = seen(surface, FACE)
    numbers = [number for number in SHOWN if number <= len(surface.eigenvalues)]
    chosen = [surface.eigenfunctions[:, number - 1] for number in numbers]
    raw = [_colored(each / each.abs().max() / 2 + 0.5, surface, points, signed=True) for each in chosen]
    encoded = [principal_components(field.even(each), 1)[:, 0] for each in chosen]
    learned = [_colored(_spread(each), surface, points, signed=False) for each in encoded]
    return _grid([raw, learned], tuple(f"eigenfunction {number}" for number in numbers))


def encodings(surface: Surface, field: Field) -> Drawing:
    """Draw the first three principal components of SignNet's encodings, the inputs of the perceptron."""
    points = seen(surface, FRONT)
    with torch.no_grad():
        parts = [field.encoded(each) for each in surface.eigenfunctions.split(training.POINTS_AT_ONCE)]
    found = principal_components(torch.cat(parts), 3)
    pictures = [_colored(_spread(each), surface, points, signed=False) for each in found.unbind(dim=1)]
    return _grid([pictures], tuple(f"component {number}" for number in range(1, len(pictures) + 1)))


def _spread(values: Tensor) -> Tensor:
    """Return the values scaled to [0, 1], with a hundredth on either side cut off."""
    low, high = values.quantile(0.01), values.quantile(0.99)
    return ((values - low) / (high - low).clamp(min=torch.finfo(values.dtype).tiny)).clamp(0, 1)


def _colored(values: Tensor, surface: Surface, points: View, *, signed: bool) -> Tensor:
    """Return a picture of numbers at the vertices, each in [0, 1]."""
    at = (values[surface.mesh.faces[points.faces]] * points.weights).sum(dim=1)
    colors = (_SIGNED if signed else _UNSIGNED)(at.numpy())[:, :3]
    return points.picture(torch.from_numpy(colors))


def _grid(rows: Sequence[Sequence[Tensor]], columns: Sequence[str]) -> Drawing:
    figure = Drawing(figsize=(1.3 * len(columns), 1.35 * len(rows) + 0.2), layout="constrained")
    figure.patch.set_alpha(0)
    places = figure.subplots(len(rows), len(columns), squeeze=False)
    for number, pictures in enumerate(rows):
        for axes, picture, title in zip(places[number], pictures, columns, strict=True):
            axes.imshow(picture.clamp(0, 1).numpy(), interpolation="none")
            axes.set_axis_off()
            if number == 0:
                axes.set_title(title, fontsize=TEXT - 2, color=INK)
    return figure


def findings(results: Mapping[TextureRun, TextureScore]) -> tuple[Finding, ...]:
    """Return the paper's statements beside our numbers, for the methods measured so far."""
    others = summary(results)
    signnet = others.pop(SIGNNET, None)
    if signnet is None:
        return ()
    cat = {method: psnr for method, ((psnr, _), _) in PAPER.items()}
    ahead = [
        Finding(
            paper=f"SignNet is ahead of {other}: by {cat[SIGNNET] - cat[other]:.2f} dB on the cat.",
            ours=f"SignNet has {signnet.psnr:.2f} dB, {other} {score.psnr:.2f} dB.",
            agrees=signnet.psnr > score.psnr,
        )
        for other, score in others.items()
    ]
    beside = f", those of the {INTRINSIC} by {others[INTRINSIC].change:.2f}" if INTRINSIC in others else ""
    invariant = Finding(
        paper="SignNet does not depend on the signs of eigenfunctions.",
        ours=f"Other signs change its colors by {signnet.change:.1g}{beside}.",
        agrees=signnet.change < 1e-5,
    )
    return (*ahead, invariant)


def summary(results: Mapping[TextureRun, TextureScore]) -> dict[str, TextureScore]:
    """Return means over seeds, by method."""
    found = {}
    for method in METHODS:
        rows = [vars(score) for cell, score in results.items() if cell.method == method]
        if rows:
            found[method] = TextureScore(**{name: mean(row[name] for row in rows) for name in rows[0]})
    return found


def numbers(results: Mapping[TextureRun, TextureScore]) -> Numbers:
    """Return a row for each method: our numbers, and the paper's on its meshes."""
    rows = []
    for method, ours in summary(results).items():
        seeds = [score.psnr for cell, score in results.items() if cell.method == method]
        spread = f" ({min(seeds):.2f} to {max(seeds):.2f})" if len(seeds) > 1 else ""
        (cat, cat_dssim), (human, human_dssim) = PAPER[method]
        rows.append(
            {
                "": method,
                "parameters": f"{ours.parameters:,}",
                "PSNR": f"{ours.psnr:.2f}" + spread,
                "DSSIM": f"{ours.dssim:.3f}",
                "change of colors": f"{ours.change:.2g}",
                "the paper's cat": f"{cat:.2f}, {cat_dssim:.3f}",
                "the paper's human": f"{human:.2f}, {human_dssim:.3f}",
                "seconds": f"{ours.seconds:.0f}",
            }
        )
    return Numbers(
        header=tuple(rows[0]),
        rows=tuple(tuple(row.values()) for row in rows),
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
