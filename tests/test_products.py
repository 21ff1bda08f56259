"""Products by either library: the same numbers, gradients where they are wanted, and who is asked."""

import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tammes import products, recipes
from tammes.objective import Objective
from tammes.pairs import Pairs
from tammes.products import TransposedSum, add_product, is_quicker, product, product_in
from tammes.reduce import Dense

HAS_ONEDNN = torch.backends.mkldnn.is_available()
needs_onednn = pytest.mark.skipif(not HAS_ONEDNN, reason="torch without oneDNN")


@pytest.fixture(params=[False, pytest.param(True, marks=needs_onednn)], ids=["MKL", "oneDNN"])
def onednn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Take one library for products of any size, whatever the processor."""
    taken: bool = request.param
    monkeypatch.setattr(products, "is_slow_in_mkl", lambda: taken)
    for limit in ("_FEWEST", "_FEWEST_TURNED", "STEP", "_LARGE_STEP"):
        monkeypatch.setattr(products, limit, 1)
    return taken


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("turned", [(), ("left",), ("right",), ("left", "right")])
@pytest.mark.parametrize("scale", [1.0, -2.5])
@pytest.mark.parametrize(("n", "d", "m"), [(3, 5, 2), (40, 7, 30), (7, 40, 3), (1, 1, 1)])
def test_it_is_the_product(
    onednn: bool, n: int, d: int, m: int, scale: float, turned: tuple[str, ...]
) -> None:
    left, right = normal(n, d), normal(d, m, seed=1)
    expected = scale * (left.double() @ right.double())
    left = left.T.contiguous().T if "left" in turned else left
    right = right.T.contiguous().T if "right" in turned else right
    copies = left.clone(), right.clone()
    close = {"rtol": 1e-5, "atol": 1e-5, "check_dtype": False}
    torch.testing.assert_close(product(left, right, scale=scale), expected, **close)
    found = product_in(torch.full((n, m), torch.nan), left, right, scale=scale)
    torch.testing.assert_close(found, expected, **close)
    into = torch.ones(n, m)
    add_product(into, left, right)
    torch.testing.assert_close(into, 1 + expected / scale, **close)
    assert torch.equal(left, copies[0])
    assert torch.equal(right, copies[1])


def test_a_sum_over_tiles_is_the_whole_transposed_product(onednn: bool) -> None:
    matrix, rows = normal(11, 9), normal(11, 4, seed=1)
    into = normal(9, 4, seed=2)
    expected = into.double() + matrix.double().T @ rows.double()
    total = TransposedSum(rows, into)
    for first, last in ((0, 4), (4, 11)):
        for left, right in ((0, 5), (5, 9)):
            total.add(matrix[first:last, left:right], slice(first, last), slice(left, right))
    total.finish()
    torch.testing.assert_close(into, expected, rtol=1e-5, atol=1e-5, check_dtype=False)


def test_a_gradient_passes_through(onednn: bool) -> None:
    left, right = normal(8, 4).requires_grad_(), normal(4, 6, seed=1).requires_grad_()
    product(left, right, scale=2.0).square().sum().backward()
    again = [each.detach().clone().requires_grad_() for each in (left, right)]
    (2 * again[0] @ again[1]).square().sum().backward()
    for one, other in zip((left, right), again, strict=True):
        assert one.grad is not None
        torch.testing.assert_close(one.grad, other.grad)
    with torch.no_grad():
        assert is_quicker(left, right) == onednn
    assert not is_quicker(left, right)


@needs_onednn
def test_other_types_and_small_products_stay_with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "is_slow_in_mkl", lambda: True)
    large = torch.ones(512, 128)
    assert is_quicker(large, large.T)
    assert not is_quicker(large.double(), large.double().T)
    assert not is_quicker(large.bfloat16(), large.bfloat16().T)
    assert not is_quicker(large[:64], large[:64].T)
    assert not is_quicker(large.T.contiguous().T[:256], large[:256].T)  # it would be copied
    assert not is_quicker(large.to("meta"), large.to("meta").T)
    assert not is_quicker(large, torch.ones(512, 256)[:, :128].T)  # for which oneDNN has no program
    for rows, takes in ((512, True), (516, False), (1040, False), (1088, True)):  # of ragged batches
        assert is_quicker(torch.ones(rows, 128), large.T) == takes


@pytest.mark.parametrize(
    ("text", "maker"),
    [("processor\t: 0\nvendor_id\t: AuthenticAMD\n", "AuthenticAMD"), ("processor\t: 0\n", "")],
)
def test_the_maker_is_read(tmp_path: Path, text: str, maker: str) -> None:
    listed = tmp_path / "cpuinfo"
    listed.write_text(text)
    assert products._maker(listed) == maker


def test_without_a_list_the_system_says_the_maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "processor", lambda: "AMD64 Family 25 Model 33, AuthenticAMD")
    assert products._maker(tmp_path / "none").endswith("AuthenticAMD")


@pytest.mark.parametrize("maker", ["AuthenticAMD", "GenuineIntel"])
def test_the_processor_decides(monkeypatch: pytest.MonkeyPatch, maker: str) -> None:
    monkeypatch.setattr(products, "_maker", lambda: maker)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    for instructions in ("AVX512", "AVX2"):
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda found=instructions: found)
        expected = HAS_ONEDNN and maker == "AuthenticAMD" and instructions == "AVX512"
        assert products.is_slow_in_mkl.__wrapped__() == expected


REPLACED = """
import torch
from tammes import products

products.is_slow_in_mkl = lambda: True
products._FEWEST = products._FEWEST_TURNED = products.STEP = 1
network = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3, bias=False))
rows = torch.randn(8, 6, requires_grad=True)

def gradients(network, rows):
    return torch.autograd.grad(network(rows).square().sum(), [rows, *network.parameters()])

before = gradients(network, rows)
asked = []
by_onednn = products._by_onednn
products._by_onednn = lambda *words: (asked.append(len(words)), by_onednn(*words))[1]
assert products.quick_products() and products.quick_products()
after = gradients(network, rows)
assert len(asked) == 6, asked  # two forward, and four backward
for one, other in zip(before, after):
    assert other.is_contiguous()
    torch.testing.assert_close(one, other)
(second,) = torch.autograd.grad(gradients_of := torch.autograd.grad(
    network(rows).square().sum(), rows, create_graph=True)[0].square().sum(), rows)
assert second.isfinite().all() and second.abs().sum() > 0
double = torch.randn(4, 4, dtype=torch.float64)
number = len(asked)
assert torch.equal(double @ torch.eye(4, dtype=torch.float64), double)
assert (torch.eye(4).bfloat16() @ torch.eye(4).bfloat16()).dtype == torch.bfloat16
other = torch.addmm(torch.ones(2, 2), torch.eye(2), torch.eye(2), beta=2, alpha=3)
assert other.tolist() == [[5, 2], [2, 5]]
assert torch.addmm(torch.ones(1), torch.eye(2), torch.eye(2)).tolist() == [[2, 1], [1, 2]]
assert len(asked) == number
out = torch.empty(2, 2)
torch.mm(torch.eye(2), torch.eye(2), out=out)
assert out.tolist() == [[1, 0], [0, 1]]
assert torch.compile(network, backend="eager")(rows).shape == (8, 3)
assert not products.quick_products(False) and not products.are_quick()
number = len(asked)
for one, other in zip(before, gradients(network, rows)):
    assert torch.equal(one, other)
assert len(asked) == number
"""


@needs_onednn
@pytest.mark.skipif(not hasattr(torch.library, "get_kernel"), reason="an older torch")
def test_a_whole_process_multiplies_by_onednn() -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", REPLACED], check=True)


def test_where_mkl_is_quick_nothing_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "is_slow_in_mkl", lambda: False)
    monkeypatch.setattr(products, "_replacement", lambda: pytest.fail("replaced"))
    assert not products.quick_products()


RECIPES: dict[str, Callable[[], Objective]] = {
    "simclr": lambda: recipes.simclr(temperature=0.5),
    "hcl": lambda: recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl, other beta": lambda: recipes.hcl(temperature=0.5, beta=0.7, class_prior=0.1),
    "hcl-ot": lambda: recipes.hcl_ot(temperature=0.5, epsilon=0.5),
    "sigmoid": lambda: recipes.sigmoid(temperature=0.2),
}


@pytest.mark.parametrize("one_way", [False, True], ids=["views", "one-way"])
@pytest.mark.parametrize("pairs", [40, 700])
@pytest.mark.parametrize("name", RECIPES)
def test_objectives_do_not_depend_on_the_library(onednn: bool, name: str, pairs: int, one_way: bool) -> None:
    objective = RECIPES[name]()
    dense = replace(objective, engine=Dense())
    found = []
    for loss, dtype in ((objective, torch.float32), (dense, torch.float64)):
        views = [normal(pairs, 24, seed=seed).to(dtype).requires_grad_() for seed in (0, 1)]
        mean = loss(Pairs.aligned(*views)) if one_way else loss(*views)
        mean.backward()
        found.append((mean.detach(), *(view.grad for view in views)))
    for one, other in zip(*found, strict=True):
        assert one is not None
        assert other is not None
        torch.testing.assert_close(
            one.double(), other, rtol=1e-5, atol=1e-5 * float(other.abs().max()), msg=name
        )


OWN_PROCESS = """
import sys
from tammes.cli.main import main
from tammes.products import are_quick, is_slow_in_mkl

words = ["plan", "--rows", "100", "--batch", "8", "--dim", "4"]
assert main(words) == 0 and not are_quick()  # a call from Python leaves torch as it is
sys.argv = ["tammes", *words]
assert main() == 0 and are_quick() == is_slow_in_mkl()
"""


def test_a_command_multiplies_quickly_in_a_process_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", OWN_PROCESS], check=True, stdout=subprocess.DEVNULL)
