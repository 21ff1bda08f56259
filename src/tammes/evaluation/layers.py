"""Layers of any network from its input to its output, and a learning rate for each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from tammes.checks import check_number

MAJORITY = 0.5
"""Share of the weights that a row of equal blocks must hold, to be the layers of the network."""


def layers_of(network: nn.Module) -> list[list[nn.Parameter]]:
    """Return the trainable parameters of a network by layers, from the input to the output.

    The rule, which looks at the modules alone, in the order in which the network registers them:

    1. A list of equal blocks that holds most of the weights, as in a transformer: each block is a layer.
       Parameters before the list (patches, positions) are the first layer; the layer of those after it (the
       last normalization) is the last.
    2. Else the network is a row of modules, without the boundaries of `nn.Sequential`, and a layer begins at
       the first block, and at each module that shrinks the image (a stride or a pooling above 1): the stem
       and the stages of a residual network.
    3. If nothing shrinks, each module with parameters is a layer.

    Parameters that the network itself holds belong to the first layer. A parameter that two modules share
    belongs to the earlier one.

    Args:
        network: the network, without a classifier.

    Returns:
        Layers, none of them empty; no layers of a network without trainable parameters.

    Example:
        >>> from tammes.encoders import ResNetConfig, VisionTransformerConfig
        >>> transformer = VisionTransformerConfig(patch=4, width=8, heads=1, depth=6)
        >>> len(layers_of(transformer.build(3, 16)))  # patches, 6 blocks, normalization
        8
        >>> len(layers_of(ResNetConfig(depth=18).build(3, 16)))  # stem, 4 stages
        5
    """
    blocks = _equal_blocks(network)
    units = _around(network, blocks) if blocks else _stages(_unrolled(network))
    direct = list(network.parameters(recurse=False))
    groups = [direct, *([*unit] for unit in units)]
    if direct and len(groups) > 1:
        groups = [direct + groups[1], *groups[2:]]
    seen: set[nn.Parameter] = set()
    layers = []
    for group in groups:
        layer = [each for each in dict.fromkeys(group) if each.requires_grad and each not in seen]
        seen.update(layer)
        if layer:
            layers.append(layer)
    return layers


def layer_groups(
    network: nn.Module,
    head: nn.Module,
    *,
    learning_rate: float,
    decay: float,
    weight_decay: float,
) -> list[dict[str, Any]]:
    """Return parameter groups for an optimizer, with smaller learning rates toward the input.

        rate of layer l of L  =  learning_rate * decay^(L + 1 - l) ,        l = 1, ..., L + 1 (the head)

    With a list of equal blocks, the layer after it has the rate of the head, as in the source. Parameters of
    one dimension (biases, scales of normalizations) and those that the network itself holds (positions) have
    no weight decay.

    Args:
        network: the network, whose layers `layers_of` finds.
        head: the classifier.
        learning_rate: learning rate of the head.
        decay: factor from one layer to the one before it, above 0 and at most 1.
        weight_decay: weight decay of AdamW.

    Raises:
        ValueError: a decay out of its range.

    Source: Bao et al., BEiT, 2022; He et al. (2022), appendix A.1.

    Example:
        >>> network = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 2, bias=False))
        >>> head = nn.Linear(2, 3, bias=False)
        >>> groups = layer_groups(network, head, learning_rate=1.0, decay=0.5, weight_decay=0.05)
        >>> [group["lr"] for group in groups]
        [0.25, 0.5, 1.0]
    """
    check_number("decay", decay, above=0, maximum=1)
    layers = layers_of(network)
    last = [each for each in head.parameters() if each.requires_grad]
    if len(layers) > 1 and _has_layer_after_blocks(network, layers):
        *layers, after = layers
        last = [*after, *last]
    direct = set(network.parameters(recurse=False))
    groups: list[dict[str, Any]] = []
    for depth, layer in enumerate([*layers, last]):
        rate = learning_rate * decay ** (len(layers) - depth)
        decayed = [each for each in layer if each.ndim > 1 and each not in direct]
        others = [each for each in layer if each.ndim <= 1 or each in direct]
        groups += [
            {"params": some, "lr": rate, "weight_decay": weight}
            for some, weight in ((decayed, weight_decay), (others, 0.0))
            if some
        ]
    return groups


def _equal_blocks(network: nn.Module) -> list[nn.Module]:
    """Return the blocks of the list of equal blocks that holds most of the weights; empty without one."""
    count = sum(each.numel() for each in network.parameters())
    for module in network.modules():
        if not isinstance(module, nn.ModuleList | nn.Sequential) or len(module) < 2:
            continue
        shapes = {tuple((name, each.shape) for name, each in block.named_parameters()) for block in module}
        if len(shapes) == 1 and sum(each.numel() for each in module.parameters()) > MAJORITY * count:
            return list(module)
    return []


def _around(network: nn.Module, blocks: Sequence[nn.Module]) -> list[list[nn.Parameter]]:
    """Return the parameters before the blocks, of each block, and after the blocks."""
    of_blocks = {each for block in blocks for each in block.parameters()}
    before: list[nn.Parameter] = []
    after: list[nn.Parameter] = []
    current = before
    for each in network.parameters():
        if each in of_blocks:
            current = after
        else:
            current.append(each)
    return [before, *(list(block.parameters()) for block in blocks), after]


def _has_layer_after_blocks(network: nn.Module, layers: Sequence[Sequence[nn.Parameter]]) -> bool:
    blocks = _equal_blocks(network)
    return bool(blocks) and not set(layers[-1]) & {*blocks[-1].parameters()}


def _unrolled(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the modules of a network in a row; only the network itself and `nn.Sequential` are opened."""
    children = list(module.children())
    if len(children) == 1:  # a wrapper
        yield from _unrolled(children[0])
        return
    for child in children or [module]:
        if isinstance(child, nn.Sequential) and len(child):
            yield from _unrolled(child)
        else:
            yield child


def _stages(units: Iterator[nn.Module]) -> list[list[nn.Parameter]]:
    """Return the parameters of the stem and of each stage; of each module if nothing shrinks the image."""
    row = list(units)
    if not any(map(_shrinks, row)):
        return [list(unit.parameters()) for unit in row]
    stages: list[list[nn.Parameter]] = [[]]
    is_stem = True
    for unit in row:
        is_block = len(list(unit.children())) > 0
        if _shrinks(unit) or (is_block and is_stem):
            stages.append([])
        is_stem = is_stem and not is_block
        stages[-1] += unit.parameters()
    return stages


def _shrinks(unit: nn.Module) -> bool:
    """Return whether a convolution or a pooling in the module has a stride above 1."""
    strides = [vars(each).get("stride", 1) for each in unit.modules()]
    return any(max(each) > 1 if isinstance(each, tuple) else each not in (None, 1) for each in strides)
