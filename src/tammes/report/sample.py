"""What the figures are about: held-out pictures or sentences, in random order."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from tammes.report.expect import expect_shape
from tammes.report.pictures import picture
from tammes.report.scores import Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample(ABC):
    """The held-out rows that every figure is about, in random order (the figures take the first ones).

    Args:
        labels: (n,) integers, or None where the data have none.
        classes: the name of each label, so that label 3 is classes[3]; or None.
        names: (n) a name for each row, a file name for example, shown on hovering; or None.
        partners: (b,) for the first b rows, the row that the second view of the pair shows; None where
            both views show the same row.
    """

    labels: Integers | None = field(default=None, repr=False)
    classes: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = field(default=None, repr=False)
    partners: Integers | None = field(default=None, repr=False)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number n of rows."""

    @property
    @abstractmethod
    def one(self) -> str:
        """What a row is called."""

    @property
    @abstractmethod
    def data(self) -> str:
        """What the data that it is taken from are called."""

    @abstractmethod
    def shown(self, row: int, words: str) -> Markup:
        """A row as it stands on the page, with words about it."""

    def _check(self) -> None:
        """Raise for a wrong shape or type, or a label without a class name."""
        kind = type(self).__name__
        if self.size < 4:
            raise ValueError(f"{kind} expected at least 4 {self.many}, got {self.size}: hand in more")
        if self.labels is not None:
            self._check_labels(kind, self.labels)
        if self.names is not None and len(self.names) != self.size:
            raise ValueError(
                f"{kind}.names expected {self.size} names, got {len(self.names)}: one per {self.one}"
            )
        if self.partners is not None:
            expect_shape(f"{kind}.partners", self.partners, (None,))
            if self.partners.min() < 0 or self.partners.max() >= self.size:
                raise ValueError(
                    f"{kind}.partners expected rows from 0 to {self.size - 1}, got {self.partners.min()} to "
                    f"{self.partners.max()}"
                )

    def _check_labels(self, kind: str, labels: Integers) -> None:
        expect_shape(f"{kind}.labels", labels, (self.size,))
        if not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(f"{kind}.labels expected integers, got {labels.dtype}: convert them")
        if labels.min() < 0:
            raise ValueError(f"{kind}.labels expected numbers from 0, got {labels.min()}: renumber them")
        if self.classes is not None and labels.max() >= len(self.classes):
            raise ValueError(
                f"{kind}.classes expected a name for label {labels.max()}, got {len(self.classes)} names: "
                "hand in one per label"
            )

    @property
    def many(self) -> str:
        """What several rows are called."""
        return f"{self.one}s"

    @property
    def two_of_a_pair(self) -> str:
        """What the two views of a pair are."""
        return f"two views of one {self.one}" if self.partners is None else f"the two {self.many} of a pair"

    def columns(self, pairs: int) -> Integers:
        """(2 pairs,), the row that each of the first and each of the second views of so many pairs shows."""
        first = np.arange(pairs)
        return np.concatenate([first, first if self.partners is None else self.partners[:pairs]])

    def title(self, row: int) -> str:
        """What one row is called: its name, its class, or both; its number if it has neither."""
        words = [] if self.names is None else [_readable(self.names[row])]
        if self.labels is not None:
            words.append(f"class {self.class_name(int(self.labels[row]))}")
        return ", ".join(words) or f"{self.one} {row}"

    def class_name(self, label: int) -> str:
        """What a class is called: its name, or its number if it has none."""
        return str(label) if self.classes is None else _readable(self.classes[label])


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures(Sample):
    """Pictures, not augmented.

    Args:
        images: (n, channels, height, width) uint8, one or three channels.

    Raises:
        ValueError: for a wrong shape or type, or a label without a class name.

    >>> Pictures(images=np.zeros((5, 1, 8, 8), np.uint8)).size
    5
    """

    images: npt.NDArray[np.uint8] = field(repr=False)

    def __post_init__(self) -> None:
        expect_shape("Pictures.images", self.images, (None, None, None, None))
        if self.images.dtype != np.uint8:
            raise ValueError(
                f"Pictures.images expected uint8, got {self.images.dtype}: "
                "multiply by 255, round, and convert"
            )
        if self.images.shape[1] not in (1, 3):
            raise ValueError(
                f"Pictures.images expected 1 or 3 channels as axis 1, got shape {self.images.shape}: "
                "move the channels before height and width"
            )
        self._check()

    @property
    def size(self) -> int:
        return len(self.images)

    @property
    def one(self) -> str:
        return "picture"

    @property
    def data(self) -> str:
        return "images"

    def shown(self, row: int, words: str) -> Markup:
        return picture(self.images[row], words)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences(Sample):
    """Sentences.

    Args:
        sentences: the sentences.

    Raises:
        ValueError: for a wrong shape or type, or a label without a class name.

    >>> Sentences(sentences=("It rained.", "We stayed.", "They came.", "We ate.")).shown(1, "line 2")
    Markup('<q dir="auto" title="line 2">We stayed.</q>')
    """

    sentences: tuple[str, ...] = field(repr=False)

    def __post_init__(self) -> None:
        self._check()

    @property
    def size(self) -> int:
        return len(self.sentences)

    @property
    def one(self) -> str:
        return "sentence"

    @property
    def data(self) -> str:
        return "sentences"

    def shown(self, row: int, words: str) -> Markup:
        sentence = _readable(self.sentences[row])
        if len(sentence) > LONGEST:
            sentence = sentence[:LONGEST].rsplit(" ", 1)[0] + " ..."
        # Its own direction: a sentence written from right to left turns nothing around but itself.
        return Markup('<q dir="auto" title="{}">{}</q>').format(words, sentence)


LONGEST = 240
"""Letters beyond which a sentence is cut: whole paragraphs would hide what is beside them."""


CONTROLS = dict.fromkeys(set(range(0x20)) - set(map(ord, "\t\n\r")) | set(range(0x7F, 0xA0)), "\ufffd")
"""What HTML forbids and an editor takes for a binary file: a mark for each, as browsers show."""


def _readable(words: str) -> str:
    """A name or sentence that can be written down: either may hold bytes that stand for no letter."""
    return words.encode("utf-8", errors="replace").decode("utf-8").translate(CONTROLS)
