"""What every kernel reads of the negatives, as it lies on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tammes.reduce.negatives import Negatives
from tammes.reduce.subset_sampling import row_keys
from tammes.reduce.triton.launch import Launch, Product, launch_for


@dataclass(frozen=True, kw_only=True)
class Side:
    """Embeddings, and the range of the other side's rows that are no negatives of each.

    Attributes:
        embeddings: `(n, d)`, rounded for the products.
        starts: `(n,)`, the first row of the other side that is no negative.
        stops: `(n,)`, one past the last.
    """

    embeddings: Float[Tensor, "n d"]
    starts: Int[Tensor, " n"]
    stops: Int[Tensor, " n"]


@dataclass(frozen=True, kw_only=True)
class Operands:
    """Both sides of S, and the lots of the anchors where a subset is drawn.

    Attributes:
        anchors: the rows of S.
        candidates: the columns; None where they are the anchors.
        bound: no |s_ij| is larger.
        keys: `(n,)`, the key of each anchor's tickets; None without a subset.
        winners: `(n,)`, the largest ticket that wins; None likewise.
        product: in which type embeddings are multiplied.
        launch: the shape of the programs if it was prescribed.
    """

    anchors: Side
    candidates: Side | None
    bound: float
    keys: Int[Tensor, " n"] | None
    winners: Int[Tensor, " n"] | None
    product: Product
    launch: Launch | None

    @staticmethod
    def of(negatives: Negatives, product: Product, launch: Launch | None) -> Operands:
        """The operands of detached negatives."""
        keys = winners = None
        if negatives.subset is not None:
            assert negatives.rows is not None
            keys, winners = row_keys(negatives.seed, negatives.rows), negatives.last_winner
        candidates = None
        if not negatives.symmetric:
            candidates = _side(negatives.without_subset().transposed(), product)
        return Operands(
            anchors=_side(negatives, product),
            candidates=candidates,
            bound=negatives.bound,
            keys=keys,
            winners=winners,
            product=product,
            launch=launch,
        )

    @property
    def others(self) -> Side:
        """The candidates, whoever they are."""
        return self.anchors if self.candidates is None else self.candidates

    @property
    def nothing(self) -> Tensor:
        """A tensor where a kernel's argument is not read."""
        return self.anchors.starts

    def launch_of(self, *, gathers: bool) -> Launch:
        """The shape of the programs, of a forward or of a backward pass."""
        if self.launch is not None:
            return self.launch
        embeddings = self.anchors.embeddings
        return launch_for(embeddings.shape[1], self.product, embeddings.device, gathers=gathers)

    def lots(self) -> tuple[Tensor, Tensor]:
        """Keys and winners, or something in their place."""
        if self.keys is None or self.winners is None:
            return self.nothing, self.nothing
        return self.keys, self.winners

    def shape(self, launch: Launch, *, gathers: bool) -> dict[str, Any]:
        """The arguments that say how a kernel is compiled."""
        compiled = {
            "ROWS": launch.rows,
            "COLUMNS": launch.columns,
            "DEPTH": launch.depth,
            "WHOLE": self._is_whole(launch, gathers=gathers),
            "PRECISION": self.product.precision,
            "num_warps": launch.warps,
            "num_stages": launch.stages,
            "enable_fp_fusion": True,  # Triton 3.9 asks to say so
        }
        if gathers:
            compiled |= {"WIDTH": launch.width, "ROUNDED": self.product.rounds_slopes}
        return compiled

    def _is_whole(self, launch: Launch, *, gathers: bool) -> bool:
        d = self.anchors.embeddings.shape[1]
        return d <= launch.depth and (not gathers or launch.depth == launch.width)


def _side(negatives: Negatives, product: Product) -> Side:
    return Side(
        embeddings=product.rounded(negatives.anchors),
        starts=negatives.start.to(torch.int32),
        stops=negatives.stop.to(torch.int32),
    )
