"""Rules of the house that no linter checks: who may import what, and how files are named and sized."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tammes

SOURCE = Path(tammes.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
MANY_PROCESSES = ("sources/", "training/", "integrations/ddp.py")
LONGEST = 350


def name_of(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def is_of_torch_distributed(name: str) -> bool:
    return f"{name}.".startswith("torch.distributed.")


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            # `torch.distributed` is also reached without an import of its own.
            yield ast.unparse(node)


def test_torch_distributed_is_used_by_sources_training_and_the_check_of_ddp_alone() -> None:
    others = [file for file in FILES if not name_of(file).startswith(MANY_PROCESSES)]
    assert len(others) > 100
    assert not [
        name_of(file)
        for file in others
        if any(is_of_torch_distributed(name) for name in imported(ast.parse(file.read_text())))
    ]


def test_the_rule_on_torch_distributed_sees_each_way_to_it() -> None:
    for line in (
        "import torch.distributed as dist",
        "from torch import distributed",
        "from torch.distributed import TCPStore",
        "torch.distributed.barrier()",
    ):
        assert any(is_of_torch_distributed(name) for name in imported(ast.parse(line)))


def test_no_file_is_a_drawer_for_the_rest() -> None:
    parts = {part for file in FILES for part in file.relative_to(SOURCE).with_suffix("").parts}
    words = {word for part in parts for word in part.split("_")}
    assert not words & {"utils", "util", "misc", "common", "helpers", "helper"}


def test_files_can_be_read_in_one_sitting() -> None:
    lines = {name_of(file): len(file.read_text().splitlines()) for file in FILES}
    assert not {name: count for name, count in lines.items() if count > LONGEST}


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").is_file()
