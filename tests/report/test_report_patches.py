"""Pictures of masks and of attention on a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch

from tammes.report import Comparison, Outcome, Pictures
from tammes.report.patches import attention_strips, reconstruction_strips
from tammes.training.pictures import Reconstructions


def test_a_page_without_masks_shows_nothing(comparison: Comparison) -> None:
    assert reconstruction_strips(comparison) == []
    assert attention_strips(comparison) == []


def test_each_image_has_what_was_seen_and_the_stages(
    comparison: Comparison, make_outcome: Callable[..., Outcome]
) -> None:
    pictures = torch.zeros(2, 1, 8, 8, dtype=torch.uint8)
    found = Reconstructions(
        epochs=(1, 4),
        clean=pictures,
        seen=pictures,
        reconstructed=torch.stack([pictures, pictures]),
        denoised=torch.zeros(0, 2, 1, 8, 8, dtype=torch.uint8),
    )
    outcome = replace(make_outcome(), reconstructions=found, attention=np.ones((1, 2, 2, 2)))
    shown = reconstruction_strips(replace(comparison, outcomes=(outcome,)))
    assert len(shown) == 2
    anchor, strips = shown[0]
    assert anchor.alt == "training image 1"
    assert [strip.name for strip in strips] == ["seen by the encoder", "reconstruction after epoch"]
    assert [item.caption for item in strips[1].items] == ["1", "4"]


def test_patches_are_as_bright_as_they_are_attended_to(
    comparison: Comparison, make_outcome: Callable[..., Outcome]
) -> None:
    attention = np.ones((1, 7, 2, 2))
    attention[0, 0, 0, 0] = 3.0
    outcome = replace(make_outcome(), attention=attention)
    assert isinstance(comparison.sample, Pictures)
    square = replace(comparison.sample, images=comparison.sample.images[:, :, :10])
    ((_, strips),) = attention_strips(replace(comparison, sample=square, outcomes=(outcome,)))
    captions = [item.caption for item in strips[0].items]
    assert captions == ["mean", "head 1", "head 2", "head 3", "head 4", "head 5"]
    assert strips[0].items[1].alt == "attention, head 1, up to 3.0"
