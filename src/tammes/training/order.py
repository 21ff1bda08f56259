"""The order in which an epoch visits the images."""

from collections.abc import Iterator

import torch
from torch.utils.data import Sampler

from tammes.training.seeds import Purpose, derive


class Order(Sampler[int]):
    """Every image once per epoch, in an order that depends on the seed and the epoch alone.

    A run that stopped in the middle of an epoch goes on with the batches it has not seen: the first epoch
    to be read leaves out what came before `first_step`.

    Args:
        images: how many images there are.
        batch_size: images per step; the last partial batch of an epoch is dropped.
        seed: the seed of the run.
        first_step: how many steps have been taken before.

    Raises:
        ValueError: for a batch larger than the data.

    Example:
        >>> whole, rest = Order(5, batch_size=2, seed=0), Order(5, batch_size=2, seed=0, first_step=1)
        >>> list(whole)[2:] == list(rest)
        True
    """

    def __init__(self, images: int, *, batch_size: int, seed: int, first_step: int = 0) -> None:
        if batch_size > images:
            raise ValueError(
                f"the batch ({batch_size}) is larger than the data ({images} images): "
                f"choose a batch size of at most {images}"
            )
        self.images = images
        self.seed = seed
        self.epoch, skipped = divmod(first_step, images // batch_size)
        self.skipped = skipped * batch_size

    def set_epoch(self, epoch: int) -> None:
        """Lightning announces each epoch here; the one that was begun before is announced again."""
        if epoch != self.epoch:
            self.epoch, self.skipped = epoch, 0

    def __len__(self) -> int:
        return self.images

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(derive(self.seed, Purpose.ORDER, self.epoch))
        yield from torch.randperm(self.images, generator=generator)[self.skipped :].tolist()
