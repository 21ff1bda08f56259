"""Time of attention in bfloat16 on a CPU, forward and backward, by each way to compute it.

    python benchmarks/attention.py
    python benchmarks/attention.py --smoke

`attend` is that of the encoders. It takes turns with torch's own kernel, with the three operations of the
formula, whose logits have bfloat16's digits, and with those compiled. Queries, keys and values are parts of
one matrix, as a linear layer gives them. The error is that of the mean and its gradient against float64, over
their root mean square, where logits are around 30.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from machine import description
from tammes.encoders.attention import attend
from timing import side_by_side

SHAPES = (
    (256, 3, 64, 64),
    (256, 3, 32, 64),
    (128, 3, 16, 64),
    (8, 12, 197, 64),
    (8, 6, 256, 64),
    (256, 8, 20, 32),
)
"""Examples, heads, tokens and width of a head: a batch of CAN, SimCLR and MAE, larger images, sentences."""
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def formula(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the mean of the values, by three operations."""
    return torch.softmax(queries * queries.shape[-1] ** -0.5 @ keys.mT, dim=-1) @ values


def step(way: Attend, given: Tensor, gradient: Tensor) -> Tensor:
    """Return the mean of the values of `(batch, tokens, 3, heads, part)`, and its gradient, as one vector."""
    mixed = way(*given.permute(2, 0, 3, 1, 4).unbind(0)).transpose(1, 2)
    (by_given,) = torch.autograd.grad(mixed, given, gradient)
    return torch.cat([mixed.detach().flatten(), by_given.flatten()])


def error(way: Attend, given: Tensor, gradient: Tensor) -> float:
    """Return the relative error of a way against the formula in float64."""
    sharp = (given.detach() * 5.5).requires_grad_()
    exact = step(formula, sharp.detach().double().requires_grad_(), gradient.double())
    return float((step(way, sharp, gradient).double() - exact).norm() / exact.norm())


def main() -> None:
    """Print a row for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--budget", type=float, default=10.0, help="seconds for each row")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes; no result")
    choice = parser.parse_args()
    ways: dict[str, Attend] = {
        "attend": attend,
        "torch's kernel": scaled_dot_product_attention,
        "formula": formula,
        # A smoke test needs no compiler of C++.
        "formula, compiled": torch.compile(
            formula, dynamic=False, backend="eager" if choice.smoke else "inductor"
        ),
    }
    print(description(), end="\n\n")
    print(f"| examples x heads x tokens x width | {' | '.join(['attend, ms', *list(ways)[1:]])} | errors |")
    print("|---|---|---|---|---|---|")
    for examples, heads, tokens, part in ((2, 2, 4, 8),) if choice.smoke else SHAPES:
        generator = torch.Generator().manual_seed(0)
        given = torch.randn(examples, tokens, 3, heads, part, generator=generator).bfloat16().requires_grad_()
        gradient = torch.randn(examples, tokens, heads, part, generator=generator).bfloat16()
        works = {name: partial(step, way, given, gradient) for name, way in ways.items()}
        times = side_by_side(works, 0.1 if choice.smoke else choice.budget)
        over = [f"{each.over(times['attend']):.2f}" for name, each in times.items() if name != "attend"]
        errors = [f"{error(way, given, gradient):.1e}" for way in ways.values()]
        print(
            f"| {examples} x {heads} x {tokens} x {part} | {1e3 * times['attend'].median:.2f} | "
            f"{' | '.join(over)} | {', '.join(errors)} |"
        )


if __name__ == "__main__":
    main()
