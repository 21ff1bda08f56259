"""The programs of .ci, which build environments and try what was built."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
NEEDED = re.compile(r'^ *require\("([\w-]+)", minimum="([\d.]+)"', re.MULTILINE)
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def extras_of_the_tests() -> set[str]:
    requirements = [Requirement(each) for each in OPTIONAL["test"]]
    return {extra for each in requirements if each.name == "tammes" for extra in each.extras}


def test_the_oldest_versions_suit_all_extras_that_are_tested() -> None:
    """A package may be in two extras, with two minimums."""
    printed = subprocess.run(
        [sys.executable, ROOT / ".ci/lowest.py"], capture_output=True, text=True, check=True
    )
    versions = dict(line.split("==") for line in printed.stdout.splitlines())
    assert len(versions) == len(printed.stdout.splitlines())
    assert {"text", "images", "neighbors"} <= extras_of_the_tests()
    for extra in extras_of_the_tests():
        for requirement in map(Requirement, OPTIONAL[extra]):
            assert requirement.specifier.contains(versions[requirement.name]), f"{requirement} of {extra}"
    # Not only allowed, but the oldest.
    assert versions["datasets"] == "3.2"
    assert versions["torch"] == "2.10"


def test_the_oldest_versions_of_named_extras_are_theirs() -> None:
    printed = subprocess.run(
        [sys.executable, ROOT / ".ci/lowest.py", "hosts", "onnx"], capture_output=True, text=True, check=True
    )
    versions = dict(line.split("==") for line in printed.stdout.splitlines())
    for requirement in map(Requirement, [*OPTIONAL["hosts"], *OPTIONAL["onnx"]]):
        assert f"{requirement.name}>={versions[requirement.name]}" == str(requirement)
    assert "tokenizers" not in versions


def test_an_adapter_needs_what_its_extra_does() -> None:
    extras = {requirement.name: requirement for requirement in map(Requirement, OPTIONAL["hosts"])}
    found = []
    for file in sorted((ROOT / "src/tammes").rglob("*.py")):
        found += NEEDED.findall(file.read_text())
    assert {name for name, _ in found} == {"pytorch-metric-learning", "sentence-transformers", "transformers"}
    for name, minimum in found:
        assert str(extras[name].specifier) == f">={minimum}"


@pytest.mark.parametrize(("size", "code"), [(1999, 0), (2000, 0), (2001, 1)])
def test_a_wheel_that_is_too_large_is_refused(size: int, code: int, tmp_path: Path) -> None:
    small, wheel = tmp_path / "small.whl", tmp_path / "tammes.whl"
    small.write_bytes(b"")
    wheel.write_bytes(bytes(size))
    tried = subprocess.run([ROOT / ".ci/size.sh", "2000", small, wheel], capture_output=True, text=True)
    assert tried.returncode == code
    assert ("tammes.whl has 2001 bytes, but at most 2000 are allowed" in tried.stderr) == bool(code)


def test_the_package_is_built_with_a_limit_of_two_megabytes() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^LARGEST := 2000000$", makefile, re.MULTILINE)
    assert re.search(r"^\t\.ci/size\.sh \$\(LARGEST\) dist/\*\.whl$", makefile, re.MULTILINE)


def test_an_objective_imports_no_heavy_package() -> None:
    """What `.ci/installed.sh` asserts of the installed wheel."""
    script = (ROOT / ".ci/installed.sh").read_text()
    listed = re.search(r"heavy = (\{.*\}) & set\(sys\.modules\)", script)
    assert listed is not None
    assert {"lightning", "matplotlib", "kornia"} <= set(re.findall(r"\w+", listed[1]))
    program = (
        "import sys, tammes, torch; rows = torch.rand(4, 2); "
        "tammes.recipes.hcl(temperature=0.5, beta=1.0)(rows, rows.flip(0)); "
        f"print({listed[1]} & set(sys.modules))"
    )
    tried = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert tried.stdout.strip() == "set()"


@pytest.fixture
def hatch_build(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook of a build, without hatchling, which only a build has."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    specification = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def metadata_of(hatch_build: ModuleType) -> dict:
    hook = hatch_build.Addresses()
    hook.root = str(ROOT)
    metadata = {"version": "1.2.0"}
    hook.update(metadata)
    return metadata


def test_links_of_the_readme_lead_to_the_repository_from_anywhere(
    hatch_build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMMES_REPOSITORY", "https://example.org/me/tammes/")
    metadata = metadata_of(hatch_build)
    text = metadata["readme"]["text"]
    assert "](https://example.org/me/tammes/raw/v1.2.0/docs/images/comparison.png)" in text
    assert "](https://example.org/me/tammes/blob/v1.2.0/docs/which_negatives.md)" in text
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) > 40
    assert [each for each in targets if not each.startswith(("https://", "#"))] == []
    assert metadata["urls"]["Source"] == "https://example.org/me/tammes"


def test_without_a_repository_the_readme_stays_as_it_is(
    hatch_build: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TAMMES_REPOSITORY", raising=False)
    metadata = metadata_of(hatch_build)
    assert metadata["readme"]["text"] == (ROOT / "README.md").read_text()
    assert "urls" not in metadata
    assert "TAMMES_REPOSITORY" in (ROOT / ".github/workflows/release.yml").read_text()
