import pytest
import torch

from tammes.data import synthetic_volumes
from tammes.data.synthetic_volumes import HOLE, LUNG, MOST_VOLUMES, RIM


@pytest.mark.equal_bits
def test_a_volume_depends_on_the_seed_and_its_number_alone() -> None:
    few, more = synthetic_volumes(3, size=16), synthetic_volumes(5, size=16)
    assert torch.equal(few.voxels, more.voxels[:3])
    assert not torch.equal(few.voxels, synthetic_volumes(3, size=16, seed=1).voxels)
    assert len({volume.sum().item() for volume in more.voxels}) == 5


def test_the_planted_share_is_what_the_voxels_show() -> None:
    scans = synthetic_volumes(40, size=24)
    assert scans.outcomes is not None
    share = scans.outcomes.real("share")
    # A noiseless count: densities of holes lie far below those of lungs, and air is outside of the body.
    inside = scans.voxels[:, 0, 6:18, 8:17, 3:21].flatten(1)
    holes = ((inside - HOLE).abs() < 0.08).double().sum(1)
    lungs = (inside < LUNG + RIM + 0.08).double().sum(1)
    correlation = torch.corrcoef(torch.stack([holes / lungs, share]))[0, 1]
    assert float(correlation) > 0.95
    assert float(share.min()) >= 0
    assert float(share.max()) <= 0.4


def test_outcomes_are_independent_and_grades_follow_them() -> None:
    scans = synthetic_volumes(300, size=16)
    assert scans.outcomes is not None
    columns = torch.stack([scans.outcomes.real(name) for name in ("share", "rim", "rod")])
    assert float((torch.corrcoef(columns) - torch.eye(3)).abs().max()) < 0.2
    for real, ordinal, count in (("share", "grade", 6), ("rim", "rim_grade", 3)):
        ranks, grades = scans.outcomes.grades(ordinal)
        assert len(grades) == count
        means = [float(scans.outcomes.real(real)[ranks == rank].mean()) for rank in range(count)]
        assert means == sorted(means)
    assert torch.equal(scans.required_labels(), scans.outcomes.grades("grade")[0])
    assert scans.names[0] == "synthetic 0"


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="size must be an integer of at least 16"):
        synthetic_volumes(2, size=15)
    with pytest.raises(ValueError, match="count must be at most"):
        synthetic_volumes(MOST_VOLUMES + 1)
    with pytest.raises(ValueError, match="count"):
        synthetic_volumes(0)
