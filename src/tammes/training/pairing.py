"""Pairs of anchors and positives in each epoch."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int64
from torch import Tensor

from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream
from tammes.data.node_set import NodeSet
from tammes.data.texts import Texts
from tammes.data.volumes import Volumes
from tammes.positives import Active, Adjacent, GivenPairs, Neighbors, SameClass
from tammes.training.config import PositivesConfig
from tammes.training.examples import Data
from tammes.training.kind_rules import VIEWS_OF_ONE_ROW
from tammes.training.seeds import Purpose, derive
from tammes.training.shard_order import Sharded, sharded


class UnpairedWarning(UserWarning):
    """Some rows have no positive, and are left out of training."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairing:
    """Pairs of every epoch, drawn from the seed and the number of the epoch alone.

    Args:
        positives: rule by which rows are paired.
        labels: int64 (n,), the class or document of each row.
        positions: int64 (n,), the place of each row in its document; None without a reading order.
        seed: seed of the run.
        noun: name of the rows in messages.
        sharded: shards of rows that are read in the order of `ShardOrder`; None for rows in any order.
        batch_size: rows of a batch, which for `Adjacent` is a run of contiguous sentences by default.

    Example:
        >>> pairing = Pairing(positives=SameClass(), labels=torch.tensor([0, 0, 1, 1, 1]), seed=0)
        >>> len(pairing), pairing.epoch(7).shape
        (2, torch.Size([2, 2]))
    """

    positives: PositivesConfig
    labels: Int64[Tensor, " n"]
    positions: Tensor | None = None
    seed: int
    noun: str = "rows"
    sharded: Sharded | None = None
    batch_size: int = 1

    @classmethod
    def of(cls, data: Data, positives: PositivesConfig, *, seed: int, batch_size: int = 1) -> "Pairing":
        """Pair the rows of images, texts, graphs or volumes.

        Raises:
            ValueError: for data without the labels or the reading order that the rule needs, or data in
                shards if the rule reads rows beside the anchors.
        """
        labels, positions, noun, shards = data.labels, None, "images", sharded(data)
        if isinstance(data, Texts):
            positions, noun = data.positions, "sentences"
        if isinstance(data, GraphSet | GraphStream | NodeSet):
            noun = "nodes" if isinstance(data, NodeSet) else "graphs"
        if isinstance(data, Volumes):
            noun = "volumes"
        reads_anywhere = isinstance(positives, SameClass) or (
            isinstance(positives, Active) and positives.chooses
        )
        if shards is not None and reads_anywhere:
            instead = "read them into memory" if noun == "graphs" else "decode them into a cache"
            raise ValueError(
                f"{type(positives).__name__} reads {noun} from anywhere, but these are read shard by "
                f"shard: {instead}, or choose SameInstance()"
            )
        if isinstance(positives, SameClass) and labels is None:
            raise ValueError(
                f"SameClass pairs {noun} of one class, but these have no labels: give them labels, "
                "or choose other positives"
            )
        if isinstance(positives, Neighbors | Adjacent) and positions is None:
            raise ValueError(
                f"{type(positives).__name__} pairs adjacent sentences, but {noun} have no reading order: "
                "choose SameClass() or SameInstance()"
            )
        if isinstance(positives, GivenPairs) and not (isinstance(data, Texts) and data.has_given_pairs):
            raise ValueError(
                f"GivenPairs takes the rows of a table of anchors and positives, got {noun}: name the "
                "columns (see tammes.data.triples), or choose other positives"
            )
        if labels is None:
            labels = torch.zeros(len(data), dtype=torch.int64)
        return cls(
            positives=positives,
            labels=labels,
            positions=positions,
            seed=seed,
            noun=noun,
            sharded=shards,
            batch_size=batch_size,
        )

    def epoch(self, number: int) -> Tensor:
        """Return int64 (pairs, 2): rows of anchors and their positives, in the order of the epoch."""
        seed = derive(self.seed, Purpose.ORDER, number)
        if isinstance(self.positives, Adjacent):
            run = self.positives.run or self.batch_size
            rows = self.positives.rows(self.labels, seed=seed, run=run, positions=self.positions)
            return rows[:, None].expand(-1, 2)  # every sentence is an anchor, and its context a candidate
        if isinstance(self.positives, Neighbors):
            return self.positives.pairs(self.labels, seed=seed, positions=self.positions)
        if isinstance(self.positives, GivenPairs):
            assert self.positions is not None
            return self.positives.pairs(self.labels, seed=seed, positions=self.positions)
        return self.positives.pairs(self.labels, seed=seed)

    def batches(self, number: int, size: int) -> Sequence[Tensor]:
        """Return the batches of an epoch, int64 (size, 2) each; those of whole documents may be smaller.

        Args:
            number: number of the epoch.
            size: rows of a batch; the last batch may have fewer.
        """
        if not self.sizes_differ:
            return self.epoch(number).split(size)
        assert isinstance(self.positives, Adjacent)
        seed = derive(self.seed, Purpose.ORDER, number)
        found = self.positives.batches(self.labels, seed=seed, size=size, positions=self.positions)
        return [rows[:, None].expand(-1, 2) for rows in found]

    @property
    def sizes_differ(self) -> bool:
        """Whether batches differ in size, because they are made of whole documents."""
        return isinstance(self.positives, Adjacent) and self.positives.whole_documents

    @property
    def negatives(self) -> Tensor | None:
        """Row (n,) of the negative that the data give for each anchor, int64; None if they give none."""
        if not isinstance(self.positives, GivenPairs):
            return None
        assert self.positions is not None
        return self.positives.negatives(self.labels, positions=self.positions)

    def __len__(self) -> int:
        """Return the smallest number of pairs of any epoch."""
        if isinstance(self.positives, Neighbors):
            return self.positives.fewest(self.labels, positions=self.positions)
        return len(self.epoch(0))

    @property
    def unpaired(self) -> int:
        """Number of rows that have no positive in any epoch."""
        if isinstance(self.positives, Neighbors | Adjacent):
            return len(self.positives.unpaired(self.labels, positions=self.positions))
        return len(self.positives.unpaired(self.labels))

    @property
    def size_in_words(self) -> str:
        """Size of an epoch, for messages."""
        pairs = "" if isinstance(self.positives, VIEWS_OF_ONE_ROW | Adjacent) else "pairs of "
        return f"{len(self)} {pairs}{self.noun}"
