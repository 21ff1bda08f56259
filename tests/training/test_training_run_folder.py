from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch

from tammes import recipes
from tammes.encoders import ConvNetConfig
from tammes.training import (
    Adam,
    Constant,
    ImagesSummary,
    Machine,
    RunConfig,
    RunFolder,
    build_model,
    embed,
    load_run,
    train,
)
from tammes.training.checkpoint import CONFIG, NEEDED, load_checkpoint
from tammes.training.command import Command
from tammes.training.config_file import to_yaml
from tammes.training.run_folder import read_config
from tiny import make_config, random_images


def run_config() -> RunConfig:
    constant = replace(make_config(), optimizer=Adam(schedule=Constant()))
    return RunConfig(training=constant, data=ImagesSummary(source="here", count=22, channels=1, size=8))


def save(folder: RunFolder, config: RunConfig, step: int) -> None:
    folder.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    rest = {**{key: {} for key in NEEDED}, "state_dict": {"weight": torch.arange(3.0)}}
    torch.save({**rest, CONFIG: to_yaml(config), "global_step": step}, folder.checkpoint)


def test_a_new_folder_gets_its_config(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path / "deep" / "run")
    assert folder.open(run_config(), steps_per_epoch=5) is None
    assert read_config(folder.config) == run_config()


def test_a_run_that_exists_is_refused(tmp_path: Path) -> None:
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    with pytest.raises(ValueError, match=r"there is a run in .* already.*resume=True.*overwrite=True"):
        RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)


def test_other_files_are_refused_and_never_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for how in ({}, {"overwrite": True}):
        with pytest.raises(ValueError, match="is not empty and holds no run"):
            RunFolder(path=tmp_path, **how).open(run_config(), steps_per_epoch=5)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    file = RunFolder(path=tmp_path / "thesis.tex")
    with pytest.raises(ValueError, match="is a file"):
        file.open(run_config(), steps_per_epoch=5)


def test_a_run_killed_before_its_config_was_complete_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "config.yaml.4711.partial").write_text("training: ")
    folder = RunFolder(path=tmp_path)
    assert folder.open(run_config(), steps_per_epoch=5) is None
    assert [file.name for file in tmp_path.iterdir()] == ["config.yaml"]


def test_overwriting_deletes_what_a_run_writes_and_nothing_else(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path, overwrite=True)
    folder.open(run_config(), steps_per_epoch=5)
    save(folder, run_config(), step=3)
    for file in (folder.weights, folder.metrics, folder.environment, folder.report, tmp_path / "notes.txt"):
        file.write_text("old")
    other = replace(run_config(), training=replace(run_config().training, seed=7))
    assert folder.open(other, steps_per_epoch=5) is None
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.yaml", "notes.txt"]
    assert read_config(folder.config) == other


def test_overwriting_keeps_a_file_of_the_users_among_the_checkpoints(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path, overwrite=True)
    folder.open(run_config(), steps_per_epoch=5)
    save(folder, run_config(), step=3)
    left = folder.checkpoint.with_name("last.ckpt.4711.partial")
    for file in (left, folder.previous, folder.checkpoint.with_name("best.ckpt")):
        file.write_text("old")
    folder.open(run_config(), steps_per_epoch=5)
    assert [file.name for file in folder.checkpoint.parent.iterdir()] == ["best.ckpt"]


@pytest.mark.parametrize("how", [{"resume": True}, {"overwrite": True}])
def test_a_link_in_the_place_of_the_checkpoints_is_refused(tmp_path: Path, how: dict[str, bool]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "last.ckpt").write_text("of another run")
    folder = RunFolder(path=tmp_path / "run", **how)
    RunFolder(path=folder.path).open(run_config(), steps_per_epoch=5)
    folder.checkpoint.parent.symlink_to(other)
    with pytest.raises(ValueError, match=r"checkpoints is a symbolic link.*remove the link"):
        folder.open(run_config(), steps_per_epoch=5)
    assert (other / "last.ckpt").read_text() == "of another run"


def test_a_finished_run_without_checkpoints_is_not_trained_anew(tmp_path: Path) -> None:
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    folder = RunFolder(path=tmp_path, resume=True)
    folder.weights.write_text("weeks of training")
    with pytest.raises(ValueError, match="has finished, but its checkpoints are missing"):
        folder.open(run_config(), steps_per_epoch=5)


def test_resume_and_overwrite_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        RunFolder(path=tmp_path, resume=True, overwrite=True)
    with pytest.raises(ValueError, match="checkpoint_every must be an integer of at least 1, got 0"):
        RunFolder(path=tmp_path, checkpoint_every=0)


def test_there_must_be_something_to_resume(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no run to resume in .*no config\.yaml"):
        RunFolder(path=tmp_path / "typo", resume=True).open(run_config(), steps_per_epoch=5)
    assert not (tmp_path / "typo").exists()


def test_before_the_first_checkpoint_a_resumed_run_begins_anew(tmp_path: Path) -> None:
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    assert RunFolder(path=tmp_path, resume=True).open(run_config(), steps_per_epoch=5) is None
    longer = replace(run_config(), training=replace(run_config().training, epochs=30))
    command = Command(words=("hcl", "--epochs", "30"), folder=tmp_path)
    folder = RunFolder(path=tmp_path, resume=True, command=command)
    assert folder.open(longer, steps_per_epoch=5) is None
    assert read_config(folder.config).training.epochs == 30
    assert Command.load(folder.command_file) == command


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 3}, r"training\.seed was 0, now 3"),
        ({"batch_size": 5}, r"training\.batch_size was 4, now 5"),
        ({"encoder": ConvNetConfig(width=16)}, r"training\.encoder\.width was 8, now 16"),
        (
            {"objective": recipes.simclr(temperature=0.5)},
            r"training\.objective\.coupling was 'Hard', now 'Uniform'",
        ),
    ],
)
def test_a_run_with_other_settings_is_refused_and_the_field_named(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = RunFolder(path=tmp_path, resume=True)
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    other = replace(run_config(), training=replace(run_config().training, **change))
    with pytest.raises(ValueError, match=f"{message}.*same settings, or start a new run"):
        folder.open(other, steps_per_epoch=5)
    assert read_config(folder.config) == run_config()


def test_other_images_are_refused(tmp_path: Path) -> None:
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    more = replace(run_config(), data=replace(run_config().data, count=23))
    with pytest.raises(ValueError, match=r"data\.count was 22, now 23\. Instead, give the same settings"):
        RunFolder(path=tmp_path, resume=True).open(more, steps_per_epoch=5)


def test_a_checkpoint_from_another_run_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path, resume=True)
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    save(folder, replace(run_config(), training=replace(run_config().training, seed=9)), step=3)
    with pytest.raises(
        ValueError, match=r"last\.ckpt belongs to a run with other settings: training\.seed was 9"
    ):
        folder.open(run_config(), steps_per_epoch=5)


def test_more_epochs_are_allowed_and_fewer_only_while_they_are_ahead(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path, resume=True)
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    save(folder, run_config(), step=8)  # in the second of three epochs of five steps

    def ask_for(epochs: int) -> object:
        longer = replace(run_config(), training=replace(run_config().training, epochs=epochs))
        return folder.open(longer, steps_per_epoch=5)

    assert ask_for(2)
    assert ask_for(30)
    assert read_config(folder.config).training.epochs == 30
    with pytest.raises(ValueError, match="has taken 8 steps already, more than 1 epochs have"):
        ask_for(1)


def test_a_cosine_cannot_be_extended(tmp_path: Path) -> None:
    cosine = replace(run_config(), training=make_config())
    RunFolder(path=tmp_path).open(cosine, steps_per_epoch=5)
    longer = replace(cosine, training=replace(make_config(), epochs=9))
    with pytest.raises(ValueError, match="a schedule over the epochs it was started with"):
        RunFolder(path=tmp_path, resume=True).open(longer, steps_per_epoch=5)


@pytest.mark.parametrize("content", [b"", b"nothing of the kind", b"PK\x03\x04 half an archive"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "last.ckpt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"last\.ckpt is damaged or no checkpoint"):
        load_checkpoint(file)


def test_a_checkpoint_cut_off_or_changed_anywhere_is_damaged(tmp_path: Path) -> None:
    folder = RunFolder(path=tmp_path)
    save(folder, run_config(), step=3)
    content = folder.checkpoint.read_bytes()
    for at in range(0, len(content), len(content) // 40):
        folder.checkpoint.write_bytes(content[:at])
        with pytest.raises(
            ValueError, match=r"is damaged or no checkpoint .* anew with overwrite=True"
        ) as raised:
            load_checkpoint(folder.checkpoint)
        assert "weights_only" not in str(raised.value)
    in_weights = content.index(torch.arange(3.0).numpy().tobytes())
    for at in (content.index(CONFIG.encode()), in_weights):
        folder.checkpoint.write_bytes(content[:at] + b"\xff" + content[at + 1 :])
        with pytest.raises(ValueError, match="is damaged or no checkpoint"):
            load_checkpoint(folder.checkpoint)


def test_where_both_checkpoints_are_damaged_both_are_named(tmp_path: Path) -> None:
    RunFolder(path=tmp_path).open(run_config(), steps_per_epoch=5)
    folder = RunFolder(path=tmp_path, resume=True)
    save(folder, run_config(), step=3)
    for file in (folder.checkpoint, folder.previous):
        file.write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=r"last\.ckpt is damaged .* previous\.ckpt, cannot be read either"):
        folder.open(run_config(), steps_per_epoch=5)


def test_a_file_that_cannot_be_read_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        load_checkpoint(tmp_path)


def test_a_part_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    torch.save({CONFIG: "", "state_dict": {}}, tmp_path / "last.ckpt")
    with pytest.raises(ValueError, match="incomplete checkpoint: it lacks global_step, optimizer_states"):
        load_checkpoint(tmp_path / "last.ckpt")


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("executed"),))


def test_nothing_in_a_checkpoint_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({CONFIG: Evil()}, tmp_path / "last.ckpt")
    with pytest.raises(ValueError, match="is damaged or no checkpoint"):
        load_checkpoint(tmp_path / "last.ckpt")
    assert not (tmp_path / "executed").exists()


def test_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    torch.save({"state_dict": {}}, tmp_path / "last.ckpt")
    with pytest.raises(ValueError, match="is no checkpoint of a Tammes run"):
        load_checkpoint(tmp_path / "last.ckpt")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "run"
    train(make_config(), random_images(22), folder=RunFolder(path=path), machine=Machine(accelerator="cpu"))
    return path


def copy(trained: Path, target: Path, *names: str) -> Path:
    target.mkdir()
    for name in names:
        (target / name).write_bytes((trained / name).read_bytes())
    return target


@pytest.mark.equal_bits
def test_a_run_reads_back_as_it_was(trained: Path, tmp_path: Path) -> None:
    again = train(make_config(), random_images(22), machine=Machine(accelerator="cpu"))
    run = load_run(trained)
    assert run.config.training == make_config()
    assert run.metrics == again.metrics
    images = random_images(9, seed=5)
    for first, second in zip(embed(run.model, images), embed(again.model, images), strict=True):
        assert torch.equal(first, second)


def test_the_weights_are_plain_safetensors_of_encoder_and_head(trained: Path) -> None:
    weights = safetensors.torch.load_file(trained / "model.safetensors")
    assert {name.split(".")[0] for name in weights} == {"encoder", "head"}


@pytest.mark.equal_bits
def test_the_first_weights_depend_on_the_seed_alone() -> None:
    config = RunConfig(training=make_config(), data=ImagesSummary(source="", count=22, channels=1, size=8))
    torch.manual_seed(1)
    first = build_model(config).state_dict()
    torch.manual_seed(2)
    second = build_model(config).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_what_is_missing_is_named(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no run in .*nowhere"):
        load_run(tmp_path / "nowhere")
    half = copy(trained, tmp_path / "half", "config.yaml")
    with pytest.raises(ValueError, match="has not finished"):
        load_run(half)


def test_a_config_of_the_users_own_making_is_checked(trained: Path, tmp_path: Path) -> None:
    edited = copy(trained, tmp_path / "edited", "config.yaml", "model.safetensors")
    text = (edited / "config.yaml").read_text()
    (edited / "config.yaml").write_text(text.replace("beta: 1.0", "betta: 1.0"))
    with pytest.raises(ValueError, match=r"config\.yaml: unknown key training\.objective\.coupling\.betta"):
        load_run(edited)


@pytest.mark.parametrize("content", [b"", b"not what it should be, and long enough for a header"])
def test_damaged_weights_are_named(trained: Path, tmp_path: Path, content: bytes) -> None:
    damaged = copy(trained, tmp_path / "damaged", "config.yaml")
    (damaged / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.safetensors does not fit"):
        load_run(damaged)


@pytest.mark.parametrize("width", [10**8, 10**12, 10**25])
def test_a_network_that_no_memory_holds_is_refused(trained: Path, tmp_path: Path, width: int) -> None:
    other = copy(trained, tmp_path / "other", "config.yaml", "model.safetensors")
    text = (other / "config.yaml").read_text()
    (other / "config.yaml").write_text(text.replace("width: 8", f"width: {width}"))
    with pytest.raises(ValueError, match=r"model\.safetensors does not fit"):
        load_run(other)


def test_weights_of_another_encoder_are_refused(trained: Path, tmp_path: Path) -> None:
    other = copy(trained, tmp_path / "other", "config.yaml", "model.safetensors")
    text = (other / "config.yaml").read_text()
    (other / "config.yaml").write_text(text.replace("width: 8", "width: 16"))
    with pytest.raises(ValueError, match=r"does not fit .*size mismatch"):
        load_run(other)
