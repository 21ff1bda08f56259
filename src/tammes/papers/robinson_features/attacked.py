"""Encoders with a linear readout, as functions from images to logits that attacks follow."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from tammes.data import Images, as_floats
from tammes.evaluation import LabeledFeatures, LinearProbe, LinearReadout
from tammes.training import Model, embed

PROBE = LinearProbe(iterations=500)


def pixels_of(images: Images) -> Float32[Tensor, "n channels size size"]:
    """Return all pixels of images, in [0, 1]."""
    return as_floats(images.batch(range(len(images))))


def readout_of(model: Model, images: Images) -> tuple[LinearReadout, Callable[[Tensor], Tensor]]:
    """Train a linear readout on images without augmentation, and put it on top of the encoder.

    Args:
        model: encoder and head, which is left out.
        images: images with classes.

    Returns:
        The readout, and the function from images to its logits.
    """
    features = embed(model, images)[0]
    readout = PROBE.fit(LabeledFeatures(features=features, labels=images.required_labels()))
    model.eval()
    return readout, lambda pixels: readout.logits(model.encoder(pixels))


def features_of(
    model: Model, pixels: Float32[Tensor, "n channels size size"]
) -> Float32[Tensor, "n features"]:
    """Return the features of images in [0, 1], in evaluation mode."""
    model.eval()
    with torch.inference_mode():
        return torch.cat([model.encoder(some) for some in pixels.split(512)])


def places_of(readout: LinearReadout, labels: Int64[Tensor, " n"]) -> Int64[Tensor, " n"]:
    """Return the index of the logit of each label.

    Raises:
        ValueError: a label that the readout was not trained on.
    """
    if not bool(torch.isin(labels, readout.classes).all()):
        raise ValueError("expected test images of the classes that the readout was trained on")
    return torch.searchsorted(readout.classes, labels)
