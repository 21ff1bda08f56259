import pytest

from tammes.cli.failures import is_first_on_machine
from tammes.cli.main import main

TWO = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


@pytest.fixture
def _launched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TWO.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_launched")
@pytest.mark.parametrize("command", ["compare simclr hcl --data digits", "reproduce --list"])
def test_what_several_processes_would_do_twice_is_refused(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    assert "runs in one process, but 2 were started: leave torchrun out" in capsys.readouterr().err


@pytest.mark.usefixtures("_launched")
def test_the_command_line_is_explained_once_on_a_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_first_on_machine()
    assert main(["train", "--no-such-flag"]) == 2
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert main(["train", "--no-such-flag"]) == 2
    assert "no-such-flag" in "".join(capsys.readouterr())
