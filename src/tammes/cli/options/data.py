"""The data on the command line: images or texts, and the part held out for measuring."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro

from tammes.checks import check_number
from tammes.cli.options.images import has_own_test_images, load_parts
from tammes.cli.options.texts import TextFormat, looks_like_texts
from tammes.data import Images, Texts, folder
from tammes.training import Data, ImagesSummary, TextsSummary
from tammes.training.seeds import Purpose, derive

Shape = tuple[int, int]
"""Height and width of images in pixels, and their channels."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Images or texts.

    Args:
        data: `digits` (scikit-learn's scans, nothing to download); CIFAR-10, MNIST or SVHN in their
            published files; a folder of images, where a folder in it for each class gives labels; or texts:
            a folder of plain-text files, each a document with a sentence a line, one such file, a table
            (CSV, TSV, JSONL, parquet), or a Hugging Face data set (hub:owner/name, or a folder where it was
            saved).
        strict: Refuse a folder or table that holds anything else, instead of leaving it out.
        format: Format of texts.
    """

    data: str
    strict: bool = False
    format: Annotated[TextFormat, tyro.conf.arg(name="")] = field(default_factory=TextFormat)

    @property
    def are_texts(self) -> bool:
        """Whether the data are texts, judged by their files."""
        return not has_own_test_images(self.data) and looks_like_texts(self.data, self.format)

    def load(self, shape: Shape | None) -> tuple[Data, ...]:
        """Load all data: two parts of the digits or a published set, one part of texts or a folder.

        Args:
            shape: size in pixels and channels of images; None for texts.

        Raises:
            ValueError: for data that cannot be loaded, or options of texts given for images.
        """
        if shape is not None:
            self.format.check_unused(f"{self.data} holds images")
            if has_own_test_images(self.data):
                return load_parts(self.data, *shape)
        return (self._part(self.data, shape),)

    def _part(self, path: str, shape: Shape | None) -> Data:
        if shape is None:
            return self.format.load(path, strict=self.strict)
        size, channels = shape
        return folder(path, size=size, channels=channels, strict=self.strict)

    def shape_like(self, summary: ImagesSummary | TextsSummary) -> Shape | None:
        """Return the shape of the images that a run was trained on; None for texts.

        Raises:
            ValueError: for data of the other kind, or no data.
        """
        trained_on_texts = isinstance(summary, TextsSummary)
        if trained_on_texts != self.are_texts:
            if not (self.are_texts or has_own_test_images(self.data) or Path(self.data).exists()):
                raise ValueError(f"found nothing at {self.data}")
            kinds = "texts", "images"
            was, now = kinds if trained_on_texts else kinds[::-1]
            raise ValueError(f"the run was trained on {was}, but {self.data} holds {now}: name {was}")
        return None if isinstance(summary, TextsSummary) else (summary.size, summary.channels)


@dataclass(frozen=True, kw_only=True)
class Split(Source):
    """Data to train on, and data to measure on.

    Args:
        test: Labeled data of the same kind to measure on, with the same classes.
        held_out: Without --test, the part of each class of labeled data that is kept for measuring and not
            trained on; 0 trains on everything and measures nothing.
    """

    test: Path | None = None
    held_out: float = 0.1

    def __post_init__(self) -> None:
        reason = "it is the part of each class that is kept for measuring"
        check_number("--held-out", self.held_out, minimum=0, below=1, reason=reason)

    def split(self, shape: Shape | None) -> tuple[Data, Data | None]:
        """Load training data and, if they have labels, test data.

        Args:
            shape: size in pixels and channels of images; None for texts.

        Raises:
            ValueError: for data that cannot be loaded or split like this.
        """
        train, *own_test = self.load(shape)
        if self.test is None:
            return (train, own_test[0]) if own_test else self._hold_out(train)
        if own_test:
            raise ValueError(f"{self.data} has its own test images: leave --test out")
        return train, _same_classes(train, self._part(str(self.test), shape))

    def _hold_out(self, data: Data) -> tuple[Data, Data | None]:
        if data.labels is None or self.held_out == 0:
            return data, None
        try:
            data.required_labels()
        except ValueError as error:
            raise ValueError(f"{error}; to train on all of them and measure nothing, --held-out 0") from error
        return hold_out(data, self.held_out)


def hold_out(data: Data, fraction: float) -> tuple[Data, Data]:
    """Split labeled data, class by class, in the same way every time.

    Args:
        data: labeled data.
        fraction: share of each class to hold out, in (0, 1), rounded; at least one row of each class that
            keeps enough for training: an image, or a pair of sentences.

    Returns:
        The training data, and the data held out.

    Raises:
        ValueError: for a fraction outside (0, 1), or if one of the two would be empty.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must be above 0 and below 1, got {fraction}")
    labels = data.required_labels()
    kept = 1 if isinstance(data, Images) else 2
    held: list[int] = []
    for label in labels.unique().tolist():
        rows = (labels == label).nonzero()[:, 0]
        generator = torch.Generator().manual_seed(derive(0, Purpose.HOLDOUT, label))
        count = max(0, min(max(1, round(fraction * len(rows))), len(rows) - kept))
        held += rows[torch.randperm(len(rows), generator=generator)[:count]].tolist()
    chosen = set(held)
    if len(labels[held].unique()) < 2:
        noun = "images" if isinstance(data, Images) else "sentences"
        raise ValueError(
            f"too few {noun} to hold some out of each class: name others by --test, or use --held-out 0"
        )
    rest = [row for row in range(len(data)) if row not in chosen]
    return data.subset(rest), data.subset(sorted(held))


def _same_classes(data: Data, test: Data) -> Data:
    test.required_labels()
    if data.classes is None or test.classes is None or data.classes == test.classes:
        return test
    odd = sorted(set(data.classes) ^ set(test.classes))
    if odd:
        raise ValueError(f"the test data must have the same classes; these differ: {', '.join(odd)}")
    assert isinstance(test, Texts)  # the classes of images are in the order of their names
    assert test.labels is not None
    numbers = torch.tensor([data.classes.index(name) for name in test.classes])
    return replace(test, labels=numbers[test.labels], classes=data.classes)
