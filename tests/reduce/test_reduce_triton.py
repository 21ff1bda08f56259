"""The kernels equal the dense engine in value and gradient, on a GPU or, without one, in the interpreter."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

import tammes
from tammes import recipes
from tammes.pairs import Pairs
from tammes.reduce import Dense, Engine, Exponent, KeyRanges, Negatives, Product, Tiled, Triton, choose
from tammes.reduce.choice import product_for
from tammes.reduce.subset_sampling import row_keys, thresholds
from tammes.reduce.terms import Clipped, Exponential, Linear, Rectified, Softened, Term
from tammes.reduce.triton import engine as triton_engine
from tammes.reduce.triton.fixed_shift import range_is_safe
from tammes.reduce.triton.launch import Launch, launch_for, strips_for
from tammes.reduce.triton.subset import last_winners

triton = pytest.importorskip("triton", reason="triton exists for Linux only")

HAS_GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_GPU else "cpu")
SMALL = Launch(rows=32, columns=16, depth=16, width=32, warps=4, stages=1, programs=4)
"""Tiles so small that a few dozen rows need several, in each direction."""


def why_not() -> str | None:
    """What keeps the interpreter from running at all: before 3.9 it asks of NumPy what 2.4 no longer does."""
    negatives = Negatives(
        anchors=torch.eye(3).to(DEVICE), ranges=KeyRanges(keys=torch.arange(3).to(DEVICE)), bound=1.0
    )
    try:
        Triton(launch=SMALL).hardest(negatives)
    except triton.runtime.errors.InterpreterError as error:
        if "0-dimensional arrays" not in str(error):
            raise
        return "this Triton's interpreter does not work with this NumPy"
    return None


REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
on_a_gpu = pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")

Run = Callable[[Engine, Negatives], list[Tensor]]


def negatives_of(d: int, *, two_sets: bool = False, subset: int | None = None, groups: int = 16) -> Negatives:
    """Keys shared by 1 to 4 rows, an odd number of rows in all."""
    generator = torch.Generator().manual_seed(d)

    def rows(groups: int) -> tuple[Tensor, Tensor]:
        sizes = torch.randint(1, 5, (groups,), generator=generator)
        keys = torch.repeat_interleave(torch.arange(groups), sizes)
        keys = keys if len(keys) % 2 else torch.cat([keys, keys[-1:]])
        return normalize(torch.randn(len(keys), d, generator=generator), dim=1).to(DEVICE), keys.to(DEVICE)

    anchors, keys = rows(groups)
    candidates, candidate_keys = rows(groups - 5) if two_sets else (None, None)
    return Negatives(
        anchors=anchors,
        ranges=KeyRanges(keys=keys, candidate_keys=candidate_keys),
        bound=1.001,
        candidates=candidates,
        subset=subset,
        seed=12345678901234,
        rows=torch.randperm(len(keys), generator=generator).to(DEVICE),
    )


def outcome(run: Run, engine: Engine, negatives: Negatives, kind: torch.dtype) -> list[Tensor]:
    """What `run` gives and its gradients in the embeddings, in double precision."""
    anchors = negatives.anchors.detach().to(kind).requires_grad_()
    candidates = negatives.candidates
    candidates = None if candidates is None else candidates.detach().to(kind).requires_grad_()
    inputs = [anchors] if candidates is None else [anchors, candidates]
    values = run(engine, dataclasses.replace(negatives, anchors=anchors, candidates=candidates))
    generator = torch.Generator().manual_seed(1)
    total = sum((value * torch.randn(value.shape, generator=generator).to(value)).sum() for value in values)
    assert isinstance(total, Tensor)
    return [each.detach().double() for each in (*values, *torch.autograd.grad(total, inputs))]


def assert_equals_dense(run: Run, negatives: Negatives, engine: Engine, tolerance: float = 2e-5) -> None:
    """Within float32, relative to the largest entry."""
    ours = outcome(run, engine, negatives, torch.float32)
    theirs = outcome(run, Dense(), negatives, torch.float64)
    for one, other in zip(ours, theirs, strict=True):
        error = float((one - other).abs().max() / (1 + other.abs().max()))
        assert error < tolerance, f"differs by {error:.1e}"


def exponents_of(kind: str, negatives: Negatives) -> tuple[Exponent, ...]:
    """What the couplings ask for."""
    column = torch.linspace(-1, 1, negatives.shape[1]).to(negatives.anchors)
    cost = Exponential(offset=1.0, factor=-2.0)
    clip = Clipped(gain=4.0, bound=1.0)
    return {
        "logit": (Exponent(slope=2.0, gradient_slope=2.0),),
        "hard": (Exponent(slope=4.0, gradient_slope=4.0), Exponent(slope=2.0, gradient_slope=2.0)),
        "half as hard": (Exponent(slope=3.0, gradient_slope=3.0), Exponent(slope=1.0, gradient_slope=1.0)),
        "no common base": (Exponent(slope=3.3, gradient_slope=3.3), Exponent(slope=1.0)),
        "cold": (Exponent(slope=100.0, gradient_slope=100.0), Exponent(slope=150.0, gradient_slope=50.0)),
        "transport": (
            Exponent(slope=5.3, gradient_slope=2.0, column=column),
            Exponent(slope=3.3, column=column),
        ),
        "exponential cost": (
            Exponent(slope=2.0, gradient_slope=2.0, tilt=cost, column=column),
            Exponent(tilt=cost, column=column),
        ),
        "clipped": (
            Exponent(slope=2.0, gradient_slope=2.0, tilt=clip, tilt_has_gradient=True),
            Exponent(tilt=clip, tilt_has_gradient=True),
        ),
        "four": tuple(Exponent(slope=1.0 + r, gradient_slope=1.0 + r) for r in range(4)),
    }[kind]


KINDS = (
    "logit",
    "hard",
    "half as hard",
    "no common base",
    "cold",
    "transport",
    "exponential cost",
    "clipped",
    "four",
)
SAFE = {"logit", "hard", "half as hard", "no common base", "transport", "exponential cost", "four"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("two_sets", "subset"), [(False, None), (False, 3), (True, None), (True, 3)], ids=str
)
def test_log_sum_exp(kind: str, two_sets: bool, subset: int | None) -> None:
    negatives = negatives_of(17, two_sets=two_sets, subset=subset)
    shifted = range_is_safe(negatives, exponents_of(kind, negatives))
    assert shifted == (kind in SAFE and not two_sets and subset is None)

    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(engine.log_sum_exp(negatives, exponents_of(kind, negatives)))

    assert_equals_dense(run, negatives, Triton(launch=SMALL))


@pytest.mark.parametrize("d", [1, 33, 130])
@pytest.mark.parametrize("kind", ["hard", "cold"])
def test_any_dimension(d: int, kind: str) -> None:
    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(engine.log_sum_exp(negatives, exponents_of(kind, negatives)))

    assert_equals_dense(run, negatives_of(d), Triton())
    assert_equals_dense(run, negatives_of(d, two_sets=True), Triton(launch=SMALL))


@pytest.mark.parametrize("kind", ["hard", "transport"])
def test_atomics_give_the_same_gradient(kind: str) -> None:
    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(engine.log_sum_exp(negatives, exponents_of(kind, negatives)))

    for d in (17, 33):
        assert_equals_dense(run, negatives_of(d), Triton(launch=SMALL, deterministic=False))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("two_sets", "subset"), [(False, None), (False, 3), (True, None), (True, 3)], ids=str
)
@pytest.mark.parametrize("strip", [32, 64, 4096])
def test_strips_give_the_same_gradient(kind: str, two_sets: bool, subset: int | None, strip: int) -> None:
    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(engine.log_sum_exp(negatives, exponents_of(kind, negatives)))

    negatives = negatives_of(33, two_sets=two_sets, subset=subset, groups=24)
    assert_equals_dense(run, negatives, striped(strip))


@pytest.mark.parametrize("wanted", [(True, False), (False, True)])
def test_strips_give_one_gradient_of_two_sets(wanted: tuple[bool, bool]) -> None:
    negatives = negatives_of(33, two_sets=True)
    anchors, candidates = negatives.anchors, negatives.candidates
    assert candidates is not None
    anchors.requires_grad_(wanted[0])
    candidates.requires_grad_(wanted[1])
    given = anchors if wanted[0] else candidates
    found = []
    for engine in (striped(32), Dense()):
        (sums,) = engine.log_sum_exp(negatives, exponents_of("logit", negatives))
        found += torch.autograd.grad(sums.sum(), given)
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-6)


def striped(strip: int) -> Triton:
    return Triton(launch=SMALL, backward=dataclasses.replace(SMALL, strip=strip))


def test_strips_are_for_many_features() -> None:
    assert strips_for(128, Product.BFLOAT16, DEVICE) is None
    assert strips_for(1024, Product.FLOAT16, DEVICE) is None
    wide = strips_for(1024, Product.BFLOAT16, DEVICE)
    assert wide is not None
    assert wide.strip > 0
    with pytest.raises(ValueError, match="strip must be a multiple of the 32 rows of a tile, got 48"):
        dataclasses.replace(SMALL, strip=48)


def test_strips_of_float32_multiply_as_torch_does() -> None:
    before = torch.get_float32_matmul_precision()
    try:
        for setting, product, other in (
            ("high", Product.TF32, Product.FULL),
            ("highest", Product.FULL, Product.TF32),
        ):
            torch.set_float32_matmul_precision(setting)
            assert strips_for(1024, product, DEVICE) is not None
            assert strips_for(1024, other, DEVICE) is None
    finally:
        torch.set_float32_matmul_precision(before)


TERMS: tuple[Term, ...] = (
    Linear(),
    Rectified(gain=2.0, margin=0.3),
    Softened(),
    Clipped(gain=2.0, bound=0.7),
    Exponential(offset=1.0, factor=-0.3),
)


@pytest.mark.parametrize("kind", ["hard", "transport", "clipped"])
@pytest.mark.parametrize(
    ("term", "two_sets", "subset"),
    [*((term, False, None) for term in TERMS), (Softened(), True, None), (Softened(), False, 3)],
    ids=str,
)
def test_expectation(term: Term, kind: str, two_sets: bool, subset: int | None) -> None:
    negatives = negatives_of(17, two_sets=two_sets, subset=subset, groups=12)
    offsets = torch.randn(negatives.shape[0], 2)

    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        weight = exponents_of(kind, negatives)[-1]
        moved = offsets.to(negatives.anchors).requires_grad_()
        (log_total,) = engine.log_sum_exp(negatives, (weight,))
        means = engine.expectation(negatives, weight, log_total.detach(), term, 2.0, moved)
        return [means, torch.autograd.grad(means.sum(), moved, retain_graph=True)[0]]

    for engine in (Triton(launch=SMALL), striped(64)):
        assert_equals_dense(run, negatives, engine)


def test_steep_weights_sum_to_one() -> None:
    """Exponents of 10,000 have no digit below a thousandth, and neither has the logarithm of their sum."""
    negatives, weight = negatives_of(17), Exponent(slope=1e4)
    engine, offsets = Triton(launch=SMALL), negatives.anchors.new_full((negatives.shape[0], 1), -1.0)
    (log_total,) = engine.log_sum_exp(negatives, (weight,))
    means = engine.expectation(negatives, weight, log_total, Linear(), 0.0, offsets)
    torch.testing.assert_close(means, torch.ones_like(means), rtol=0, atol=1e-6)


@pytest.mark.equal_bits
@pytest.mark.parametrize(
    ("two_sets", "subset"), [(False, None), (False, 3), (True, None), (True, 3)], ids=str
)
def test_hardest(two_sets: bool, subset: int | None) -> None:
    negatives = negatives_of(17, two_sets=two_sets, subset=subset)
    assert torch.equal(Triton(launch=SMALL).hardest(negatives), Dense().hardest(negatives))


@pytest.mark.equal_bits
@pytest.mark.parametrize(("two_sets", "k"), [(False, 1), (False, 7), (True, 3), (True, 12)], ids=str)
def test_thresholds_of_subsets(two_sets: bool, k: int) -> None:
    """By a kernel, digit by digit, as by sorting all tickets."""
    negatives = negatives_of(3, two_sets=two_sets, subset=k)
    n, m = negatives.shape
    assert negatives.rows is not None
    keys = row_keys(negatives.seed, negatives.rows)
    expected = thresholds(keys, negatives.ranges.excluded(slice(0, n), slice(0, m)), k, m)
    assert torch.equal(last_winners(keys, negatives.ranges, k), expected)


def test_softplus_keeps_its_digits() -> None:
    """Far below zero log(1 + e^y) is e^y, not zero; far above it is y."""
    negatives = dataclasses.replace(negatives_of(17), bound=40.0)
    negatives = dataclasses.replace(negatives, anchors=6 * negatives.anchors)

    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        n = negatives.shape[0]
        offsets = negatives.anchors.new_full((n, 1), 15.0)
        log_total = negatives.log_count
        means = engine.expectation(negatives, Exponent(), log_total, Softened(), 0.1, offsets)
        return [means.log()]

    assert_equals_dense(run, negatives, Triton(launch=SMALL))


OBJECTIVES: dict[str, Callable[[Engine], tammes.Objective]] = {
    "simclr": lambda engine: recipes.simclr(temperature=0.5),
    "simclr, cold": lambda engine: recipes.simclr(temperature=0.01),
    "simclr, subset": lambda engine: recipes.simclr(temperature=0.5, selection=tammes.Subset(k=5)),
    "simclr, oracle": lambda engine: recipes.simclr(temperature=0.5, selection=tammes.OtherLabels()),
    "dcl": lambda engine: recipes.dcl(temperature=0.5, class_prior=0.1),
    "hcl": lambda engine: recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1),
    "hcl, beta 0": lambda engine: recipes.hcl(temperature=0.5, beta=0.0),
    "hcl, beta 10": lambda engine: recipes.hcl(temperature=0.5, beta=10.0),
    "hcl, beta 10, cold": lambda engine: recipes.hcl(temperature=0.01, beta=10.0),
    "hcl, detached": lambda engine: tammes.Objective(
        temperature=0.5, coupling=tammes.Hard(beta=1.0, detach=True)
    ),
    "hcl-ot": lambda engine: recipes.hcl_ot(temperature=0.5, epsilon=0.5, class_prior=0.1),
    "hcl-ot, exponential": lambda engine: recipes.hcl_ot(
        temperature=0.5, epsilon=5.0, cost=tammes.ExponentialEuclidean(kappa=1.0)
    ),
    "hcl-ot, unconstrained, subset": lambda engine: tammes.Objective(
        temperature=0.5,
        coupling=tammes.Transport(epsilon=0.5, constrained=False),
        selection=tammes.Subset(k=4),
    ),
    "bcl": lambda engine: recipes.bcl(temperature=0.5, coupling=tammes.Hard(beta=1.0), class_prior=0.1),
    "triplet": lambda engine: recipes.triplet(margin=0.5, coupling=tammes.Hard(beta=2.0)),
    "logistic": lambda engine: recipes.logistic(),
    "hinge": lambda engine: recipes.hinge(),
    "ifm": lambda engine: recipes.ifm(temperature=0.5, epsilon=0.1),
    "jsd": lambda engine: recipes.jsd(beta=1.0, class_prior=0.1),
}


def loss_and_gradients(
    make: Callable[[Engine], tammes.Objective], engine: Engine, kind: torch.dtype, sets: int
) -> list[Tensor]:
    """Of one set with ids shared by two to four rows, or of two sets."""
    generator = torch.Generator().manual_seed(0)
    ids = (torch.arange(21) % 9).to(DEVICE)
    z = (0.4 * torch.randn(21, 9, generator=generator)).to(DEVICE, kind).requires_grad_()
    labels = ids % 3
    pairs = Pairs(anchors=z, ids=ids, labels=labels)
    inputs = [z]
    if sets == 2:
        other = (0.4 * torch.randn(18, 9, generator=generator)).to(DEVICE, kind).requires_grad_()
        other_ids = (torch.arange(18) % 9).to(DEVICE)
        pairs = Pairs(
            anchors=z, ids=ids, labels=labels,
            candidates=other, candidate_ids=other_ids, candidate_labels=other_ids % 3,
        )  # fmt: skip
        inputs.append(other)
    objective = dataclasses.replace(make(engine), engine=engine)
    loss = objective(pairs, generator=torch.Generator().manual_seed(3))
    numbers = torch.tensor([objective.last["weighted_negative_similarity"]])
    return [each.detach().double() for each in (loss.reshape(1), numbers, *torch.autograd.grad(loss, inputs))]


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("sets", [1, 2])
def test_objectives(name: str, sets: int) -> None:
    make = OBJECTIVES[name]
    ours = loss_and_gradients(make, Triton(launch=SMALL), torch.float32, sets)
    theirs = loss_and_gradients(make, Dense(), torch.float64, sets)
    for one, other in zip(ours, theirs, strict=True):
        error = float((one - other).abs().max() / (1e-3 + other.abs().max()))
        assert error < (1e-3 if "cold" in name or "ot" in name else 5e-5), f"differs by {error:.1e}"


@pytest.mark.parametrize("product", [Product.TF32, Product.BFLOAT16, Product.FLOAT16], ids=str)
def test_products_in_sixteen_bits(product: Product) -> None:
    """They are those of rounded embeddings; only the slopes are rounded besides."""
    negatives = negatives_of(33)
    rounded = negatives.anchors.to(product.kind).float()

    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(engine.log_sum_exp(negatives, exponents_of("hard", negatives)))

    ours = outcome(run, Triton(product=product, launch=SMALL), negatives, torch.float32)
    theirs = outcome(run, Dense(), dataclasses.replace(negatives, anchors=rounded), torch.float64)
    for one, other in zip(ours, theirs, strict=True):
        assert float((one - other).abs().max() / (1 + other.abs().max())) < (5e-3 if HAS_GPU else 2e-5)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("temperature", [0.5, 0.05])
def test_inputs_of_sixteen_bits(kind: torch.dtype, temperature: float) -> None:
    views = [torch.randn(12, 33).to(DEVICE, kind).requires_grad_() for _ in range(2)]
    objective = recipes.hcl(temperature=temperature, beta=1.0)
    engine = Triton(product=product_for(kind), launch=SMALL)
    loss = dataclasses.replace(objective, engine=engine)(*views)
    found = torch.autograd.grad(loss, views)
    exact = [view.detach().double().requires_grad_() for view in views]
    reference = dataclasses.replace(objective, engine=Dense())(*exact)
    expected = torch.autograd.grad(reference, exact)
    assert loss.dtype == torch.float32
    assert float(loss.detach()) == pytest.approx(float(reference.detach()), rel=2e-2)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == kind
        assert float((one.double() - other).norm() / other.norm()) < 0.1


@pytest.mark.equal_bits
def test_what_no_kernel_knows_goes_elsewhere() -> None:
    negatives, engine = negatives_of(3), Triton(otherwise=Dense())
    users = (Exponent(tilt=torch.sin),)
    assert torch.equal(engine.log_sum_exp(negatives, users)[0], Dense().log_sum_exp(negatives, users)[0])
    weight, totals = Exponent(slope=1.0), negatives.log_count
    arguments = (negatives, weight, totals, torch.sin, 1.0, totals[:, None])
    assert torch.equal(engine.expectation(*arguments), Dense().expectation(*arguments))
    double = dataclasses.replace(negatives, anchors=negatives.anchors.double())
    assert torch.equal(engine.log_sum_exp(double, (weight,))[0], Dense().log_sum_exp(double, (weight,))[0])
    assert torch.equal(engine.hardest(double), Dense().hardest(double))
    assert Triton().otherwise == Tiled(side=4096)


def test_a_distant_potential_is_no_underflow() -> None:
    """Columns far below the largest still count for the anchors that have no other negative."""
    negatives = negatives_of(17, groups=2)
    column = torch.where(negatives.ranges.keys == 0, 0.0, -50.0).to(negatives.anchors)

    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(
            engine.log_sum_exp(negatives, (Exponent(slope=2.0, column=column.to(negatives.anchors)),))
        )

    ours, theirs = run(Triton(launch=SMALL), negatives), run(Dense(), negatives)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_second_derivatives_are_refused() -> None:
    z = negatives_of(3).anchors.requires_grad_()
    negatives = dataclasses.replace(negatives_of(3), anchors=z)
    (value,) = Triton(launch=SMALL).log_sum_exp(negatives, exponents_of("logit", negatives))
    (gradient,) = torch.autograd.grad(value.sum(), z, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        gradient.sum().backward()


def test_choice() -> None:
    cpu = Negatives(anchors=torch.eye(3), ranges=KeyRanges(keys=torch.arange(3)), bound=1.0)
    assert choose(cpu) == Tiled()
    assert product_for(torch.float16) is Product.FLOAT16
    assert product_for(torch.bfloat16) is Product.BFLOAT16
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("highest")
        assert product_for(torch.float32) is Product.FULL
        torch.set_float32_matmul_precision("high")
        assert product_for(torch.float32) is Product.TF32
    finally:
        torch.set_float32_matmul_precision(before)


def test_a_device_with_older_tensor_cores_gets_tiles_and_is_told_of_once(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a device of 2018")
    there = SimpleNamespace(anchors=SimpleNamespace(device=torch.device("cuda")))
    for _ in range(2):
        assert isinstance(choose(there), Tiled)
    (warning,) = recwarn.list
    assert "the tensor cores of a device of 2018 are older than compute capability 8.0" in str(
        warning.message
    )


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_engine, "is_installed", lambda: False)
    with pytest.raises(ValueError, match="needs the package triton"):
        Triton()


@pytest.mark.parametrize("product", Product)
@pytest.mark.parametrize("gathers", [False, True])
def test_usual_launches_fit(product: Product, gathers: bool) -> None:
    """The tile and the gathered gradient take at most 192 of 255 registers, whatever the dimension."""
    for d in (1, 16, 17, 64, 100, 128, 129, 256, 512, 1000, 4096):
        launch = launch_for(d, product, torch.device("cpu"), gathers=gathers)
        assert launch.rows * (launch.columns + launch.width * gathers) <= launch.warps * 32 * 192
        assert launch.rows % launch.columns == 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("capability", "stages"),
    [
        ("86", "2"),
        ("90", "3"),
        pytest.param("80", "3", marks=pytest.mark.slow),
        pytest.param("89", "2", marks=pytest.mark.slow),
    ],
)
def test_kernels_compile_without_a_gpu(capability: str, stages: str, tmp_path: Path) -> None:
    """The interpreter takes more than the compiler does: every product, in the shapes of the device."""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    environment |= {"TRITON_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    script = Path(__file__).with_name("compile_kernels.py")
    command = [sys.executable, str(script), capability]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    of_products = {
        product.name: {name for _, of, _, name, _ in lines if of == product.name} for product in Product
    }
    of_sums = {"triangle_sums", "shared_gradient", "strip_of_slopes", "row_log_sums", "log_sum_gradient"}
    of_sums |= {"strip_of_log_sum_slopes"}
    others = {"row_means", "mean_gradient", "strip_of_mean_slopes", "row_hardest", "last_winners"}
    assert of_products["BFLOAT16"] == of_sums | others
    for product, names in of_products.items():
        assert {"triangle_sums", "row_log_sums"} < names, product
        assert len(names & of_sums) >= 4, product
    assert max(each[2] for each in lines) == stages, "the stages of a device with this much memory"


@on_a_gpu
@pytest.mark.parametrize("product", Product)
@pytest.mark.parametrize("two_sets", [False, True])
def test_large_on_a_gpu(product: Product, two_sets: bool) -> None:
    """Thousands of rows at every usual shape, against tiles in double precision."""
    for d in (32, 128, 500):
        negatives = negatives_of(d, two_sets=two_sets, groups=1500)

        def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
            return list(engine.log_sum_exp(negatives, exponents_of("hard", negatives)))

        rounded = dataclasses.replace(
            negatives,
            anchors=negatives.anchors.to(product.kind).float(),
            candidates=None
            if negatives.candidates is None
            else negatives.candidates.to(product.kind).float(),
        )
        ours = outcome(run, Triton(product=product), negatives, torch.float32)
        theirs = outcome(run, Tiled(side=2048), rounded, torch.float64)
        for one, other in zip(ours, theirs, strict=True):
            error = float((one - other).norm() / other.norm())
            assert error < (2e-5 if product is Product.FULL else 5e-3), f"{d}: differs by {error:.1e}"


@on_a_gpu
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_same_digits_and_no_waiting_on_a_gpu() -> None:
    negatives = negatives_of(64, groups=3000)

    def run(engine: Engine, negatives: Negatives) -> list[Tensor]:
        return list(engine.log_sum_exp(negatives, exponents_of("transport", negatives)))

    once = outcome(run, Triton(), negatives, torch.float32)
    again = outcome(run, Triton(), negatives, torch.float32)
    assert all(torch.equal(one, other) for one, other in zip(once, again, strict=True))
    exponents = exponents_of("transport", negatives)
    try:
        torch.cuda.set_sync_debug_mode("error")
        Triton().log_sum_exp(negatives, exponents)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@on_a_gpu
def test_memory_grows_linearly_on_a_gpu() -> None:
    peaks = []
    for rows in (8192, 16384, 32768):
        z = normalize(torch.randn(rows, 64, device=DEVICE), dim=1).requires_grad_()
        negatives = Negatives(
            anchors=z, ranges=KeyRanges(keys=torch.arange(rows, device=DEVICE) // 2), bound=1.001
        )
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        (total,) = Triton().log_sum_exp(negatives, (Exponent(slope=2.0, gradient_slope=2.0),))
        total.sum().backward()
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[2] < 2.5 * peaks[1], f"peaks {peaks}"
    assert peaks[2] < 32768**2, f"a quarter of one matrix of similarities: peaks {peaks}"
