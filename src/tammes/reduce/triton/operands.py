"""What the kernels read: both sides of S as they lie on the device, and how a sweep over S is launched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.negatives import Negatives
from tammes.reduce.subset_sampling import row_keys
from tammes.reduce.triton.launch import Launch, Product, launch_for, strips_for
from tammes.reduce.triton.strips import Strip, strip_gradients

MOST = 2**30 - 2**16
"""The most rows, and columns, of S: kernels number them, and the 2n numbers before those of a third exponent,
in 32 bits, with room for the last tile."""
MOST_PARTS = 65_535
"""The most programs of a GPU along the axis of parts."""
MOST_FEATURES = 16 * MOST_PARTS
"""The most features: a program of a backward pass gathers at least 16 of them."""


def check_sizes(n: int, m: int, d: int) -> None:
    """Check that kernels can number the rows, the columns and the features.

    Args:
        n: number of anchors.
        m: number of candidates.
        d: number of features.

    Raises:
        ValueError: for more than 2^30 - 2^16 anchors or candidates, or more than 1,048,560 features.
    """
    instead = "give the objective an engine=Tiled()"
    if max(n, m) > MOST:
        raise ValueError(
            f"expected at most {MOST:,} anchors and candidates, which is what the kernels can number, got "
            f"{n:,} and {m:,}: {instead}, or a smaller batch"
        )
    if d > MOST_FEATURES:
        raise ValueError(
            f"expected at most {MOST_FEATURES:,} features, which is what the kernels can number, got {d:,}: "
            f"{instead}"
        )


@dataclass(frozen=True, kw_only=True)
class Side:
    """Embeddings of one side of S, and for each the range of the other side that is no negative of it.

    Attributes:
        embeddings: `(n, d)`, rounded for the products, with zeros up to a number of features that 16 divides.
        starts: `(n,)`, the first row of the other side that is no negative.
        stops: `(n,)`, one past the last.
    """

    embeddings: Float[Tensor, "n d"]
    starts: Int[Tensor, " n"]
    stops: Int[Tensor, " n"]


@dataclass(frozen=True, kw_only=True)
class Operands:
    """Both sides of S, and the random subset of each anchor's negatives.

    Attributes:
        anchors: the rows of S.
        candidates: the columns; None where they are the anchors.
        bound: bound on |s_ij|.
        keys: `(n,)`, the key of each anchor's tickets; None without a subset.
        winners: `(n,)`, the largest ticket that wins; None likewise.
        product: type in which embeddings are multiplied.
        launch: shape of the programs of forward passes; None chooses it by the size.
        backward: likewise of backward passes.
    """

    anchors: Side
    candidates: Side | None
    bound: float
    keys: Int[Tensor, " n"] | None
    winners: Int[Tensor, " n"] | None
    product: Product
    launch: Launch | None
    backward: Launch | None

    @staticmethod
    def of(
        negatives: Negatives, product: Product, launch: Launch | None, backward: Launch | None
    ) -> Operands:
        """Return the operands of detached negatives.

        Raises:
            ValueError: for more rows, columns or features than the kernels can number.
        """
        check_sizes(*negatives.shape, negatives.anchors.shape[1])
        keys = winners = candidates = None
        if negatives.subset is not None:
            assert negatives.rows is not None
            keys, winners = row_keys(negatives.seed, negatives.rows), negatives.threshold
        if not negatives.symmetric:
            candidates = _side(negatives.all_by_keys().transposed(), product)
        return Operands(
            anchors=_side(negatives, product),
            candidates=candidates,
            bound=negatives.bound,
            keys=keys,
            winners=winners,
            product=product,
            launch=launch,
            backward=backward,
        )

    @property
    def nothing(self) -> Tensor:
        """A tensor for an argument that the kernel does not read."""
        return self.anchors.starts

    def launch_of(self, *, gathers: bool) -> Launch:
        """Return the shape of the programs of a forward pass, or of a backward pass that gathers."""
        given = self.backward if gathers else self.launch
        if given is not None:
            return given
        embeddings = self.anchors.embeddings
        return launch_for(embeddings.shape[1], self.product, embeddings.device, gathers=gathers)

    def strips(self) -> Launch | None:
        """Return the shape of programs that write slopes strip by strip; None for those that gather."""
        if self.backward is not None:
            return self.backward if self.backward.strip else None
        embeddings = self.anchors.embeddings
        return strips_for(embeddings.shape[1], self.product, embeddings.device)

    def constants(self, launch: Launch, *, gathers: bool) -> dict[str, Any]:
        """Return the arguments with which every kernel is compiled."""
        d = self.anchors.embeddings.shape[1]
        compiled = {
            "ROWS": launch.rows,
            "COLUMNS": launch.columns,
            "DEPTH": launch.depth,
            # All features at once; in a backward pass the same tile then also serves the gradient.
            "WHOLE": d <= launch.depth and (not gathers or launch.depth == launch.width),
            "PRECISION": self.product.precision,
            "num_warps": launch.warps,
            "num_stages": launch.stages,
            "enable_fp_fusion": True,  # Triton 3.9 asks to say so
        }
        if gathers:
            compiled |= {"WIDTH": launch.width, "ROUNDED": self.product.rounds_slopes}
        return compiled

    def rows(self, *, parts: int = 1) -> Sweep:
        """Return the forward sweep: each anchor's row of S, for `parts` numbers of each anchor."""
        return self._sweep(True, False, gathers=False, parts=parts)

    def gradients(
        self, run: Callable[[Sweep, Tensor], None], *, wanted: tuple[bool, ...]
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return the gradients in the anchors and in the candidates.

        Where the candidates are the anchors, one gradient adds up both sides, and the second is None. Few
        features are gathered in a sweep for each side, many from strips of slopes.

        Args:
            run: function that launches a kernel: one that writes to its second argument d loss / d embeddings
                of the side whose rows the sweep owns, or one that writes the slopes of the sweep's strip.
            wanted: whether the anchors, and the candidates, want a gradient.
        """
        strips = self.strips()
        if strips is not None:
            return strip_gradients(
                self.anchors.embeddings,
                None if self.candidates is None else self.candidates.embeddings,
                strips,
                lambda strip: run(self._strip_sweep(strip, strips), strip.slopes),
                wanted=wanted,
            )

        def gradient(*, mine_are_anchors: bool, others_are_anchors: bool) -> Tensor:
            d = self.anchors.embeddings.shape[1]
            sweep = self._sweep(mine_are_anchors, others_are_anchors, gathers=True, parts=-(-d // width))
            out = sweep.empty(sweep.sizes[0], d)
            run(sweep, out)
            return total(out)

        width = self.launch_of(gathers=True).width
        if self.candidates is None:
            return gradient(mine_are_anchors=True, others_are_anchors=True), None
        return (
            gradient(mine_are_anchors=True, others_are_anchors=False) if wanted[0] else None,
            gradient(mine_are_anchors=False, others_are_anchors=True) if wanted[1] else None,
        )

    def _strip_sweep(self, strip: Strip, launch: Launch) -> Sweep:
        symmetric = self.candidates is None
        whole = self._sweep(True, symmetric, gathers=False, parts=1, launch=launch)
        constants = whole.constants | {"MINE_ARE_ANCHORS": True, "OTHER_ARE_ANCHORS": symmetric}
        sizes = *whole.sizes[:3], strip.top, strip.left, strip.blocks, strip.stride
        return Sweep(grid=strip.grid, tensors=whole.tensors, sizes=sizes, constants=constants)

    def _sweep(
        self,
        mine_are_anchors: bool,
        others_are_anchors: bool,
        *,
        gathers: bool,
        parts: int,
        launch: Launch | None = None,
    ) -> Sweep:
        candidates = self.anchors if self.candidates is None else self.candidates
        mine = self.anchors if mine_are_anchors else candidates
        other = self.anchors if others_are_anchors else candidates
        (n, d), m = mine.embeddings.shape, len(other.embeddings)
        launch = launch or self.launch_of(gathers=gathers)
        splits = launch.splits(n, m, parts)
        drawn = self.keys is not None and self.winners is not None
        constants = self.constants(launch, gathers=gathers) | {"SUBSET": drawn}
        if gathers:
            constants |= {"MINE_ARE_ANCHORS": mine_are_anchors, "OTHER_ARE_ANCHORS": others_are_anchors}
        keys, winners = (self.keys, self.winners) if drawn else (self.nothing, self.nothing)
        return Sweep(
            grid=(-(-n // launch.rows), splits, parts),
            tensors=(mine.embeddings, other.embeddings, mine.starts, mine.stops, keys, winners),
            sizes=(n, m, d, splits),
            constants=constants,
        )


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One pass over S by a kernel: each program owns some rows, and walks along a part of the columns.

    Attributes:
        grid: blocks of rows, splits of the columns, and parts (of the features, or numbers for each row); of
            a strip its tiles.
        tensors: embeddings of the rows and of the columns, ranges, keys and winners, in the kernels' order.
        sizes: n rows, m columns, d features, and the splits; of a strip its place instead of the splits.
        constants: arguments with which the kernel is compiled.
    """

    grid: tuple[int, ...]
    tensors: tuple[Tensor | None, ...]
    sizes: tuple[int, ...]
    constants: dict[str, Any]

    @property
    def gathers(self) -> bool:
        """Whether it is a backward pass whose programs gather the gradient, and write no slopes."""
        return "WIDTH" in self.constants

    def empty(self, *shape: int) -> Tensor:
        """Return room for float32 numbers of this shape from each split, to be added up."""
        embeddings = self.tensors[0]
        assert embeddings is not None
        return embeddings.new_empty(self.sizes[3], *shape, dtype=torch.float32)


def total(out: Float[Tensor, "s n d"]) -> Float[Tensor, "n d"]:
    """Return the sum over the splits."""
    return out[0] if len(out) == 1 else out.sum(dim=0)


def _side(negatives: Negatives, product: Product) -> Side:
    starts, stops = negatives.ranges.words
    return Side(embeddings=product.rounded(negatives.anchors), starts=starts, stops=stops)
