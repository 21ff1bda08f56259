"""Teams of processes: results, failures, signals."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from tammes import products
from tammes.cli.jobs import Member, Team
from tammes.cli.main import main

NAMES = ["a", "b", "c", "d", "e"]


def squares(offset: int, member: Member) -> None:
    def square(number: int) -> torch.Tensor:
        print("begins")
        print("ends", flush=True)
        return torch.tensor((offset + number) ** 2)

    offset = int(sum(member.round(square)))
    member.round(square)


def refuses_c(member: Member) -> None:
    def refuse(number: int) -> int:
        if NAMES[number] == "c":
            sys.stderr.write("c is refused\n")
            raise SystemExit(2)
        if NAMES[number] in "de":
            time.sleep(60)
        return number

    member.round(refuse)


def kills_itself(member: Member) -> None:
    member.round(lambda number: os.kill(os.getpid(), signal.SIGKILL))


def waits(folder: Path, member: Member) -> None:
    def wait(number: int) -> None:
        try:
            (folder / f"begun-{number}").touch()
            time.sleep(60)
        finally:
            (folder / f"ended-{number}").touch()

    member.round(wait)


@pytest.mark.processes
def test_each_process_has_all_results_of_a_round(capfd: pytest.CaptureFixture[str]) -> None:
    threads = os.environ.get("OMP_NUM_THREADS")
    with Team(squares, 3, jobs=3) as team:
        first = {number: int(square) for number, square in team.round(NAMES)}
        assert first == {0: 9, 1: 16, 2: 25, 3: 36, 4: 49}
        second = {number: int(square) for number, square in team.round(NAMES[:1])}
        assert second == {0: sum(first.values()) ** 2}, "fewer pieces than processes"
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"{name}: {word}" for name in "aabcde" for word in ("begins", "ends"))
    assert os.environ.get("OMP_NUM_THREADS") == threads


@pytest.mark.processes
def test_a_process_that_fails_stops_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    begin = time.monotonic()
    with pytest.raises(SystemExit) as end, Team(refuses_c, jobs=2) as team:
        list(team.round(NAMES))
    assert end.value.code == 2
    assert time.monotonic() - begin < 50
    assert capfd.readouterr().err == "c is refused\n"


@pytest.mark.processes
def test_a_process_that_was_killed_is_named() -> None:
    expected = r"ended early \(by signal 9\), perhaps since memory ran out"
    with pytest.raises(ChildProcessError, match=expected), Team(kills_itself, jobs=2) as team:
        list(team.round(NAMES))


@pytest.mark.processes
def test_an_interrupt_stops_all_processes_and_waits_for_them(tmp_path: Path) -> None:
    def interrupt() -> None:
        while len(list(tmp_path.glob("begun-*"))) < 2:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt), Team(waits, tmp_path, jobs=2) as team:
            list(team.round(NAMES))
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["begun-0", "begun-1", "ended-0", "ended-1"]


def sees(member: Member) -> None:
    member.round(lambda number: (os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES")))


@pytest.mark.processes
@pytest.mark.parametrize(
    ("count", "named", "seen"),
    [(2, None, {"0", "1"}), (2, "3,GPU-5", {"3", "GPU-5"}), (1, None, {None}), (1, "4", {"4"})],
)
def test_several_gpus_are_dealt_out(
    monkeypatch: pytest.MonkeyPatch, count: int, named: str | None, seen: set[str | None]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    if named is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    with Team(sees, jobs=2) as team:
        found = dict(found for _, found in team.round(["a", "b"]))
    assert len(found) == 2
    assert set(found.values()) == seen
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == named


def says_whose_products(member: Member) -> None:
    member.round(lambda number: products.are_quick())


@pytest.mark.processes
@pytest.mark.parametrize("quick", [False, True])
def test_a_team_multiplies_as_its_leader(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "are_quick", lambda: quick)
    with Team(says_whose_products, jobs=2) as team:
        found = {whose for _, whose in team.round(["a", "b"])}
    assert found == {quick and products.is_slow_in_mkl()}


def ignores_signals(member: Member) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    member.round(int)
    member.round(int)


@pytest.mark.processes
def test_a_process_that_waits_ends_without_a_signal() -> None:
    """As code in C may lose one."""
    begin = time.monotonic()
    with Team(ignores_signals, jobs=1) as team:
        assert list(team.round(["a"])) == [(0, 0)]
    assert time.monotonic() - begin < 50


WORDS = (
    "compare simclr hcl --data digits --epochs 2 --seeds 2 --batch-size 512 encoder:convnet --encoder.width 8"
)


@pytest.mark.processes
def test_a_comparison_has_the_same_scores_with_several_jobs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    tables = []
    for jobs in (1, 2):
        report = tmp_path / f"{jobs}.html"
        words = WORDS.replace(" encoder:", f" --jobs {jobs} --report {report} encoder:")
        assert main(words.split()) == 0
        said = capfd.readouterr().out
        assert said.count("epoch 2/2") == 4
        assert ("hcl, seed 1: epoch 2/2" in said) == (jobs == 2)
        # The last column has seconds.
        rows = [line.split("│")[1:-2] for line in said.splitlines() if line.startswith("│")]
        assert len(rows) == 4
        tables.append(rows)
        assert "of hcl" in report.read_text()
    assert tables[0] == tables[1]


@pytest.mark.processes
def test_a_comparison_with_several_jobs_goes_on_after_a_stop(tmp_path: Path) -> None:
    more = f"--jobs 2 --out {tmp_path / 'runs'} --report {tmp_path / 'report.html'}"
    words = WORDS.replace("--epochs 2", "--epochs 20").replace(" encoder:", f" {more} encoder:").split()
    command = [sys.executable, "-m", "tammes", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    begun: set[str] = set()
    for line in process.stdout:
        if "epoch 2/20" in line:
            begun.add(line.split(":")[0])
        if len(begun) == 2:
            break
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 143, errors
    assert errors.count("tammes: stopped") == 1
    assert "the same command goes on from here" in errors
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("epoch 1/20") == 2, "hcl's alone: what was trained is not trained again"
    assert ended.stdout.count("epoch 20/20") == 4
    assert (tmp_path / "report.html").exists()


@pytest.mark.processes
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    """Though it was killed, and could tell them nothing."""
    script = (
        "import sys; from pathlib import Path; from test_cli_jobs import *\n"
        "if __name__ == '__main__':\n"
        f"    with Team(waits, Path({str(tmp_path)!r}), jobs=2) as team: list(team.round(NAMES))\n"
    )
    (tmp_path / "leader.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "leader.py")], env=environment, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("begun-*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    _, errors = process.communicate(timeout=60)  # until the last process has closed it
    assert "Traceback" not in errors
    assert sorted(each.name for each in tmp_path.glob("ended-*")) == ["ended-0", "ended-1"]
