"""Adjacent sentences as positives: what cannot be paired is refused in words of sentences."""

from __future__ import annotations

import pytest
import torch

from tammes.positives import Adjacent


@pytest.mark.parametrize(
    ("documents", "window", "message"),
    [
        ([], 1, "expected documents of several sentences, got no sentence"),
        ([0, 1, 2], 1, r"none of 3 sentences has another of its document at most 1 before or after it"),
        ([0, 0, 1, 1], 3, r"a window of 3 sentences reaches over every document \(the longest has 2\)"),
    ],
)
def test_documents_without_positives_are_refused(documents: list[int], window: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Adjacent(window=window).rows(torch.tensor(documents, dtype=torch.int64), seed=0, run=8)
