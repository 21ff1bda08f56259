"""Options of `tammes export`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from tammes.cli.options.parsing import Options


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write the encoder of a run for other programs: ONNX, or PyTorch's own format.

    tammes export runs/mine --out encoder.onnx

    The network takes images (batch, channels, size, size), float32 in [0, 1], scaled and cropped as in
    training, and returns features (batch, features); the batch may have any size.

    Args:
        run: Folder of the run, or its model.safetensors.
        out: File to write: .onnx, which needs the packages onnx and onnxscript, or .pt2 (torch.export).
        trust: Build the network by the code that the run names (encoder:module), which is executed.
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    out: Path
    trust: bool = False

    def __post_init__(self) -> None:
        if self.out.suffix not in (".onnx", ".pt2"):
            raise ValueError(f"--out must end in .onnx or .pt2, got {self.out}")


def parse(words: Sequence[str]) -> Export:
    """Return what the words after `tammes export` choose."""
    choice: Export = Options.of(Export).parse("export", words)
    return choice
