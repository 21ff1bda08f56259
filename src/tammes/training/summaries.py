"""Descriptions of training data in a run's config.yaml, by which a resume recognizes them."""

import hashlib
from dataclasses import dataclass

from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream
from tammes.data.images import Images
from tammes.data.model_tokenizer import ModelTokenizer
from tammes.data.node_set import NodeSet
from tammes.data.subwords import Subwords
from tammes.data.texts import Texts
from tammes.data.vocabulary import Vocabulary
from tammes.data.volumes import Size, Volumes, Window
from tammes.training.shard_order import ShardsSummary

SENTENCES = 8_192
"""Sentences of a checksum that are read at a time."""


@dataclass(frozen=True, kw_only=True)
class ImagesSummary:
    """Description of a run's images, by which a resume recognizes them.

    Args:
        source: Origin of the images in the user's words: "digits", or a folder.
        count: Number of images.
        channels: 1 or 3.
        size: Height and width in pixels.
        shards: Shards in which the images are stored; None for images that are read in any order.

    Example:
        >>> ImagesSummary(source="digits", count=1438, channels=1, size=16).count
        1438
    """

    source: str
    count: int
    channels: int
    size: int
    shards: ShardsSummary | None = None

    @classmethod
    def of(cls, images: Images, source: str) -> "ImagesSummary":
        """Describe images."""
        return cls(
            source=source,
            count=len(images),
            channels=images.channels,
            size=images.size,
            shards=ShardsSummary.of(images),
        )


@dataclass(frozen=True, kw_only=True)
class TextsSummary:
    """Description of a run's texts, by which a resume recognizes them.

    Args:
        source: Origin of the texts in the user's words: a folder, a file, the name of a data set.
        count: Number of sentences.
        documents: Number of documents; 0 if they are not known.
        vocabulary: Number of words in the vocabulary, or of tokens that the tokenizer of a model has.
        digest: Checksum of the sentences, their documents, and the vocabulary or tokenizer.

    Example:
        >>> texts = Texts(sentences=("a cat", "a dog"), names=("1", "2"))
        >>> TextsSummary.of(texts, Vocabulary(words=("[UNK]", "a")), "pets").vocabulary
        2
    """

    source: str
    count: int
    documents: int
    vocabulary: int
    digest: str

    @classmethod
    def of(
        cls, texts: Texts, tokenizer: Vocabulary | Subwords | ModelTokenizer, source: str
    ) -> "TextsSummary":
        """Describe texts and the tokenizer of their encoder."""
        words = tokenizer.words if isinstance(tokenizer, Vocabulary) else (tokenizer.file,)
        digest = hashlib.sha256("\0".join([*words, ""]).encode(errors="surrogatepass"))
        for start in range(0, len(texts), SENTENCES):  # they may be larger than memory
            content = "".join(f"\0{sentence}" for sentence in texts.sentences[start : start + SENTENCES])
            digest.update(content.encode(errors="surrogatepass"))
        if texts.labels is not None:
            digest.update(texts.labels.numpy().tobytes())
        return cls(
            source=source,
            count=len(texts),
            documents=0 if texts.classes is None else len(texts.classes),
            vocabulary=len(tokenizer),
            digest=digest.hexdigest()[:12],
        )


@dataclass(frozen=True, kw_only=True)
class GraphsSummary:
    """Description of a run's graphs, by which a resume recognizes them.

    Args:
        source: Origin of the graphs in the user's words: a folder, an archive.
        count: Number of graphs.
        nodes: Number of nodes of all graphs.
        columns: Names of the features of a node.
        digest: Checksum of nodes, edges and features.
        shards: Shards in which the graphs are stored; None for graphs in memory.

    Example:
        >>> GraphsSummary(source="tu/MUTAG", count=188, nodes=3371, columns=("one",), digest="").count
        188
    """

    source: str
    count: int
    nodes: int
    columns: tuple[str, ...]
    digest: str
    shards: ShardsSummary | None = None

    @classmethod
    def of(cls, graphs: GraphSet | GraphStream, source: str) -> "GraphsSummary":
        """Describe graphs."""
        return cls(
            source=source,
            count=len(graphs),
            nodes=int(graphs.sizes.sum()),
            columns=graphs.columns,
            digest=graphs.digest,
            shards=ShardsSummary.of(graphs) if isinstance(graphs, GraphStream) else None,
        )


@dataclass(frozen=True, kw_only=True)
class NodesSummary:
    """Description of a run's nodes, by which a resume recognizes them.

    Args:
        source: Origin of the graph in the user's words: a folder, a file.
        count: Number of nodes that are trained on.
        nodes: Number of nodes of the graph.
        columns: Names of the features of a node.
        digest: Checksum of the graph, its features and the nodes that are trained on.

    Example:
        >>> NodesSummary(source="nodes:friends", count=90, nodes=100, columns=("one",), digest="").nodes
        100
    """

    source: str
    count: int
    nodes: int
    columns: tuple[str, ...]
    digest: str

    @classmethod
    def of(cls, nodes: NodeSet, source: str) -> "NodesSummary":
        """Describe the nodes of a graph."""
        return cls(
            source=source,
            count=len(nodes),
            nodes=len(nodes.features),
            columns=nodes.columns,
            digest=nodes.digest,
        )


@dataclass(frozen=True, kw_only=True)
class VolumesSummary:
    """Description of a run's volumes, by which a resume recognizes them and others are scaled alike.

    Args:
        source: Origin of the volumes in the user's words: a folder, a file.
        count: Number of volumes.
        size: Depth, height and width in voxels.
        window: Values of the source that became 0 and 1.

    Example:
        >>> VolumesSummary(source="scans", count=90, size=(32, 32, 32), window=(-1000.0, 0.0)).count
        90
    """

    source: str
    count: int
    size: Size
    window: Window

    @classmethod
    def of(cls, volumes: Volumes, source: str) -> "VolumesSummary":
        """Describe volumes."""
        return cls(source=source, count=len(volumes), size=volumes.size, window=volumes.window)


Summary = ImagesSummary | TextsSummary | GraphsSummary | NodesSummary | VolumesSummary
"""Description of data of any kind."""
