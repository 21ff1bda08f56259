"""What labels and pairs show: votes, label errors, overlaps, clusters, LiDAR, uniformity of rows."""

import numpy as np
import pytest
import torch
from scipy.linalg import fractional_matrix_power
from sklearn.neighbors import KNeighborsClassifier

from tammes.diagnostics import (
    classes_per_cluster,
    k_means,
    knn_correct,
    lidar,
    likely_label_errors,
    nearest_neighbors,
    overlaps,
    uniformity,
    uniformity_of_rows,
    votes,
)


def blobs(n: int = 300, classes: int = 3, apart: float = 6.0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    centers = apart * torch.nn.functional.normalize(torch.randn(classes, 6, generator=generator), dim=1)
    labels = torch.arange(n) % classes
    return centers[labels] + torch.randn(n, 6, generator=generator), labels


def test_leaving_one_out_equals_scikit_learn_without_the_row() -> None:
    x, labels = blobs(60, apart=2.0)
    indices = nearest_neighbors(x, 5).indices
    predicted, correct = knn_correct(indices, labels)
    share = votes(indices, labels)
    for row in range(60):
        others = np.arange(60) != row
        model = KNeighborsClassifier(5).fit(x.numpy()[others], labels.numpy()[others])
        assert np.allclose(model.predict_proba(x.numpy()[row : row + 1])[0], share[row])
    assert torch.equal(correct, predicted == labels)
    assert bool((share.gather(1, predicted[:, None])[:, 0] == share.amax(dim=1)).all())


def test_flipped_labels_are_flagged_and_no_others() -> None:
    x, labels = blobs(apart=8.0)
    flipped = labels.clone()
    rows = torch.arange(0, 300, 20)
    flipped[rows] = (labels[rows] + 1) % 3
    share = votes(nearest_neighbors(x, 20).indices, flipped)
    flagged, score = likely_label_errors(share, flipped, 20)
    assert flagged.nonzero().flatten().tolist() == rows.tolist()
    assert float(score[rows].min()) > 0.5


def test_random_labels_flag_nothing() -> None:
    for classes in (2, 10):
        x = torch.randn(400, 8)
        labels = torch.randint(classes, (400,))
        share = votes(nearest_neighbors(x, 20).indices, labels)
        assert not bool(likely_label_errors(share, labels, 20)[0].any())


def test_the_confusion_has_rows_that_sum_to_one() -> None:
    labels, predicted = torch.tensor([0, 0, 1, 1, 2]), torch.tensor([0, 1, 1, 1, 0])
    found = overlaps(predicted, labels, 3)
    assert torch.allclose(found.sum(dim=1), torch.ones(3))
    assert found[0].tolist() == [0.5, 0.5, 0.0]


def test_clusters_of_separate_classes_have_one_each() -> None:
    x, labels = blobs(apart=20.0)
    found = k_means(x, 3, generator=torch.Generator().manual_seed(1))
    assert classes_per_cluster(labels, labels) == 1
    assert classes_per_cluster(torch.zeros_like(labels), labels) == pytest.approx(3)
    assert 1 <= classes_per_cluster(found, labels) < 2


def test_lidar_equals_the_matrices_of_the_paper() -> None:
    generator = torch.Generator().manual_seed(0)
    means = torch.randn(40, 5, generator=generator, dtype=torch.float64)
    views = [means + 0.5 * torch.randn(40, 5, generator=generator, dtype=torch.float64) for _ in range(2)]
    x = np.stack([view.numpy() for view in views], axis=1)  # (examples, views, dim)
    of_example = x.mean(axis=1)
    centered = of_example - of_example.mean(axis=0)
    between = np.einsum("nd,ne->de", centered, centered) / 40
    within = np.einsum("nvd,nve->de", x - of_example[:, None], x - of_example[:, None]) / 80 + 1e-4 * np.eye(
        5
    )
    half = fractional_matrix_power(within, -0.5)
    values = np.linalg.eigvalsh(half @ between @ half)
    p = values / values.sum() + 1e-8
    assert lidar(*views) == pytest.approx(np.exp(-(p * np.log(p)).sum()), rel=1e-6)
    turn = torch.linalg.qr(torch.randn(5, 5, generator=generator, dtype=torch.float64))[0]
    assert lidar(views[0] @ turn, views[1] @ turn) == pytest.approx(lidar(*views), rel=1e-9)
    for count in (4, 7):  # 0.1 seven times has a mean that rounds
        equal = torch.full((count, 2), 0.1, dtype=torch.float64)
        assert lidar(equal, equal) == lidar(equal + 0.3, equal - 0.3) == 0
    with pytest.raises(ValueError, match="at least two pairs"):
        lidar(torch.ones(1, 2), torch.ones(1, 2))
    with pytest.raises(ValueError, match="delta must be a finite number above 0, got 0"):
        lidar(*views, delta=0)


@pytest.mark.parametrize("length", [1.0, 1e5, 1e8, 1e12])
def test_lidar_of_long_embeddings_is_not_that_of_rounding(length: float) -> None:
    """Means differ in two directions, and views in a third: the rank is 2."""
    means = torch.tensor([[1.0, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0, 0], [0, -1, 0, 0]], dtype=torch.float64)
    apart = torch.tensor([0.0, 0.0, 0.3, 0.0], dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    turn = length * torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64)).Q
    assert lidar((means + apart) @ turn, (means - apart) @ turn) == pytest.approx(2, abs=1e-3)


def test_the_log_mean_of_rows_is_uniformity() -> None:
    x = torch.randn(50, 4, dtype=torch.float64)
    rows = uniformity_of_rows(x, side=7)
    assert float(rows.mean().log()) == pytest.approx(uniformity(x), rel=1e-9)
    with pytest.raises(ValueError, match="at least two embeddings"):
        uniformity_of_rows(x[:1])
