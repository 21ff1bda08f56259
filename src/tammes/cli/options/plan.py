"""Options of `tammes plan`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tammes.checks import check_integer, check_number
from tammes.cli.options.data import Accelerator
from tammes.cli.options.parsing import Options

# The limit of `tammes.plan`, which imports torch.
_MOST = 1e12


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Predict what the loss will take on your data: time, memory and exchanges between devices.

    Times SimCLR's loss on this machine for some seconds, and counts the rest. Without `--throughput` the
    encoder is not in it: time an epoch on a part of your data.

    tammes plan --rows 1e6 --batch 4096 --devices 8

    tammes plan --rows 1e8 --batch 65536 --dim 512 --devices 64 --rate 430 --throughput 2000

    Args:
        rows: Pairs in the data, one for each image, text or graph.
        batch: Pairs in a batch, of all devices together.
        dim: Features of the embeddings that are compared.
        devices: Devices that share a batch; all are taken to be as quick as this one.
        epochs: Epochs of the training.
        precision: Type of the embeddings.
        accelerator: Device that is timed.
        rate: TFLOP/s in the loss of one GPU (of one CPU with --accelerator cpu), instead of timing this one.
        bandwidth: GB/s that every device receives, and sends, for the time of the exchanges.
        throughput: Pairs a second that the encoder of one device trains on, to add its time.
        json: Print numbers for other programs instead of words.
    """

    rows: int
    batch: int
    dim: int = 128
    devices: int = 1
    epochs: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    accelerator: Accelerator = "auto"
    rate: float | None = None
    bandwidth: float | None = None
    throughput: float | None = None
    json: bool = False

    def __post_init__(self) -> None:
        for name in ("rows", "batch", "dim", "devices", "epochs"):
            fewest = 2 if name == "batch" else 1
            check_integer(f"--{name}", getattr(self, name), minimum=fewest)
            check_number(f"--{name}", getattr(self, name), maximum=_MOST)
        for name in ("rate", "bandwidth", "throughput"):
            if getattr(self, name) is not None:
                check_number(f"--{name}", getattr(self, name), above=0)
                # Beyond these times are infinite, which JSON cannot say.
                check_number(f"--{name}", getattr(self, name), minimum=1 / _MOST, maximum=_MOST)


def parse(words: Sequence[str]) -> Plan:
    """Return what the words after `tammes plan` choose."""
    choice: Plan = Options.of(Plan).parse("plan", words)
    return choice
