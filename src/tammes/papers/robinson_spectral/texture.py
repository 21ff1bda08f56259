"""The texture of a mesh, learned from pictures as a function of the eigenfunctions at each point.

Robinson (2023), sections 7.3.3, E.4.1 and E.11.5, Tables 7.3 and E.7, Figures 7-4, E-2 and E-3.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import torch
from matplotlib import colormaps
from matplotlib.figure import Figure as Drawing
from torch import Tensor

from tammes.estimate import Estimate
from tammes.papers.entry import Request
from tammes.papers.finding import Check, Effect, Finding
from tammes.papers.page import Figure, Numbers, PaperPage, panel
from tammes.papers.protocol import Protocol
from tammes.papers.robinson_spectral import texture_training as training
from tammes.papers.robinson_spectral.molecules import principal_components
from tammes.papers.robinson_spectral.texture_networks import (
    ABSOLUTE,
    CONSTANT,
    CONTROLS,
    FLIPS,
    INTRINSIC,
    METHODS,
    SIGNNET,
    UNTRAINED,
    Field,
)
from tammes.papers.robinson_spectral.texture_training import (
    PerceptualScore,
    Surface,
    TextureRun,
    TextureScore,
    rendered,
)
from tammes.papers.robinson_spectral.texture_views import View, view
from tammes.papers.study import Study, grouped
from tammes.report.figures.canvas import TEXT
from tammes.report.palette import INK

SEEDS = 3
Scores = Mapping[str, Sequence[TextureScore]]
"""Scores by method, of the seeds that all methods have."""
PAPER: Mapping[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    INTRINSIC: ((34.25, 0.099, 0.189), (32.29, 0.119, 0.330)),
    ABSOLUTE: ((34.67, 0.106, 0.252), (32.42, 0.132, 0.363)),
    FLIPS: ((23.15, 1.28, 2.35), (21.52, 1.05, 2.71)),
    SIGNNET: ((34.91, 0.090, 0.147), (32.43, 0.125, 0.316)),
}
"""Table 7.3: PSNR, DSSIM and LPIPS on the cat, then on the human."""
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
    "with a Gaussian window of 11 pixels. LPIPS is measured by the network in the folder (.pt2), if there is "
    "one.",
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
    distance = training.given_distance(request.required_data())
    surface = training.decomposed(request.required_data(), fields)
    seeds = request.seed_range(SEEDS)
    Study(
        cells=cells(
            budget=request.budget,
            seeds=seeds,
            eigenfunctions=len(surface.eigenvalues),
            learning_rate=request.rate(training.LEARNING_RATE),
        ),
        scores=TextureScore if distance is None else PerceptualScore,
        measure=training.measurer(surface, fields, distance),
        name=lambda cell: f"{cell.method}, seed {cell.seed}",
        protocol=Protocol(
            seeds=seeds,
            controls=["untrained network with SignNet", "mean color of the training pictures"],
            measured_on="pictures of test cameras",
        ),
        page=lambda results: page(results, surface, fields),
        partial=True,
    ).run(request)


def cells(
    *, budget: float, seeds: Sequence[int], eigenfunctions: int, learning_rate: float = training.LEARNING_RATE
) -> list[TextureRun]:
    """Return all runs, seed by seed: a small budget means fewer steps, points of a step and test pictures."""
    part = min(budget**0.5, 10 * budget)  # the second below a budget of 0.01
    return [
        TextureRun(
            method=method,
            # The rate rises for a tenth of the steps.
            steps=0 if method in CONTROLS else max(10, round(training.STEPS * part)),
            test_views=max(1, round(training.TEST_VIEWS * part)),
            eigenfunctions=eigenfunctions,
            batch_size=max(2, round(training.POINTS * part)),
            learning_rate=learning_rate,
            side=training.SIDE,
            seed=seed,
        )
        for seed in seeds
        for method in (*CONTROLS, *METHODS)
    ]


def page(results: Mapping[TextureRun, TextureScore], surface: Surface, fields: Path) -> PaperPage | None:
    """Return the page of the results, or None before a seed has all methods."""
    scores = by_method(results)
    if not scores:
        return None
    cell = max(results, key=lambda cell: cell.steps)
    overview, figures = pictures(results, surface, fields)
    return PaperPage(
        title="Texture from eigenfunctions",
        overview=overview,
        findings=findings(scores),
        figures=figures,
        numbers=numbers(scores),
        remarks=REMARKS,
        settings={
            "mesh": f"{len(surface.mesh.vertices):,} vertices, not the paper's",
            "eigenfunctions": f"{cell.eigenfunctions:,} (the paper's: {training.EIGENFUNCTIONS:,})",
            "steps": f"{cell.steps:,} with {cell.batch_size:,} points (of the full work: "
            f"{training.STEPS:,}, {training.POINTS:,})",
            "pictures": f"{training.TRAINING_VIEWS} to train on, {cell.test_views} to test on (the paper's: "
            f"{training.TRAINING_VIEWS}, {training.TEST_VIEWS}), {cell.side} x {cell.side} pixels",
            "Adam, learning rate": f"up to {cell.learning_rate:g} in a tenth of the steps, then to 0",
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
        count = max(1, training.ENTRIES_AT_ONCE // len(surface.eigenvalues))
        parts = [field.encoded(each) for each in surface.eigenfunctions.split(count)]
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


def by_method(results: Mapping[TextureRun, TextureScore]) -> Scores:
    """Return the scores of the seeds that all methods have."""
    found: dict[str, list[TextureScore]] = {}
    for group in grouped(results, "seed").values():
        if len(group) == len(CONTROLS) + len(METHODS):
            for cell, score in group.items():
                found.setdefault(cell.method, []).append(score)
    return found


def findings(scores: Scores) -> tuple[Finding | Check, ...]:
    """Return the paper's statements beside our numbers."""
    others = (INTRINSIC, ABSOLUTE, FLIPS)

    def ahead(statement: str, name: str, *, words: str, sign: int, digits: int) -> Finding:
        values = {method: [sign * getattr(score, name) for score in own] for method, own in scores.items()}
        rivals = {other: values[other] for other in others}
        controls = {"both controls": list(map(max, values[CONSTANT], values[UNTRAINED]))}
        place = ("psnr", "dssim").index(name)
        paper = (f"{each} {PAPER[each][0][place]}, {PAPER[each][1][place]}" for each in (SIGNNET, *others))
        effects, learned = (
            tuple(
                Effect(
                    name=f"{words} {other}",
                    difference=Estimate.of_difference(values[SIGNNET], own),
                    digits=digits,
                )
                for other, own in compared.items()
            )
            for compared in (rivals, controls)
        )
        return Finding(
            paper=f"Table 7.3: {statement} (cat, human: {'; '.join(paper)}).",
            effects=effects,
            controls=learned,
        )

    changes = {method: [score.change for score in own] for method, own in scores.items()}
    return (
        ahead("SignNet has the highest PSNR on both meshes", "psnr", words="dB above", sign=1, digits=2),
        ahead(
            "SignNet has the lowest DSSIM on the cat, and the intrinsic neural field on the human",
            "dssim",
            words="DSSIM below",
            sign=-1,
            digits=3,
        ),
        Check(
            paper="SignNet does not depend on the signs of eigenfunctions.",
            ours="φ(v) + φ(-v) is the same for -v. Other signs change SignNet's colors by "
            f"{max(changes[SIGNNET]):.1g} at most, the {INTRINSIC}'s by {fmean(changes[INTRINSIC]):.2f}.",
            passed=max(changes[SIGNNET]) < 1e-5,
        ),
    )


def numbers(scores: Scores) -> Numbers:
    """Return a row for each method: our numbers, and the paper's on its meshes."""

    def mean(method: str, name: str, digits: int) -> str:
        return Estimate.over_seeds([getattr(score, name) for score in scores[method]]).text(digits)

    rows = []
    for method, own in scores.items():
        cat, human = PAPER.get(method, ((), ()))
        perceptual = isinstance(own[0], PerceptualScore)
        rows.append(
            {
                "": method,
                "parameters": f"{own[0].parameters:,}",
                "PSNR": mean(method, "psnr", 2),
                "DSSIM": mean(method, "dssim", 3),
                "change of colors": mean(method, "change", 3),
                **({"LPIPS": mean(method, "lpips", 3)} if perceptual else {}),
                "the paper's cat": ", ".join(map(str, cat)),
                "the paper's human": ", ".join(map(str, human)),
                "seconds": f"{fmean(score.seconds for score in own):.0f}",
            }
        )
    return Numbers(
        header=tuple(rows[0]),
        rows=tuple(tuple(row.values()) for row in rows),
        note="PSNR in dB, higher is better; a hundred times DSSIM and LPIPS, lower is better; means over "
        "seeds with 95 % intervals. The paper's: PSNR, DSSIM, LPIPS.",
    )
