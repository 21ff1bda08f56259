"""Updates that Sinkhorn's accelerations take to a marginal error of 1e-5, beside plain averaging.

    python benchmarks/sinkhorn_updates.py

Counts do not depend on the machine: they decide which accelerations stay (docs/design.md, Transport). The
vectors are those of `transport.py`, 128 dimensions, float32.
"""

from __future__ import annotations

import math
from unittest import mock

import torch
from torch import Tensor

from machine import description
from method import Size
from tammes.coupling.sinkhorn import loop, scaling, sinkhorn
from tammes.reduce import Exponent, Negatives, choose
from transport import ERROR, clustered, negatives_of, spread

_MOST_ITERATIONS = 500


def updates(negatives: Negatives, epsilon: float) -> dict[str, int]:
    """Return the number of updates by averaging, by relaxed scaling alone and by mixing alone."""
    kernel = Exponent(slope=1 / epsilon)
    start = negatives.anchors.new_full((len(negatives.ranges.keys),), -math.log(len(negatives.ranges.keys)))

    def no_scaling(
        _negatives: Negatives, _kernel: Exponent, start: Tensor, **_: float
    ) -> tuple[Tensor, int, float]:
        return start, 0, math.inf

    def without_scaling() -> int:
        with mock.patch.object(loop, "relaxed_scaling", no_scaling):
            fit = sinkhorn(
                negatives, kernel, choose(negatives), tolerance=ERROR, max_iterations=_MOST_ITERATIONS
            )
        assert fit.iterations is not None
        return fit.iterations

    with mock.patch.object(loop.AndersonMixing, "update", return_value=None):
        averaged = without_scaling()
    with mock.patch.object(scaling, "_IN_CACHE", math.inf):
        _, scaled, error = scaling.relaxed_scaling(
            negatives, kernel, start, tolerance=ERROR, max_iterations=_MOST_ITERATIONS
        )
    assert error <= ERROR
    return {"averaged": averaged, "relaxed scaling": scaled, "mixing": without_scaling()}


def main() -> None:
    """Print the table of docs/design.md: spread vectors / clustered ones."""
    torch.set_num_threads(1)
    print(description())
    print("| pairs | epsilon | averaged | relaxed scaling | mixing |\n|---|---|---|---|---|")
    for pairs in (64, 128, 256, 512, 1024):
        for epsilon in (0.3, 0.1, 0.05):
            size = Size(pairs=pairs, dim=128)
            found = [
                updates(negatives_of(make(size)).detached.keeping(scaling.KEPT), epsilon)
                for make in (spread, clustered)
            ]
            cells = [f"{found[0][name]} / {found[1][name]}" for name in found[0]]
            print(f"| {pairs:,} | {epsilon} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
