"""Numbers out of their range are refused before any data are read, also where nothing would use them."""

import pytest

from tammes.cli.main import main


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("train simclr --temperature 0.5 --data nothing --held-out nan", "held-out"),
        ("train simclr --temperature 0.5 --data digits --held-out 1", "held-out"),
        ("train simclr --temperature 0.5 --data digits --held-out -0.1", "held-out"),
        ("train simclr --temperature 0.5 --data nothing --batch-size 1", "batch_size"),
        ("train simclr --temperature 0.5 --data nothing --epochs 0", "epochs"),
        ("train simclr --temperature 0.5 --data nothing --seed -1", "seed"),
        ("train simclr --temperature 0.5 --data nothing --chunk 0", "chunk"),
        ("train simclr --temperature 0.5 --data nothing --size 0", "size"),
        ("train simclr --temperature 0.5 --data nothing --workers -1", "workers"),
        ("train simclr --temperature 0.5 --data nothing --patience nan", "patience"),
        ("train simclr --temperature 0.5 --data nothing --checkpoint-every 0", "checkpoint_every"),
        ("train simclr --temperature 0.5 --data nothing --measure-every 0", "measure-every"),
        ("compare simclr --data nothing --margin nan", "margin"),
        ("compare simclr --data nothing --class-prior 1", "class_prior"),
        ("compare triplet --data nothing --temperature inf", "temperature"),
        ("compare simclr --data nothing --epochs 0", "epochs"),
        ("compare simclr --data nothing --workers -1", "workers"),
        ("evaluate nothing --data digits --held-out nan", "held-out"),
        ("embed nothing --data digits --out x.npz --batch-size 0", "batch-size"),
        ("embed nothing --data digits --out x.npz --workers -1", "workers"),
        ("reproduce --list --budget nan", "budget"),
        ("reproduce transport-degeneracy --seed -1", "seed"),
        ("reproduce --list --seeds 0", "seeds"),
        ("solve max-clique --graph nothing --epochs 0", "epochs"),
        ("solve max-clique --graph nothing --width 0", "width"),
        ("solve max-clique --graph nothing --learning-rate nan", "learning_rate"),
        ("solve max-clique --graph nothing --extension lovasz --samples 0", "samples"),
        ("solve max-clique --graph nothing --extension lovasz --eigenvectors 0", "eigenvectors"),
        ("solve max-clique --data nothing --most 0", "most"),
    ],
)
def test_a_number_out_of_range_is_refused(
    command: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    message = capsys.readouterr().err
    assert named in message
    assert "got" in message


def test_a_class_prior_of_zero_is_none_for_every_objective(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "simclr", "hcl", "--data", "nothing", "--class-prior", "0"]) == 2
    assert "found no such folder" in capsys.readouterr().err
