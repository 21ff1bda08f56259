"""A small comparison for the tests of the page: three classes, embeddings that know them a little."""

from collections.abc import Callable

import numpy as np
import pytest

from tammes.report import Comparison, Curve, Floor, Outcome, Pictures, Scores

SIZE, PAIRS = 48, 12


def blank_weights(pairs: int) -> np.ndarray:
    """Uniform weights for two views of so many pictures."""
    allowed = np.kron(np.ones((2, 2)), 1 - np.eye(pairs))
    return allowed / allowed.sum(axis=1, keepdims=True)


@pytest.fixture
def sample() -> Pictures:
    rng = np.random.default_rng(7)
    return Pictures(
        images=rng.integers(0, 256, (SIZE, 3, 12, 10), dtype=np.uint8),
        labels=np.arange(SIZE) % 3,
        classes=("cat", "dog", "eel"),
        names=tuple(f"{index}.png" for index in range(SIZE)),
    )


@pytest.fixture
def make_outcome() -> Callable[..., Outcome]:
    def make(
        name: str = "simclr", scores: Scores | None = None, knn: bool = True, hard: float = 0.0
    ) -> Outcome:
        rng = np.random.default_rng(3)
        embeddings = rng.normal(size=(SIZE, 5)) + 2 * np.eye(5)[np.arange(SIZE) % 3]
        view_a, view_b = (embeddings[:PAIRS] + 0.1 * rng.normal(size=(PAIRS, 5)) for _ in range(2))
        views = np.concatenate([view_a, view_b])
        views /= np.linalg.norm(views, axis=1, keepdims=True)
        weights = blank_weights(PAIRS) * np.exp(hard * views @ views.T)
        epochs = np.arange(4)
        return Outcome(
            name=name,
            objective=f"Objective(temperature=0.5, coupling=Hard(beta={hard}))",
            scores=Scores(knn=0.9, probe=0.92, probe_10_percent=0.8, probe_1_percent=0.5)
            if scores is None
            else scores,
            seconds=1.25,
            loss=Curve(epochs=epochs[1:], values=np.array([5.0, 4.5, 4.25])),
            knn=Curve(epochs=epochs, values=np.array([0.5, 0.7, 0.8, 0.9])) if knn else None,
            learning_rate=Curve(epochs=epochs[1:], values=np.array([1e-3, 5e-4, 1e-4])),
            gradient_norm=Curve(epochs=epochs[1:], values=np.array([3.0, 2.0, 1.5 + hard])),
            confusion=np.array([[9, 1, 0], [0, 10, 0], [2, 0, 8]]) if knn else None,
            features=embeddings @ rng.normal(size=(5, 7)),
            embeddings=embeddings,
            view_a=view_a,
            view_b=view_b,
            weights=weights / weights.sum(axis=1, keepdims=True),
        )

    return make


@pytest.fixture
def comparison(sample: Pictures, make_outcome: Callable[..., Outcome]) -> Comparison:
    return Comparison(
        data="pets",
        settings={"encoder": "convnet", "epochs": "3"},
        command="tammes compare simclr hcl --data pets",
        sample=sample,
        outcomes=(make_outcome(), make_outcome("hcl", Scores(knn=0.95, probe=0.94), hard=3.0)),
        floors=(Floor(name="raw pixels", scores=Scores(knn=0.6, probe=0.7)),),
        test_size=400,
    )
