"""Watching an encoder learn: nearest-neighbor accuracy on held-out images."""

from dataclasses import dataclass

from tammes.data.images import Images
from tammes.evaluation import KNN, LabeledFeatures
from tammes.training.embedding import embed
from tammes.training.model import Model


@dataclass(frozen=True, kw_only=True, eq=False)
class Monitor:
    """Measures after epochs how often the nearest neighbors of a held-out image name its class.

    Args:
        bank: labeled images that vote.
        held_out: labeled images that are classified; none of them is trained on.
        every: epochs from one measurement to the next; the first weights and the last are always measured.
        neighbors: how many images of the bank vote (all of a smaller one).

    Raises:
        ValueError: for images without labels, or of one class.
    """

    bank: Images
    held_out: Images
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
        """The fraction of held-out images whose class the neighbors name."""
        bank, held_out = (
            LabeledFeatures(features=embed(model, images)[0], labels=images.required_labels())
            for images in (self.bank, self.held_out)
        )
        return KNN(neighbors=min(self.neighbors, len(bank))).accuracy(bank, held_out)
