"""`tammes export`: the encoder of a run in a form that other programs run, without Tammes."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import torch

from tammes.cli.loading import find_in_current_folder
from tammes.cli.options.export import Export
from tammes.cli.output import prepare_output
from tammes.training.summaries import GraphsSummary, ImagesSummary, NodesSummary, VolumesSummary
from tammes.training.trained import TrainedEncoder, load

REGISTRATION = "torch.onnx._internal.exporter._registration"
"""Logger that says four times that torchvision is not installed; no encoder here has its operators."""
EXAMPLES = 2
"""Images of the example that is traced; the exported network takes any number."""


def main(choice: Export) -> None:
    """Export the encoder, and compare what was written with it."""
    prepare_output(choice.out)
    if choice.trust:
        find_in_current_folder()
    encoder = load(choice.run, trust=choice.trust)
    data = encoder.settings.data
    if not isinstance(data, ImagesSummary):
        if isinstance(data, GraphsSummary | NodesSummary):
            raise ValueError(
                f"{choice.run} was trained on graphs, whose sizes no exported network takes: use "
                "tammes.load(path).embed(graphs), or tammes embed"
            )
        if isinstance(data, VolumesSummary):
            raise ValueError(
                f"{choice.run} was trained on volumes, and only encoders of images are exported: use "
                "tammes.load(path).embed(volumes), or tammes embed"
            )
        raise ValueError(
            f"{choice.run} was trained on texts, whose words are looked up outside the network: use "
            "tammes.load(path).embed(sentences), or tammes embed"
        )
    difference = export(encoder, choice.out)
    shape = f"(batch, {data.channels}, {data.size}, {data.size})"
    print(
        f"wrote {choice.out}: images {shape}, float32 in [0, 1], to {encoder.features} features; on random "
        f"images they differ by at most {difference:.0e}"
    )


def export(encoder: TrainedEncoder, out: Path) -> float:
    """Write an encoder of images, run the file, and return the largest difference of its features.

    Args:
        encoder: the trained encoder.
        out: file to write, .onnx or .pt2.

    Raises:
        ImportError: a package that ONNX needs is missing.
        ValueError: the file does not compute the same features.
    """
    data = encoder.settings.data
    assert isinstance(data, ImagesSummary)
    network = encoder.model.encoder
    generator = torch.Generator().manual_seed(0)
    shape = data.channels, data.size, data.size
    example = torch.rand(EXAMPLES, *shape, generator=generator)
    batch = {0: torch.export.Dim("batch", min=1, max=2**20)}
    program = torch.export.export(network, (example,), dynamic_shapes=(batch,))
    others = torch.rand(EXAMPLES + 3, *shape, generator=generator)
    with torch.no_grad():
        expected = network(others)
    found = _as_onnx(program, out, others) if out.suffix == ".onnx" else _as_program(program, out, others)
    difference = float((found - expected).abs().max())
    if not difference <= 1e-3 * max(1.0, float(expected.abs().max())):
        out.unlink()
        raise ValueError(
            f"the exported network computes other features, by up to {difference:.1e}: deleted {out}"
        )
    return difference


def _as_program(program: torch.export.ExportedProgram, out: Path, images: torch.Tensor) -> torch.Tensor:
    torch.export.save(program, out)
    with torch.no_grad():
        features: torch.Tensor = torch.export.load(out).module()(images)
    return features


def _as_onnx(program: torch.export.ExportedProgram, out: Path, images: torch.Tensor) -> torch.Tensor:
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "ONNX needs three packages: python -m pip install onnx onnxruntime onnxscript; --out with .pt2 "
            "needs none"
        ) from error
    registration = logging.getLogger(REGISTRATION)
    level = registration.level
    registration.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"`isinstance\(treespec, LeafSpec\)` is deprecated")
            torch.onnx.export(
                program,
                (),
                str(out),
                input_names=["images"],
                output_names=["features"],
                external_data=False,
                verbose=False,
            )
    finally:
        registration.setLevel(level)
    session = onnxruntime.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {"images": images.numpy()})[0])
