"""Accuracies that a trained encoder should exceed: those before training, and of features without one."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d, adaptive_avg_pool3d

from tammes.cli.scores import BATCH, Featurize, Measure, Measured, Trial, encoded
from tammes.data import GraphSet, GraphStream, Images, NodeSet, Texts, Volumes, as_floats
from tammes.data.volumes import Size
from tammes.encoders import TimmConfig, TransformersConfig, UnavailableWeightsError
from tammes.evaluation import degree_histograms, smoothed
from tammes.training import Data, Model, Run, build_model

LARGEST_SIDE = 16
"""Height and width of images whose pixels are features, in pixels."""
LARGEST_SIDE_OF_VOLUMES = 8
"""Likewise of volumes, in voxels."""


def pixels(images: Data) -> Tensor:
    """Return the pixels themselves as features, those of large images averaged down to 16x16.

    The averaging bounds the memory that they take, and the time of the probes.
    """
    assert isinstance(images, Images)
    side, rows = min(images.size, LARGEST_SIDE), range(len(images))
    batches = (as_floats(images.batch(rows[start : start + BATCH])) for start in rows[::BATCH])
    return torch.cat([adaptive_avg_pool2d(batch, side).flatten(1) for batch in batches])


def voxels(volumes: Data) -> Tensor:
    """Return the voxels themselves as features, averaged down to at most 8 along each axis."""
    assert isinstance(volumes, Volumes)
    return adaptive_avg_pool3d(volumes.voxels, _coarse(volumes.size)).flatten(1)


def _coarse(size: Size) -> Size:
    depth, height, width = (min(side, LARGEST_SIDE_OF_VOLUMES) for side in size)
    return depth, height, width


def degrees(graphs: Data) -> Tensor:
    """Return the histograms of the degrees of graphs as features."""
    assert isinstance(graphs, GraphSet)
    return degree_histograms(graphs)


def given_features(nodes: Data) -> Tensor:
    """Return the features that nodes were given, without their graph."""
    assert isinstance(nodes, NodeSet)
    return nodes.features[nodes.nodes]


def averaged_features(nodes: Data) -> Tensor:
    """Return the features of nodes averaged over their two-hop neighborhoods, which takes no training.

    Source: Wu et al., Simplifying Graph Convolutional Networks, 2019, eq. 4, with K = 2.
    """
    assert isinstance(nodes, NodeSet)
    return smoothed(nodes)[nodes.nodes]


def weighted_words(train: Texts, dim: int) -> Featurize | None:
    """Return latent semantic analysis: tf-idf weights of words, by a truncated SVD in `dim` dimensions.

    Both are fitted to the training sentences, as the encoder is. Fewer words than `dim` have as many
    dimensions; None for fewer than two words.
    """
    # scikit-learn's text module takes a tenth of a second to import.
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(sublinear_tf=True)
    words = weights.build_analyzer()
    if not any(words(sentence) for sentence in train.sentences):
        return None
    counts = weights.fit_transform(train.sentences)
    if counts.shape[1] < 2:
        return None
    svd = TruncatedSVD(min(dim, counts.shape[1]), random_state=0).fit(counts)

    def features(data: Data) -> Tensor:
        assert isinstance(data, Texts)
        return torch.from_numpy(svd.transform(weights.transform(data.sentences))).float()

    return features


def floors(data: Data, runs: Sequence[Run], measure: Measure, device: torch.device) -> tuple[Trial, ...]:
    """Return the trials without a trained encoder: the untrained one, and a plain description of the data.

    Args:
        data: data that the runs were trained on.
        runs: a run for each seed.
        measure: measurements of these runs.
        device: device to compute on.
    """
    named = floor_features(data, runs, device)
    return floor_trials([(name, measure.of_features(features)) for name, features in named])


def floor_features(data: Data, runs: Sequence[Run], device: torch.device) -> list[tuple[str, Featurize]]:
    """Return features without training, with their names: for each seed those of an encoder, and plain ones.

    An encoder that was pretrained is taken as it was before the training, unless a resumed run no longer
    finds its weights.

    Args:
        data: data that the runs were trained on.
        runs: a run for each seed, for which the untrained encoders are built.
        device: device to compute on.
    """
    return [*_untrained(runs, device), *_plain(data, runs[0].model.encoder.features)]


def floor_trials(named: Sequence[tuple[str, Measured]]) -> tuple[Trial, ...]:
    """Return a trial for each name, with the measurements of one name as those of its seeds.

    Args:
        named: names, and what was measured of their features.
    """
    return tuple(
        Trial(name=name, measured=tuple(each for of, each in named if of == name))
        for name in dict.fromkeys(name for name, _ in named)
    )


def _plain(data: Data, dim: int) -> list[tuple[str, Featurize]]:
    """Return descriptions of the data that no encoder makes; those of texts in at most `dim` dimensions."""
    if isinstance(data, Texts):
        features = weighted_words(data, dim)
        if features is None:
            return []
        return [(f"tf-idf in {features(data.subset([0])).shape[1]} dimensions", features)]
    if isinstance(data, GraphSet | GraphStream):
        return [("degree histogram", degrees)]
    if isinstance(data, NodeSet):
        return [
            ("features of the nodes", given_features),
            ("features averaged over two hops", averaged_features),
        ]
    if isinstance(data, Volumes):
        return [(f"voxels at {'x'.join(map(str, _coarse(data.size)))}", voxels)]
    side = LARGEST_SIDE
    return [("raw pixels" if data.size <= side else f"pixels at {side}x{side}", pixels)]


def before_training(run: Run, device: torch.device) -> tuple[str, Model] | None:
    """Return the model of a run as it was before the training, with its name.

    None for a pretrained encoder whose weights are no longer found.
    """
    encoder = run.config.training.encoder
    is_pretrained = isinstance(encoder, TransformersConfig | TimmConfig) and encoder.pretrained
    try:
        model = build_model(run.config, run.model.assets).to(device)
    except UnavailableWeightsError:
        return None
    return f"{'pretrained' if is_pretrained else 'untrained'} encoder", model


def _untrained(runs: Sequence[Run], device: torch.device) -> list[tuple[str, Featurize]]:
    """Return the features of each run's encoder before the training, which is built when it is needed.

    Processes that share the measurements each hold the encoders that they measure, and the first.
    """
    # Whether the weights of a pretrained encoder are found does not depend on the seed.
    first = before_training(runs[0], device)
    if first is None:
        return []
    name, model = first
    encoders = [_Untrained(run, device) for run in runs]
    encoders[0].model = model
    return [(name, each) for each in encoders]


class _Untrained:
    """Features of a run's encoder before the training."""

    def __init__(self, run: Run, device: torch.device) -> None:
        self.run, self.device = run, device

    def __call__(self, data: Data) -> Tensor:
        return encoded(self.model)(data)

    @cached_property
    def model(self) -> Model:
        found = before_training(self.run, self.device)
        assert found is not None
        return found[1]
