"""Time of a training step of CAN beside SimCLR and MAE on one Vision Transformer.

    python benchmarks/masked.py
    python benchmarks/masked.py --compile     # and CAN compiled by torch
    python benchmarks/masked.py --bfloat16    # in bfloat16, and with torch's kernel of attention
    python benchmarks/masked.py --smoke

A step draws masks and noise, computes the terms of two views of each image (MAE: of one) and the gradient,
and changes the weights. Methods take turns in one process, on equal views. `all tokens computed` is CAN as
one writes it first: hidden patches are replaced by a token, and go through the encoder with the others. FLOPs
are those of the forward and the backward pass, attention included. CAN must be at least 1.6 times as quick
as SimCLR. Where lightly and timm are installed, lightly's MAE takes part; its tokens are one more, a class
token.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import lightly_mae
from machine import description
from tammes.encoders import VisionTransformerConfig, attention
from tammes.masked import CAN, DecoderConfig, Mask, Weights, draw_mask
from tammes.masked.masking import at
from tammes.training.flops import FlopCount
from timing import side_by_side

REQUIRED = 1.6
"""How many times as quick as SimCLR a step of CAN must be."""
SIMCLR, CAN_HALF, CAN_ALL = "SimCLR", "CAN, half hidden", "CAN, all tokens computed"
MAE_ALONE = "MAE, three quarters hidden, one view"


@dataclass(frozen=True, kw_only=True)
class Size:
    """Network and batch."""

    depth: int = 6
    width: int = 192
    patch: int = 4
    side: int = 32
    batch: int = 64

    @property
    def heads(self) -> int:
        """Heads of the attention, each 64 wide."""
        return self.width // 64 or 1

    @property
    def decoder(self) -> DecoderConfig:
        """Settings of the decoder."""
        return DecoderConfig(width=self.width // 2, depth=2, heads=self.heads)


class AllTokens(nn.Module):
    """CAN whose hidden patches go through the encoder as a token [H], as in a masked language model."""

    def __init__(self, can: CAN) -> None:
        super().__init__()
        self.can = can
        self.token = nn.Parameter(torch.zeros(can.encoder.features))

    def losses(self, view_a: Tensor, view_b: Tensor) -> Tensor:
        can, encoder = self.can, self.can.encoder
        images = torch.cat([view_a, view_b])
        patches = encoder.patches(images)
        mask = draw_mask(len(images), patches.shape[1], can.rate)
        levels = can.noise * torch.rand(len(images))
        noise = levels[:, None, None] * torch.randn(patches.shape)
        is_hidden = torch.zeros(patches.shape[:2], dtype=torch.bool).scatter(1, mask.hidden, True)[..., None]
        tokens = torch.where(is_hidden, self.token, encoder.embedding(patches + noise)) + encoder.position
        for block in encoder.blocks:
            tokens = block(tokens)
        tokens = encoder.norm(tokens)
        share = (~is_hidden).sum(dim=1)
        assert can.projector is not None
        assert can.decoder is not None
        contrast = can.objective(*can.projector((tokens * ~is_hidden).sum(dim=1) / share).chunk(2))
        everything = Mask(torch.arange(patches.shape[1]).expand(len(images), -1), mask.hidden[:, :0])
        predicted = can.decoder(tokens, everything, levels)
        reconstruction = (at(predicted, mask.hidden) - at(patches, mask.hidden)).square().mean()
        denoising = (at(predicted, mask.visible) - at(noise, mask.visible)).square().mean()
        weights = can.weights
        return (
            weights.contrast * contrast
            + weights.reconstruction * reconstruction
            + weights.denoising * denoising
        )


def methods(size: Size, *, compiled: bool) -> dict[str, tuple[nn.Module, Callable[[], Tensor]]]:
    """Return the module of each method, and the function that computes its loss.

    Args:
        size: network and batch.
        compiled: whether CAN compiled by torch takes part.
    """

    def can(weights: Weights, rate: float, noise: float) -> CAN:
        torch.manual_seed(0)
        config = VisionTransformerConfig(
            patch=size.patch, width=size.width, depth=size.depth, heads=size.heads
        )
        encoder = config.build(channels=3, size=size.side)
        return CAN(encoder, weights=weights, rate=rate, noise=noise, decoder=size.decoder)

    a, b = torch.rand(2, size.batch, 3, size.side, size.side, generator=torch.Generator().manual_seed(0))
    full, half = can(Weights.printed(), 0.5, 0.05), AllTokens(can(Weights.printed(), 0.5, 0.05))
    simclr = can(Weights(contrast=1, reconstruction=0), 0.0, 0.0)
    mae = can(Weights(contrast=0, reconstruction=1), 0.75, 0.0)
    found: dict[str, tuple[nn.Module, Callable[[], Tensor]]] = {
        SIMCLR: (simclr, lambda: simclr.losses(a, b).total),
        CAN_HALF: (full, lambda: full.losses(a, b).total),
        MAE_ALONE: (mae, lambda: mae.losses(a).total),
        CAN_ALL: (half, lambda: half.losses(a, b)),
    }
    if compiled:
        quick = can(Weights.printed(), 0.5, 0.05)
        loss = torch.compile(lambda: quick.losses(a, b).total)
        found["CAN, half hidden, compiled"] = (quick, loss)
    if lightly_mae.IS_INSTALLED:
        peer = lightly_mae.MAE(
            side=size.side,
            patch=size.patch,
            width=size.width,
            depth=size.depth,
            heads=size.heads,
            decoder_width=size.decoder.width,
            decoder_depth=size.decoder.depth,
        )
        found["lightly's MAE, three quarters hidden, one view"] = (peer, lambda: peer.loss(a))
    return found


def with_attention_of_torch(loss: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return the function that computes a loss with torch's own kernel of attention."""

    def run() -> Tensor:
        ours, attention.HAS_BFLOAT16 = attention.HAS_BFLOAT16, False
        try:
            return loss()
        finally:
            attention.HAS_BFLOAT16 = ours

    return run


def in_bfloat16(loss: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """Return the function that computes a loss with products in bfloat16."""

    def run() -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss()

    return run


def step(module: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], object]:
    """Return a training step."""
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4, fused=True)

    def run() -> object:
        value = loss()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        return value

    return run


def flops(loss: Callable[[], Tensor]) -> int:
    """Return the floating-point operations of a loss and its gradient, attention included."""
    with FlopCount() as count:
        loss().backward()
    return count.total


def saved(loss: Callable[[], Tensor]) -> float:
    """Return the megabytes that the graph of a loss keeps for its gradient, each storage once."""
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        value = loss()
    del value
    return sum(kept.values()) / 1e6


def main() -> int:
    """Print a table; the exit code is 1 if CAN is not quick enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--budget", type=float, default=90.0, help="seconds for the table")
    parser.add_argument("--compile", action="store_true", help="with CAN compiled by torch")
    parser.add_argument("--bfloat16", action="store_true", help="with products in bfloat16")
    parser.add_argument("--smoke", action="store_true", help="a tiny size; no result, and no verdict")
    choice = parser.parse_args()
    size = Size(depth=1, width=24, side=8, batch=4) if choice.smoke else Size()
    every = methods(size, compiled=choice.compile)
    if choice.bfloat16:
        for name in (SIMCLR, CAN_HALF, MAE_ALONE):
            module, loss = every[name]
            every[f"{name}, torch's attention"] = module, with_attention_of_torch(loss)
        every = {name: (module, in_bfloat16(loss)) for name, (module, loss) in every.items()}
    times = side_by_side(
        {name: step(*each) for name, each in every.items()}, 0.1 if choice.smoke else choice.budget
    )
    print(
        f"{description()}\nViT of {size.depth} blocks of width {size.width}, patches of {size.patch}, "
        f"{size.batch} images of {size.side}x{size.side}, "
        f"{'bfloat16' if choice.bfloat16 else 'float32'}; {lightly_mae.versions()}\n"
    )
    print("| method | step, ms | SimCLR over it | GFLOPs | SimCLR over it | kept for the gradient, MB |")
    print("|---|---|---|---|---|---|")
    host = flops(every[SIMCLR][1])
    for name, (_, loss) in every.items():
        # Compiled kernels are not counted: they do the work of those that they were made from.
        is_compiled = name.endswith("compiled")
        count = flops(every[CAN_HALF][1] if is_compiled else loss)
        print(
            f"| {name} | {1e3 * times[name].median:.1f} | {times[SIMCLR].over(times[name]):.2f} | "
            f"{count / 1e9:.2f} | {host / count:.2f} | {saved(loss):.0f} |"
        )
    if choice.smoke:
        return 0
    quicker = times[SIMCLR].over(times[CAN_HALF])
    print(f"\nCAN is {quicker:.2f} times as quick as SimCLR, required {REQUIRED}")
    return int(quicker < REQUIRED)


if __name__ == "__main__":
    sys.exit(main())
