"""Several processes train as one would: the same result, failures that all share, and a way on from each."""

import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import process_cases as cases
import process_runner
import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from tammes.cli.main import main
from tammes.data import shards
from tammes.positives import Photographs
from tammes.training import Machine, RunFolder, load_run, train
from tammes.training.distributed.strategy import Averaging, GradientMaxima, average_gradients
from tammes.training.sampler import Shard
from tiny import write_images

SCRIPT = str(Path(cases.__file__))
FAULTS = str(Path(cases.__file__).with_name("process_faults.py"))
Found = dict[str, Any]


def found(folder: Path, count: int, *names: str) -> list[Found]:
    """What each process found in the cases."""
    for rank, process in enumerate(process_runner.run_together(count, [SCRIPT, str(folder), *names])):
        assert process.code == 0, f"rank {rank}: {process.output}"
    return [torch.load(folder / f"found {rank}.pt") for rank in range(count)]


def difference(first: dict[str, Tensor], second: dict[str, Tensor]) -> float:
    """The largest relative difference of a tensor from its counterpart."""
    assert first.keys() == second.keys()
    return max(
        float((second[name].double() - value.double()).norm() / (1e-12 + value.double().norm()))
        for name, value in first.items()
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("together")


def under_torchrun(kind: str, folder: Path) -> str:
    """What is printed where a run ends as `kind` says; torchrun says that it failed, within a minute."""
    start = time.monotonic()
    launcher = process_runner.start_by_torchrun(2, [FAULTS, kind, str(folder)])
    (process,) = process_runner.ended([launcher], process_runner.FAULT_LIMIT)
    assert process.code != 0, process.output
    assert time.monotonic() - start < 60
    assert sorted(file.name for file in (folder / "checkpoints").iterdir()) == ["last.ckpt", "previous.ckpt"]
    return process.output


@pytest.fixture(scope="module")
def killed(folder: Path) -> str:
    return under_torchrun("killed", folder / "killed")


@pytest.fixture(scope="module")
def terminated(folder: Path) -> str:
    return under_torchrun("launcher terminated, with workers", folder / "terminated")


@pytest.fixture(scope="module")
def both(folder: Path, killed: str, terminated: str) -> list[Found]:
    """All that two processes found."""
    return found(folder, 2, *cases.CASES)


def said(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("tammes: ")]


def test_where_a_process_is_killed_the_others_say_so_and_end(folder: Path, killed: str) -> None:
    (line,) = said(killed)
    assert line.startswith("tammes: another process was killed, or could not be reached for too long (")
    assert line.endswith(f": resume the run in {folder / 'killed'} with --resume")
    assert "rank 0 exits with 2" in killed
    assert "[rank0]: Traceback" not in killed


def test_where_the_launcher_is_asked_to_stop_all_stop_after_the_same_step(
    folder: Path, terminated: str
) -> None:
    where = folder / "terminated"
    assert said(terminated) == [f"tammes: stopped after 9 steps: resume the run in {where} with --resume"]
    assert "rank 0 exits with 143" in terminated
    assert "rank 1 exits with 143" in terminated


@pytest.mark.equal_bits
@pytest.mark.processes
def test_what_was_killed_or_stopped_is_resumed_to_the_same_bits(both: list[Found]) -> None:
    for each in both:
        whole = {name: value for name, value in each["whole"].items() if name not in cases.NUMBERS}
        for run in ("killed", "terminated"):
            resumed = {name: each["ended_outright"][f"{run} {name}"] for name in whole}
            assert difference(whole, resumed) == 0
        assert difference(whole, each["stopped_and_resumed"]) == 0


@pytest.mark.parametrize("name", cases.EXACT)
def test_two_processes_train_as_one(both: list[Found], name: str) -> None:
    one = cases.exact(name)
    for each in both:
        assert difference(one, each[name]) < 1e-9


def test_in_single_precision_a_few_steps_differ_by_rounding_alone(
    folder: Path, both: list[Found], tmp_path: Path
) -> None:
    # Adam divides by the size of a gradient: what is rounding in a step may grow from step to step.
    few = cases.weights(cases.train_in(None, replace(cases.CONFIG, epochs=1)))
    for each in both:
        assert difference(few, each["a_few_steps"]) < 1e-5
    one = cases.train_in(tmp_path / "one")
    assert (tmp_path / "one/config.yaml").read_text() == (folder / "whole/config.yaml").read_text()
    rows = load_run(folder / "whole").metrics
    for row, expected in zip(rows, one.metrics, strict=True):
        assert (row.epoch, row.step, row.last.keys()) == (expected.epoch, expected.step, expected.last.keys())
        if row.epoch > 0:
            assert row.loss == pytest.approx(expected.loss, rel=1e-3)
            assert row.learning_rate == expected.learning_rate
            assert row.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-2)
        assert dict(row.last) == pytest.approx(dict(expected.last), rel=1e-2)


@pytest.mark.equal_bits
@pytest.mark.processes
def test_every_process_has_the_same_weights_and_numbers(both: list[Found]) -> None:
    assert difference(both[0]["whole"], both[1]["whole"]) == 0


def test_one_process_goes_on_with_the_run_of_two(folder: Path, both: list[Found]) -> None:
    resumed = cases.weights(cases.train_in(folder / "begun", checkpoint_every=2, resume=True))
    whole = {name: value for name, value in both[0]["whole"].items() if name not in cases.NUMBERS}
    assert difference(whole, resumed) < 1e-3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nan_in_embeddings", "ValueError: rank 1: the embeddings became NaN or infinite at step 7 "),
        ("infinite_gradient", "ValueError: rank 1: the gradient became NaN or infinite at step 7 "),
        ("broken_image", "ValueError: cat.png is cut off"),
        ("full_disk", "OSError: [Errno 28] No space left on device"),
        (
            "other_settings",
            "ValueError: the processes have different settings: training.seed is 0 on rank 0, 1 on rank 1; "
            "data.count is 22 on rank 0, 23 on rank 1; ",
        ),
        ("an_existing_run", "ValueError: there is a run in "),
        ("too_small_a_batch", "ValueError: a batch of 3 pairs is too small for 2 processes"),
    ],
)
def test_what_fails_on_one_process_is_raised_on_all(both: list[Found], name: str, message: str) -> None:
    assert [each[name].startswith(message) for each in both] == [True, True]
    assert both[0][name] == both[1][name]


def test_failures_before_training_leave_no_folder(folder: Path, both: list[Found]) -> None:
    assert not (folder / "other").exists()


def test_gradients_are_averaged_once_a_step_with_chunks_as_without(both: list[Found]) -> None:
    for each in both:
        assert each["reductions"] == [4, 4]


def test_processes_agree(both: list[Found]) -> None:
    for each in both:
        assert each["agreements"] == [1, "from rank 0", {"number": 0.75}, "ValueError: rank 0 cannot"]


def test_a_step_with_batch_normalization_is_that_of_one_process(both: list[Found], tmp_path: Path) -> None:
    one = cases.one_step(Shard(batch_size=11), nn.Identity())
    for each in (*both, *found(tmp_path, 4, "step")):
        assert difference(one, each["step"]) < 1e-10


def test_the_command_trains_under_torchrun(tmp_path: Path) -> None:
    data = write_images(tmp_path / "pets", "cat", "dog", count=9)
    words = f"train simclr --data {data} --temperature 0.5 --size 8 --batch-size 5 --epochs 2 --workers 1"
    words += " --accelerator cpu encoder:convnet --encoder.width 8 --head.dim 8"
    launcher = process_runner.start_by_torchrun(
        2, ["-m", "tammes", *words.split(), "--out", str(tmp_path / "two")]
    )
    (process,) = process_runner.ended([launcher])
    assert process.code == 0, process.output
    assert process.output.count("The run is in") == 1
    assert main([*words.split(), "--out", str(tmp_path / "one")]) == 0
    one, two = load_run(tmp_path / "one"), load_run(tmp_path / "two")
    assert two.config == one.config
    assert difference(one.model.state_dict(), two.model.state_dict()) < 1e-4
    assert sorted(file.name for file in (tmp_path / "two").iterdir()) == [
        "checkpoints",
        "command.json",
        "config.yaml",
        "environment.yaml",
        "metrics.csv",
        "model.safetensors",
        "report.html",
    ]


@pytest.mark.slow
def test_a_signal_to_one_process_stops_all(tmp_path: Path) -> None:
    run = tmp_path / "run"
    processes = process_runner.run_together(2, [FAULTS, "terminated", str(run)])
    assert [process.code for process in processes] == [143, 143]
    assert "stopped after 9 steps" in "".join(process.output for process in processes)


@pytest.mark.slow
def test_without_a_launcher_the_survivor_of_a_kill_ends_too(tmp_path: Path) -> None:
    # The workers of the one that was killed hold its connections until they notice.
    words = [FAULTS, "killed, with workers", str(tmp_path / "run")]
    survivor, victim = process_runner.run_together(2, words, process_runner.FAULT_LIMIT)
    assert (survivor.code, victim.code) == (2, -signal.SIGKILL)
    assert len(said(survivor.output)) == 1


def test_each_process_reads_its_own_shards(both: list[Found]) -> None:
    first, second = (each["sharded"] for each in both)
    assert [len(rows) for rows in first] == [3] * 6
    assert [len(rows) for rows in second] == [2] * 6
    for epoch in (slice(0, 4), slice(4, 6)):
        rows = [row for step in (*first[epoch], *second[epoch]) for row in step]
        assert len(rows) == len(set(rows))
        owned, others = ({row // 6 for step in steps[epoch] for row in step} for steps in (first, second))
        assert not owned & others


def test_a_run_on_shards_resumes_with_as_many_processes(folder: Path, both: list[Found]) -> None:
    assert both
    images = shards(folder / "pets 0", size=8, buffer=4)
    config = replace(cases.CONFIG, augmentation=Photographs())
    resumed = RunFolder(path=folder / "sharded", checkpoint_every=2, resume=True)
    said = (
        "its data to 2 processes, and its place in them is unknown to 1: resume it with 2, or start a new run"
    )
    with pytest.raises(ValueError, match=said):
        train(config, images, folder=resumed, machine=Machine(accelerator="cpu"))


def test_buckets_are_averaged_without_a_callback_on_the_threads_of_the_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such a callback aborts a program that ends before the threads have let go of it."""
    monkeypatch.setattr(torch._C.Future, "then", lambda *_: pytest.fail("a callback"))
    model, local_maxima = nn.Sequential(*(nn.Linear(200, 200) for _ in range(4))), GradientMaxima()
    rows = torch.randn(5, 200, generator=torch.Generator().manual_seed(0))
    model(rows).square().sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        parallel = DistributedDataParallel(model, bucket_cap_mb=0.2)
        parallel.register_comm_hook(Averaging(local_maxima), average_gradients)
        for _ in range(3):
            model.zero_grad()
            parallel(rows).square().sum().backward()
            torch.testing.assert_close([each.grad for each in model.parameters()], expected)
    finally:
        dist.destroy_process_group()
    assert len(local_maxima) > 1, "several buckets"
    largest = max(float(gradient.abs().max()) for gradient in expected)
    assert max(map(float, local_maxima.values())) == pytest.approx(largest)
