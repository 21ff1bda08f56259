import copy
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from tammes import LearnedTemperature, recipes
from tammes.training import GradientCache

OBJECTIVE = recipes.hcl(temperature=0.5, beta=1.0, class_prior=0.1)
ROWS, CHUNK = 10, 4


def dropout_model(dtype: torch.dtype = torch.float64) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(6, 16), nn.Dropout(0.3), nn.Tanh(), nn.Linear(16, 16), nn.Dropout(0.3), nn.Linear(16, 4)
    ).to(dtype)


def norm_model() -> nn.Module:
    torch.manual_seed(1)
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(16, 4))
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.ReLU(), spectral).double()


def views(count: int = 2, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return list(torch.randn(count, ROWS, 6, generator=torch.Generator().manual_seed(2), dtype=dtype))


def in_chunks(model: nn.Module, *given: Tensor, chunk: int = CHUNK) -> tuple[Tensor, ...]:
    """What the cache must equal: the same chunks in one pass, all activations kept."""
    parts = [view.tensor_split(-(-len(view) // chunk)) for view in given]
    return tuple(torch.cat([model(rows) for rows in view]) for view in parts)


def gradients(model: nn.Module) -> list[Tensor | None]:
    return [weight.grad for weight in model.parameters()]


def assert_equal(first: list[Tensor | None], second: list[Tensor | None], tolerance: float = 1e-12) -> None:
    for a, b in zip(first, second, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def step(
    embed: Callable[..., tuple[Tensor, ...]], *given: Tensor, loss: Callable[..., Tensor] = OBJECTIVE
) -> Tensor:
    torch.manual_seed(3)
    value = loss(*embed(*given))
    torch.rand(1)  # between the passes
    value.backward()
    return value.detach()


@pytest.mark.equal_bits
@pytest.mark.parametrize("make", [dropout_model, norm_model])
@pytest.mark.parametrize("count", [2, 3])
def test_a_cached_step_is_the_uncached_one(make: Callable[[], nn.Module], count: int) -> None:
    cached, plain = make(), make()
    given = views(count)
    loss = step(GradientCache(cached, chunk=CHUNK), *given)
    after = torch.get_rng_state()
    expected = step(lambda *rows: in_chunks(plain, *rows), *given)
    assert loss == expected
    assert_equal(gradients(cached), gradients(plain))
    assert torch.equal(after, torch.get_rng_state()), "as if one pass had been made"
    for (name, buffer), (_, other) in zip(cached.named_buffers(), plain.named_buffers(), strict=True):
        assert torch.equal(buffer, other), f"{name} was updated once"


def test_without_randomness_the_chunk_changes_nothing() -> None:
    model = dropout_model().eval()
    step(lambda *given: tuple(model(view) for view in given), *views())
    whole = [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]
    for chunk in (1, 3, ROWS, 100):
        model.zero_grad()
        step(GradientCache(model, chunk=chunk), *views())
        assert_equal(list(whole), gradients(model))


def test_one_view_comes_back_as_a_tuple_of_one() -> None:
    model = dropout_model()
    (embeddings,) = GradientCache(model, chunk=CHUNK)(views()[0])
    assert embeddings.shape == (ROWS, 4)


def test_views_may_differ_in_their_rows_and_be_of_integers() -> None:
    model = nn.Embedding(5, 3).double()
    tokens = torch.arange(9) % 5
    first, second = GradientCache(model, chunk=CHUNK)(tokens, tokens[:5])
    (first.square().sum() + second.square().sum()).backward()
    expected = 2 * model.weight * torch.bincount(torch.cat([tokens, tokens[:5]]))[:, None]
    torch.testing.assert_close(model.weight.grad, expected.detach())


def test_a_view_that_the_loss_leaves_out_adds_nothing() -> None:
    model, other = dropout_model(), dropout_model()
    step(GradientCache(model, chunk=CHUNK), *views(3), loss=lambda a, b, c: OBJECTIVE(a, b))
    step(lambda *given: in_chunks(other, *given), *views(3), loss=lambda a, b, c: OBJECTIVE(a, b))
    assert_equal(gradients(model), gradients(other))


def test_frozen_and_unused_weights_get_no_gradient() -> None:
    cached, plain = dropout_model(), dropout_model()
    for model in (cached, plain):
        model[0].requires_grad_(False)
        model.register_parameter("unused", nn.Parameter(torch.zeros(3)))
    step(GradientCache(cached, chunk=CHUNK), *views())
    step(lambda *given: in_chunks(plain, *given), *views())
    assert [grad is None for grad in gradients(cached)] == [True, True, True, False, False, False, False]
    assert_equal(gradients(cached), gradients(plain))


def test_a_model_without_gradients_gives_embeddings_without_them() -> None:
    frozen = dropout_model().requires_grad_(False)
    embeddings = GradientCache(frozen, chunk=CHUNK)(*views())
    assert not any(each.requires_grad for each in embeddings)
    with torch.no_grad():
        assert not GradientCache(dropout_model(), chunk=CHUNK)(views()[0])[0].requires_grad


def test_gradients_are_added_to_those_that_are_there() -> None:
    cached, plain = dropout_model(), dropout_model()
    for _ in range(2):
        step(GradientCache(cached, chunk=CHUNK), *views())
        step(lambda *given: in_chunks(plain, *given), *views())
    assert_equal(gradients(cached), gradients(plain))


@pytest.mark.equal_bits
def test_each_weight_gets_its_gradient_once_a_step() -> None:
    model = dropout_model()
    calls = []
    model[0].weight.register_post_accumulate_grad_hook(lambda weight: calls.append(weight.grad.clone()))
    step(GradientCache(model, chunk=1), *views())
    assert len(calls) == 1
    assert torch.equal(calls[0], model[0].weight.grad)


def test_torch_can_be_asked_for_the_gradient_too() -> None:
    model = dropout_model()
    step(GradientCache(model, chunk=CHUNK), *views())
    torch.manual_seed(3)
    loss = OBJECTIVE(*GradientCache(model, chunk=CHUNK)(*views()))
    found = torch.autograd.grad(loss, list(model.parameters()))
    assert_equal(list(found), gradients(model))


def test_second_derivatives_are_refused() -> None:
    """Also beside a term that has one, where torch would find another way to the weights."""
    model = nn.Linear(4, 3)
    (embeddings,) = GradientCache(model, chunk=2)(torch.randn(5, 4))
    (gradient,) = torch.autograd.grad(embeddings.pow(3).sum(), model.weight, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(gradient.square().sum() + model.weight.sum(), model.weight)


def test_a_pass_of_its_own_beside_the_cache_keeps_its_graph() -> None:
    def loss_of(embed: Callable[..., tuple[Tensor, ...]], model: nn.Module) -> Tensor:
        torch.manual_seed(3)
        first, second = views()
        return OBJECTIVE(model(first), *embed(second))

    cached, plain = norm_model(), norm_model()
    loss_of(GradientCache(cached, chunk=CHUNK), cached).backward()
    loss_of(lambda *given: in_chunks(plain, *given), plain).backward()
    assert_equal(gradients(cached), gradients(plain))


@pytest.mark.parametrize("inside", [False, True], ids=["backward outside", "backward inside"])
def test_autocast_is_the_same_in_both_passes(inside: bool) -> None:
    cached, plain = (dropout_model(torch.float32) for _ in range(2))
    given = views(dtype=torch.float32)
    seen = []
    cached[3].register_forward_hook(lambda module, rows, out: seen.append(out.dtype))

    def go(embed: Callable[..., tuple[Tensor, ...]], model: nn.Module) -> list[Tensor]:
        torch.manual_seed(3)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            embeddings = embed(*given)
            loss = OBJECTIVE(*embeddings)
            beside = model[3](torch.ones(2, 16)).float().sum()  # finds no weight converted without a graph
            if inside:
                (loss + beside).backward()
        if not inside:
            (loss + beside).backward()
        return list(embeddings)

    ours = go(GradientCache(cached, chunk=CHUNK), cached)
    theirs = go(lambda *rows: in_chunks(plain, *rows), plain)
    assert seen == [torch.bfloat16] * (6 + 1 + 6)
    assert_equal([*ours], [*theirs], tolerance=0.0)
    # One pass adds up the chunks in bfloat16, two passes in float32.
    assert_equal(gradients(cached), gradients(plain), tolerance=5e-2)


def test_a_scaled_loss_gives_scaled_gradients() -> None:
    cached, plain = (dropout_model(torch.float32) for _ in range(2))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(cached.parameters(), lr=0.1)
    torch.manual_seed(3)
    scaler.scale(OBJECTIVE(*GradientCache(cached, chunk=CHUNK)(*views(dtype=torch.float32)))).backward()
    scaler.unscale_(optimizer)
    step(lambda *given: in_chunks(plain, *given), *views(dtype=torch.float32))
    assert_equal(gradients(cached), gradients(plain), tolerance=1e-5)


@contextmanager
def counting_activations() -> Iterator[dict[str, int]]:
    """The bytes that autograd holds, now and at most."""
    held = {"now": 0, "most": 0}

    class Saved:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor

    def release(size: int) -> None:
        held["now"] -= size

    def pack(tensor: Tensor) -> Saved:
        saved, size = Saved(tensor), tensor.numel() * tensor.element_size()
        held["now"] += size
        held["most"] = max(held["most"], held["now"])
        weakref.finalize(saved, release, size)
        return saved

    with saved_tensors_hooks(pack, lambda saved: saved.tensor):
        yield held


def most_activations(rows: int, chunk: int | None) -> int:
    torch.manual_seed(0)
    layers = [layer for _ in range(20) for layer in (nn.Linear(16, 16), nn.Tanh())]
    model = nn.Sequential(*layers)
    embed = GradientCache(model, chunk=chunk) if chunk else lambda *given: tuple(map(model, given))
    given = torch.randn(2, rows, 16)
    with counting_activations() as held:
        first, second = embed(*given)
        (first * second).sum().backward()
    return held["most"]


def test_the_encoders_memory_is_bounded_by_the_chunk() -> None:
    views_and_embeddings = 2 * 2 * 16 * 4  # bytes for each row of a view, which any step keeps
    small, large = (most_activations(rows, 8) for rows in (64, 512))
    assert large - small <= (512 - 64) * views_and_embeddings
    assert most_activations(512, None) > 5 * large


def test_a_step_leaves_nothing_behind() -> None:
    model = dropout_model()
    given = views()
    loss = OBJECTIVE(*GradientCache(model, chunk=CHUNK)(*given))
    loss.backward()
    freed = [weakref.ref(view) for view in given]
    del given
    assert all(reference() is None for reference in freed), "although the loss is still at hand"
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_a_compiled_model_can_be_cached() -> None:
    cached, plain = norm_model(), norm_model()
    compiled: Any = torch.compile(cached, backend="eager")
    loss = step(GradientCache(compiled, chunk=CHUNK), *views())
    assert loss == step(lambda *given: in_chunks(plain, *given), *views())
    assert_equal(gradients(cached), gradients(plain))


class Counting(nn.Module):
    """Writes to a buffer in each pass, in whatever mode."""

    def __init__(self, passes: Tensor) -> None:
        super().__init__()
        self.passes: Tensor
        self.register_buffer("passes", passes)

    def forward(self, rows: Tensor) -> Tensor:
        self.passes += 1
        return rows + self.passes.sin()


@pytest.mark.parametrize("training", [True, False])
def test_buffers_that_change_are_the_same_in_both_passes_in_either_mode(training: bool) -> None:
    def make() -> nn.Module:
        return nn.Sequential(
            Counting(torch.zeros((), dtype=torch.float64)), nn.Linear(6, 4).double(), nn.Tanh()
        ).train(training)

    cached, plain = make(), make()
    plain.load_state_dict(cached.state_dict())
    for _ in range(2):
        loss = step(GradientCache(cached, chunk=CHUNK), *views())
        assert loss == step(lambda *given: in_chunks(plain, *given), *views())
    assert_equal(gradients(cached), gradients(plain))
    assert cached[0].passes == plain[0].passes == 2 * 6


def test_a_buffer_may_belong_to_several_modules() -> None:
    passes = torch.zeros((), dtype=torch.float64)
    cached = nn.Sequential(Counting(passes), nn.Linear(6, 4).double(), Counting(passes), nn.Tanh())
    plain = copy.deepcopy(cached)
    assert plain[0].passes is plain[2].passes
    loss = step(GradientCache(cached, chunk=CHUNK), *views())
    assert loss == step(lambda *given: in_chunks(plain, *given), *views())
    assert_equal(gradients(cached), gradients(plain))


class Checkpointed(nn.Module):
    """Rows that want a gradient, as where the first layers are frozen, through a checkpoint."""

    def __init__(self, inner: nn.Module, *, reentrant: bool) -> None:
        super().__init__()
        self.inner, self.reentrant = inner, reentrant

    def forward(self, rows: Tensor) -> Tensor:
        rows = rows.detach().requires_grad_()
        embeddings: Tensor = checkpoint(self.inner, rows, use_reentrant=self.reentrant)
        return embeddings


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # of the pass without a graph
def test_a_checkpoint_within_the_model_keeps_its_gradients_or_is_refused() -> None:
    cached, plain = dropout_model(), dropout_model()
    step(GradientCache(Checkpointed(cached, reentrant=False), chunk=CHUNK), *views())
    step(lambda *given: in_chunks(plain, *given), *views())
    assert_equal(gradients(cached), gradients(plain))
    loss = OBJECTIVE(*GradientCache(Checkpointed(cached, reentrant=True), chunk=CHUNK)(*views()))
    with pytest.raises(ValueError, match="reentrant checkpoint, whose weights would get no gradient"):
        loss.backward()


def test_a_model_that_writes_to_its_input_is_refused_where_it_would_run_twice() -> None:
    model = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(6, 4).double())
    with pytest.raises(ValueError, match="the model writes to its input"):
        GradientCache(model, chunk=CHUNK)(*views())
    with torch.no_grad():
        assert GradientCache(model, chunk=CHUNK)(*views())[0].shape == (ROWS, 4)
    with torch.inference_mode():
        assert GradientCache(model, chunk=CHUNK)(*views())[0].shape == (ROWS, 4)


def test_asking_for_a_temperature_of_the_model_does_not_count_as_a_change() -> None:
    model = dropout_model()
    temperature = LearnedTemperature(initial=0.5)
    model[0].register_module("temperature", temperature)
    embeddings = GradientCache(model, chunk=CHUNK)(*views())
    OBJECTIVE(*embeddings, temperature=temperature()).backward()
    assert all(gradient is not None for gradient in gradients(model))


@pytest.mark.parametrize("chunk", [0, -1, 2.0, True, None, "4"])
def test_a_chunk_that_is_no_number_of_rows_is_refused(chunk: Any) -> None:
    with pytest.raises(ValueError, match="chunk must be an integer of at least 1, got"):
        GradientCache(dropout_model(), chunk=chunk)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be an nn.Module, .* got <function"):
        GradientCache(in_chunks, chunk=CHUNK)  # type: ignore[arg-type]


class Returns(nn.Module):
    def __init__(self, make: Callable[[Tensor], object]) -> None:
        super().__init__()
        self.make = make

    def forward(self, rows: Tensor) -> object:
        return self.make(rows)


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda rows: (rows, rows), "got tuple"),
        (lambda rows: rows[0], r"got shape \(6,\) of torch.float64"),
        (lambda rows: rows[:2], r"\(5, dim\).*got shape \(2, 6\)"),
        (lambda rows: rows[:, :, None], r"got shape \(5, 6, 1\)"),
        (lambda rows: rows.long(), "got shape .* of torch.int64"),
    ],
)
def test_a_model_that_returns_no_embeddings_is_refused(make: Callable[[Tensor], object], got: str) -> None:
    with pytest.raises(ValueError, match=f"must return floating-point embeddings.*{got}"):
        GradientCache(Returns(make), chunk=5)(*views())


def test_views_of_the_wrong_kind_are_refused() -> None:
    cached = GradientCache(dropout_model(), chunk=CHUNK)
    with pytest.raises(ValueError, match="one or more views, got none"):
        cached()
    with pytest.raises(ValueError, match=r"view 1 must be a tensor \(rows, ...\).*got list"):
        cached(views()[0], [1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"view 0 must be .* got shape \(0, 6\)"):
        cached(torch.zeros(0, 6))
    with pytest.raises(ValueError, match="view 0 requires a gradient"):
        cached(views()[0].requires_grad_())


def take_a_step(model: nn.Module) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    step(lambda *given: in_chunks(model, *given), *views())
    optimizer.step()


@pytest.mark.parametrize(
    "change",
    [take_a_step, lambda model: model.eval(), lambda model: model[0].requires_grad_(False)],
    ids=["weight", "mode", "frozen"],
)
def test_a_model_changed_between_the_passes_is_refused(change: Callable[[nn.Module], object]) -> None:
    model = dropout_model()
    loss = OBJECTIVE(*GradientCache(model, chunk=CHUNK)(*views()))
    change(model)
    with pytest.raises(ValueError, match="changed between the call of GradientCache and the backward pass"):
        loss.backward()


def test_a_view_changed_between_the_passes_is_refused() -> None:
    given = views()
    loss = OBJECTIVE(*GradientCache(dropout_model(), chunk=CHUNK)(*given))
    given[0].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def _reduces_once(rank: int, store: str) -> None:
    """In each of two processes: the average of both gradients, reduced in one call."""
    torch.set_num_threads(1)
    rendezvous = dist.FileStore(store, 2)
    dist.init_process_group("gloo", store=rendezvous, rank=rank, world_size=2, timeout=timedelta(seconds=60))
    mine = [view.roll(rank, dims=1) for view in views()]
    expected: list[Tensor] = []
    for other in range(2):
        plain = dropout_model()
        step(lambda *given, plain=plain: in_chunks(plain, *given), *(v.roll(other, dims=1) for v in views()))
        grads = [grad for grad in gradients(plain) if grad is not None]
        expected = (
            [a + b / 2 for a, b in zip(expected, grads, strict=True)] if other else [g / 2 for g in grads]
        )
    with pytest.raises(ValueError, match="put it outside"):
        GradientCache(DistributedDataParallel(dropout_model()), chunk=CHUNK)
    model = dropout_model()
    parallel = DistributedDataParallel(GradientCache(model, chunk=CHUNK))
    calls = []

    def reduce(state: None, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        # At once: a callback would belong to a thread of the group, which aborts a program that ends first.
        calls.append(bucket.index())
        dist.all_reduce(bucket.buffer().div_(2))
        reduced: torch.futures.Future[Tensor] = torch.futures.Future()
        reduced.set_result(bucket.buffer())
        return reduced

    parallel.register_comm_hook(None, reduce)
    for _ in range(2):
        model.zero_grad()
        step(parallel, *mine)
        assert_equal(gradients(model), [*expected])
    assert len(calls) == 2, "one bucket holds this model"
    rendezvous.set(f"done {rank}", "")
    rendezvous.wait(["done 0", "done 1"])
    # DistributedDataParallel keeps the group's threads, one of which may hold a tensor of the last call:
    # letting go of it after Python has ended would abort the program.
    os._exit(0)


def test_in_two_processes_gradients_are_reduced_once_a_step(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(_reduces_once, args=(str(tmp_path / "store"),), nprocs=2)


@pytest.mark.equal_bits
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_on_a_gpu_the_random_numbers_are_replayed_too(dtype: torch.dtype) -> None:
    cached, plain = (dropout_model(torch.float32).cuda() for _ in range(2))
    given = [view.cuda() for view in views(dtype=torch.float32)]
    if dtype == torch.float64:
        cached, plain, given = cached.double(), plain.double(), [view.double() for view in given]
    results = []
    for embed in (GradientCache(cached, chunk=CHUNK), lambda *rows: in_chunks(plain, *rows)):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            torch.manual_seed(3)
            loss = OBJECTIVE(*embed(*given))
        loss.backward()
        results.append((loss.detach(), torch.cuda.get_rng_state()))
    (ours, state), (theirs, other) = results
    assert torch.equal(ours, theirs)
    assert torch.equal(state, other)
    assert_equal(gradients(cached), gradients(plain), tolerance=1e-12 if dtype == torch.float64 else 5e-2)


@pytest.mark.equal_bits
def test_gradients_that_belong_to_others_too_are_not_written_to() -> None:
    model = dropout_model()
    seen: list[tuple[Tensor, Tensor]] = []
    model[0].weight.register_hook(lambda gradient: seen.append((gradient, gradient.clone())))
    step(GradientCache(model, chunk=2), *views())
    assert len(seen) > 2
    assert all(torch.equal(kept, as_it_was) for kept, as_it_was in seen)


def test_sparse_gradients_are_added_up() -> None:
    torch.manual_seed(0)
    cached = nn.EmbeddingBag(10, 4, sparse=True)
    plain = copy.deepcopy(cached)
    rows = torch.randint(10, (2, 6, 3))
    OBJECTIVE(*GradientCache(cached, chunk=2)(*rows)).backward()
    OBJECTIVE(*(plain(view) for view in rows)).backward()
    assert cached.weight.grad is not None
    assert plain.weight.grad is not None
    torch.testing.assert_close(cached.weight.grad.to_dense(), plain.weight.grad.to_dense())


class WithNoise(nn.Module):
    """A model whose embeddings depend on something that GradientCache does not put back."""

    def __init__(self, by: str) -> None:
        super().__init__()
        self.layer, self.by, self.calls = nn.Linear(6, 4), by, 0
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, rows: Tensor) -> Tensor:
        self.calls += 1
        noise = torch.rand(len(rows), 4, generator=self.generator, dtype=rows.dtype)
        return self.layer(rows) + (noise if self.by == "generator" else self.calls * torch.eye(4)[0])


@pytest.mark.parametrize("by", ["generator", "calls"])
def test_a_second_pass_with_other_embeddings_is_refused(by: str) -> None:
    model = WithNoise(by).double()
    loss = OBJECTIVE(*GradientCache(model, chunk=CHUNK)(*views()))
    with pytest.raises(ValueError, match="the second pass of the model made other embeddings"):
        loss.backward()
    assert model.layer.weight.grad is None
