"""What torch does with modules, it does with a SignNet: transforms, compilation, export, conversion."""

from __future__ import annotations

import itertools

import pytest
import torch
from batches import Batch, high_multiplicities
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.func import functional_call, grad

from tammes.spectral import (
    ConcatenatedConfig,
    EigenvectorSetsConfig,
    EigenvectorTransformerConfig,
    ElementwiseConfig,
    GINConfig,
    NodeSetsConfig,
    NodeTransformerConfig,
    PhiConfig,
    RhoConfig,
    SignNet,
    SummedConfig,
)

PHIS: tuple[PhiConfig, ...] = (
    GINConfig(width=6, layers=3),
    ElementwiseConfig(width=6, normalize=True),
    NodeSetsConfig(width=6),
    NodeTransformerConfig(width=6, heads=2, layers=1),
)
RHOS: tuple[RhoConfig, ...] = (
    SummedConfig(width=6),
    ConcatenatedConfig(eigenvectors=9, width=6),
    EigenvectorSetsConfig(width=6),
    EigenvectorTransformerConfig(width=6, heads=2),
)
PAIRS = [*((PHIS[0], rho) for rho in RHOS), *itertools.product(PHIS[1:], [RHOS[3]])]
COMPILED = [(GINConfig(width=6, layers=2), RHOS[0]), (PHIS[3], RHOS[3])]
"""Those with the fewest and the most breaks; compilers are slow."""
DATA = high_multiplicities()

# Where a graph goes on after a break, the compiler looks at `.grad` of the tensors that it is given; of a
# function with a derivative of its own it makes an instance.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor"),
    pytest.mark.filterwarnings("ignore:.*torch.autograd.function.Function.* should not be instantiated"),
]


def built(phi: PhiConfig = PHIS[0], rho: RhoConfig = RHOS[0], *, training: bool = True) -> SignNet:
    torch.manual_seed(0)
    return SignNet(dim=4, phi=phi, rho=rho).double().train(training)


def arguments(data: Batch = DATA) -> tuple[None, Tensor, Tensor, Tensor, Tensor]:
    return None, *data.arguments()


def normalized_over_all_copies(h: Tensor, norm: nn.Module) -> Tensor:
    """relu(w (h - mean) / std + b) by its formula, over all rows."""
    centered = h - h.mean(0)
    return (norm.weight * centered / (centered.square().mean(0) + 1e-5).sqrt() + norm.bias).relu()


def test_training_mode_is_the_formula_on_dense_matrices() -> None:
    """All copies with both signs as one large graph with a dense adjacency matrix, in float64."""
    signnet = built()
    adjacency = torch.eye(len(DATA.batch), dtype=torch.float64)
    adjacency.index_put_(tuple(DATA.edges), torch.ones(1, dtype=torch.float64), accumulate=True)
    blocks, starts, owners = [], [], []
    for (number, values), column in itertools.product(enumerate(DATA.values), range(9)):
        nodes = (DATA.batch == number).nonzero().flatten()
        vector = DATA.vectors[nodes, column]
        if not vector.any():
            continue
        for sign in (1, -1):
            blocks.append(adjacency[nodes][:, nodes])
            starts.append(torch.stack([sign * vector, values[column].expand(len(nodes))], dim=1))
            owners.append(nodes)
    around, h = torch.block_diag(*blocks), torch.cat(starts)
    for number, layer in enumerate(signnet.phi.layers):
        first, inner, second = layer.mlp.layers
        h = second(normalized_over_all_copies(first(around @ h), inner.norm))
        if number < 2:
            h = normalized_over_all_copies(h, layer.normalize.norm)
    total = torch.zeros(len(DATA.batch), 6, dtype=torch.float64).index_add(0, torch.cat(owners), h)
    one, norm_1, two, norm_2, three = signnet.rho.mlp.layers
    hidden = normalized_over_all_copies(one(total), norm_1.norm)
    expected = three(normalized_over_all_copies(two(hidden), norm_2.norm))
    found = signnet(*arguments())
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    weights = torch.randn_like(expected)
    for mine, theirs in zip(
        torch.autograd.grad((found * weights).sum(), signnet.parameters()),
        torch.autograd.grad((expected * weights).sum(), signnet.parameters()),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_there_are_second_derivatives(training: bool) -> None:
    """As force fields need them: of the squared gradient by the inputs."""
    signnet = SignNet(dim=2, phi=GINConfig(width=3, layers=2), rho=SummedConfig(width=3)).double()
    signnet.train(training)
    edges, batch = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]]), torch.tensor([0, 0, 0, 1, 1])
    vectors = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    values = torch.rand(2, 2, dtype=torch.float64, requires_grad=True)

    def energy(vectors: Tensor, values: Tensor) -> Tensor:
        return signnet(None, edges, batch, vectors, values).square().sum()

    assert torch.autograd.gradcheck(energy, (vectors, values))
    assert torch.autograd.gradgradcheck(energy, (vectors, values))


@pytest.mark.parametrize(("phi", "rho"), PAIRS, ids=lambda part: type(part).__name__)
def test_function_transforms_give_the_gradients_of_autograd(phi: PhiConfig, rho: RhoConfig) -> None:
    signnet = built(phi, rho, training=False)
    weights = dict(signnet.named_parameters())

    def loss(weights: dict[str, Tensor], vectors: Tensor) -> Tensor:
        given = (None, DATA.edges, DATA.batch, vectors, DATA.values)
        return functional_call(signnet, weights, given).square().sum()

    found, by_vectors = grad(loss, argnums=(0, 1))(weights, DATA.vectors)
    vectors = DATA.vectors.clone().requires_grad_()
    expected = torch.autograd.grad(
        loss(weights, vectors), [*weights.values(), vectors], materialize_grads=True
    )
    for mine, theirs in zip([*found.values(), by_vectors], expected, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_function_transforms_nest() -> None:
    signnet = SignNet(dim=1, phi=GINConfig(width=3, layers=2), rho=SummedConfig(width=3)).double().eval()
    edges, values = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.rand(1, 1, dtype=torch.float64)
    vectors = torch.randn(3, 1, dtype=torch.float64)

    def energy(vectors: Tensor) -> Tensor:
        return signnet(None, edges, None, vectors, values).square().sum()

    by_columns = torch.stack([grad(lambda v, i=i: grad(energy)(v)[i, 0])(vectors)[:, 0] for i in range(3)])
    expected = torch.autograd.functional.hessian(energy, vectors)[:, 0, :, 0]
    torch.testing.assert_close(by_columns, expected)


@pytest.mark.parametrize(("phi", "rho"), COMPILED, ids=lambda part: type(part).__name__)
def test_a_compiled_step_breaks_at_most_twice_and_gives_the_same(phi: PhiConfig, rho: RhoConfig) -> None:
    signnet = built(phi, rho)
    torch._dynamo.reset()
    backend = CompileCounterWithBackend("aot_eager")
    found = torch.compile(signnet, backend=backend)(*arguments())
    assert backend.frame_count <= 3  # graphs
    expected = signnet(*arguments())
    torch.testing.assert_close(found, expected)
    weights = list(signnet.parameters())
    results = zip(
        torch.autograd.grad(found.square().sum(), weights, materialize_grads=True),
        torch.autograd.grad(expected.square().sum(), weights, materialize_grads=True),
        strict=True,
    )
    for mine, theirs in results:
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("phi", "rho"), COMPILED, ids=lambda part: type(part).__name__)
def test_evaluation_is_exported_for_batches_of_any_size(phi: PhiConfig, rho: RhoConfig) -> None:
    signnet = built(phi, rho, training=False)
    size = torch.export.Dim.DYNAMIC
    columns = {} if isinstance(rho, ConcatenatedConfig) else {1: size}
    shapes = (None, {1: size}, {0: size}, {0: size, **columns}, {0: size, **columns})
    program = torch.export.export(signnet, arguments(), dynamic_shapes=shapes).module()
    for data in (DATA, smaller(DATA)):
        torch.testing.assert_close(program(*arguments(data)), signnet(*arguments(data)))


def smaller(data: Batch) -> Batch:
    """The first two graphs."""
    rows = data.batch < 2
    edges = data.edges[:, rows[data.edges[0]]]
    return Batch(edges=edges, batch=data.batch[rows], vectors=data.vectors[rows], values=data.values[:2])


def test_every_normalization_becomes_that_of_a_group_of_processes() -> None:
    signnet = built()
    expected = signnet(*arguments())
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(built())
    norms = [each for each in converted.modules() if isinstance(each, nn.modules.batchnorm._BatchNorm)]
    assert len(norms) == 7
    assert all(isinstance(each, nn.SyncBatchNorm) for each in norms)
    torch.testing.assert_close(converted(*arguments()), expected)  # one process: its own statistics


def test_statistics_stay_in_full_precision_under_autocast() -> None:
    signnet = built().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = signnet(*(None, *DATA.single().arguments()))
    found.float().square().sum().backward()
    assert found.dtype == torch.bfloat16
    assert all(each.dtype == torch.float32 for each in signnet.buffers() if each.is_floating_point())
    assert all(each.grad.isfinite().all() for each in signnet.parameters())


def test_weights_load_under_the_names_of_earlier_versions() -> None:
    signnet = built()
    signnet(*arguments())
    earlier = {}
    for name, value in signnet.state_dict().items():
        name = name.replace("norm.running_mean", "mean").replace("norm.running_var", "variance")
        if "num_batches_tracked" not in name:
            earlier[name.replace(".norm.", ".")] = value
    assert "phi.layers.0.mlp.layers.1.variance" in earlier
    again = built(training=False)
    again.load_state_dict(earlier)
    torch.testing.assert_close(again(*arguments()), signnet.eval()(*arguments()))
