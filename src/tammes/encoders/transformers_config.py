"""Settings of an encoder that is a model of transformers, and where its weights come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from tammes.checks import check_integer, in_a_line
from tammes.encoders.encoder import Encoder
from tammes.encoders.model_description import ModelDescription, import_transformers, silent, tower
from tammes.encoders.transformers import (
    POOLINGS,
    Pooling,
    TransformersImageEncoder,
    TransformersTextEncoder,
    TransformersTowers,
    size_of,
)


class UnavailableWeightsError(ValueError):
    """The pretrained weights of a model cannot be read."""


@dataclass(frozen=True, kw_only=True)
class TransformersConfig:
    """Model of transformers, for texts or images.

    A run keeps the architecture and the tokenizer, so that it can be loaded without the model's folder.
    Code that comes with a model is never executed, and weights are read from safetensors only.

    Args:
        name_or_path: Folder of a model that save_pretrained wrote, or its name on the hub, from where it is
            downloaded.
        pooling: What becomes the feature vector: the mean over the tokens, the first token (cls) or, for
            texts, the last. Of a map of features it is the mean.
        max_length: Tokens of the longest sentence, special tokens included; the rest is cut off. By default
            128, or fewer if the model takes fewer.
        pretrained: Whether to start from the model's weights; else from random ones of its architecture.
        towers: 2 for two models f and g of this architecture, whose features are concatenated: for a sentence
            and its contexts, or an anchor and its positive. 1 for one model.

    Raises:
        ValueError: an empty name, an unknown pooling, a max_length below 1, or other towers than 1 and 2;
            when built, what `ModelDescription.of` refuses.

    Example:
        >>> TransformersConfig(name_or_path="bert-base-uncased", towers=2).pooling
        'mean'
    """

    name_or_path: str
    pooling: Pooling = "mean"
    max_length: int | None = None
    pretrained: bool = True
    towers: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        if not isinstance(self.name_or_path, str) or not self.name_or_path:
            raise ValueError(
                f"name_or_path must be a folder or a name on the hub, as a string, got {self.name_or_path!r}"
            )
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling must be mean, cls or last, got {self.pooling!r}")
        if self.max_length is not None:
            check_integer("max_length", self.max_length, reason="it counts the tokens of a sentence")
        if isinstance(self.towers, bool) or self.towers not in (1, 2):
            raise ValueError(f"towers must be 1 or 2, got {self.towers!r}")

    def check_images(self) -> None:
        """Raise ValueError for a pooling that images do not have, or two towers."""
        if self.pooling == "last":
            raise ValueError("the last token means nothing in an image: choose the pooling mean or cls")
        if self.towers == 2:
            raise ValueError("towers=2 is for texts, a sentence and its contexts: choose towers=1 for images")

    def image_size(self) -> int | None:
        """Return the height of the images that the model was made for; None if it does not say.

        Raises:
            ValueError: see `ModelDescription.of`.
        """
        with torch.device("meta"):
            own = size_of(self.describe(texts=False).build(texts=False).config)
        return None if own is None else own[0]

    def describe(self, *, texts: bool) -> ModelDescription:
        """Read the architecture and, for texts, the tokenizer.

        Raises:
            ValueError: see `ModelDescription.of`.
            ImportError: if transformers is not installed, or too old.
        """
        return ModelDescription.of(self.name_or_path, texts=texts, max_length=self.max_length)

    def build_for_texts(self, description: ModelDescription) -> TransformersTextEncoder | TransformersTowers:
        """Build the encoder, or the two, of sentences that the tokenizer of the description has read.

        Raises:
            ValueError: for weights that cannot be read or do not fit, or a model that does not take the
                tokens.
        """
        if self.towers == 2:
            return TransformersTowers(self._of_texts(description), self._of_texts(description))
        return self._of_texts(description)

    def _of_texts(self, description: ModelDescription) -> TransformersTextEncoder:
        tokenizer = description.tokenizer
        assert tokenizer is not None  # it describes a model of texts
        model, missing = self._model(description, texts=True)
        encoder = TransformersTextEncoder(
            model, tokenizer=tokenizer, pooling=self.pooling, name=self.name_or_path
        )
        self._check_weights(encoder, missing)
        return encoder

    def build_for_images(
        self, description: ModelDescription, *, channels: int, size: int
    ) -> TransformersImageEncoder:
        """Build the encoder of images (batch, channels, size, size).

        Raises:
            ValueError: for weights that cannot be read or do not fit, or a model that does not take these
                images.
        """
        self.check_images()
        model, missing = self._model(description, texts=False)
        encoder = TransformersImageEncoder(
            model, description, channels=channels, size=size, pooling=self.pooling, name=self.name_or_path
        )
        self._check_weights(encoder, missing)
        return encoder

    def _model(self, description: ModelDescription, *, texts: bool) -> tuple[Any, list[nn.Parameter]]:
        """Return the model in training mode, and its parameters that the pretrained weights lack."""
        if not self.pretrained:
            return description.build(texts=texts).train(), []
        try:
            with silent():
                model, read = import_transformers().AutoModel.from_pretrained(
                    self.name_or_path,
                    config=description.config(),
                    use_safetensors=True,
                    trust_remote_code=False,
                    dtype=torch.float32,
                    output_loading_info=True,
                )
        except Exception as error:  # transformers' errors may be of any kind
            reason = in_a_line(error)
            raise UnavailableWeightsError(
                f"the weights of {self.name_or_path} cannot be read (only safetensors are): {reason}"
            ) from error
        parameters = dict(model.named_parameters())
        missing = [parameters[name] for name in read["missing_keys"] if name in parameters]
        return tower(model, texts=texts).train(), missing

    def _check_weights(self, encoder: Encoder, missing: list[nn.Parameter]) -> None:
        """Refuse to start from weights that are random in part, unless the features do not depend on them."""
        random = {id(each) for each in missing if each.requires_grad}
        names = [name for name, each in encoder.named_parameters() if id(each) in random]
        if names:
            raise UnavailableWeightsError(
                f"the weights of {self.name_or_path} lack {len(names)} of those that its architecture has, "
                f"such as {names[0].removeprefix('model.')}: pretrained=False takes the architecture alone"
            )
