"""A trained encoder as a transformer of scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tammes.training.trained import TrainedEncoder, load


class Embedder(TransformerMixin, BaseEstimator):
    """A trained encoder in a pipeline of scikit-learn: images or texts in, features out.

    Args:
        path: folder of a run, or its model.safetensors.
        projected: whether to return the projection head's output instead of the features.
        batch_size: rows at a time; changes time and memory only.
        trust: whether to execute code that the run names; see `tammes.load`.

    Raises:
        ValueError: when fitted or called: what `tammes.load` and `TrainedEncoder.embed` refuse.

    Example:
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.pipeline import make_pipeline
        >>> pipeline = make_pipeline(Embedder("runs/mine"), LogisticRegression())
        >>> pipeline.get_params()["embedder__path"]
        'runs/mine'
    """

    def __init__(
        self, path: str | Path, *, projected: bool = False, batch_size: int = 512, trust: bool = False
    ) -> None:
        self.path, self.projected, self.batch_size, self.trust = path, projected, batch_size, trust

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the encoder; nothing is learned."""
        self.encoder_: TrainedEncoder = load(self.path, trust=self.trust)
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n features"]:
        """Return the features `(n, features)` of whatever `TrainedEncoder.embed` takes."""
        if not self.__sklearn_is_fitted__():
            self.fit(X)
        found: np.ndarray = self.encoder_.embed(
            X, projected=self.projected, batch_size=self.batch_size
        ).numpy()
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return a name for each feature, once the encoder has been read."""
        check_is_fitted(self)
        encoder = self.encoder_
        width = encoder.model.dim if self.projected else encoder.features
        return np.array([f"embedder{column}" for column in range(width)], dtype=object)
