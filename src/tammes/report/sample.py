"""Samples that the figures show: held-out pictures, sentences or graphs, in random order."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from markupsafe import Markup
from typing_extensions import override

from tammes.checks import check_indices, check_shape
from tammes.report.markup import picture
from tammes.report.scores import Integers

FEWEST = 4
"""Rows that the figures need."""
LONGEST = 240
"""Length in characters above which a sentence is cut, so that a whole paragraph does not fill the page."""
CONTROLS = dict.fromkeys(set(range(0x20)) - set(map(ord, "\t\n\r")) | set(range(0x7F, 0xA0)), "\ufffd")
"""Control characters, which HTML forbids, and their replacement."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample(ABC):
    """Held-out rows that every figure shows, in random order (figures take the first ones).

    Args:
        labels: (n,) labels from 0; or None.
        classes: name of each label, so that label 3 is classes[3]; or None.
        names: n names of the rows, such as file names, shown on hovering; or None.
        partners: (b,) row that the second view of each of the first b pairs shows; None if both views show
            the same row.
        pair: words for what makes a pair where it is neither two views of one row nor two rows, such as "a
            node and its graph"; or None.
    """

    one: ClassVar[str]
    """Word for one row, such as "picture"."""
    data: ClassVar[str]
    """Word for the data that the sample is drawn from, such as "images"."""

    labels: Integers | None = field(default=None, repr=False)
    classes: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = field(default=None, repr=False)
    partners: Integers | None = field(default=None, repr=False)
    pair: str | None = None

    @property
    @abstractmethod
    def size(self) -> int:
        """Number n of rows."""

    @abstractmethod
    def shown(self, row: int, words: str) -> Markup:
        """Return the markup of a row, with a description."""

    def _check(self) -> None:
        """Raise ValueError for a wrong shape or type, or a label without a class name."""
        kind = type(self).__name__
        if self.size < FEWEST:
            raise ValueError(f"{kind} expected at least {FEWEST} {self.many}, got {self.size}: pass more")
        if self.labels is not None:
            self._check_labels(kind, self.labels)
        if self.names is not None:
            check_shape(f"{kind}.names", (len(self.names),), (self.size,))
        if self.partners is not None:
            check_shape(f"{kind}.partners", self.partners.shape, (None,))
            check_indices(f"{kind}.partners", self.partners, self.size)

    def _check_labels(self, kind: str, labels: Integers) -> None:
        check_shape(f"{kind}.labels", labels.shape, (self.size,))
        if not np.issubdtype(labels.dtype, np.integer):
            raise ValueError(f"{kind}.labels expected integers, got {labels.dtype}: convert them")
        if labels.min() < 0:
            raise ValueError(f"{kind}.labels expected numbers from 0, got {labels.min()}: renumber them")
        if self.classes is not None and labels.max() >= len(self.classes):
            raise ValueError(
                f"{kind}.classes expected a name for label {labels.max()}, got {len(self.classes)} names: "
                "pass one for each label"
            )

    @property
    def many(self) -> str:
        """Word for several rows."""
        return f"{self.one}s"

    @property
    def two_of_a_pair(self) -> str:
        """Words for the two views of a pair."""
        views = f"two views of one {self.one}" if self.partners is None else f"the two {self.many} of a pair"
        return self.pair or views

    def columns(self, pairs: int) -> Integers:
        """Return the row (2 * pairs,) that each first and each second view of the pairs shows."""
        first = np.arange(pairs)
        return np.concatenate([first, first if self.partners is None else self.partners[:pairs]])

    def title(self, row: int) -> str:
        """Return the title of a row: its name, its class, or both; its number if it has neither."""
        words = [] if self.names is None else [_readable(self.names[row])]
        if self.labels is not None:
            words.append(f"class {self.class_name(int(self.labels[row]))}")
        return ", ".join(words) or f"{self.one} {row}"

    def class_name(self, label: int) -> str:
        """Return the name of a class, or its number if it has none."""
        return str(label) if self.classes is None else _readable(self.classes[label])


@dataclass(frozen=True, kw_only=True, eq=False)
class Pictures(Sample):
    """Sample of pictures without augmentation.

    Args:
        images: (n, channels, height, width) pixels, one or three channels.

    Raises:
        ValueError: If a shape or type is wrong, or a label has no class name.

    Example:
        >>> Pictures(images=np.zeros((5, 1, 8, 8), np.uint8)).size
        5
    """

    one: ClassVar[str] = "picture"
    data: ClassVar[str] = "images"
    images: npt.NDArray[np.uint8] = field(repr=False)

    def __post_init__(self) -> None:
        images = self.images
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] not in (1, 3):
            got = f"{images.dtype} {images.shape}"
            raise ValueError(
                f"Pictures.images expected uint8 of shape (n, 1 or 3, height, width), got {got}: multiply "
                "fractions by 255, round and convert them; move the channels before height and width"
            )
        self._check()

    @property
    @override
    def size(self) -> int:
        return len(self.images)

    @override
    def shown(self, row: int, words: str) -> Markup:
        return picture(self.images[row], words)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sentences(Sample):
    """Sample of sentences.

    Args:
        sentences: n sentences.

    Raises:
        ValueError: If a shape or type is wrong, or a label has no class name.

    Example:
        >>> Sentences(sentences=("It rained.", "We stayed.", "They came.", "We ate.")).shown(1, "line 2")
        Markup('<q dir="auto" title="line 2">We stayed.</q>')
    """

    one: ClassVar[str] = "sentence"
    data: ClassVar[str] = "sentences"
    sentences: Sequence[str] = field(repr=False)

    def __post_init__(self) -> None:
        self._check()

    @property
    @override
    def size(self) -> int:
        return len(self.sentences)

    @override
    def shown(self, row: int, words: str) -> Markup:
        sentence = _readable(self.sentences[row])
        if len(sentence) > LONGEST:
            sentence = sentence[:LONGEST].rsplit(" ", 1)[0] + " ..."
        # dir="auto" keeps a right-to-left sentence from changing the direction of the text around it.
        return Markup('<q dir="auto" title="{}">{}</q>').format(words, sentence)


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphSizes(Sample):
    """Sample of graphs, shown by their sizes.

    Args:
        nodes: (n,) number of nodes of each graph.
        edges: (n,) number of edges of each graph.

    Raises:
        ValueError: If a shape or type is wrong, or a label has no class name.

    Example:
        >>> sizes = np.array([3, 4, 5, 6])
        >>> GraphSizes(nodes=sizes, edges=sizes - 1).shown(1, "graph 2")
        Markup('<span title="graph 2">4 nodes, 3 edges</span>')
    """

    one: ClassVar[str] = "graph"
    data: ClassVar[str] = "graphs"
    nodes: Integers = field(repr=False)
    edges: Integers = field(repr=False)

    def __post_init__(self) -> None:
        check_shape("GraphSizes.edges, one number for each graph,", self.edges.shape, self.nodes.shape)
        self._check()

    @property
    @override
    def size(self) -> int:
        return len(self.nodes)

    @override
    def shown(self, row: int, words: str) -> Markup:
        sizes = f"{self.nodes[row]:,} nodes, {self.edges[row]:,} edges"
        return Markup('<span title="{}">{}</span>').format(words, sizes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Degrees(Sample):
    """Sample of nodes of one graph, shown by their numbers of neighbors.

    Args:
        neighbors: (n,) number of neighbors of each node.

    Raises:
        ValueError: If a shape or type is wrong, or a label has no class name.

    Example:
        >>> Degrees(neighbors=np.array([3, 4, 5, 6])).shown(1, "ann")
        Markup('<span title="ann">ann, 4 neighbors</span>')
    """

    one: ClassVar[str] = "node"
    data: ClassVar[str] = "nodes"
    neighbors: Integers = field(repr=False)

    def __post_init__(self) -> None:
        self._check()

    @property
    @override
    def size(self) -> int:
        return len(self.neighbors)

    @override
    def shown(self, row: int, words: str) -> Markup:
        return Markup('<span title="{0}">{0}, {1} neighbors</span>').format(words, f"{self.neighbors[row]:,}")


def _readable(words: str) -> str:
    """Return text that can be written as UTF-8 HTML, with replacements for all other characters."""
    return words.encode("utf-8", errors="replace").decode("utf-8").translate(CONTROLS)
