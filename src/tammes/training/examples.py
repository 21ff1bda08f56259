"""Training data in the form in which the loop reads them: rows in batches, whatever they are."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from tammes.data.graph_batch import GraphBatch
from tammes.data.graph_set import GraphSet
from tammes.data.graph_stream import GraphStream
from tammes.data.images import Images, as_floats
from tammes.data.mapped_strings import MappedStrings
from tammes.data.model_tokenizer import ModelTokenizer
from tammes.data.node_batch import NodeBatch
from tammes.data.node_set import NodeSet
from tammes.data.stream import StreamPixels
from tammes.data.texts import Texts
from tammes.data.token_cache import MappedTokens, cached_tokens
from tammes.data.tokens import Tokens
from tammes.data.volumes import Volumes
from tammes.encoders import SentenceEncoderConfig
from tammes.positives import Adjacent, Augmentation, GraphAugmentation, Scans
from tammes.training.assets import Assets, new_assets, tokenizer_of
from tammes.training.config import TrainingConfig
from tammes.training.summaries import (
    GraphsSummary,
    ImagesSummary,
    NodesSummary,
    Summary,
    TextsSummary,
    VolumesSummary,
)

Data = Images | Texts | GraphSet | GraphStream | NodeSet | Volumes
Inputs = Tensor | Tokens | GraphBatch
AnyAugmentation = Augmentation | GraphAugmentation | Scans


class CutWarning(UserWarning):
    """Some sentences are longer than the encoder takes, and lose their ends."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """Data and, for texts, their tokens; all that the loop knows of the kind of data.

    Pixels travel as bytes from the worker processes to the device, where `to_inputs` makes floats of them.
    Token ids are held in memory, or mapped into it where the sentences are.

    Args:
        data: n images, n sentences, n graphs, n nodes of a graph or n volumes.
        assets: vocabulary of the texts, or description of the model that reads the data; else None.
        tokens: token ids of the texts; else None.
        fanouts: largest number of neighbors of a node that a batch of nodes reads, at each hop; None for the
            whole graph.
        max_length: tokens of the longest sentence that an encoder of sentences takes; None for any length.

    Example:
        >>> from tammes.data import digits
        >>> examples = Examples.of(digits("train"))
        >>> examples.batch([0, 1]).dtype, to_inputs(examples.batch([0, 1])).shape
        (torch.uint8, torch.Size([2, 1, 8, 8]))
        >>> from tammes.data import Vocabulary
        >>> texts = Texts(sentences=("a cat", "a dog"), names=("1", "2"))
        >>> examples = Examples.of(texts, Vocabulary.of(texts.sentences, minimum_count=1))
        >>> examples.batch([1, 0, 1])
        Tokens(3 sentences, 6 tokens)
    """

    data: Data
    assets: Assets | None = None
    tokens: Tokens | MappedTokens | None = None
    fanouts: tuple[int, ...] | None = None
    max_length: int | None = None

    @classmethod
    def of(cls, data: Data, assets: Assets | None = None) -> "Examples":
        """Prepare data for a model: texts for one with a tokenizer, others for one without.

        Raises:
            ValueError: for data of the other kind.
        """
        tokenizer = tokenizer_of(assets)
        if isinstance(data, Texts):
            if tokenizer is None:
                raise ValueError(
                    f"this model was trained on images, but the data are {data!r}: give it images"
                )
            if isinstance(data.sentences, MappedStrings) and not isinstance(tokenizer, ModelTokenizer):
                return cls(data=data, assets=assets, tokens=cached_tokens(data.sentences, tokenizer))
            return cls(data=data, assets=assets, tokens=tokenizer.encode(data.sentences))
        if tokenizer is not None:
            raise ValueError(f"this model was trained on texts, but the data are {data!r}: give it texts")
        return cls(data=data, assets=assets)

    @classmethod
    def for_training(cls, data: Data, config: TrainingConfig, assets: Assets | None = None) -> "Examples":
        """Prepare data for a run.

        Args:
            data: images, texts, graphs, nodes or volumes.
            config: configuration of the run, whose encoder takes one kind of them.
            assets: what the run has kept to read them; None for a new run, and for all that is built from
                the data.

        Raises:
            ValueError: see `new_assets`.
            ImportError: if a package that reads the data is not installed.
        """
        examples = cls.of(data, new_assets(data, config) if assets is None else assets)
        longest = config.encoder.max_length if isinstance(config.encoder, SentenceEncoderConfig) else None
        return replace(examples, fanouts=config.fanouts, max_length=longest)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def labels(self) -> Tensor | None:
        """int64 (n,), the class of each row; None if the data have no labels."""
        return self.data.labels

    @property
    def cut(self) -> int:
        """Number of sentences that are longer than the model takes, and lose their ends."""
        if self.max_length is not None and self.tokens is not None:
            return int((self.tokens.lengths > self.max_length).sum())
        tokenizer = tokenizer_of(self.assets)
        if not isinstance(tokenizer, ModelTokenizer):
            return 0
        assert isinstance(self.data, Texts)
        assert isinstance(self.tokens, Tokens)
        return tokenizer.count_cut(self.data.sentences, self.tokens)

    def reading_order(self, window: int) -> Tensor:
        """Return int64 (n,), the number of each sentence in reading order, made once; see `Adjacent`."""
        assert isinstance(self.data, Texts)
        if window not in self._reading_orders:
            order = Adjacent(window=window).reading_order(self.data.documents, self.data.positions)
            self._reading_orders[window] = order
        return self._reading_orders[window]

    @cached_property
    def _reading_orders(self) -> dict[int, Tensor]:
        return {}

    @property
    def digest(self) -> str:
        """Checksum of names and labels."""
        digest = hashlib.sha256()
        for place, name in enumerate(self.data.names):
            digest.update((f"\0{name}" if place else name).encode(errors="surrogateescape"))
        if self.labels is not None:
            digest.update(self.labels.numpy().tobytes())
        return digest.hexdigest()[:12]

    def batch(self, rows: Sequence[int]) -> Inputs:
        """Read rows as they are stored: pixels in bytes, token ids, graphs, nodes with neighbors, voxels."""
        if isinstance(self.data, NodeSet):
            return self.data.batch(rows) if self.fanouts is None else self.data.around(rows, self.fanouts)
        if self.tokens is not None:
            return self.tokens.take(torch.tensor(rows, dtype=torch.int64))
        assert isinstance(self.data, Images | GraphSet | GraphStream | Volumes)
        return self.data.batch(rows)

    def summary(self, source: str) -> Summary:
        """Return the description of the data that stands in config.yaml."""
        if isinstance(self.data, Images):
            return ImagesSummary.of(self.data, source)
        if isinstance(self.data, GraphSet | GraphStream):
            return GraphsSummary.of(self.data, source)
        if isinstance(self.data, NodeSet):
            return NodesSummary.of(self.data, source)
        if isinstance(self.data, Volumes):
            return VolumesSummary.of(self.data, source)
        tokenizer = tokenizer_of(self.assets)
        assert tokenizer is not None
        return TextsSummary.of(self.data, tokenizer, source)


def readable(data: Data) -> Data:
    """Return data that may be read often: of a stream, which is read from its beginning each time, a copy."""
    if isinstance(data, GraphStream) or (isinstance(data, Images) and isinstance(data.pixels, StreamPixels)):
        return data.in_memory()
    return data


def to_inputs(stored: Inputs) -> Inputs:
    """Turn stored rows into an encoder's inputs: bytes into floats in [0, 1], others as they are."""
    return as_floats(stored) if isinstance(stored, Tensor) and stored.dtype == torch.uint8 else stored


def changed(
    augmentation: AnyAugmentation,
    inputs: Inputs,
    *,
    seed: int,
    first_row: int = 0,
    batch_size: int | None = None,
    groups: int | None = None,
) -> Inputs:
    """Return a random view of images, volumes or graphs, by an augmentation of their kind."""
    if isinstance(augmentation, GraphAugmentation):
        assert isinstance(inputs, GraphBatch)  # the configuration refuses other kinds
        return augmentation(inputs, seed, first_row=first_row, batch_size=batch_size)
    assert isinstance(inputs, Tensor)
    change = augmentation.view if isinstance(augmentation, Augmentation) else augmentation
    return change(inputs, seed, first_row=first_row, batch_size=batch_size, groups=groups)


def concatenate(first: Inputs, second: Inputs) -> Inputs:
    """Concatenate two batches of inputs of one kind along their rows."""
    if isinstance(first, Tokens):
        assert isinstance(second, Tokens)
        return Tokens.cat([first, second])
    if isinstance(first, NodeBatch):
        assert isinstance(second, NodeBatch)
        return first.beside(second)
    if isinstance(first, GraphBatch):
        assert isinstance(second, GraphBatch)
        return GraphBatch.cat([first, second])
    assert isinstance(second, Tensor)
    return torch.cat([first, second])


def to_rows(inputs: Inputs) -> Tensor:
    """Return inputs as one tensor with a row for each, which `FromRows` turns back: chunks are cut of it."""
    assert not isinstance(inputs, GraphBatch)  # the configuration has no chunks of graphs
    return inputs if isinstance(inputs, Tensor) else inputs.padded()


class FromRows(nn.Module):
    """First layer of a network that is given the rows of `to_rows`."""

    def forward(self, rows: Tensor) -> Inputs:
        """Return the inputs: floats are images or volumes, integers the tokens of sentences."""
        return rows if rows.is_floating_point() else Tokens.of_padded(rows)
