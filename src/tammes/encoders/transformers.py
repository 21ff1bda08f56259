"""Encoders that are models of transformers: of texts by their own tokenizer, of images by their own size."""

from __future__ import annotations

import copy
from typing import Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import interpolate

from tammes.data.model_tokenizer import ModelTokenizer
from tammes.data.tokens import Tokens
from tammes.encoders.encoder import Encoder
from tammes.encoders.model_description import ModelDescription

Pooling = Literal["mean", "cls", "last"]
POOLINGS = ("mean", "cls", "last")

_TOGETHER = 64
"""Sentences that go through a model at a time in evaluation."""

_TRIED = 2
"""Rows with which a model is tried once, for the width of its features and the weights that they use."""


def pooled(
    hidden: Float[Tensor, "batch tokens width"],
    is_token: Int64[Tensor, "batch tokens"],
    pooling: Pooling,
) -> Float[Tensor, "batch width"]:
    """Return one vector for each row of tokens.

    Args:
        hidden: a vector for each token.
        is_token: 1 for tokens, 0 for the padding before or behind them.
        pooling: "mean" over the tokens, "cls" for the first of them or "last" for the last.

    Example:
        >>> hidden = torch.tensor([[[1.0], [3.0], [9.0]]])
        >>> [float(pooled(hidden, torch.tensor([[1, 1, 0]]), name)) for name in ("mean", "cls", "last")]
        [2.0, 1.0, 3.0]
    """
    if pooling == "mean":
        weights = is_token.to(hidden.dtype)
        return (hidden * weights[:, :, None]).sum(dim=1) / weights.sum(dim=1, keepdim=True)
    places = torch.arange(hidden.shape[1], device=hidden.device)
    # The largest of equals is the first.
    chosen = (is_token if pooling == "cls" else is_token * (places + 1)).argmax(dim=1)
    return hidden[torch.arange(len(hidden), device=hidden.device), chosen]


class TransformersTextEncoder(Encoder):
    """Model of texts of transformers, whose vectors of tokens are pooled to one for each sentence.

    The sentences of a batch are filled up to the longest of them, on the right, and the padding is masked. So
    features do not depend on the other sentences of the batch, up to rounding. In evaluation, sentences of
    about one length go through the model together.

    Args:
        model: the model, from `input_ids` and `attention_mask` to `last_hidden_state`.
        tokenizer: tokenizer of the model, with whose largest id and longest sentence it is tried.
        pooling: how one vector is made of the vectors of all tokens.
        name: name of the model in messages.

    Raises:
        ValueError: for a model that does not take sentences of this length, or all tokens.
    """

    def __init__(self, model: Any, *, tokenizer: ModelTokenizer, pooling: Pooling, name: str) -> None:
        super().__init__()
        self.model, self.padding, self.pooling = model, tokenizer.padding, pooling
        longest, largest = tokenizer.max_length, tokenizer.largest_id
        ids = torch.full((longest + 1,), largest - int(largest == self.padding))
        tried = Tokens(ids, torch.tensor([0, longest, longest + 1]))
        what = f"sentences of {longest} tokens with ids up to {largest}"
        self.features = _tried(self, tried, name, what)

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch features"]:
        """Return the features of sentences."""
        if self.training or len(tokens) <= _TOGETHER:
            return self._features(tokens)
        # Sentences of about one length, taken together, need little padding.
        order = tokens.lengths.argsort()
        parts = [self._features(tokens.take(rows)) for rows in order.split(_TOGETHER)]
        return torch.cat(parts)[order.argsort()]

    def _features(self, tokens: Tokens) -> Tensor:
        rows = tokens.padded()
        is_token = (rows >= 0).long()
        ids = rows.masked_fill(rows < 0, self.padding)
        hidden: Tensor = self.model(input_ids=ids, attention_mask=is_token).last_hidden_state
        return pooled(hidden, is_token, self.pooling)

    def has_dropout(self) -> bool:
        """Return whether two passes over one sentence differ in training."""
        one = Tokens(torch.full((4,), 0 if self.padding else 1), torch.tensor([0, 2, 4]))
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            first, second = self(one)
        return not torch.equal(first, second)


class TransformersTowers(Encoder):
    """Two models of texts f and g, whose features [f(x), g(x)] are concatenated.

    Both read the tokens of one tokenizer. They begin with the same pretrained weights, or with other random
    ones, and share none.

    Args:
        f: model of sentences, or of anchors.
        g: model of their contexts, or of positives and negatives.
    """

    def __init__(self, f: TransformersTextEncoder, g: TransformersTextEncoder) -> None:
        super().__init__()
        self.networks = nn.ModuleList([f, g])
        self.features = f.features + g.features

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch features"]:
        """Return the features of sentences."""
        return torch.cat([network(tokens) for network in self.networks], dim=1)

    def of_tower(self, tokens: Tokens, tower: int) -> Float[Tensor, "batch d"]:
        """Return the features of one model: 0 for f, 1 for g."""
        features: Tensor = self.networks[tower](tokens)
        return features

    def has_dropout(self) -> bool:
        """Return whether two passes over one sentence differ in training."""
        f = self.networks[0]
        assert isinstance(f, TransformersTextEncoder)
        return f.has_dropout()


class TransformersImageEncoder(Encoder):
    """Model of images of transformers, whose vectors of patches or whose map is pooled to one vector.

    Images are normalized as the model's image processor does. Gray images are repeated for a model of colors.
    If the model does not take images of this size, they are scaled to its own.

    Args:
        model: the model, from `pixel_values` to `last_hidden_state`.
        description: description of the model.
        channels: channels of the images.
        size: height and width of the images in pixels.
        pooling: "mean" over patches or over the map; "cls" for the first vector.
        name: name of the model in messages.

    Raises:
        ValueError: for a model that does not take these images.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(
        self,
        model: Any,
        description: ModelDescription,
        *,
        channels: int,
        size: int,
        pooling: Pooling,
        name: str,
    ) -> None:
        super().__init__()
        self.model, self.pooling = model, pooling
        self.channels = getattr(model.config, "num_channels", channels)
        if channels not in (1, self.channels):
            raise ValueError(
                f"{name} takes images of {self.channels} channels, but these have {channels}: load them with "
                f"{self.channels}"
            )
        # Not saved with the weights: the description has them.
        mean, deviation = description.mean or (0.0,), description.deviation or (1.0,)
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1), persistent=False)
        self.register_buffer("deviation", torch.tensor(deviation).view(-1, 1, 1), persistent=False)
        generator = torch.Generator().manual_seed(0)
        images = torch.rand(_TRIED, channels, size, size, generator=generator)
        self.size = (size, size)
        own = size_of(model.config)
        if own is not None and own != self.size and not self._takes(images):
            self.size = own
        self.features = _tried(self, images, name, f"images of {self.size[0]} x {self.size[1]} pixels")

    def forward(self, images: Float[Tensor, "batch channels size size"]) -> Float[Tensor, "batch features"]:
        """Return the features of images."""
        if images.shape[-2:] != self.size:
            images = interpolate(images, self.size, mode="bilinear", align_corners=False, antialias=True)
        images = ((images - self.mean) / self.deviation).expand(-1, self.channels, -1, -1)
        hidden: Tensor = self.model(pixel_values=images).last_hidden_state
        if hidden.ndim == 3:
            return hidden[:, 0] if self.pooling == "cls" else hidden.mean(dim=1)
        if self.pooling == "cls":
            raise ValueError("it makes a map of features, which has no first token: choose the pooling mean")
        # (batch, features, height, width) -> (batch, features)
        return hidden.mean(dim=(2, 3))

    def _takes(self, images: Tensor) -> bool:
        """Return whether the model takes images of this size; some change for good when they do not."""
        copied = copy.deepcopy(self).eval()
        try:
            with torch.no_grad():
                copied(images)
        except Exception:  # the model's errors may be of any kind
            return False
        return True


def size_of(config: Any) -> tuple[int, int] | None:
    """Return height and width of the images that a model was made for; None if it does not say."""
    size = getattr(config, "image_size", None)
    if isinstance(size, int):
        return size, size
    return (int(size[0]), int(size[1])) if isinstance(size, list | tuple) and len(size) == 2 else None


def _tried(encoder: Encoder, inputs: Any, name: str, what: str) -> int:
    """Return the width of the features, and freeze the parameters that they do not depend on.

    A frozen parameter has no gradient anyway; left to the optimizer, it would have no state to resume from.
    """
    encoder.eval()  # BatchNorm keeps its statistics
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            features, again = encoder(inputs), encoder(inputs)
    except Exception as error:  # the model's errors may be of any kind
        raise ValueError(f"{name} does not take {what}: {' '.join(str(error).split())}") from error
    finally:
        encoder.train()
    if features.ndim != 2 or len(features) != _TRIED or not features.is_floating_point():
        raise ValueError(
            f"{name} must return a vector for each of {_TRIED} rows, got {tuple(features.shape)}"
        )
    if not torch.allclose(features, again, rtol=1e-3, atol=1e-3, equal_nan=True):
        raise ValueError(
            f"{name} makes other features of the same input each time, even in evaluation: turn off in its "
            "config.json what it draws at random, such as mask_ratio"
        )
    used = _leaves(features)
    for parameter in encoder.parameters():
        parameter.requires_grad_(id(parameter) in used)
    return int(features.shape[1])


def _leaves(result: Tensor) -> set[int]:
    """Return the identities of the parameters that a result depends on, found in its graph."""
    ahead, seen, leaves = [result.grad_fn], set(), set()
    while ahead:
        node = ahead.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        ahead.extend(each for each, _ in node.next_functions)
    return leaves
