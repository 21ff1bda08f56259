"""Features and embeddings of data under a trained model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tammes.checks import check_finite_rows, check_integer
from tammes.data.graph_batch import GraphBatch
from tammes.data.node_set import NodeSet
from tammes.training.examples import AnyAugmentation, Data, Examples, changed, to_inputs
from tammes.training.loader import plain_errors, row_loader
from tammes.training.model import Model


def embed(model: Model, data: Data, batch_size: int = 512, workers: int = 0) -> tuple[Tensor, Tensor]:
    """Return the features and embeddings of data of any kind, in evaluation mode, not augmented.

    Nodes are embedded within their whole graph, all at once and with all their neighbors.

    Args:
        model: encoder and head, on any device.
        data: n images of the channels and size the model was built for, n sentences for a model of texts,
            n graphs or n nodes with the node features of the run, or n volumes of its size.
        batch_size: rows at a time; changes time and memory only, and nothing of nodes.
        workers: number of processes that decode images.

    Returns:
        Features (n, features), which serve other tasks, and embeddings (n, dim), which the objective
        compares (the same if there is no head); float32 on the CPU.

    Raises:
        ValueError: for a batch size below 1, a negative number of workers, data of the other kind, an
            image that cannot be decoded, or a model that gives NaN or infinity.

    Example:
        >>> from tammes.encoders import ConvNetConfig, ProjectionHeadConfig
        >>> encoder = ConvNetConfig(width=8).build(channels=1, size=8)
        >>> model = Model(encoder, ProjectionHeadConfig(dim=16).build(encoder.features))
        >>> from tammes.data import Images, TensorPixels
        >>> pixels = torch.zeros(3, 1, 8, 8, dtype=torch.uint8)
        >>> images = Images(pixels=TensorPixels(pixels), names=("a", "b", "c"))
        >>> [tuple(part.shape) for part in embed(model, images)]
        [(3, 32), (3, 16)]
    """
    check_integer("batch_size", batch_size)
    check_integer("workers", workers, minimum=0)
    device = next(model.parameters()).device
    if isinstance(data, NodeSet):
        batch_size = len(data)
    loader = row_loader(Examples.of(data, model.assets), batch_size=batch_size, workers=workers)
    parts = []
    with torch.inference_mode(), evaluating(model), plain_errors():
        for stored in loader:
            features, embeddings = model(to_inputs(stored.to(device)))
            parts.append((features.float().cpu(), embeddings.float().cpu()))
    features, embeddings = (torch.cat(part) for part in zip(*parts, strict=True))
    check_finite_rows("features", features)
    check_finite_rows("embeddings", embeddings)
    return features, embeddings


def embed_pairs(
    model: Model,
    data: Data,
    pairs: Tensor,
    augmentations: Sequence[AnyAugmentation | None],
    *,
    seeds: Sequence[int],
) -> tuple[Tensor, ...]:
    """Return the embeddings of the views of pairs, made as in training, in evaluation mode and in one batch.

    Where nodes are compared with graphs, the first view is a graph's first node, the second the graph.

    Args:
        model: encoder and head, on any device.
        data: images, texts or graphs.
        pairs: int64 (b, views), rows of anchors and their positives: two views, or several.
        augmentations: augmentation of the first views, of the second, and so on; None for no change.
        seeds: random seeds of the first views, of the second, and so on.

    Returns:
        A tensor (b, dim) for each view; float32 on the CPU.
    """
    device = next(model.parameters()).device
    examples = Examples.of(data, model.assets)
    views = []
    with torch.inference_mode(), evaluating(model):
        if model.node_head is not None:
            graphs = examples.batch(pairs[:, 1].tolist()).to(device)
            assert isinstance(graphs, GraphBatch)
            of_nodes, of_graphs = model.nodes_and_graphs(graphs)
            return of_nodes[graphs.starts].float().cpu(), of_graphs.float().cpu()
        for rows, augmentation, seed in zip(pairs.T.tolist(), augmentations, seeds, strict=True):
            inputs = to_inputs(examples.batch(rows).to(device))
            if augmentation is not None:
                inputs = changed(augmentation, inputs, seed=seed)
            views.append(model(inputs)[1].float().cpu())
    return tuple(views)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode for a block; afterwards every module is in its mode from before."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
