"""Laws that any legal objective obeys on any batch, checked on cases that Hypothesis draws.

TAMMES_ATTACK_OBJECTIVES is the number of cases in all, TAMMES_ATTACK_SEED the seed of the draws, which a long
run draws itself and prints.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from drawn_cases import Case, cases, permuted
from drawn_evaluation import (
    FittedOnce,
    assert_in_words,
    assert_near,
    evaluated,
    of_package,
    plain,
    refuses,
    sizes,
    tolerances,
)
from effort import effort, record, seed_of
from hypothesis import HealthCheck, assume, given, seed, settings

import tammes
from tammes.coupling import Coupling, SinkhornWarning
from tammes.reduce import Dense, Tiled

# Each test seeds its draws itself (`seed_of`), so that a quick run is the same every time.
SETTINGS = settings(deadline=None, database=None, print_blob=True, suppress_health_check=list(HealthCheck))
SHARDS = 4
"""Number of tests among which the cases are divided, so that two processors share them."""
EXAMPLES = max(1, effort("objectives", 150) // SHARDS)


@dataclass
class Tally:
    """What a test has tried."""

    tried: int = 0
    refused: int = 0


# ---- the laws ----------------------------------------------------------------------------------------------


def check_finite(case: Case) -> bool:
    """(a) A finite loss and gradient, or a refusal in words; (d) nothing of the caller's is changed.

    A half precision may be too narrow for a gradient that is finite in float32: there it is the latter, cast.
    """
    leaves = tuple(leaf.clone().to(case.dtype).requires_grad_() for leaf in case.leaves)
    before = [(leaf.detach().clone(), leaf._version) for leaf in leaves]
    state = torch.get_rng_state()
    try:
        loss = case.loss(leaves)
    except ValueError as error:
        assert_in_words(error)
        return False
    assert math.isfinite(float(loss.detach())), f"loss {float(loss.detach())}"
    assert loss.dtype == (torch.float64 if case.dtype == torch.float64 else torch.float32)
    loss.backward()
    assert torch.equal(torch.get_rng_state(), state)
    for leaf, (values, version) in zip(leaves, before, strict=True):
        assert torch.equal(leaf.detach(), values)
        assert leaf._version == version
    if case.dtype in (torch.float32, torch.float64):
        for leaf in leaves:
            assert leaf.grad is None or bool(torch.isfinite(leaf.grad).all()), f"gradient {leaf.grad}"
        return True
    wide = tuple(leaf.detach().float().requires_grad_() for leaf in leaves)
    again = case.loss(wide)
    assert float(again.detach()) == float(loss.detach())
    again.backward()
    for leaf, other in zip(leaves, wide, strict=True):
        if other.grad is None:
            assert leaf.grad is None
            continue
        assert leaf.grad is not None
        assert bool(torch.isfinite(other.grad).all()), f"gradient {other.grad}"
        if case.source == "own":
            continue  # two gradients of a row, rounded before they are added
        fits = other.grad.abs() < torch.finfo(case.dtype).max / 4
        largest = float(other.grad[fits].abs().max()) if bool(fits.any()) else 0.0
        error = (leaf.grad.float() - other.grad)[fits].abs()
        tiny = 4 * float(torch.finfo(case.dtype).smallest_normal)
        assert bool((error <= 4 * torch.finfo(case.dtype).eps * largest + tiny).all())
    return True


def tiles(case: Case, most: int) -> Tiled:
    """An engine with tiles of at least two rows, and about `most` along each side of the matrix.

    Smaller tiles would take nearly all the time of the attack, in cases of a hundred rows.
    """
    return Tiled(side=max(2, sum(len(leaf) for leaf in case.leaves) // most))


def check_engines(case: Case) -> None:
    """(b) The dense and the tiled engine, the closed form and float32 agree with the formula on paper."""
    once = case
    if isinstance(case.objective.coupling, tammes.Transport):
        once = replace(
            case, objective=replace(case.objective, coupling=FittedOnce(inner=case.objective.coupling))
        )
    if refuses(lambda: of_package(once, torch.float64, Dense())):
        if isinstance(case.objective.coupling, tammes.Transport):
            return  # the engines may differ in which plan rounding decides
        for engine in (None, tiles(case, 5)):
            assert refuses(lambda engine=engine: of_package(once, torch.float64, engine))
        return
    exact = plain(once)
    reference = evaluated(case, torch.float64, exact)
    if not reference.is_finite:
        return  # beyond float64 on paper, where the package has been found finite
    bounds = tolerances(once, exact, reference, torch.float64)
    for engine in (Dense(), tiles(case, 5), None):
        assert_near(of_package(once, torch.float64, engine), reference, bounds, f"float64 by {engine}")
    if case.dtype != torch.float64 and not refuses(lambda: of_package(case, torch.float32)):
        if once is not case and refuses(lambda: of_package(once, torch.float32)):
            return  # the potentials of a plan that does not exist grow beyond what float32 resolves
        bounds = tolerances(once, exact, reference, torch.float32)
        for engine in (tiles(case, 7), None):
            found = of_package(once, torch.float32, engine)
            assert_near(found, reference, bounds, f"float32 by {engine}")


def check_permutation(case: Case) -> None:
    """(c) Rows in another order and under other ids have the same loss, and their gradients move along."""
    if case.draws:
        return  # which negatives are drawn depends on the number of the row
    coupling, slack = case.objective.coupling, 0.0
    if isinstance(coupling, tammes.Transport):
        coupling = replace(coupling, tolerance=1e-10, max_iterations=500, warm_start=False)
        case = replace(case, objective=replace(case.objective, coupling=coupling))
        slack = 1e-6  # plans within the tolerance of each other, times their condition
    generator = torch.Generator().manual_seed(1)
    other, order = permuted(case, lambda size: torch.randperm(size, generator=generator))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SinkhornWarning)
        try:
            one, two = of_package(case, torch.float64), of_package(other, torch.float64)
        except (ValueError, SinkhornWarning):
            return  # refused, as is checked elsewhere, or a plan that is not found
    once = case
    if isinstance(coupling, tammes.Transport):
        once = replace(case, objective=replace(case.objective, coupling=FittedOnce(inner=coupling)))
        of_package(once, torch.float64, Dense())
    exact = plain(once)
    if not evaluated(case, torch.float64, exact).is_finite:
        return
    bounds = tolerances(once, exact, one, torch.float64)
    logit, exponent, _ = sizes(once)
    bounds = (
        bounds[0] + slack * (1 + logit),
        bounds[1] + slack * (1 + exponent) * (1 + logit),
        bounds[2] + slack * (1 + exponent) * (1 + logit),
    )
    assert_near(two, replace(one, gradients=one.gradients[order]), bounds, "another order")


def check_differences(case: Case) -> bool:
    """The gradient is that of finite differences, where the whole loss has one and no kink is within a step.

    Two steps, h and h/2: central differences of a smooth loss differ by O(h^2), which bounds the error; and
    the two one-sided slopes differ by O(h), so that their distance halves, where it would stay at a kink.
    """
    coupling: Coupling = case.objective.coupling
    if isinstance(coupling, tammes.Hard):
        # A clip narrower than a step is a kink that both sides hide.
        clip = None if coupling.clip is None else max(coupling.clip, 0.1)
        coupling = replace(coupling, detach=False, clip=clip)
    elif not isinstance(coupling, tammes.Uniform):
        coupling = tammes.Uniform()  # the gradient takes a plan for constant, which differences do not
    case = replace(case, objective=replace(case.objective, coupling=coupling))
    generator = torch.Generator().manual_seed(2)
    moves = []
    for leaf in case.leaves:
        move = torch.randn(leaf.shape, generator=generator, dtype=torch.float64)
        moves.append(move * torch.linalg.vector_norm(leaf, dim=1, keepdim=True))
    if not case.objective.normalize:
        longest = max(float(torch.linalg.vector_norm(leaf, dim=1).max()) for leaf in case.leaves)
        moves = [move / torch.linalg.vector_norm(move) * longest for move in moves]
    leaves = tuple(leaf.clone().requires_grad_() for leaf in case.leaves)
    try:
        loss = case.loss(leaves)
    except ValueError as error:
        assert_in_words(error)
        return False
    loss.backward()
    slope = sum(
        float((leaf.grad * move).sum())
        for leaf, move in zip(leaves, moves, strict=True)
        if leaf.grad is not None
    )
    logit, exponent, size = sizes(case)

    def at(step: float) -> float:
        return float(
            case.loss(tuple(leaf + step * move for leaf, move in zip(case.leaves, moves, strict=True)))
        )

    middle = float(loss.detach())
    step = 1e-4 / (1 + exponent)
    rounding = 64 * torch.finfo(torch.float64).eps * ((1 + exponent) * (1 + logit) + size + abs(middle))
    found = []
    for h in (step, step / 2):
        ahead, behind = (at(h) - middle) / h, (middle - at(-h)) / h
        found.append(((ahead + behind) / 2, abs(ahead - behind), rounding / h))
    (wide, wide_bend, _), (narrow, bend, noise) = found
    # At a kink the slopes on both sides keep a distance, which may hide in the bend of a large shift.
    kink = abs(2 * bend - wide_bend)
    assume(kink <= 6 * noise + 1e-3 * wide_bend)
    bound = 2 * abs(wide - narrow) + kink + 2 * noise + 1e-9 * abs(slope)
    assert abs(slope - narrow) <= bound, (
        f"slope {slope:.6e}, by differences {narrow:.6e}, allowed {bound:.1e}"
    )
    return True


# ---- the attack --------------------------------------------------------------------------------------------


def run(
    name: str, law: Callable[[Case], bool], types: tuple[torch.dtype, ...], shard: int, examples: int
) -> None:
    tally, start = Tally(), seed_of("objectives") + shard
    print(f"{name}: {examples} cases from TAMMES_ATTACK_SEED={start - shard}")

    @seed(start)
    @settings(SETTINGS, max_examples=examples)
    @given(case=cases(types=types))
    def holds(case: Case) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SinkhornWarning)
            tally.refused += not law(case)
        tally.tried += 1

    failed = 1
    try:
        holds()
        failed = 0
    finally:
        record(
            f"objectives ({name})",
            tried=tally.tried,
            refused=tally.refused,
            failed=failed,
            seed=start - shard,
        )


def obeys_all(case: Case) -> bool:
    accepted = check_finite(case)
    check_engines(case)
    check_permutation(case)
    return accepted


@pytest.mark.parametrize("shard", range(SHARDS - 1))
def test_any_legal_objective_obeys_the_laws(shard: int) -> None:
    run("laws", obeys_all, (torch.float32, torch.float64, torch.bfloat16, torch.float16), shard, EXAMPLES)


def test_any_legal_gradient_is_that_of_finite_differences() -> None:
    run("differences", check_differences, (torch.float64,), SHARDS, EXAMPLES)
