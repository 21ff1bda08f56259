"""Options of the head, completed by the head that suits the data."""

import pytest

from tammes.cli.options.head import HeadOptions
from tammes.encoders import ProjectionHeadConfig, ShortcutHeadConfig

PHOTOGRAPHS = ProjectionHeadConfig(batch_norm=True)


def test_what_is_left_open_is_that_of_the_data() -> None:
    assert HeadOptions().completed(PHOTOGRAPHS) is PHOTOGRAPHS
    assert HeadOptions().completed(ShortcutHeadConfig()) == ShortcutHeadConfig()
    assert HeadOptions().completed(None) is None
    assert HeadOptions(layers=3).completed(PHOTOGRAPHS) == ProjectionHeadConfig(layers=3, batch_norm=True)


@pytest.mark.parametrize("usual", [None, ShortcutHeadConfig()])
def test_of_another_head_nothing_is_taken(usual: ShortcutHeadConfig | None) -> None:
    assert HeadOptions(dim=16).completed(usual) == ProjectionHeadConfig(dim=16)


@pytest.mark.parametrize("usual", [ProjectionHeadConfig(), PHOTOGRAPHS])
def test_normalization_is_chosen_or_left_out(usual: ProjectionHeadConfig) -> None:
    assert HeadOptions(batch_norm=True).completed(usual) == PHOTOGRAPHS
    assert HeadOptions(no_batch_norm=True).completed(usual) == ProjectionHeadConfig()


def test_a_choice_that_excludes_itself_is_refused_as_is_a_wrong_number() -> None:
    with pytest.raises(ValueError, match=r"--head\.batch-norm and --head\.no-batch-norm exclude each other"):
        HeadOptions(batch_norm=True, no_batch_norm=True)
    with pytest.raises(ValueError, match="dim must be an integer of at least 1, got 0"):
        HeadOptions(dim=0)


def test_a_given_option_is_named() -> None:
    assert HeadOptions().flag is None
    assert HeadOptions(no_batch_norm=True).flag == "--head.no-batch-norm"
