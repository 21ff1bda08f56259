from datetime import timedelta

import pytest
import torch

from tammes.training import Machine, train
from tammes.training.distributed.launch import Launch
from tiny import make_config, random_images

SECOND = Launch(rank=1, count=2, local_rank=1, local_count=2, address="127.0.0.1", port=1)


def environment(**more: str) -> dict[str, str]:
    two = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    return {**two, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", **more}


def test_without_a_launcher_there_is_one_process() -> None:
    assert Launch.of({}) == Launch()
    assert Launch.of(environment(RANK="0", WORLD_SIZE="1")) == Launch()


def test_what_torchrun_says_is_understood() -> None:
    assert Launch.of(environment()) == SECOND
    served = Launch.of(environment(TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="3"))
    assert (served.launcher_serves, served.restart) == (True, 3)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"RANK": "2"}, r"RANK=2, WORLD_SIZE=2, .* do not fit together: start the processes by torchrun"),
        ({"MASTER_PORT": "http"}, "MASTER_PORT in the environment must be an integer, got 'http'"),
    ],
)
def test_an_environment_that_makes_no_sense_is_refused(more: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Launch.of(environment(**more))


def test_a_missing_address_is_refused() -> None:
    missing = environment()
    del missing["MASTER_ADDR"]
    with pytest.raises(ValueError, match="but no MASTER_ADDR: start the processes by torchrun"):
        Launch.of(missing)


TASK = {"SLURM_NTASKS": "2", "SLURM_JOB_NAME": "pets", "SLURM_JOB_ID": "77", "SLURM_PROCID": "0"}


@pytest.mark.parametrize("more", [{}, {"SLURM_NTASKS_PER_NODE": "1"}])
def test_several_tasks_of_slurm_without_torchrun_are_refused(
    more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether each would train alone, or lightning would find that the numbers do not fit."""
    for name, value in (TASK | {"SLURM_STEP_NUM_TASKS": "2"} | more).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match=r"srun started 2 tasks, .* no RANK .*`srun torchrun \.\.\.`"):
        train(make_config(), random_images(22))


@pytest.mark.parametrize("rank", [{"RANK": "0"}, {"SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_NTASKS": "2"}])
def test_one_task_of_slurm_and_torchrun_within_slurm_are_fine(rank: dict[str, str]) -> None:
    tasks = {"SLURM_STEP_NUM_TASKS": "2"} if "RANK" in rank else {}
    Launch().check_slurm(tasks | rank)
    SECOND.check_slurm({"SLURM_STEP_NUM_TASKS": "2", "RANK": "1"})


def test_one_worker_within_a_larger_job_trains_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lightning by itself counts the tasks of SLURM."""
    for name, value in {**TASK, "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    assert train(make_config(), random_images(22)).metrics[-1].step > 0


def test_an_address_where_nobody_answers_is_named() -> None:
    message = "rank 1 of 2 could not reach the others at MASTER_ADDR=127.0.0.1, MASTER_PORT=1: .*refused"
    with pytest.raises(ValueError, match=message):
        SECOND.store(timedelta(seconds=0.3))


def test_a_missing_gpu_is_refused_with_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match="no GPU that PyTorch can use was found on rank 1 of 2"):
        Machine(accelerator="gpu", launch=SECOND)


def test_fewer_gpus_than_processes_are_refused_with_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ValueError, match=r"more processes \(2\) than GPUs \(1\) on rank 1 of 2"):
        Machine(launch=SECOND)
    assert Machine(accelerator="cpu", launch=SECOND).backend == "gloo"


def test_patience_must_be_positive() -> None:
    with pytest.raises(ValueError, match="patience must be a finite number above 0, got 0: it is in seconds"):
        Machine(patience=0)
