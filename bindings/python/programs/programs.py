"""Programs that use packages written for PyTorch: the name of the package's distribution, a description, unsupported features with reasons,
and the program. It runs unchanged under `python -m libtensor` and fails with an exception.
"""

PROGRAMS = {}


def program(name, tried, code, limits=""):
    PROGRAMS[name] = (tried, code, limits)


program(
    "accelerate",
    "A loop of training that Accelerator prepares.",
    """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(64, 4); data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
accelerator = Accelerator(cpu=True)
model = torch.nn.Linear(4, 1)
model, optimizer, data = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.05), data)
losses = []
for _ in range(60):
    for a, b in data:
        optimizer.zero_grad(); loss = torch.nn.functional.mse_loss(model(a), b); accelerator.backward(loss); optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 20, losses
""",
    "One process: `torch.distributed` is not available.",
)
program(
    "diffusers",
    "A UNet2DModel and ten steps of DDPMScheduler.",
    """
import torch
from diffusers import DDPMScheduler, UNet2DModel
torch.manual_seed(0)
blocks = dict(block_out_channels=(32, 32), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
              up_block_types=("AttnUpBlock2D", "UpBlock2D"))
model = UNet2DModel(sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, **blocks)
scheduler = DDPMScheduler(); scheduler.set_timesteps(10); x = torch.randn(1, 1, 8, 8)
with torch.no_grad():
    for t in scheduler.timesteps: x = scheduler.step(model(x, t).sample, t, x).prev_sample
assert x.shape == (1, 1, 8, 8) and x.isfinite().all()
""",
    "`torch.compile` runs functions as they are.",
)
program(
    "einops",
    "Layers Rearrange and Reduce in a model that trains.",
    """
import torch
from einops import rearrange
from einops.layers.torch import Rearrange, Reduce
model = torch.nn.Sequential(Rearrange("b (h w) -> b 1 h w", h=4), torch.nn.Conv2d(1, 2, 3), Reduce("b c h w -> b c", "mean"))
model(torch.randn(3, 16)).sum().backward()
assert all(p.grad is not None for p in model.parameters())
x = torch.arange(12).reshape(3, 4); assert torch.equal(rearrange(x, "a b -> b a"), x.T)
""",
)
program(
    "ema-pytorch",
    "An average of weights.",
    """
import torch
from ema_pytorch import EMA
model = torch.nn.Linear(2, 2); ema = EMA(model, beta=0.9, update_after_step=0, update_every=1)
for _ in range(3):
    with torch.no_grad(): model.weight.add_(1)
    ema.update()
assert ema(torch.ones(1, 2)).shape == (1, 2) and not torch.equal(ema.ema_model.weight, model.weight)
""",
)
program(
    "gpytorch",
    "An exact Gaussian process that learns its hyperparameters and predicts.",
    """
import torch, gpytorch
x = torch.linspace(0, 1, 20); y = torch.sin(6 * x)
class Process(gpytorch.models.ExactGP):
    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean(); self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    def forward(self, x): return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))
likelihood = gpytorch.likelihoods.GaussianLikelihood(); model = Process(x, y, likelihood); model.train(); likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
criterion = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model); losses = []
for _ in range(40): optimizer.zero_grad(); loss = -criterion(model(x), y); loss.backward(); optimizer.step(); losses.append(loss.item())
assert losses[-1] < losses[0] - 0.3, losses
model.eval(); likelihood.eval()
with torch.no_grad(): assert (likelihood(model(x)).mean - y).abs().max() < 0.2
""",
)
program(
    "kornia",
    "Filters, color spaces and a rotation of images, with gradients.",
    """
import torch, kornia
x = torch.rand(1, 3, 16, 16, requires_grad=True)
kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)).sum().backward()
assert x.grad.shape == x.shape
assert torch.allclose(kornia.color.hsv_to_rgb(kornia.color.rgb_to_hsv(x)), x, atol=1e-4)
assert kornia.geometry.rotate(x, torch.tensor([90.0])).shape == x.shape
""",
)
program(
    "lion-pytorch",
    "The optimizer Lion.",
    """
import torch
from lion_pytorch import Lion
w = torch.nn.Parameter(torch.ones(3)); optimizer = Lion([w], lr=0.05)
for _ in range(30): optimizer.zero_grad(); w.square().sum().backward(); optimizer.step()
assert w.abs().max() < 0.7
""",
)
program(
    "monai",
    "The network UNet and DiceLoss.",
    """
import torch
from monai.losses import DiceLoss
from monai.networks.nets import UNet
model = UNet(spatial_dims=2, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
loss = DiceLoss(to_onehot_y=True, softmax=True)(model(torch.randn(1, 1, 16, 16)), torch.randint(0, 2, (1, 1, 16, 16)))
loss.backward(); assert 0 < loss < 1
""",
)
program(
    "nflows",
    "A masked autoregressive flow, whose inverse is its inverse.",
    """
import torch
from nflows.transforms import MaskedAffineAutoregressiveTransform
torch.manual_seed(0)
transform = MaskedAffineAutoregressiveTransform(features=3, hidden_features=8); x = torch.randn(5, 3)
y, logdet = transform(x); back, other = transform.inverse(y)
assert torch.allclose(back, x, atol=1e-4) and torch.allclose(logdet, -other, atol=1e-4)
""",
)
program(
    "normflows",
    "A normalizing flow of affine couplings: samples and their densities.",
    """
import torch, normflows
torch.manual_seed(0)
flows = [normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=True)), normflows.flows.Permute(2)]
model = normflows.NormalizingFlow(normflows.distributions.base.DiagGaussian(2), flows)
x, logp = model.sample(6); assert torch.allclose(model.log_prob(x), logp, atol=1e-4)
""",
)
program(
    "peft",
    "LoRA of a linear model: few weights train, and merging them changes no output.",
    """
import torch
from peft import LoraConfig, get_peft_model
torch.manual_seed(0)
base = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
model = get_peft_model(base, LoraConfig(r=2, target_modules=["0"], init_lora_weights=False))
assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 32
x = torch.randn(4, 8); y = model(x); y.sum().backward()
assert torch.allclose(model.merge_and_unload()(x), y, atol=1e-5)
""",
)
program(
    "perceiver-pytorch",
    "A Perceiver over images.",
    """
import torch
from perceiver_pytorch import Perceiver
model = Perceiver(input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=4, latent_dim=8, num_classes=3)
y = model(torch.randn(1, 8, 8, 3)); y.sum().backward(); assert y.shape == (1, 3)
""",
)
program(
    "pyro-ppl",
    "Stochastic variational inference of a mean.",
    """
import torch, pyro, pyro.distributions as dist
from pyro.infer import SVI, Trace_ELBO
pyro.set_rng_seed(0); data = torch.randn(100) + 3
def model(data):
    mean = pyro.sample("mean", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)): pyro.sample("x", dist.Normal(mean, 1.0), obs=data)
guide = pyro.infer.autoguide.AutoNormal(model); svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
for _ in range(200): svi.step(data)
assert abs(guide.median()["mean"] - data.mean()) < 0.3
""",
)
program(
    "pytorch-ignite",
    "A Trainer with an evaluator and metrics.",
    """
import torch
from ignite.engine import create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy
torch.manual_seed(0)
x = torch.randn(64, 4); y = (x[:, 0] > 0).long(); data = [(x, y)]; model = torch.nn.Linear(4, 2)
trainer = create_supervised_trainer(model, torch.optim.Adam(model.parameters(), lr=0.1), torch.nn.functional.cross_entropy)
trainer.run(data, max_epochs=30); evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy()}); evaluator.run(data)
assert evaluator.state.metrics["accuracy"] > 0.9
""",
    "One process: `torch.distributed` is not available.",
)
program(
    "pytorch-lightning",
    "A Trainer that fits a LightningModule.",
    """
import torch, pytorch_lightning as lightning, tempfile
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
class Net(lightning.LightningModule):
    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(4, 1); self.losses = []
    def training_step(self, batch, i):
        loss = torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1]); self.losses.append(loss.item()); return loss
    def configure_optimizers(self): return torch.optim.Adam(self.parameters(), lr=0.05)
x = torch.randn(64, 4); data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16); net = Net()
quiet = dict(logger=False, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False)
lightning.Trainer(max_epochs=40, accelerator="cpu", default_root_dir=tempfile.mkdtemp(), **quiet).fit(net, data)
assert net.losses[-1] < net.losses[0] / 20
""",
    "One process: `torch.distributed` is not available.",
)
program(
    "pytorch-metric-learning",
    "TripletMarginLoss with a miner.",
    """
import torch
from pytorch_metric_learning import losses, miners
x = torch.randn(12, 4, requires_grad=True); y = torch.arange(12) % 3
losses.TripletMarginLoss()(x, y, miners.MultiSimilarityMiner()(x, y)).backward(); assert x.grad.isfinite().all()
""",
)
program(
    "pytorch-msssim",
    "ssim of images.",
    """
import torch
from pytorch_msssim import ssim
x = torch.rand(2, 3, 32, 32); assert abs(ssim(x, x, data_range=1.0) - 1) < 1e-5 and ssim(x, 1 - x, data_range=1.0) < 0.5
""",
)
program(
    "rotary-embedding-torch",
    "Rotations of queries and keys.",
    """
import torch
from rotary_embedding_torch import RotaryEmbedding
q = torch.randn(1, 2, 6, 8); r = RotaryEmbedding(dim=8).rotate_queries_or_keys(q)
assert torch.allclose(r.norm(dim=-1), q.norm(dim=-1), atol=1e-4)
""",
)
program(
    "safetensors",
    "Files of tensors, written and read by safetensors.torch.",
    """
import tempfile, os, torch, safetensors.torch
path = os.path.join(tempfile.mkdtemp(), "a"); given = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.bfloat16)}
safetensors.torch.save_file(given, path); read = safetensors.torch.load_file(path)
assert all(torch.equal(read[k], given[k]) and read[k].dtype == given[k].dtype for k in given)
""",
)
program(
    "skorch",
    "NeuralNetClassifier.",
    """
import numpy, torch
from skorch import NeuralNetClassifier
torch.manual_seed(0)
X = numpy.random.RandomState(0).randn(80, 4).astype("float32"); y = (X[:, 0] > 0).astype("int64")
module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
net = NeuralNetClassifier(module, max_epochs=40, lr=0.3, criterion=torch.nn.CrossEntropyLoss, train_split=None, verbose=0).fit(X, y)
assert (net.predict(X) == y).mean() > 0.9
""",
)
program(
    "stable-baselines3",
    "PPO on CartPole.",
    """
import gymnasium
from stable_baselines3 import PPO
model = PPO("MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=64, batch_size=32, seed=0, device="cpu").learn(256)
action, _ = model.predict(model.get_env().reset()); assert action.shape == (1,)
""",
)
program(
    "tensorly",
    "A Tucker decomposition by the backend pytorch.",
    """
import torch, tensorly
tensorly.set_backend("pytorch")
from tensorly.decomposition import tucker
x = torch.arange(60.0).reshape(3, 4, 5); assert torch.allclose(tensorly.tucker_to_tensor(tucker(x, rank=[3, 4, 5])), x, atol=1e-2)
""",
)
program(
    "timm",
    "A ResNet, and features of a vision transformer.",
    """
import timm, torch
model = timm.create_model("resnet10t", num_classes=3); y = model(torch.randn(2, 3, 64, 64)); y.sum().backward(); assert y.shape == (2, 3)
vit = timm.create_model("vit_tiny_patch16_224", img_size=32, num_classes=0, depth=2)
assert vit(torch.randn(1, 3, 32, 32)).shape == (1, 192)
""",
)
program(
    "torch-geometric",
    "A graph convolution that trains on a graph.",
    """
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
torch.manual_seed(0)
graph = Data(x=torch.eye(4), edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])); layer = GCNConv(4, 2)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.1); y = torch.tensor([0, 0, 1, 1])
for _ in range(60):
    optimizer.zero_grad(); loss = torch.nn.functional.cross_entropy(layer(graph.x, graph.edge_index), y); loss.backward(); optimizer.step()
assert loss < 0.3
""",
    "Its compiled packages (pyg-lib, torch-scatter, torch-sparse) are for PyTorch and are not loaded.",
)
program(
    "torchdiffeq",
    "A differential equation, with gradients by the adjoint method.",
    """
import torch
from torchdiffeq import odeint_adjoint
class Decay(torch.nn.Module):
    def __init__(self): super().__init__(); self.rate = torch.nn.Parameter(torch.tensor(0.5))
    def forward(self, t, y): return -self.rate * y
f = Decay(); y = odeint_adjoint(f, torch.ones(1), torch.tensor([0.0, 1.0]))[-1]; y.sum().backward()
assert torch.allclose(y, torch.exp(torch.tensor([-0.5])), atol=1e-4) and torch.allclose(f.rate.grad, -y.detach()[0], atol=1e-3)
""",
)
program(
    "torchinfo",
    "The summary of a model.",
    """
import torch
from torchinfo import summary
said = summary(torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(72, 4)), (1, 1, 8, 8), verbose=0)
assert said.total_params == 312 and "Conv2d" in str(said)
""",
)
program(
    "torchmetrics",
    "Accuracy, AUROC, a confusion matrix and SSIM.",
    """
import torch, torchmetrics
p, y = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), torch.tensor([0, 1, 1])
assert abs(torchmetrics.Accuracy("multiclass", num_classes=2)(p, y) - 2 / 3) < 1e-6
assert torchmetrics.ConfusionMatrix("multiclass", num_classes=2)(p, y).tolist() == [[1, 0], [1, 1]]
assert torchmetrics.AUROC("binary")(p[:, 1], y) == 1
""",
)
program(
    "torchsde",
    "A stochastic differential equation.",
    """
import torch, torchsde
class Noise(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"
    def f(self, t, y): return -y
    def g(self, t, y): return torch.full_like(y, 0.1)
y = torchsde.sdeint(Noise(), torch.ones(64, 1), torch.tensor([0.0, 1.0]), dt=0.05, method="euler")[-1]
assert abs(y.mean() - 0.3679) < 0.1
""",
)
program(
    "transformers",
    "GPT-2 generates, and is saved and read again.",
    """
import tempfile, torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2, pad_token_id=0)).eval()
ids = torch.tensor([[5, 6, 7]]); made = model.generate(ids, max_new_tokens=5, do_sample=False)
folder = tempfile.mkdtemp(); model.save_pretrained(folder); again = GPT2LMHeadModel.from_pretrained(folder).eval()
assert torch.equal(again.generate(ids, max_new_tokens=5, do_sample=False), made)
""",
    "`torch.compile` runs functions as they are.",
)
program(
    "vit-pytorch",
    "A vision transformer, forward and backward.",
    """
import torch
from vit_pytorch import ViT
model = ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=4, mlp_dim=64)
y = model(torch.randn(2, 3, 32, 32)); y.sum().backward(); assert y.shape == (2, 5) and all(p.grad is not None for p in model.parameters())
""",
)
program(
    "x-transformers",
    "A decoder, forward and backward.",
    """
import torch
from x_transformers import Decoder, TransformerWrapper
model = TransformerWrapper(num_tokens=50, max_seq_len=16, attn_layers=Decoder(dim=32, depth=2, heads=4))
y = model(torch.randint(0, 50, (1, 16))); y.sum().backward(); assert y.shape == (1, 16, 50)
""",
)
program(
    "zuko",
    "A neural spline flow: samples and the gradient of their densities.",
    """
import torch, zuko
flow = zuko.flows.NSF(features=2, transforms=1, hidden_features=(8,)); x = torch.randn(5, 2)
(-flow().log_prob(x).mean()).backward(); assert flow().sample((3,)).shape == (3, 2) and all(p.grad is not None for p in flow.parameters())
""",
)
program(
    "torchvision",
    "The training and detections of a Faster R-CNN, features of a ResNet, deformable convolution, boxes and transforms.",
    """
import torch, torchvision
from torchvision import ops
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2
torch.manual_seed(0)
model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=3,
    min_size=64, max_size=64, box_score_thresh=0.0)
images, truth = [torch.rand(3, 64, 64)], [{"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]]), "labels": torch.tensor([1])}]
losses = model(images, truth); sum(losses.values()).backward()
assert len(losses) == 4 and all(loss.isfinite() for loss in losses.values())
found = model.eval()(images)[0]; kept = ops.batched_nms(found["boxes"], found["scores"], found["labels"], 0.5)
assert len(kept) == len(found["boxes"])
resnet = torchvision.models.resnet18().eval(); features = create_feature_extractor(resnet, {"layer2": "middle"})
assert features(torch.rand(1, 3, 64, 64))["middle"].shape == (1, 128, 8, 8)
x, layer = torch.rand(1, 2, 6, 6), ops.DeformConv2d(2, 3, 3, padding=1)
still = torch.nn.functional.conv2d(x, layer.weight, layer.bias, padding=1)
assert torch.allclose(layer(x, torch.zeros(1, 18, 6, 6)), still, atol=1e-6)
assert v2.Resize((8, 10))(torch.rand(3, 16, 16)).shape == (3, 8, 10)
""",
    "`torchvision.io` decodes and encodes images by a library compiled for PyTorch, and raises; PIL works.",
)
program(
    "torchaudio",
    "Mel spectrograms, a biquad filter, forced alignment and a Conformer.",
    """
import torch, torchaudio
import torchaudio.functional as F
torch.manual_seed(0)
wave = torch.sin(torch.arange(4000) * 0.8)[None]
assert torchaudio.transforms.MelSpectrogram(8000, n_fft=256, n_mels=20)(wave).shape == (1, 20, 32)
assert F.lowpass_biquad(wave, 8000, 100.0)[:, 500:].abs().max() < 0.05 < F.lowpass_biquad(wave, 8000, 3000.0).abs().max()
path, scores = F.forced_align(torch.eye(4)[None, [0, 1, 1, 0, 2, 3]].log_softmax(-1), torch.tensor([[1, 2, 3]]))
assert path.tolist() == [[0, 1, 1, 0, 2, 3]]
model = torchaudio.models.Conformer(16, 2, 32, 1, 7)
made, lengths = model(torch.randn(2, 10, 16), torch.tensor([10, 8])); made.sum().backward()
assert made.shape == (2, 10, 16) and lengths.tolist() == [10, 8]
""",
    "The CTC decoder for CUDA is compiled for PyTorch, and raises.",
)
program(
    "e3nn",
    "Spherical harmonics and a tensor product that are equivariant to rotations.",
    """
import torch
from e3nn import o3
torch.manual_seed(0)
product = o3.FullyConnectedTensorProduct("2x0e+1x1o", "1x1o", "2x0e+2x1o"); rotation = o3.rand_matrix()
x, y = product.irreps_in1.randn(3, -1), product.irreps_in2.randn(3, -1)
turned = product(x @ product.irreps_in1.D_from_matrix(rotation).T, y @ product.irreps_in2.D_from_matrix(rotation).T)
assert torch.allclose(turned, product(x, y) @ product.irreps_out.D_from_matrix(rotation).T, atol=1e-5)
assert o3.spherical_harmonics([0, 1, 2], torch.randn(4, 3), True).shape == (4, 9)
""",
)
program(
    "captum",
    "Integrated gradients, whose sum is the difference of the outputs, and occlusion.",
    """
import torch
from captum.attr import IntegratedGradients, Occlusion
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)); x = torch.randn(3, 4)
attributions = IntegratedGradients(model).attribute(x, target=1, n_steps=100)
assert torch.allclose(attributions.sum(1), (model(x) - model(torch.zeros(1, 4)))[:, 1], atol=1e-3)
assert Occlusion(model).attribute(x, (1,), target=0).shape == (3, 4)
""",
)
program(
    "botorch",
    "A Gaussian process that is fitted, and the maximum of an acquisition function.",
    """
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
torch.manual_seed(0)
x = torch.rand(8, 1, dtype=torch.float64); y = -(x - 0.3) ** 2; model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
best, _ = optimize_acqf(LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=2, raw_samples=16)
assert abs(best.item() - 0.3) < 0.15, best
""",
)
program(
    "tensordict",
    "Nested dictionaries of tensors: indexing, stacking, modules, files in mapped memory.",
    """
import tempfile
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential
data = TensorDict({"a": torch.rand(3, 4), "b": {"c": torch.arange(3.0)}}, [3])
assert torch.stack([data, data])["b", "c"].shape == (2, 3) and data[1]["a"].shape == (4,)
model = TensorDictSequential(TensorDictModule(torch.nn.Linear(4, 2), ["a"], ["y"]), TensorDictModule(torch.tanh, ["y"], ["z"]))
assert torch.equal(model(data)["z"], data["y"].tanh())
folder = tempfile.mkdtemp(); data.memmap(folder); assert torch.equal(TensorDict.load_memmap(folder)["a"], data["a"])
""",
)
program(
    "opacus",
    "Gradients of samples, and a training step with differential privacy.",
    """
import torch
from opacus import GradSampleModule, PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
layer, x = GradSampleModule(torch.nn.Linear(4, 3), loss_reduction="sum"), torch.randn(5, 4); layer(x).sum().backward()
assert torch.allclose(layer._module.weight.grad_sample, x[:, None].expand(5, 3, 4))
model = torch.nn.Linear(4, 1); optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = DataLoader(TensorDataset(x, x.sum(1, True)), 5)
model, optimizer, data = PrivacyEngine().make_private(
    module=model, optimizer=optimizer, data_loader=data, noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False
)
for a, b in data: optimizer.zero_grad(); torch.nn.functional.mse_loss(model(a), b).backward(); optimizer.step()
""",
    "One process: `torch.distributed` is not available.",
)
program(
    "segmentation-models-pytorch",
    "The networks Unet and FPN, and the Dice loss.",
    """
import segmentation_models_pytorch as smp
import torch
for network in (smp.Unet, smp.FPN):
    model = network("resnet18", encoder_weights=None, classes=2); made = model(torch.rand(2, 3, 64, 64))
    smp.losses.DiceLoss("multiclass")(made, torch.zeros(2, 64, 64, dtype=torch.long)).backward(); assert made.shape == (2, 2, 64, 64)
""",
)
program(
    "open-clip-torch",
    "A CLIP and its contrastive loss.",
    """
import torch
from open_clip import CLIP, ClipLoss, CLIPTextCfg, CLIPVisionCfg
torch.manual_seed(0)
text = CLIPTextCfg(context_length=12, vocab_size=100, width=32, heads=4, layers=2)
model = CLIP(16, CLIPVisionCfg(layers=2, width=32, head_width=8, patch_size=8, image_size=16), text)
images, words, scale = model(torch.rand(3, 3, 16, 16), torch.randint(1, 99, (3, 12)))[:3]
loss = ClipLoss()(images, words, scale); loss.backward()
assert torch.allclose(images.norm(dim=-1), torch.ones(3)) and all(p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)
""",
)
program(
    "sentence-transformers",
    "A SentenceTransformer of a small BERT: similarities, search, a loss and its files.",
    """
import tempfile, torch
from sentence_transformers import SentenceTransformer, losses, models, util
from transformers import BertConfig, BertModel, BertTokenizerFast
torch.manual_seed(0); folder = tempfile.mkdtemp(); words = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on a mat dog ran".split()
open(folder + "/vocab.txt", "w").write("\\n".join(words)); BertTokenizerFast(folder + "/vocab.txt").save_pretrained(folder)
BertModel(BertConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32)).save_pretrained(folder)
model = SentenceTransformer(modules=[models.Transformer(folder), models.Pooling(16, pooling_mode="mean"), models.Normalize()], device="cpu")
texts = ["the cat sat", "the cat sat", "a dog ran on the mat"]
x = model.encode(texts, convert_to_tensor=True); similar = model.similarity(x, x)
assert torch.allclose(similar.diag(), torch.ones(3), atol=1e-5) and similar[0, 1] > 0.999 > similar[0, 2]
assert util.semantic_search(x[:1], x, top_k=1)[0][0]["corpus_id"] in (0, 1)
loss = losses.MultipleNegativesRankingLoss(model)([model.preprocess(texts), model.preprocess(texts)], None); loss.backward()
assert all(p.grad is not None for n, p in model.named_parameters() if "pooler" not in n)
model.save(folder + "/saved"); again = SentenceTransformer(folder + "/saved", device="cpu").encode(texts, convert_to_tensor=True)
assert torch.equal(x, again)
""",
)
program(
    "lightning",
    "A Trainer with callbacks in bfloat16, its checkpoints, and Fabric.",
    """
import tempfile, torch, lightning
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint, StochasticWeightAveraging
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
class Net(lightning.LightningModule):
    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(4, 1)
    def loss(self, batch): return torch.nn.functional.mse_loss(self.layer(batch[0]), batch[1])
    def training_step(self, batch, i): return self.loss(batch)
    def validation_step(self, batch, i): self.log("loss", self.loss(batch))
    def configure_optimizers(self): return torch.optim.SGD(self.parameters(), lr=0.1)
x = torch.randn(64, 4); data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16); folder = tempfile.mkdtemp()
quiet = dict(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
best = ModelCheckpoint(folder, monitor="loss", save_top_k=1)
stop = EarlyStopping("loss", min_delta=1e-4)
trainer = lightning.Trainer(max_epochs=40, callbacks=[stop, best], gradient_clip_val=5.0, precision="bf16-mixed", **quiet)
trainer.fit(Net(), data, data); assert trainer.callback_metrics["loss"] < 0.05 and trainer.current_epoch < 40
net = Net.load_from_checkpoint(best.best_model_path); assert trainer.validate(net, data, verbose=False)[0]["loss"] < 0.05
lightning.Trainer(max_epochs=6, callbacks=[StochasticWeightAveraging(0.05, swa_epoch_start=2)],
    enable_checkpointing=False, **quiet).fit(net, data)
fabric = lightning.Fabric(accelerator="cpu"); layer, optimizer = fabric.setup(net.layer, torch.optim.SGD(net.layer.parameters(), lr=0.1))
fabric.backward(layer(x).square().mean()); optimizer.step()
""",
    "One process: `torch.distributed` is not available.",
)
program(
    "pytorch-tabnet",
    "TabNetClassifier, and which feature it uses.",
    """
import numpy, torch
from pytorch_tabnet.tab_model import TabNetClassifier
x = numpy.random.RandomState(0).randn(256, 6).astype(numpy.float32); y = (x[:, 0] > 0).astype(int)
model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, seed=0, verbose=0, device_name="cpu", optimizer_params=dict(lr=0.05))
model.fit(x, y, eval_set=[(x, y)], max_epochs=25, batch_size=64, virtual_batch_size=32)
assert (model.predict(x) == y).mean() > 0.9 and model.feature_importances_.argmax() == 0
""",
)
program(
    "entmax",
    "Sparse alternatives of softmax, and their gradients.",
    """
import torch
from entmax import entmax15, entmax_bisect, sparsemax
x = torch.tensor([[3.0, 1.0, 0.9, -2.0]], requires_grad=True); y = sparsemax(x, dim=1)
assert torch.equal(y, torch.tensor([[1.0, 0.0, 0.0, 0.0]])) and torch.allclose(entmax_bisect(x, 1.5, dim=1), entmax15(x, dim=1), atol=1e-5)
assert torch.autograd.gradcheck(lambda z: entmax15(z, dim=1), torch.rand(2, 4, dtype=torch.float64, requires_grad=True))
""",
)
program(
    "torch-optimizer",
    "Fourteen optimizers.",
    """
import torch, torch_optimizer
for name in "AdaBound AdaMod AdamP AggMo DiffGrad Lamb NovoGrad QHAdam RAdam Ranger SGDP Shampoo Yogi AdaBelief".split():
    w = torch.nn.Parameter(torch.ones(3, 2)); optimizer = getattr(torch_optimizer, name)([w], lr=0.05)
    for _ in range(60): optimizer.zero_grad(); w.square().sum().backward(); optimizer.step()
    assert w.norm() < 2.4, name
""",
)
program(
    "pytorch_optimizer",
    "Adan, ADOPT, CAME, Lion, SOAP and other optimizers.",
    """
import torch, pytorch_optimizer
tested = 0
for name in "adabelief adan adopt came lion madgrad prodigy ranger21 soap sophiah tiger stableadamw".split():
    if name not in pytorch_optimizer.get_supported_optimizers(): continue
    torch.manual_seed(0); w = torch.nn.Parameter(torch.ones(4, 4)); kind = pytorch_optimizer.load_optimizer(name)
    try: optimizer = kind([w], lr=0.02)
    except TypeError: optimizer = kind([w], lr=0.02, num_iterations=40)
    for _ in range(40): optimizer.zero_grad(); w.square().sum().backward(create_graph=name == "sophiah"); optimizer.step()
    assert w.isfinite().all() and w.norm() < 4, name; tested += 1
assert tested > 8
""",
)
program(
    "schedulefree",
    "Optimizers without schedule.",
    """
import torch, schedulefree
for kind in (schedulefree.SGDScheduleFree, schedulefree.AdamWScheduleFree, schedulefree.RAdamScheduleFree):
    w = torch.nn.Parameter(torch.ones(3)); optimizer = kind([w], lr=0.1); optimizer.train()
    for _ in range(150): optimizer.zero_grad(); w.square().sum().backward(); optimizer.step()
    trained = w.detach().clone(); optimizer.eval(); assert w.norm() < 0.9 and not torch.equal(w, trained), kind
""",
)
program(
    "vector-quantize-pytorch",
    "Codebooks: VectorQuantize, ResidualVQ, FSQ and LFQ.",
    """
import torch
from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize
torch.manual_seed(0); x = torch.randn(2, 32, 8, requires_grad=True)
quantized, indices, loss = VectorQuantize(dim=8, codebook_size=16, kmeans_init=True)(x); (quantized.sum() + loss).backward()
assert indices.max() < 16 and x.grad.isfinite().all()
residual = ResidualVQ(dim=8, num_quantizers=4, codebook_size=16).eval(); assert residual(x)[1].shape == (2, 32, 4)
codes = FSQ([5, 5, 3], dim=8); quantized, indices = codes(x); assert torch.allclose(codes.indices_to_codes(indices), quantized, atol=1e-5)
assert LFQ(codebook_size=16, dim=8)(x)[0].shape == x.shape
""",
)
program(
    "speechbrain",
    "Filterbanks, MFCC, the inverse STFT, an ECAPA-TDNN and the CTC loss.",
    """
import torch
from speechbrain.lobes.features import MFCC, Fbank
from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
from speechbrain.nnet.losses import ctc_loss
from speechbrain.processing.features import ISTFT, STFT
torch.manual_seed(0); sound = torch.randn(2, 8000); bands = Fbank(n_mels=16)(sound)
assert bands.shape == (2, 51, 16) and MFCC(n_mels=16, n_mfcc=8)(sound).shape[:2] == (2, 51)
assert torch.allclose(ISTFT(16000)(STFT(16000)(sound))[:, 400:7000], sound[:, 400:7000], atol=1e-4)
model = ECAPA_TDNN(16, channels=[16, 16, 16, 16, 48], kernel_sizes=[5, 3, 3, 3, 1], dilations=[1, 2, 3, 4, 1],
    attention_channels=8, lin_neurons=8)
model(bands).square().sum().backward(); assert all(p.grad is not None for p in model.parameters())
scores = torch.randn(2, 9, 5, requires_grad=True)
ctc_loss(scores.log_softmax(-1), torch.randint(1, 5, (2, 3)), torch.ones(2), torch.ones(2), 0).backward()
assert scores.grad.isfinite().all()
""",
)
program(
    "efficientnet_pytorch",
    "EfficientNet-B0, forward and backward.",
    """
import torch
from efficientnet_pytorch import EfficientNet
torch.manual_seed(0)
model = EfficientNet.from_name("efficientnet-b0", num_classes=3, image_size=64); x = torch.randn(2, 3, 64, 64)
model(x).sum().backward(); assert all(p.grad is not None for p in model.parameters())
model.eval(); assert model(x).shape == (2, 3) and model.extract_features(x).shape == (2, 1280, 2, 2)
""",
)
program(
    "asteroid-filterbanks",
    "An STFT filterbank, and its inverse.",
    """
import torch
from asteroid_filterbanks import Decoder, Encoder, STFTFB
from asteroid_filterbanks.transforms import mag
from asteroid_filterbanks import make_enc_dec
x = torch.randn(1, 1, 1600); encoder, decoder = make_enc_dec("stft", n_filters=64, kernel_size=64, stride=32)
y = encoder(x); assert mag(y).shape[1] == 33 and torch.allclose(decoder(y)[..., 64:1500], x[..., 64:1500], atol=1e-3)
""",
)
program(
    "torchcde",
    "A controlled differential equation over a cubic spline.",
    """
import torch, torchcde
torch.manual_seed(0); t = torch.linspace(0, 1, 8); x = torch.cat([t[None, :, None].expand(2, -1, -1), torch.randn(2, 8, 2)], 2)
path = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(x, t), t); assert torch.allclose(path.evaluate(t[3]), x[:, 3], atol=1e-5)
class Field(torch.nn.Module):
    def __init__(self): super().__init__(); self.layer = torch.nn.Linear(4, 12)
    def forward(self, t, z): return self.layer(z).tanh().view(2, 4, 3)
field = Field(); solver = dict(method="rk4", options=dict(step_size=0.25))
torchcde.cdeint(X=path, func=field, z0=torch.randn(2, 4), t=path.interval, **solver).sum().backward()
assert field.layer.weight.grad.isfinite().all()
""",
)
