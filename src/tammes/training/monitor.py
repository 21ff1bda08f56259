"""Watching an encoder learn: nearest-neighbor accuracy on held-out data."""

from dataclasses import dataclass

from tammes.evaluation import KNN, LabeledFeatures
from tammes.training.embedding import embed
from tammes.training.examples import Data
from tammes.training.model import Model


@dataclass(frozen=True, kw_only=True, eq=False)
class Monitor:
    """Measures after epochs how often the nearest neighbors of a held-out row name its class.

    Args:
        bank: labeled images or texts that vote.
        held_out: labeled ones that are classified; none of them is trained on.
        every: epochs from one measurement to the next; the first weights and the last are always measured.
        neighbors: how many rows of the bank vote (all of a smaller one).

    Raises:
        ValueError: for data without labels, or of one class.
    """

    bank: Data
    held_out: Data
    every: int = 1
    neighbors: int = 20

    def __post_init__(self) -> None:
        self.bank.required_labels()
        self.held_out.required_labels()
        if self.every < 1:
            raise ValueError(f"every must be at least 1 epoch, got {self.every}")

    def due(self, epoch: int, epochs: int) -> bool:
        """Whether to measure after this epoch of so many; 0 is before the first."""
        return epoch % self.every == 0 or epoch == epochs

    def accuracy(self, model: Model) -> float:
        """The fraction of held-out rows whose class the neighbors name."""
        bank, held_out = (
            LabeledFeatures(features=embed(model, data)[0], labels=data.required_labels())
            for data in (self.bank, self.held_out)
        )
        return KNN(neighbors=min(self.neighbors, len(bank))).accuracy(bank, held_out)
