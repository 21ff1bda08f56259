"""Masks: exact in number, uniform, independent, repeatable."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from tammes.masked import draw_mask
from tammes.masked.masking import at, hidden_count


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("patches", "rate", "hidden"), [(64, 0.5, 32), (64, 0.75, 48), (9, 1 / 3, 3), (4, 0, 0)]
)
def test_visible_and_hidden_patches_are_all_patches(patches: int, rate: float, hidden: int) -> None:
    mask = draw_mask(50, patches, rate, generator=seeded(0))
    assert mask.hidden.shape == (50, hidden)
    assert mask.patches == patches
    both = torch.cat([mask.visible, mask.hidden], dim=1).sort(dim=1).values
    assert torch.equal(both, torch.arange(patches).expand(50, patches))
    assert bool((mask.visible.diff(dim=1) > 0).all())


def test_every_set_of_patches_is_equally_likely() -> None:
    """Chi-square over the 10 ways to hide 2 of 5 patches."""
    hidden = draw_mask(20_000, 5, 0.4, generator=seeded(0)).hidden
    counts = torch.bincount(5 * hidden[:, 0] + hidden[:, 1], minlength=25)
    assert int((counts > 0).sum()) == 10
    assert chisquare(counts[counts > 0].numpy()).pvalue > 0.001


def test_masks_of_images_are_independent() -> None:
    """Chi-square over the pairs of masks of consecutive images, of one hidden patch in four."""
    hidden = draw_mask(40_000, 4, 0.25, generator=seeded(1)).hidden[:, 0]
    counts = torch.bincount(4 * hidden[::2] + hidden[1::2], minlength=16)
    assert chisquare(counts.numpy()).pvalue > 0.001


@pytest.mark.equal_bits
def test_a_seed_repeats_its_masks_and_goes_on_from_a_saved_state() -> None:
    generator = seeded(3)
    draw_mask(8, 16, 0.5, generator=generator)
    state = generator.get_state()
    second = draw_mask(8, 16, 0.5, generator=generator)
    resumed = torch.Generator()
    resumed.set_state(state)
    assert torch.equal(draw_mask(8, 16, 0.5, generator=resumed).hidden, second.hidden)
    assert not torch.equal(draw_mask(8, 16, 0.5, generator=generator).hidden, second.hidden)


def test_patches_are_taken_by_their_places() -> None:
    patches = torch.rand(2, 6, 3)
    places = torch.tensor([[5, 0], [1, 1]])
    assert torch.equal(at(patches, places), torch.stack([patches[0, [5, 0]], patches[1, [1, 1]]]))


def test_a_rate_hides_a_whole_number_of_patches_and_not_all() -> None:
    assert hidden_count(49, 24 / 49) == hidden_count(49, 0.4898) == 24
    choices = r"choose 0\.49 \(24 of 49\) or 0\.51 \(25 of 49\)$"
    with pytest.raises(ValueError, match=r"0\.5, which is 24\.5 of them; " + choices):
        hidden_count(49, 0.5)
    with pytest.raises(ValueError, match=r"15\.84 of them; choose 0\.938 \(15 of 16\)$"):
        hidden_count(16, 0.99)
    with pytest.raises(ValueError, match="rate must be"):
        hidden_count(49, 1.0)
    with pytest.raises(ValueError, match="rate must be"):
        hidden_count(49, -0.1)
    with pytest.raises(ValueError, match="leaves a patch visible"):
        hidden_count(4, 1 - 1e-9)


@pytest.mark.parametrize("patches", [2, 7, 16, 49, 64, 196, 441])
def test_rates_that_a_message_names_are_accepted(patches: int) -> None:
    for below in range(patches):
        with pytest.raises(ValueError, match="choose") as refused:
            hidden_count(patches, (below + 0.5) / patches)
        named = [part.split(" (") for part in str(refused.value).partition("choose ")[2].split(" or ")]
        assert named
        for rate, count in named:
            assert hidden_count(patches, float(rate)) == int(count.split()[0])
