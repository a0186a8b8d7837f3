"""Operators of packages that are compiled for PyTorch (torch.ops.load_library), and torch.ops.aten."""

import itertools
import math

import pytest

import libtensor as lt
from libtensor import ops
from libtensor.autograd import gradcheck


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Folders of packages with a library each, recorded."""
    root = tmp_path_factory.mktemp("packages")
    for path in ("torchvision/_C.so", "torchaudio/lib/libtorchaudio.so", "another/_C.so"):
        file = root / path
        file.parent.mkdir(parents=True)
        for folder in {file.parent, root / path.split("/")[0]}:
            (folder / "__init__.py").touch()
        file.write_bytes(b"")
        lt.ops.load_library(str(file))
    yield root
    lt.ops.loaded_libraries.clear()


def draw_rois(count, side):
    corners = lt.rand(count, 4, dtype=lt.float64) * side
    corners[:, 2:] += corners[:, :2] * 0.5
    return lt.cat([lt.randint(0, 2, (count, 1)).double(), corners], 1)


def interpolate(plane, y, x):
    """The value of a plane (H, W) at a point, as the paper on Mask R-CNN and its reference define it."""
    height, width = len(plane), len(plane[0])
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    v, u = y - top, x - left
    return (1 - v) * ((1 - u) * plane[top][left] + u * plane[top][right]) + v * ((1 - u) * plane[bottom][left] + u * plane[bottom][right])


@pytest.mark.parametrize("points", [-1, 2])
@pytest.mark.parametrize("is_aligned", [False, True])
def test_roi_align(packages, points, is_aligned):
    lt.manual_seed(3)
    image, rois = lt.randn(2, 2, 6, 7, dtype=lt.float64), draw_rois(5, 9)
    got = ops.torchvision.roi_align(image, rois, 0.8, 2, 3, points, is_aligned)
    for k, (batch, *corners) in enumerate(rois.tolist()):
        left, top, right, bottom = (c * 0.8 - 0.5 * is_aligned for c in corners)
        high, wide = bottom - top, right - left
        if not is_aligned:
            high, wide = max(high, 1.0), max(wide, 1.0)
        down = points if points > 0 else math.ceil(high / 2)
        across = points if points > 0 else math.ceil(wide / 3)
        for c, i, j in itertools.product(range(2), range(2), range(3)):
            plane = image[int(batch), c].tolist()
            at = [
                interpolate(plane, top + high / 2 * (i + (a + 0.5) / down), left + wide / 3 * (j + (b + 0.5) / across))
                for a in range(down)
                for b in range(across)
            ]
            assert got[k, c, i, j].item() == pytest.approx(sum(at) / max(len(at), 1), abs=1e-12)


def test_gradients_of_pooling_and_deformable_convolution(packages):
    lt.manual_seed(4)
    image, rois = lt.randn(2, 4, 5, 5, dtype=lt.float64, requires_grad=True), draw_rois(3, 4)
    vision = ops.torchvision
    assert gradcheck(lambda x: vision.roi_align(x, rois, 1.0, 2, 2, 2, True), (image,))
    assert gradcheck(lambda x: vision.roi_pool(x, rois, 1.0, 2, 2)[0], (image,))
    assert gradcheck(lambda x: vision.ps_roi_align(x, rois, 1.0, 2, 2, 2)[0], (image,))
    weight = lt.randn(2, 2, 2, 2, dtype=lt.float64, requires_grad=True)
    offset = (lt.rand(2, 16, 4, 4, dtype=lt.float64) * 0.8 + 0.1).requires_grad_()
    mask, bias = (lt.rand(n, dtype=lt.float64, requires_grad=True) for n in ((2, 8, 4, 4), (2,)))

    def convolve(x, w, o, m, b):
        return vision.deform_conv2d(x, w, o, m, b, 1, 1, 0, 0, 1, 1, 2, 2, True)

    assert gradcheck(convolve, (image, weight, offset, mask, bias))
    still = vision.deform_conv2d(image, weight, lt.zeros_like(offset), lt.ones_like(mask), bias, 1, 1, 0, 0, 1, 1, 2, 2, True)
    lt.testing.assert_close(still, lt.nn.functional.conv2d(image, weight, bias, groups=2))


def test_roi_pool_returns_the_indices_of_its_values(packages):
    lt.manual_seed(5)
    image, rois = lt.randn(2, 3, 6, 6, dtype=lt.float64), draw_rois(6, 8)
    values, indices = ops.torchvision.roi_pool(image, rois, 1.0, 2, 3)
    flat = image[rois[:, 0].long()].flatten(2)
    taken = flat.gather(2, indices.clamp(min=0).long().flatten(2)).reshape(values.shape)
    assert lt.equal(values, taken * (indices >= 0))


@pytest.mark.parametrize("threshold", [0.2, 0.5])
def test_nms_drops_boxes_that_overlap_better_ones(packages, threshold):
    lt.manual_seed(6)
    boxes = lt.rand(40, 4) * 10
    boxes[:, 2:] += boxes[:, :2]
    scores = (lt.rand(40) * 8).round()
    kept = []
    for i in scores.sort(stable=True, descending=True)[1].tolist():
        a = boxes[i].tolist()
        overlaps = []
        for b in (boxes[k].tolist() for k in kept):
            shared = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
            overlaps.append(shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared))
        if all(o <= threshold for o in overlaps):
            kept.append(i)
    assert ops.torchvision.nms(boxes, scores, threshold).tolist() == kept
    assert ops.torchvision.nms(boxes[:0], scores[:0], threshold).shape == (0,)


def test_malformed_arguments_raise(packages):
    vision, image = ops.torchvision, lt.ones(1, 4, 4, 4)
    for call, words in (
        (lambda: vision.nms(lt.ones(3), lt.ones(3), 0.5), "2d tensor, got 1D"),
        (lambda: vision.nms(lt.ones(3, 4), lt.ones(2), 0.5), "got 3 and 2"),
        (lambda: vision.roi_align(image, lt.ones(2, 4), 1.0, 2, 2, 2, True), r"Tensor\[K, 5\]"),
        (lambda: vision.ps_roi_pool(image, lt.ones(2, 5), 1.0, 3, 3), "multiple of"),
        (lambda: ops.torchaudio.forced_align(lt.ones(1, 2, 3), lt.tensor([[1, 1]]), lt.tensor([2]), lt.tensor([2]), 0), "too long"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()


@pytest.mark.parametrize("samples", [1, 5, 255, 256, 600])
def test_filters_are_recurrences(packages, samples):
    lt.manual_seed(samples)
    given, a = lt.randn(2, 2, samples, dtype=lt.float64), lt.tensor([[0.2, -0.5, 0.3, 1.0], [0.1, 0.0, 0.4, 1.0]], dtype=lt.float64)
    padded = lt.zeros(2, 2, samples + 3, dtype=lt.float64)
    ops.torchaudio._lfilter_core_loop(given, a, padded)
    for n, c in itertools.product(range(2), range(2)):
        y = [0.0, 0.0, 0.0]
        for x in given[n, c].tolist():
            y.append(x - sum(k * v for k, v in zip(a[c, :3].tolist(), y[-3:], strict=True)))
        lt.testing.assert_close(padded[n, c], lt.tensor(y, dtype=lt.float64))


def test_alignment_is_the_most_probable_path(packages):
    lt.manual_seed(7)
    for targets in ([1], [1, 1], [1, 2, 1]):
        log_probs = lt.randn(1, 6, 3).log_softmax(-1)
        paths = [p for p in itertools.product(range(3), repeat=6) if [s for s, _ in itertools.groupby(p) if s] == targets]
        best = max(paths, key=lambda p: log_probs[0, lt.arange(6), list(p)].sum().item())
        path, scores = ops.torchaudio.forced_align(log_probs, lt.tensor([targets]), lt.tensor([6]), lt.tensor([len(targets)]), 0)
        assert path[0].tolist() == list(best)
        assert lt.equal(scores, log_probs)


def test_transducer_loss_sums_over_alignments(packages):
    lt.manual_seed(8)
    logits, targets = lt.randn(1, 3, 3, 4, dtype=lt.float32), lt.tensor([[1, 2]], dtype=lt.int32)
    log_probs, total = logits.log_softmax(-1), 0.0
    for emitted in itertools.combinations_with_replacement(range(3), 2):  # the frames in which the symbols are emitted
        u, value = 0, 0.0
        for t in range(3):
            while u < 2 and emitted[u] == t:
                value += log_probs[0, t, u, targets[0, u]].item()
                u += 1
            value += log_probs[0, t, u, 0].item()
        total += math.exp(value)
    costs, gradients = ops.torchaudio.rnnt_loss_forward(logits, targets, lt.tensor([3]), lt.tensor([2]), 0, -1.0, True)
    assert costs.item() == pytest.approx(-math.log(total), rel=1e-5)
    assert gradients.shape == logits.shape
    assert gradients.sum(-1).abs().max() < 1e-6


def test_operators_that_are_not_implemented_raise_when_called(packages):
    for name in ("torchvision.qnms", "another.anything", "image.decode_jpeg"):
        namespace, _, op = name.partition(".")
        for call in (getattr(getattr(ops, namespace), op), getattr(getattr(ops, namespace), op).default):
            with pytest.raises(NotImplementedError, match=rf"{namespace}::{op}: the operator belongs to a C\+\+ extension of PyTorch"):
                call(lt.ones(2))
    with pytest.raises(OSError, match="No such file"):
        ops.load_library(str(packages / "torchvision" / "absent.so"))


def test_registrations_of_packages_are_ignored(packages):
    def fail(*args):
        raise AssertionError

    lt.library.register_fake("torchvision::nms", fail)
    lt.library.register_autograd("torchvision::roi_align", fail)
    lt.library.Library("torchvision", "IMPL", "Meta").impl(ops.torchvision.roi_align.default, fail)
    lt.library.Library("torchvision", "IMPL", "CPU").impl("roi_align", fail)
    lt.library.register_fake("another::anything", fail)
    lt.library.impl("another::anything", "cpu", fail)
    image = lt.ones(1, 1, 4, 4, requires_grad=True)
    ops.torchvision.roi_align(image, lt.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]]), 1.0, 2, 2, 2, True).sum().backward()
    assert image.grad is not None
    with pytest.raises(AttributeError):
        lt.ops.aten.anything_else  # noqa: B018 - the attribute is absent


def test_aten_calls_the_function_of_the_name():
    aten, x = ops.aten, lt.tensor([[1.0, -2.0], [3.0, 4.0]])
    assert lt.equal(aten.add.Tensor(x, x), x + x)
    assert lt.equal(aten.sum.dim_IntList(x, [1]), x.sum(1))
    assert lt.equal(aten.relu(self=x), x.relu())
    assert lt.equal(aten.linalg_inv.default(x), lt.linalg.inv(x))
    assert lt.equal(aten.gelu(x), lt.nn.functional.gelu(x))
    assert aten._to_copy(x, dtype=lt.float64).dtype == lt.float64
    y = x.clone()
    assert aten.add_.Tensor(y, 1) is y
    assert lt.equal(y, x + 1)
    out = lt.empty(2, 2)
    assert aten.mul.out(x, x, out=out) is out
    assert aten.add.Tensor is aten.add.Tensor
    assert str(aten.add.Tensor) == "aten.add.Tensor"
    assert aten.clone.default.name() == "aten::clone"
    assert "Scalar" in aten.add.overloads()
    assert not hasattr(aten, "no_such_operator")
    assert not hasattr(aten.add, "no_such_overload")


def test_unsupported_operators_of_aten_raise_by_name():
    with pytest.raises(NotImplementedError, match=r"aten::_flash_attention_backward: the operator does not exist in libtensor"):
        ops.aten._flash_attention_backward.default(lt.ones(1))
