import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import affine_transform

from tammes.positives import Scans
from tammes.positives.scans import _rotation

STILL = {
    "smallest_crop": 1.0,
    "flip_width": 0.0,
    "rotation": 0.0,
    "shift": 0.0,
    "contrast": 0.0,
    "blur_probability": 0.0,
    "noise": 0.0,
}


def still(**settings: float) -> Scans:
    return Scans(**{**STILL, **settings})


def scans(n: int = 4, size: tuple[int, int, int] = (5, 6, 8)) -> torch.Tensor:
    return torch.rand(n, 1, *size, generator=torch.Generator().manual_seed(0))


@pytest.mark.equal_bits
@settings(max_examples=20, deadline=None)
@given(
    batch=st.integers(2, 9),
    size=st.tuples(*[st.integers(2, 9)] * 3),
    seed=st.integers(0, 2**63 - 1),
    data=st.data(),
)
def test_a_part_of_a_batch_has_the_views_of_the_whole(
    batch: int, size: tuple[int, int, int], seed: int, data: st.DataObject
) -> None:
    volumes = scans(batch, size)
    before = volumes.clone()
    augmentation = Scans(flip_depth=0.5, flip_height=0.5)
    views = augmentation(volumes, seed)
    first = data.draw(st.integers(0, batch - 1))
    last = data.draw(st.integers(first + 1, batch))
    part = augmentation(volumes[first:last], seed, first_row=first, batch_size=batch)
    assert torch.equal(part, views[first:last])
    assert torch.equal(volumes, before)
    assert (views.shape, views.dtype) == (volumes.shape, volumes.dtype)
    assert float(views.min()) >= 0
    assert float(views.max()) <= 1


def test_a_view_is_a_function_of_volumes_and_seed() -> None:
    volumes, state = scans(), torch.get_rng_state()
    first = Scans()(volumes, seed=5)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first, Scans()(volumes, seed=5))
    assert not torch.equal(first, Scans()(volumes, seed=6))


def test_volumes_have_changes_that_differ_unless_a_group_shares_one() -> None:
    same = scans(1).expand(4, -1, -1, -1, -1)
    views = Scans()(same, seed=0)
    assert len({view.sum().item() for view in views}) == 4
    shared = Scans()(same, seed=0, groups=2)
    assert torch.equal(shared[0], shared[1])
    assert torch.equal(shared[2], shared[3])
    assert not torch.equal(shared[1], shared[2])


def test_no_strength_changes_nothing() -> None:
    assert torch.allclose(still()(scans(), 0), scans(), atol=1e-5)


@pytest.mark.parametrize(("name", "axis"), [("flip_depth", 2), ("flip_height", 3), ("flip_width", 4)])
def test_a_flip_is_along_its_axis(name: str, axis: int) -> None:
    assert torch.allclose(still(**{name: 1.0})(scans(), 0), scans().flip(axis), atol=1e-5)
    some = still(**{name: 0.5})(scans(40), 0)
    flipped = sum(
        torch.allclose(view, volume.flip(axis - 1), atol=1e-5)
        for view, volume in zip(some, scans(40), strict=True)
    )
    assert 10 < flipped < 30


def test_a_crop_is_of_the_volume_and_at_least_as_large_as_asked_for() -> None:
    ramp = torch.linspace(0, 1, 16).expand(20, 1, 16, 16, 16)
    views = still(smallest_crop=0.125)(ramp, 0)
    assert float(views.min()) >= 0
    sides = (views[:, 0, 8, 8, 12] - views[:, 0, 8, 8, 3]) / (ramp[0, 0, 8, 8, 12] - ramp[0, 0, 8, 8, 3])
    assert float(sides.min()) > 0.5 - 1e-3
    assert float(sides.max()) < 1 + 1e-3
    assert float(sides.std()) > 0.05


def test_a_rotation_keeps_distances_in_voxels_whatever_the_shape() -> None:
    turn = torch.from_numpy(_rotation([0.3, -0.2, 0.5]))
    assert torch.allclose(turn @ turn.T, torch.eye(3, dtype=torch.float64))
    volume = torch.zeros(1, 1, 12, 16, 20)
    volume[..., 4:8, 5:11, 6:14] = 1
    augmentation = still(rotation=40.0)
    view = augmentation(volume, seed=3)
    change = augmentation._change(3, 0, volume.shape[1:])
    half = torch.tensor([10.0, 8.0, 6.0], dtype=torch.float64)
    rotation = change.map[:, :3] * half[:, None] / half
    assert torch.allclose(rotation @ rotation.T, torch.eye(3, dtype=torch.float64), atol=1e-6)
    # scipy maps indices (depth, height, width) of the output to those of the input.
    matrix = rotation.flip(0, 1).numpy()
    center = (torch.tensor([12.0, 16.0, 20.0]) - 1).double().numpy() / 2
    reference = affine_transform(
        volume[0, 0].double().numpy(), matrix, offset=center - matrix @ center, order=1, mode="nearest"
    )
    assert torch.allclose(view[0, 0].double(), torch.from_numpy(reference), atol=1e-4)


def test_density_blur_and_noise_have_their_strengths() -> None:
    flat = torch.full((200, 1, 6, 6, 6), 0.5)
    shifted = still(shift=0.2)(flat, 0)[:, 0, 0, 0, 0]
    assert float((shifted - 0.5).abs().max()) <= 0.2 + 1e-5
    assert float(shifted.std()) == pytest.approx(0.2 / 3**0.5, rel=0.15)
    scaled = still(contrast=0.4)(flat, 0)[:, 0, 0, 0, 0]
    assert float(scaled.std()) == pytest.approx(0.2 / 3**0.5, rel=0.15)
    noisy = still(noise=0.1)(flat, 0)
    assert float(noisy.std()) == pytest.approx(0.1 / 3**0.5, rel=0.15)
    point = torch.zeros(50, 1, 7, 7, 7)
    point[:, :, 3, 3, 3] = 1
    blurred = still(blur_probability=1.0)(point, 0)
    assert torch.allclose(blurred.sum((1, 2, 3, 4)), torch.ones(50), atol=1e-4)
    assert float(blurred[:, 0, 3, 3, 3].min()) >= 0.125 - 1e-4
    assert torch.allclose(still(blur_probability=1.0)(flat, 0), flat, atol=1e-5)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"volumes \(batch, 1, d, h, w\)"):
        Scans()(torch.rand(2, 1, 8, 8), 0)
    with pytest.raises(ValueError, match=r"in \[0, 1\], got .* to 2"):
        Scans()(torch.where(scans() == scans().max(), 2.0, scans()), 0)
    with pytest.raises(ValueError, match=r"in \[0, 1\], got nan"):
        Scans()(scans() * torch.nan, 0)
    with pytest.raises(ValueError, match="rows within a batch of 3, got rows 0 to 4"):
        Scans()(scans(), 0, batch_size=3)
    with pytest.raises(ValueError, match="cannot be cut into 3 groups"):
        Scans()(scans(), 0, groups=3)
    with pytest.raises(ValueError, match="rotation"):
        Scans(rotation=181)
    with pytest.raises(ValueError, match="smallest_crop"):
        Scans(smallest_crop=0)
    with pytest.raises(ValueError, match="noise"):
        Scans(noise=-0.1)
