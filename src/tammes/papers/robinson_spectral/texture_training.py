"""Training of the texture experiment: one network, fitted to the colors that a few cameras see."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zipfile import is_zipfile

import torch
from jaxtyping import Float
from kornia.metrics import psnr, ssim
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tammes.checks import check_file, in_a_line
from tammes.data.textured_mesh import TexturedMesh, textured_mesh
from tammes.papers.robinson_spectral.texture_networks import CONSTANT, Field, build
from tammes.papers.robinson_spectral.texture_views import View, random_cameras, view
from tammes.spectral import MeshLaplacian
from tammes.spectral.eigen.eigenpairs import content_key, load_eigenpairs, save_eigenpairs

EIGENFUNCTIONS, TRAINING_VIEWS, TEST_VIEWS = 1023, 5, 200
"""Numbers of the paper; the constant eigenfunction does not count."""
STEPS, POINTS, SIDE = 20_000, 4096, 256
"""Steps of the full work, points of a step, and pixels of a picture's height and width."""
CAMERA_SEED = 0
"""Random seed of the cameras, which are the same for all seeds of the networks."""
ENTRIES_AT_ONCE = 2**17
"""Numbers that are encoded together: few, so that SignNet's channels stay in the cache of a core."""
LEARNING_RATE = 1e-3
WINDOW = 11
"""Pixels of the window of the structural similarity."""
Distance = Callable[[Tensor, Tensor], Tensor]
"""Network that compares two pictures, `(1, 3, side, side)` with colors from -1 to 1, as LPIPS does."""


@dataclass(frozen=True, kw_only=True)
class TextureRun:
    """Settings of one fit to the pictures of `TRAINING_VIEWS` cameras; controls have no steps."""

    method: str
    steps: int
    test_views: int
    eigenfunctions: int
    batch_size: int
    learning_rate: float = LEARNING_RATE
    side: int = SIDE
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class TextureScore:
    """Means over the pictures of the test cameras.

    `psnr` covers the pixels that show the mesh; `dssim` is a hundred times (1 - SSIM) / 2 of whole pictures
    on white; `change` is the mean change of colors in the first picture when the signs of every other
    eigenfunction are flipped.
    """

    psnr: float
    dssim: float
    change: float
    parameters: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class PerceptualScore(TextureScore):
    """The same where a network that compares pictures was given; `lpips` is a hundred times its distance."""

    lpips: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """A mesh with its eigenfunctions.

    Args:
        mesh: mesh with a picture.
        eigenfunctions: values at the vertices, each with mean square 1 over the surface.
        eigenvalues: eigenvalues, in one over the square of the unit of length.
    """

    mesh: TexturedMesh
    eigenfunctions: Float[Tensor, "v k"]
    eigenvalues: Float[Tensor, " k"]

    def at(self, seen: View, chosen: Tensor) -> Float[Tensor, "n k"]:
        """Return the eigenfunctions at some of the points that a camera sees."""
        corners = self.mesh.faces[seen.faces[chosen]]
        return torch.nn.functional.embedding_bag(
            corners, self.eigenfunctions, per_sample_weights=seen.weights[chosen], mode="sum"
        )

    def colors(self, seen: View) -> Float[Tensor, "n 3"]:
        """Return the colors of the points that a camera sees."""
        return self.mesh.colors(seen.faces, seen.weights)


def measurer(
    surface: Surface, fields: Path, distance: Distance | None = None
) -> Callable[[TextureRun], TextureScore]:
    """Return the function that fits, saves and measures a network.

    Args:
        surface: surface with its eigenfunctions.
        fields: folder for the fitted networks.
        distance: network that compares pictures; with it, scores are `PerceptualScore`.
    """
    vertices, faces = surface.mesh.vertices, surface.mesh.faces

    @cache
    def views(side: int, tests: int) -> list[View]:
        generator = torch.Generator().manual_seed(CAMERA_SEED)
        cameras = random_cameras(TRAINING_VIEWS + tests, generator=generator)
        return [view(vertices, faces, camera, side=side) for camera in cameras]

    def fitted(cell: TextureRun, training: list[View]) -> Field:
        torch.manual_seed(cell.seed)
        field = build(cell.method, surface.eigenvalues, cell.seed)
        if cell.steps:
            fit(field, surface, training, cell)
            fields.mkdir(parents=True, exist_ok=True)
            save_file(field.state_dict(), _path(cell, surface, fields))
        return field.eval()

    def measure(cell: TextureRun) -> TextureScore:
        seen = views(cell.side, cell.test_views)
        training, tests = seen[:TRAINING_VIEWS], seen[TRAINING_VIEWS:]
        started = time.perf_counter()
        field = None if cell.method == CONSTANT else fitted(cell, training)
        seconds = time.perf_counter() - started
        mean = torch.cat([surface.colors(each) for each in training]).mean(dim=0)

        def painted(each: View, signs: Float[Tensor, " k"] | None = None) -> Float[Tensor, "n 3"]:
            return (
                mean.expand(len(each.pixels), 3) if field is None else rendered(field, surface, each, signs)
            )

        signs = torch.ones(len(surface.eigenvalues))
        signs[::2] = -1
        colors = [painted(each) for each in tests]
        errors = [
            compared(own, surface.colors(each), each, distance)
            for own, each in zip(colors, tests, strict=True)
        ]
        psnr, dssim, *lpips = (sum(each) / len(tests) for each in zip(*errors, strict=True))
        change = painted(tests[0], signs) - colors[0]
        found = TextureScore(
            psnr=psnr,
            dssim=dssim,
            change=change.abs().mean().item(),
            parameters=3 if field is None else sum(parameter.numel() for parameter in field.parameters()),
            seconds=seconds,
        )
        return PerceptualScore(**vars(found), lpips=lpips[0]) if lpips else found

    return measure


def saved_field(cell: TextureRun, surface: Surface, fields: Path) -> Field | None:
    """Return the network that was fitted, or None if it was not saved.

    Raises:
        ValueError: If its file is damaged, or holds another network.
    """
    path = _path(cell, surface, fields)
    if not path.exists():
        return None
    field = build(cell.method, surface.eigenvalues, cell.seed)
    try:
        field.load_state_dict(load_file(check_file(path)))
    except (SafetensorError, RuntimeError) as error:
        reason = in_a_line(error)
        raise ValueError(f"{path} does not hold the network that was fitted ({reason}): delete it") from error
    return field.eval()


def _path(cell: TextureRun, surface: Surface, fields: Path) -> Path:
    settings = repr(cell).replace(type(cell).__name__, "Cell", 1)  # as in the names of existing files
    return fields / f"{content_key(settings, surface.mesh.vertices)}.safetensors"


def decomposed(data: Path, fields: Path) -> Surface:
    """Return the only textured mesh of a folder, with the eigenfunctions of the cotangent Laplacian.

    Args:
        data: folder with one mesh (.obj or .obj.gz) and one picture (.png or .jpg).
        fields: folder for the file of eigenfunctions.

    Raises:
        ValueError: where there is not one mesh and one picture.
    """
    meshes = sorted([*data.glob("*.obj"), *data.glob("*.obj.gz")])
    pictures = sorted([*data.glob("*.png"), *data.glob("*.jpg")])
    if len(pictures) != 1 or not meshes:
        raise ValueError(
            f"expected in {data} a mesh (.obj) and one picture (.png, .jpg), found {len(meshes)} and "
            f"{len(pictures)}"
        )
    found = [textured_mesh(mesh) for mesh in meshes]
    placed = [mesh for mesh, read in zip(meshes, found, strict=True) if len(read.face_places)]
    if len(placed) != 1:
        raise ValueError(
            f"expected in {data} one mesh with places on the picture (lines that begin with vt), found "
            f"{len(placed)}"
        )
    mesh = textured_mesh(placed[0], pictures[0])
    laplacian = MeshLaplacian.of(mesh.vertices, mesh.faces)
    count = min(EIGENFUNCTIONS, len(mesh.vertices) - 1)
    path = fields / f"{content_key(f'cotangent {count + 1}', mesh.vertices, mesh.faces)}.safetensors"
    if path.exists():
        pairs = load_eigenpairs(path, nodes=len(mesh.vertices), graphs=1)
    else:
        pairs = laplacian.eigenpairs(count + 1)
        save_eigenpairs(pairs, path)
    scaled = pairs.vectors[:, 1:] * laplacian.areas.sum().sqrt()
    return Surface(mesh=mesh, eigenfunctions=scaled.float(), eigenvalues=pairs.values[0, 1:].float())


def given_distance(data: Path) -> Distance | None:
    """Return the network in a folder that compares pictures (.pt2, torch.export), or None if there is none.

    Raises:
        ValueError: for several such files, and for one that does not compare two pictures.
    """
    files = sorted(data.glob("*.pt2"))
    if not files:
        return None
    pictures = torch.zeros(1, 3, SIDE, SIDE)
    try:
        if len(files) > 1 or not is_zipfile(check_file(files[0])):
            raise ValueError("one file that torch.export.save wrote")
        network: Distance = torch.export.load(files[0]).module()
        with torch.no_grad():
            # Exported with one tensor as both pictures, a network compares the first with itself.
            if not float(network(pictures, pictures + 1)) > 0:
                raise ValueError("gray and white are equal to it; export it with two different tensors")
    except Exception as error:  # a damaged file, or another network, makes torch raise errors of any type
        reason = in_a_line(error)[:200]
        raise ValueError(
            f"expected in {data} one network (.pt2) that compares two pictures of the shape "
            f"{tuple(pictures.shape)} by a number, got {', '.join(each.name for each in files)} ({reason}): "
            "export it anew, or take it away"
        ) from error
    return network


def fit(field: Field, surface: Surface, training: list[View], cell: TextureRun) -> None:
    """Minimize the mean absolute error of colors; Adam's rate rises for a tenth of the steps, then falls."""
    colors = torch.cat([surface.colors(seen) for seen in training])
    together = View(
        pixels=torch.cat([seen.pixels for seen in training]),
        faces=torch.cat([seen.faces for seen in training]),
        weights=torch.cat([seen.weights for seen in training]),
        side=cell.side,
    )
    optimizer = torch.optim.Adam(field.parameters(), lr=cell.learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, cell.learning_rate, cell.steps + 1, pct_start=0.1, cycle_momentum=False
    )
    order = _passes(len(colors), cell.batch_size, torch.Generator().manual_seed(cell.seed))
    field.train()
    for _, chosen in zip(range(cell.steps), order, strict=False):
        loss = (field(surface.at(together, chosen)) - colors[chosen]).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    field.eval()


def rendered(
    field: Field, surface: Surface, seen: View, signs: Float[Tensor, " k"] | None = None
) -> Float[Tensor, "n 3"]:
    """Return the colors that a network gives to the points that a camera sees.

    Args:
        field: fitted network.
        surface: surface that it was fitted to.
        seen: points.
        signs: factors of the eigenfunctions; None for 1.
    """
    with torch.no_grad():
        count = max(1, ENTRIES_AT_ONCE // len(surface.eigenvalues))
        parts = [
            field(surface.at(seen, chosen) if signs is None else surface.at(seen, chosen) * signs)
            for chosen in torch.arange(len(seen.pixels)).split(count)
        ]
    return torch.cat(parts)


def compared(
    ours: Float[Tensor, "n 3"], true: Float[Tensor, "n 3"], seen: View, distance: Distance | None = None
) -> tuple[float, ...]:
    """Return PSNR on the mesh, in dB, and a hundred times DSSIM and `distance` of the picture.

    Args:
        ours: colors of the points that a camera sees.
        true: true colors of these points.
        seen: points.
        distance: network that compares pictures; None measures no distance.
    """
    mine, picture = (seen.picture(each).permute(2, 0, 1)[None] for each in (ours, true))
    similarity = ssim(mine, picture, WINDOW).mean()
    found = float(psnr(ours, true, 1.0)), float(100 * (1 - similarity) / 2)
    if distance is None:
        return found
    with torch.no_grad():
        return *found, 100 * float(distance(2 * mine - 1, 2 * picture - 1))


def _passes(count: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield batches of shuffled numbers, pass after pass."""
    while True:
        for chosen in torch.randperm(count, generator=generator).split(size):
            if len(chosen) > 1:
                yield chosen
