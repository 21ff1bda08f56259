"""Which rows are positives of each other in an epoch, and how many such pairs there always are."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tammes.data.texts import Texts
from tammes.positives import Active, Neighbors, SameClass, SameInstance, Targeted
from tammes.training.config import OF_ITSELF
from tammes.training.examples import Data
from tammes.training.seeds import Purpose, derive


class UnpairedWarning(UserWarning):
    """Some rows have no positive, and are not trained on."""


Positives = SameInstance | SameClass | Neighbors | Active | Targeted


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairing:
    """The pairs of every epoch, drawn from the seed and the number of the epoch alone.

    Args:
        positives: how rows are paired.
        labels: int64 (n,), the class or document of each row.
        positions: int64 (n,), the place of each row in its document, or None.
        seed: of the run.
        noun: what the rows are called, in messages.

    Example:
        >>> pairing = Pairing(positives=SameClass(), labels=torch.tensor([0, 0, 1, 1, 1]), seed=0)
        >>> len(pairing), pairing.epoch(7).shape
        (2, torch.Size([2, 2]))
    """

    positives: Positives
    labels: Tensor
    positions: Tensor | None = None
    seed: int
    noun: str = "rows"

    @classmethod
    def of(cls, data: Data, positives: Positives, *, seed: int) -> "Pairing":
        """The pairs of these images or texts.

        Raises:
            ValueError: where they have no labels to pair by, or no reading order.
        """
        labels, positions, noun = data.labels, None, "images"
        if isinstance(data, Texts):
            positions, noun = data.positions, "sentences"
        if isinstance(positives, SameClass) and labels is None:
            raise ValueError(
                f"SameClass pairs {noun} of one class, but these have no labels: give them labels, "
                "or choose other positives"
            )
        if isinstance(positives, Neighbors) and positions is None:
            raise ValueError(
                f"Neighbors pairs adjacent sentences, but {noun} have no reading order: choose "
                "SameClass() or SameInstance()"
            )
        if labels is None:
            labels = torch.zeros(len(data), dtype=torch.int64)
        return cls(positives=positives, labels=labels, positions=positions, seed=seed, noun=noun)

    def epoch(self, number: int) -> Tensor:
        """int64 (pairs, 2): rows of anchors and their positives, in the order in which they come."""
        seed = derive(self.seed, Purpose.ORDER, number)
        if isinstance(self.positives, Neighbors):
            return self.positives.pairs(self.labels, seed=seed, positions=self.positions)
        return self.positives.pairs(self.labels, seed=seed)

    def __len__(self) -> int:
        """How many pairs every epoch has at least."""
        if isinstance(self.positives, Neighbors):
            return self.positives.fewest(self.labels, positions=self.positions)
        return len(self.epoch(0))

    @property
    def alone(self) -> int:
        """How many rows have nobody to be paired with in any epoch."""
        if isinstance(self.positives, Neighbors):
            return len(self.positives.unpaired(self.labels, positions=self.positions))
        return len(self.positives.unpaired(self.labels))

    @property
    def words(self) -> str:
        """How much there is to learn from, in words."""
        pairs = "" if isinstance(self.positives, OF_ITSELF) else "pairs of "
        return f"{len(self)} {pairs}{self.noun}"
