import logging
import warnings

import pytest

from tammes.training.log_filters import LOGGERS, filtered_logs


def test_only_the_named_messages_are_silenced() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with filtered_logs():
            warnings.warn("The 'train_dataloader' does not have many workers which may be", stacklevel=1)
            warnings.warn("something that matters", stacklevel=1)
    assert [str(warning.message) for warning in caught] == ["something that matters"]


@pytest.mark.parametrize("name", LOGGERS)
def test_the_loggers_speak_again_afterwards(name: str) -> None:
    level = logging.getLogger(name).level
    with filtered_logs():
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
        assert logging.getLogger(name).isEnabledFor(logging.WARNING)
    assert logging.getLogger(name).level == level
