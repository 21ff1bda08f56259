import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tammes.diagnostics import cosine_histograms
from tammes.diagnostics.blocks import directions


@given(n=st.integers(2, 40), bins=st.integers(1, 30), side=st.integers(1, 50), classes=st.integers(1, 5))
def test_streamed_is_dense(n: int, bins: int, side: int, classes: int) -> None:
    x = torch.randn(n, 3, dtype=torch.float64)
    labels = torch.randint(classes, (n,))
    histograms = cosine_histograms(x, labels, bins=bins, side=side)
    row, column = torch.triu_indices(n, n, 1)
    units = directions(x)
    similarity = (units[row] * units[column]).sum(dim=1).numpy()
    same = (labels[row] == labels[column]).numpy()
    for counts, values in ((histograms.equal, similarity[same]), (histograms.different, similarity[~same])):
        assert counts.tolist() == np.histogram(values, bins=histograms.edges.numpy())[0].tolist()


@given(n=st.integers(2, 50), classes=st.integers(1, 6), bins=st.integers(1, 20))
def test_every_pair_counts_once(n: int, classes: int, bins: int) -> None:
    labels = torch.randint(classes, (n,))
    histograms = cosine_histograms(torch.randn(n, 4), labels, bins=bins)
    of_each = labels.bincount()
    assert int(histograms.equal.sum()) == int((of_each * (of_each - 1)).sum()) // 2
    assert int(histograms.equal.sum() + histograms.different.sum()) == n * (n - 1) // 2
    assert histograms.edges.shape == (bins + 1,)
    assert (float(histograms.edges[0]), float(histograms.edges[-1])) == (-1, 1)


def test_coinciding_and_opposite_points_lie_in_the_outer_bins() -> None:
    x = torch.randn(40, 7).repeat(2, 1)
    x[40:] *= -1
    histograms = cosine_histograms(torch.cat([x, x]), torch.arange(80).repeat(2), bins=10)
    # Rounding puts cosines of 1 on either side of it.
    assert histograms.equal.tolist() == [0] * 9 + [80]
    assert int(histograms.different[0]) >= 160


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(ValueError, match=r"labels, one for each row, must have shape \(3,\), got \(2,\)"):
        cosine_histograms(torch.ones(3, 2), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="bins must be an integer of at least 1"):
        cosine_histograms(torch.ones(3, 2), torch.tensor([0, 1, 1]), bins=0)
    with pytest.raises(ValueError, match="length zero in row 2"):
        cosine_histograms(torch.tensor([[1.0], [1.0], [0.0]]), torch.tensor([0, 1, 1]))
