"""Programs that compare their results with those of PyTorch 2.15 for the same seeds."""

from programs import program

program(
    "fastai",
    "A Learner with MixUp and an early stop, and a tabular model.",
    """
import warnings; warnings.simplefilter("ignore")
import pandas, torch
from fastai.tabular.all import *
set_seed(0, True); x = torch.randn(64, 4); y = x.sum(1, keepdim=True); data = list(zip(x, y))
dls = DataLoaders(DataLoader(data[:48], bs=16, shuffle=True, num_workers=0), DataLoader(data[48:], bs=16, num_workers=0))
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
learner = Learner(dls, net, loss_func=MSELossFlat(), opt_func=ranger, metrics=[mae],
    cbs=[GradientClip(0.5), EarlyStoppingCallback(patience=2)])
with learner.no_bar(), learner.no_logging(): learner.fit_one_cycle(4, 0.05)
table = pandas.DataFrame({"a": [i % 3 for i in range(20)], "b": [i / 7 for i in range(20)], "y": [i % 2 for i in range(20)]})
to = TabularPandas(table, [Categorify, FillMissing, Normalize], ["a"], ["b"], "y", CategoryBlock,
    RandomSplitter(0.2, seed=0)(range_of(table)))
tabular = tabular_learner(to.dataloaders(bs=8), layers=[8], loss_func=LabelSmoothingCrossEntropyFlat())
with tabular.no_bar(), tabular.no_logging(): tabular.fit_one_cycle(2)
got = [*learner.recorder.values[-1], *tabular.recorder.values[-1]]
expected = [3.8367, 3.3597, 1.5291, 0.9675, 0.7232]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "pytorch-crf",
    "A conditional random field: the likelihood, its gradient and the best tags.",
    """
import torch
from torchcrf import CRF
torch.manual_seed(0); crf = CRF(3, batch_first=True); scores = torch.rand(2, 5, 3); tags = torch.randint(0, 3, (2, 5))
mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool); loss = crf(scores, tags, mask=mask); loss.backward()
best = crf.decode(scores, mask); assert [len(t) for t in best] == [5, 3]
got = [loss, *crf.transitions.grad.flatten(), *best[0]]
expected = [-8.6696, -0.5463, -0.656, -0.7069, -0.6645, 0.3459, 1.2455, -0.59, 1.3713, 0.2011, 1.0, 2.0, 0.0, 2.0, 2.0]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "geoopt",
    "Riemannian optimizers on the Poincare ball and the Stiefel manifold.",
    """
import geoopt, torch
torch.manual_seed(0); ball = geoopt.PoincareBall()
x = ball.random_normal(4, 3, std=0.3); point = geoopt.ManifoldParameter(x.clone(), manifold=ball)
optimizer = geoopt.optim.RiemannianAdam([point], lr=0.05)
for _ in range(5): optimizer.zero_grad(); loss = ball.dist(point, x.roll(1, 0)).pow(2).sum(); loss.backward(); optimizer.step()
stiefel = geoopt.Stiefel(); w = geoopt.ManifoldParameter(stiefel.random(4, 2), manifold=stiefel)
sgd = geoopt.optim.RiemannianSGD([w], lr=0.1, momentum=0.9)
for _ in range(3): sgd.zero_grad(); (w.sum() ** 2).backward(); sgd.step()
assert torch.allclose(w.T @ w, torch.eye(2), atol=1e-4)
got = [loss, *point.detach()[0], *ball.logmap(x, x.roll(1, 0))[1], *w.detach().flatten()]
expected = [1.3639, 0.1834, -0.055, -0.2709, 0.157, 0.154, -0.1099, 0.6583, -0.2296, 0.3715, 0.3464, 0.6421, -0.1443, 0.1282,
    0.898]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "higher",
    "Gradients through the steps of an inner loop of training.",
    """
import higher, torch
torch.manual_seed(0); net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)); x = torch.rand(6, 3)
with higher.innerloop_ctx(net, torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), copy_initial_weights=False) as (inner, steps):
    for _ in range(3): steps.step(inner(x).square().mean())
    loss = inner(x).mean(); loss.backward()
got = [loss, *(p.grad.norm() for p in net.parameters())]
expected = [0.0311, 0.218, 0.2455, 0.4012, 0.4992]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "torchjd",
    "Jacobian descent: gradients of several losses, aggregated without conflict.",
    """
import torch
from torchjd.aggregation import MGDA, AlignedMTL, IMTLG, PCGrad, UPGrad
from torchjd.autojac import backward
jacobian = torch.tensor([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0]]); got = []
for aggregator in (UPGrad(), MGDA(), PCGrad(), IMTLG(), AlignedMTL()): torch.manual_seed(0); got += [*aggregator(jacobian)]
net = torch.nn.Linear(3, 2); y = net(torch.rand(4, 3)).square(); backward([y[:, 0].mean(), y[:, 1].mean()])
got += [*net.weight.jac.flatten()]
expected = [0.2929, 1.9003, 1.9003, 0.0, 1.0, 1.0, 0.5848, 3.8012, 3.8012, 0.0767, 1.0, 1.0, 0.2133, 0.9673, 0.9673, -0.0802,
    -0.0513, -0.0824, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2005, 0.1541, 0.1883]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "ptwt",
    "Wavelet transforms of signals and images, and their inverses.",
    """
import ptwt, torch
torch.manual_seed(0); x = torch.rand(2, 32, dtype=torch.float64); image = torch.rand(1, 16, 16, dtype=torch.float64)
lines = ptwt.wavedec(x, "db2", level=2); parts = ptwt.wavedec2(image, "haar", level=2)
assert torch.allclose(ptwt.waverec(lines, "db2"), x) and torch.allclose(ptwt.waverec2(parts, "haar"), image)
packets = ptwt.WaveletPacket(x, "haar", maxlevel=2)
got = [*lines[0][0], *lines[2][1, :4], *parts[0].flatten()[:4], *packets["ad"][0, :4]]
expected = [1.4487, 1.4341, 1.3375, 0.7166, 0.8935, 0.799, 1.0002, 0.8832, 1.1789, 1.2033, -0.0064, -0.0999, -0.0217, 0.3064,
    1.5587, 2.214, 2.0741, 1.7452, 0.1489, 0.4532, 0.12, 0.0273]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "denoising-diffusion-pytorch",
    "A denoising diffusion model: the loss, its gradient, and samples by DDIM.",
    """
import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
torch.manual_seed(0); net = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
model = GaussianDiffusion(net, image_size=16, timesteps=20, sampling_timesteps=3, objective="pred_v")
loss = model(torch.rand(2, 3, 16, 16)); loss.backward()
samples = model.sample(batch_size=1); lines = GaussianDiffusion1D(Unet1D(dim=8, dim_mults=(1, 2), channels=2), seq_length=16, timesteps=10)
got = [loss, *(p.grad.norm() for p in list(net.parameters())[:3]), *samples[0, 0, 0, :6], lines(torch.rand(2, 2, 16))]
expected = [0.4055, 0.2108, 0.0415, 0.0146, 0.1408, 0.2828, 0.6666, 0.5409, 0.9629, 1.0, 1.1254]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
program(
    "performer-pytorch",
    "A language model with attention of linear cost, forward and backward.",
    """
import torch
from performer_pytorch import PerformerLM
torch.manual_seed(0); net = PerformerLM(num_tokens=20, max_seq_len=16, dim=16, depth=1, heads=2, causal=False, nb_features=8)
out = net(torch.randint(0, 20, (1, 16)), mask=torch.ones(1, 16, dtype=torch.bool)); out.square().mean().backward()
got = [*out[0, 0, :6], *(p.grad.norm() for p in list(net.parameters())[:3])]
expected = [0.0118, 0.4171, 0.7463, -0.2616, 0.5781, 0.4106, 0.0462, 0.0144, 0.0149]
assert torch.allclose(torch.tensor([float(v) for v in got]), torch.tensor(expected), atol=1e-3), got
""",
)
