"""Streams, events and the current device: what a thread has chosen, what waits for what, and who may use memory again."""

import gc
import random
import threading

import pytest

import libtensor as torch


@pytest.fixture(autouse=True)
def as_before():
    yield
    torch.cuda.set_stream(torch.cuda.default_stream(1))
    torch.cuda.set_stream(torch.cuda.default_stream(0))


def test_the_current_device():
    assert torch.cuda.current_device() == 0
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
        x = torch.zeros(2, device="cuda")
        assert x.device == torch.device("cuda:1") and torch.ones(1).cuda().device.index == 1 and (x + 1).device.index == 1
        with torch.cuda.device(torch.device("cuda:0")), torch.cuda.device(None), torch.cuda.device(-1):
            assert torch.zeros(1, device="cuda").device.index == 0
        with torch.cuda.device_of(torch.ones(1, device="cuda:0")):
            assert torch.cuda.current_device() == 0
        with torch.cuda.device_of(torch.ones(1)):
            assert torch.cuda.current_device() == 1
        assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0
    torch.cuda.set_device("cuda:1")
    assert torch.device("cuda").index is None and torch.empty(1, device="cuda").device.index == 1
    torch.cuda.set_device(-1)
    assert torch.cuda.current_device() == 1
    torch.cuda.set_device(0)
    for wrong in (2, "cuda:7"):
        with pytest.raises(RuntimeError, match="invalid device ordinal; the last of 2 is cuda:1"):
            torch.cuda.set_device(wrong)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.device("cpu")


def test_each_thread_has_its_own_choice():
    s = torch.cuda.Stream(1)
    found = []

    def other():
        found.append((torch.cuda.current_device(), torch.cuda.current_stream(), torch.cuda.current_stream(1)))
        torch.cuda.set_device(1)
        found.append(torch.zeros(1, device="cuda").device.index)

    with torch.cuda.stream(s):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert torch.cuda.current_stream() == s and torch.cuda.current_device() == 1
    assert found == [(0, torch.cuda.default_stream(0), torch.cuda.default_stream(1)), 1]
    assert torch.cuda.current_device() == 0


def test_properties():
    p = torch.cuda.get_device_properties(1)
    assert p.name == torch.cuda.get_device_name(1) == "Simulated device" and (p.major, p.minor) == torch.cuda.get_device_capability() == (
        8,
        0,
    )
    assert p.total_memory == 8 << 30 and p.multi_processor_count == 2 and p.warp_size == 32
    assert str(p.uuid).endswith("02") and "name='Simulated device', major=8, minor=0, total_memory=8192MB" in repr(p)
    assert torch.cuda.can_device_access_peer(0, 1) and torch.cuda.is_bf16_supported(False)
    with pytest.raises(RuntimeError, match="a device is not a peer of itself"):
        torch.cuda.can_device_access_peer(0, 0)
    with pytest.raises(ValueError, match="device_attribute: a device has no 'colour'; it has L2_cache_size, .*warp_size, total_memory"):
        torch._gen.gen_functions.device_attribute("cuda", "colour")


def test_streams_by_their_numbers():
    s = torch.cuda.Stream()
    assert (
        s.device == torch.device("cuda:0")
        and s != torch.cuda.default_stream()
        and hash(s) == hash(torch.cuda.Stream(stream_id=s.stream_id))
    )
    assert torch.cuda.Stream.priority_range() == (0, -5) and s.cuda_stream != torch.cuda.Stream(priority=-100).cuda_stream
    assert repr(s) == f"<torch.cuda.Stream device=cuda:0 cuda_stream={s.cuda_stream:#x}>"
    assert torch.cuda.ExternalStream(s.cuda_stream) == torch.cuda.get_stream_from_external(s.cuda_stream, 0) == s
    seen = {torch.cuda.Stream(1, priority=-3).stream_id for _ in range(70)}
    assert len(seen) == 32
    for wrong in (-1, 7, 1 << 40, 1 << 32 | 60000, 1 << 32 | 9 << 16):
        with pytest.raises((ValueError, RuntimeError), match="there is no stream|does not exist|has no streams"):
            torch.cuda.Stream(stream_id=wrong)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.Stream("cpu")


def test_contexts_of_streams():
    a, b, other = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream(1)
    with torch.cuda.stream(a) as nothing, a, torch.cuda.stream(other):
        assert nothing is None and torch.cuda.current_device() == 1
        assert torch.cuda.current_stream(0) == a and torch.cuda.current_stream() == other
        with b, torch.cuda.stream(None):
            assert torch.cuda.current_stream() == b and torch.cuda.current_device() == 0
        assert torch.cuda.current_stream(0) == a and torch.cuda.current_device() == 1
    assert torch.cuda.current_stream() == torch.cuda.default_stream() and torch.cuda.current_stream(1) == torch.cuda.default_stream(1)
    with pytest.raises(KeyError), torch.cuda.stream(a):
        raise KeyError
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def test_work_waits_in_its_stream(simulation):
    s = torch.cuda.Stream()
    waited = False
    for seed in range(20):
        simulation.seed(seed)
        x = torch.ones(10, device="cuda")
        s.wait_stream(torch.cuda.current_stream())
        with s:
            y = x * 3
            event = s.record_event()
        waited |= not event.query() or not s.query()
        event.synchronize()
        assert event.query()
        torch.cuda.current_stream().wait_event(event)
        assert y.sum().item() == 30
        s.synchronize()
        assert s.query()
    assert waited


def test_events():
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    assert a.query() and a.device is None and repr(a) == "<torch.cuda.Event uninitialized>" and a.cuda_event == 0
    a.synchronize()
    a.wait()
    with pytest.raises(ValueError, match="Both events must be recorded"):
        a.elapsed_time(b)
    a.record()
    torch.ones(3, device="cuda").exp()
    b.record()
    b.synchronize()
    assert a.elapsed_time(b) > 0 > b.elapsed_time(a) and a.device == torch.device("cuda:0") and a.cuda_event != 0
    with pytest.raises(ValueError, match="must be created with argument 'enable_timing=True'"):
        a.elapsed_time(torch.cuda.Event())
    with pytest.raises(RuntimeError, match="Event device cuda:0 does not match recording stream's device cuda:1."):
        a.record(torch.cuda.Stream(1))
    b = torch.cuda.Event(enable_timing=True, blocking=True)
    b.record(torch.cuda.Stream(1))
    b.synchronize()
    with pytest.raises(ValueError, match="on one device"):
        a.elapsed_time(b)
    with pytest.raises(NotImplementedError, match="interprocess"):
        torch.cuda.Event(interprocess=True)


def test_objects_that_are_no_streams_or_events():
    stream, event, x = torch.cuda.Stream(), torch.cuda.Event(), torch.ones(2, device="cuda")
    for name, argument, kind, call in (
        ("record_stream", "stream", "Stream", x.record_stream),
        ("record", "stream", "Stream", event.record),
        ("wait", "stream", "Stream", event.wait),
        ("elapsed_time", "end_event", "Event", event.elapsed_time),
        ("wait_event", "event", "Event", stream.wait_event),
        ("record_event", "event", "Event", stream.record_event),
        ("wait_stream", "stream", "Stream", stream.wait_stream),
        ("set_stream", "stream", "Stream", torch.cuda.set_stream),
    ):
        with pytest.raises(TypeError, match=rf"^{name}\(\): argument '{argument}' must be torch.cuda.{kind}, not int$"):
            call(3)


def test_events_that_are_not_reached_have_no_time(simulation):
    refused = 0
    for seed in range(30):
        simulation.seed(seed)
        a, b = torch.cuda.Event(True), torch.cuda.Event(True)
        a.record()
        b.record()
        try:
            a.elapsed_time(b)
        except RuntimeError as error:
            assert "Both events must be completed before calculating elapsed time." in str(error)
            refused += 1
    assert 0 < refused


@pytest.mark.usefixtures("collected")
def test_events_are_freed(simulation):
    before = simulation.live()[4]
    for _ in range(20):
        torch.cuda.Event().record()
        torch.cuda.Stream().record_event()
    gc.collect()
    assert simulation.live()[4] == before
    made = torch._gen.gen_functions.event_new("cuda")
    torch._gen.gen_functions.event_free(made)
    for wrong in (made, 0, -1, 1 << 50):
        with pytest.raises(ValueError, match="there is no event"):
            torch._gen.gen_functions.event_free(wrong)


def test_freed_memory_is_used_again_by_its_stream_alone(simulation):
    s = torch.cuda.Stream()
    with s:
        x = torch.zeros(5000, device="cuda")
        at = x.data_ptr()
        del x
        y = torch.zeros(5000, device="cuda")
        assert y.data_ptr() == at
    del y
    torch.empty(0)
    assert torch.zeros(5000, device="cuda").data_ptr() != at
    torch.cuda.synchronize()


def test_memory_that_another_stream_reads_is_not_used_again(simulation):
    """Nobody calls record_stream: operators note who uses a block."""
    s = torch.cuda.Stream()
    for seed in range(200):
        simulation.seed(seed)
        x = torch.full((3000,), 5, device="cuda")
        s.wait_stream(torch.cuda.current_stream())
        with s:
            y = x[1000:].clone() * 2
        del x
        torch.full((3000,), 9, device="cuda")
        torch.full((3000,), 8, device="cuda")
        torch.cuda.current_stream().wait_stream(s)
        assert y.sum().item() == 20000, seed
    torch.cuda.synchronize()


def test_record_stream(simulation):
    x, s = torch.zeros(3000, device="cuda"), torch.cuda.Stream()
    x.record_stream(s)
    torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="record_stream: the stream is on cuda:1, but the tensor is on cuda:0"):
        x.record_stream(torch.cuda.Stream(1))
    with pytest.raises(NotImplementedError, match="^record_stream: the tensor is on cpu, but the stream is on cuda:0"):
        torch.ones(2).record_stream(s)


def test_copies_between_devices_in_streams(simulation):
    a, b = torch.cuda.Stream(0), torch.cuda.Stream(1)
    for seed in range(100):
        simulation.seed(seed)
        with a, b:
            with torch.cuda.device(0):
                x = torch.arange(100.0).cuda() * 2
            y = x.to("cuda:1")
            x.zero_()
            del x
            z = y + 1
            assert z.cpu().sum().item() == 9900 + 100, seed


def test_derivatives_run_in_the_stream_of_the_call(simulation):
    """backward() needs no waiting: it follows the streams of the calls, and the caller's stream waits for it."""
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    for seed in range(300):
        simulation.seed(seed)
        x = torch.arange(6.0, device="cuda").reshape(2, 3).requires_grad_()
        a.wait_stream(torch.cuda.current_stream())
        with a:
            y = (x * 3).exp()
        b.wait_stream(a)
        with b:
            z = (y @ y.t()).log().sum()
        if seed % 2:
            z.backward()
        else:
            with a:
                z.backward()
            torch.cuda.current_stream().wait_stream(a)
        assert torch.cuda.current_stream() == torch.cuda.default_stream()
        found = x.grad.cpu()
        host = torch.arange(6.0).reshape(2, 3).requires_grad_()
        h = (host * 3).exp()
        (h @ h.t()).log().sum().backward()
        assert torch.allclose(found, host.grad), seed
    torch.cuda.synchronize()


def program(generator, streams, host):
    """Work in several streams, in an order of its own, which events and waits make the same for all orders of streams. Each tensor has an
    event behind what was last done to it; readers of other streams are waited for before it is written."""
    made = []

    def use(t, s):
        s.wait_event(t[1])
        t[2].append(s)

    def ready(value, s):
        return [value, s.record_event(), []]

    for step in range(12):
        s = generator.choice(streams)
        with torch.cuda.stream(s):
            if step < 3 or generator.random() < 0.2:
                made.append(ready((host.pin_memory() if generator.random() < 0.5 else host).to("cuda", non_blocking=True) + step, s))
                continue
            t = generator.choice(made)
            use(t, s)
            kind = generator.randrange(4)
            if kind == 0:
                for reader in t[2]:
                    s.wait_stream(reader)
                t[0].mul_(3).sub_(step)
                t[1] = s.record_event()
            elif kind == 1:
                u = generator.choice(made)
                use(u, s)
                made.append(ready(t[0] @ u[0].t() % 17, s))
            elif kind == 2:
                made.append(ready(t[0].sum(0, keepdim=True).expand(8, 8).clone() % 31, s))
            else:
                made.append(ready(t[0].t().contiguous(), s))
            if len(made) > 4:
                del made[generator.randrange(len(made))]
    found = []
    for value, event, _ in made:
        event.wait()
        found.append(value.cpu())
    return torch.stack(found).sum(0)


def test_orders_of_several_streams(simulation):
    streams = [torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.Stream(priority=-1), torch.cuda.default_stream()]
    host = torch.arange(64.0).reshape(8, 8)
    expected = {}
    for seed in range(1000):
        number = seed % 50
        simulation.seed(seed)
        found = program(random.Random(number), streams, host)
        assert torch.equal(found, expected.setdefault(number, found)), seed
    torch.cuda.synchronize()


def test_a_program_that_does_not_wait_is_found(simulation):
    """The simulated orders differ enough to tell: without wait_stream some of them read what is not there yet."""
    s, wrong = torch.cuda.Stream(), 0
    for seed in range(50):
        simulation.seed(seed)
        x = torch.ones(100, device="cuda")
        torch.cuda.synchronize()
        x.add_(1)
        with s:
            y = x.clone()
        wrong += y.cpu().sum().item() != 200
        with s:
            s.synchronize()
    assert wrong
