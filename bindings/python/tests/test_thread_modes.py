"""The default device and the gradient mode belong to the thread that sets them, however it sets them."""

import copy
import sys
import threading

import pytest

import libtensor as torch


def in_thread(function):
    """Returns the result or exception of a function in a new thread."""
    got = []

    def run():
        try:
            got.append((function(), None))
        except BaseException as error:
            got.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = got[0]
    if error:
        raise error
    return value


def modes():
    return torch.get_default_device().type, torch.zeros(2).device.type, torch.tensor([1.0]).device.type, torch.is_grad_enabled()


INITIAL = ("cpu", "cpu", "cpu", True)
CHANGED = ("meta", "meta", "meta", False)


@pytest.fixture(autouse=True)
def restored():
    yield
    torch.set_default_device(None)
    torch.set_grad_enabled(True)


def test_modes_of_other_threads_stay():
    assert modes() == INITIAL
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    assert modes() == CHANGED
    assert in_thread(modes) == INITIAL
    with torch.device("meta"), torch.no_grad():
        assert in_thread(modes) == INITIAL

    def change():
        torch.set_default_device("cpu:0")
        torch.set_grad_enabled(True)
        return torch.get_default_device()

    assert in_thread(change) == torch.device("cpu", 0)
    assert modes() == CHANGED


def test_a_thread_starts_anew_after_one_that_left_its_modes():
    def leave():
        before = modes()
        torch.set_default_device("meta")
        torch.set_grad_enabled(False)
        return before, modes()

    for _ in range(4):
        assert in_thread(leave) == (INITIAL, CHANGED)
    assert modes() == INITIAL


@pytest.mark.parametrize("many", [2, 5])
def test_one_manager_in_several_threads(many):
    """Each thread gets back what it had, in whichever order they leave."""
    device, no_grad, inference = torch.device("meta"), torch.no_grad(), torch.inference_mode()
    entered, order, wrong = threading.Barrier(many), [threading.Event() for _ in range(many)], []

    def work(i):
        torch.set_default_device("cpu" if i % 2 else "cpu:0")
        torch.set_grad_enabled(bool(i % 2))
        before = torch.get_default_device(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        with device, no_grad, inference:
            entered.wait(60)
            if modes() != CHANGED or not torch.is_inference_mode_enabled():
                wrong.append((i, modes()))
            order[i].wait(60)
        after = torch.get_default_device(), torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        if after != before:
            wrong.append((i, before, after))
        order[(i + 1) % many].set()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(many)]
    for thread in threads:
        thread.start()
    order[0].set()
    for thread in threads:
        thread.join(60)
    assert wrong == [] and modes() == INITIAL


def test_managers_within_themselves():
    device, no_grad, enable_grad = torch.device("meta"), torch.no_grad(), torch.enable_grad()
    with device, no_grad:
        with torch.device("cpu"), enable_grad:
            with device, no_grad:
                assert modes() == CHANGED
            assert modes() == INITIAL
        assert modes() == CHANGED
    assert modes() == INITIAL


@pytest.mark.parametrize(
    "manager", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False), lambda: torch.device("meta")]
)
def test_modes_come_back_after_an_error(manager):
    with pytest.raises(KeyError), manager():
        assert modes() != INITIAL
        raise KeyError
    assert modes() == INITIAL and not torch.is_inference_mode_enabled()


def test_the_library_knows_the_mode():
    """What Python sets is what calls of this thread carry."""
    from libtensor._gen import gen_functions

    with torch.no_grad():
        assert gen_functions.is_grad_enabled() is False
    gen_functions.set_grad_enabled(False)
    assert not torch.is_grad_enabled()


def test_inference_mode_false_is_the_opposite():
    with torch.no_grad(), torch.inference_mode(False):
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    with torch.inference_mode():
        with torch.enable_grad():
            assert torch.is_grad_enabled() and torch.is_inference_mode_enabled()
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        assert not torch.is_grad_enabled() and torch.is_inference_mode_enabled()


def test_set_grad_enabled_as_manager():
    mode = torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    with mode:
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


FACTORIES = {
    **dict.fromkeys(("zeros", "ones", "empty", "rand", "randn"), ([2],)),
    **dict.fromkeys(
        ("arange", "eye", "randperm", "bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"), (4,)
    ),
    **dict.fromkeys(("tensor", "as_tensor", "asarray"), ([1.0, 2.0],)),
    **dict.fromkeys(("tril_indices", "triu_indices"), (2, 3)),
    **dict.fromkeys(("linspace", "logspace"), (0.0, 1.0, 3)),
    "empty_permuted": ((2, 3), (0, 1)),
    "empty_strided": ((2, 3), (3, 1)),
    "full": ((2,), 1.0),
    "randint": (5, (2,)),
    "range": (0, 3),
    "scalar_tensor": (1.0,),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_go_to_the_threads_device(name):
    factory = getattr(torch, name)
    with torch.device("meta"):
        assert factory(*FACTORIES[name]).is_meta and factory(*FACTORIES[name], device="cpu").is_cpu
        assert in_thread(lambda: factory(*FACTORIES[name])).is_cpu
    assert factory(*FACTORIES[name]).is_cpu


def test_factories_that_have_a_device_do_not_heed_the_default():
    x = torch.ones(2)
    with torch.device("meta"):
        assert torch.zeros_like(x).is_cpu and x.new_ones(3).is_cpu and x.to(torch.float64).is_cpu
        assert torch.zeros(2, out=x).is_cpu and torch.arange(2, out=x).tolist() == [0, 1] and torch.rand(2, out=x).is_cpu
        assert torch.Generator().device.type == "cpu" and torch.UntypedStorage(4).device.type == "cpu"
    with torch.device("cpu"):
        out = torch.empty(2, device="meta")
        assert torch.zeros(2, out=out).is_meta and torch.arange(2, out=out).is_meta and torch.rand(2, out=out).is_meta


@pytest.mark.parametrize("mode", [torch.no_grad, lambda: torch.inference_mode(), lambda: torch.set_grad_enabled(False)])
def test_bodies_of_generators_run_under_their_mode_and_callers_do_not(mode):
    seen = []

    def body():
        try:
            given = yield torch.is_grad_enabled()
            try:
                yield given, torch.is_grad_enabled()
            except ValueError:
                yield torch.is_grad_enabled()
            return "done"
        finally:
            seen.append(torch.is_grad_enabled())

    steps = mode()(body)()
    assert torch.is_grad_enabled()
    assert next(steps) is False and torch.is_grad_enabled()
    assert steps.send(5) == (5, False) and torch.is_grad_enabled()
    assert steps.throw(ValueError()) is False and torch.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == "done"
    closed = mode()(body)()
    next(closed)
    closed.close()
    assert seen == [False, False] and torch.is_grad_enabled()


def test_modes_are_bools():
    with pytest.raises(TypeError, match="must be a bool, not str"):
        torch.set_grad_enabled("off")
    assert torch.is_grad_enabled()


def test_lists_and_arrays_index_with_any_default_device():
    numpy = pytest.importorskip("numpy")
    x = torch.arange(4.0)
    with torch.device("meta"):
        assert x[[0, 2]].tolist() == x[[True, False, True, False]].tolist() == x[numpy.array([0, 2])].tolist() == [0, 2]
        x[[0, 1]] = 5.0
        assert torch.as_tensor(numpy.ones(2)).is_meta and torch.asarray(numpy.ones(2)).is_meta
    assert x.tolist() == [5, 5, 2, 3]


READS = {
    "name of a node": lambda x, y: y.grad_fn.name(),
    "metadata": lambda x, y: y.grad_fn.metadata,
    "next functions": lambda x, y: y.grad_fn.next_functions[0][0].name(),
    "variable": lambda x, y: y.grad_fn.next_functions[0][0].variable,
    "storage": lambda x, y: x.untyped_storage().data_ptr(),
    "typed storage": lambda x, y: x.detach().storage().size(),
    "copy": lambda x, y: copy.deepcopy(x),
    "generator": lambda x, y: torch.get_rng_state(),
}


@pytest.mark.slow
@pytest.mark.parametrize("read", READS)
def test_objects_that_threads_share_while_others_drop_them(read):
    """An object that one thread has just dropped the last reference to is not what another one is given."""
    x = torch.ones(3, requires_grad=True)
    y = x.exp()
    wrong, interval = [], sys.getswitchinterval()

    def reads():
        try:
            for _ in range(600):
                READS[read](x, y)
        except Exception as error:
            wrong.append(error)

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=reads) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
