"""The Vision Transformer: the equation, visible patches alone, other sizes, attention, what is refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tammes.encoders import VisionTransformer, VisionTransformerConfig
from tammes.encoders.attention import Attention, Block
from tammes.encoders.vit import SIZES, from_patches, to_patches

SMALL = VisionTransformerConfig(patch=4, width=24, depth=2, heads=3)


def small(size: int = 16, **changes: object) -> VisionTransformer:
    torch.manual_seed(0)
    settings = {"patch": 4, "width": 24, "depth": 2, "heads": 3, **changes}
    return VisionTransformerConfig(**settings).build(channels=3, size=size)  # type: ignore[arg-type]


def test_patches_are_cut_row_by_row_and_put_together_again() -> None:
    images = torch.rand(2, 3, 12, 12)
    patches = to_patches(images, 4)
    assert patches.shape == (2, 9, 48)
    assert torch.equal(patches[1, 5], images[1, :, 4:8, 8:12].flatten())
    assert torch.equal(from_patches(patches, 4), images)


def test_attention_is_the_equation() -> None:
    torch.manual_seed(0)
    attention, tokens = Attention(12, heads=3), torch.randn(2, 5, 12)
    queries, keys, values = attention.inputs(tokens).chunk(3, dim=2)
    heads = []
    for head in range(3):
        q, k, v = (part[..., 4 * head : 4 * head + 4] for part in (queries, keys, values))
        heads.append(torch.softmax(q @ k.mT / 2, dim=-1) @ v)
    assert torch.allclose(attention(tokens), attention.output(torch.cat(heads, dim=2)), atol=1e-6)
    weights = attention.weights(tokens)
    assert weights.shape == (2, 3, 5, 5)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 3, 5))


def test_a_block_is_that_of_torch() -> None:
    torch.manual_seed(0)
    block = Block(12, heads=3)
    torch_block = nn.TransformerEncoderLayer(
        12, 3, dim_feedforward=48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    names = {
        "self_attn.in_proj_weight": "attention.inputs.weight",
        "self_attn.in_proj_bias": "attention.inputs.bias",
        "self_attn.out_proj.weight": "attention.output.weight",
        "self_attn.out_proj.bias": "attention.output.bias",
        "linear1.weight": "perceptron.0.weight",
        "linear1.bias": "perceptron.0.bias",
        "linear2.weight": "perceptron.2.weight",
        "linear2.bias": "perceptron.2.bias",
        "norm1.weight": "first_norm.weight",
        "norm1.bias": "first_norm.bias",
        "norm2.weight": "second_norm.weight",
        "norm2.bias": "second_norm.bias",
    }
    ours = block.state_dict()
    torch_block.load_state_dict({theirs: ours[name] for theirs, name in names.items()})
    tokens = torch.randn(2, 5, 12)
    assert torch.allclose(block(tokens), torch_block(tokens), atol=1e-6)


def test_all_patches_in_any_order_are_the_whole_image() -> None:
    encoder, images = small(), torch.rand(2, 3, 16, 16)
    patches = encoder.patches(images)
    order = torch.randperm(16)
    tokens = encoder.tokens(patches[:, order], order.expand(2, 16))
    assert torch.allclose(tokens.mean(dim=1), encoder(images), atol=1e-5)
    assert torch.allclose(tokens, encoder.tokens(patches)[:, order], atol=1e-5)


def test_hidden_patches_change_nothing() -> None:
    encoder, images = small(), torch.rand(2, 3, 16, 16)
    places = torch.tensor([[0, 3, 9], [1, 2, 15]])

    def of(patches: torch.Tensor) -> torch.Tensor:
        return encoder.tokens(patches.gather(1, places[..., None].expand(-1, -1, 48)), places)

    patches = encoder.patches(images)
    other = torch.rand_like(patches).scatter(
        1,
        places[..., None].expand(-1, -1, 48),
        patches.gather(1, places[..., None].expand(-1, -1, 48)),
    )
    assert torch.equal(of(patches), of(other))


def test_attention_of_the_last_block_is_that_of_its_inputs() -> None:
    encoder = small()
    weights = encoder.attention(torch.rand(2, 3, 16, 16))
    assert weights.shape == (2, 3, 16, 16)
    assert torch.allclose(weights.sum(dim=-1), torch.ones(2, 3, 16))


@pytest.mark.parametrize("positions", ["sine-cosine", "learned"])
def test_another_size_keeps_the_weights(positions: str) -> None:
    encoder = small(positions=positions, drop_path=0.3).eval()
    same, larger = encoder.with_size(16), encoder.with_size(32)
    images = torch.rand(2, 3, 16, 16)
    assert torch.allclose(same(images), encoder(images), atol=1e-6)
    assert larger(torch.rand(2, 3, 32, 32)).shape == (2, 24)
    assert torch.equal(larger.blocks[1].attention.inputs.weight, encoder.blocks[1].attention.inputs.weight)
    assert [block.drop_path for block in larger.blocks] == [0.0, 0.3]
    assert isinstance(larger.position, nn.Parameter) == (positions == "learned")
    assert not larger.training


@pytest.mark.parametrize("positions", ["sine-cosine", "learned"])
def test_another_size_keeps_precision_and_what_is_frozen(positions: str) -> None:
    encoder = small(positions=positions).double()
    encoder.embedding.requires_grad_(False)
    encoder.blocks[0].eval()
    if positions == "learned":
        encoder.position.requires_grad_(False)
    larger = encoder.with_size(32)
    assert {each.dtype for each in larger.state_dict().values()} == {torch.float64}
    frozen = [name for name, each in larger.named_parameters() if not each.requires_grad]
    assert frozen == [name for name, each in encoder.named_parameters() if not each.requires_grad]
    assert [block.training for block in larger.blocks] == [False, True]
    assert larger(torch.rand(2, 3, 32, 32, dtype=torch.float64)).dtype == torch.float64
    with torch.no_grad():
        larger.norm.weight.zero_()
    assert encoder.norm.weight.all()  # a copy


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (18, "patches of 4 pixels divide, got 18; the nearest are 16 and 20"),
        (3, "size must be an integer of at least 4, got 3: patches have 4 pixels a side"),
        (0, "at least 4, got 0"),
        (-4, "at least 4, got -4"),
        (16.0, "must be an integer of at least 4, got 16.0"),
    ],
)
def test_sizes_that_patches_do_not_divide_are_refused(size: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().with_size(size)


def test_fixed_positions_are_no_parameters() -> None:
    assert "position" not in dict(small().named_parameters())
    assert "position" in dict(small(positions="learned").named_parameters())


def test_branches_are_dropped_in_training_alone_and_keep_their_mean() -> None:
    torch.manual_seed(0)
    block = Block(8, heads=2, drop_path=0.5)
    branch = torch.ones(4000, 1, 1)
    kept = block._kept(branch)
    assert set(kept.unique().tolist()) == {0.0, 2.0}
    assert abs(float(kept.mean()) - 1) < 0.06
    assert block.eval()._kept(branch) is branch


def test_checkpointing_changes_no_gradient() -> None:
    plain, saving, images = small(), small(checkpointing=True), torch.rand(4, 3, 16, 16)
    gradients = []
    for encoder in (plain, saving):
        encoder(images).square().sum().backward()
        gradients.append([parameter.grad for parameter in encoder.parameters()])
    for ours, theirs in zip(*gradients, strict=True):
        assert ours is not None
        assert theirs is not None
        assert torch.allclose(ours, theirs)


def test_usual_sizes_have_the_usual_numbers_of_weights() -> None:
    """A block of width w has 12 w^2 + 13 w."""
    assert list(SIZES) == ["tiny", "small", "base", "large"]
    with torch.device("meta"):
        encoder = VisionTransformerConfig.of("tiny").build(channels=3, size=224)
    count = (768 * 192 + 192) + 12 * (12 * 192**2 + 13 * 192) + 2 * 192
    assert sum(parameter.numel() for parameter in encoder.parameters()) == count


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of the heads, got 24 and 5"):
        VisionTransformerConfig(width=24, heads=5)
    with pytest.raises(ValueError, match="two directions, got 6 and 4"):
        VisionTransformerConfig(width=6, heads=1)
    with pytest.raises(ValueError, match=r'"sine-cosine" or "learned", got \'none\''):
        VisionTransformerConfig(positions="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="drop_path"):
        VisionTransformerConfig(drop_path=1.0)
    message = "patches of 5; the nearest that do are 4 and 8, or take images of 30 or 35"
    with pytest.raises(ValueError, match=message):
        VisionTransformerConfig(patch=5).build(channels=3, size=32)
    with pytest.raises(ValueError, match="tiny, small, base, large, got 'huge'"):
        VisionTransformerConfig.of("huge")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape \(batch, 3, 16, 16\), got \(2, 3, 8, 8\)"):
        small()(torch.rand(2, 3, 8, 8))
