"""Law 6: random programs of views and writes over shared storages do what they do to plain bytes.

The model of a tensor is an array with the position, in its storage, of each element's first byte; a view makes another such array
with NumPy, which knows no strides of ours, and a write puts bytes at positions.
"""

import ctypes
from ctypes import byref, c_int64, c_void_p

import numpy as np
from inputs import case_numbers, rng_of
from library import ABSENT, NAMES, OK, SIZES, Library, scalar

NAME = "storages"
STEPS = 40  # of a program
PER_ROUND = 60  # programs for each of --rounds
KINDS = ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint64", "float32", "complex64")
WIDER = {
    "uint8": ("int16", "int32"),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64", "int16", "uint16"),
    "uint16": ("uint64",),
    "int64": ("int32",),
    "float32": ("int32", "int16"),
}


class Variable:
    """A handle, and the model of what it names."""

    def __init__(self, handle, dtype, positions, storage):
        self.handle, self.dtype, self.positions, self.storage = handle, dtype, positions, storage


class Machine:
    def __init__(self, library, rng):
        self.library, self.rng, self.lines = library, rng, []
        self.storages, self.variables = [], []
        for _ in range(2):
            self.new_storage()

    def new_storage(self):
        n = self.rng.choice((24, 48, 96))
        data = bytearray(self.rng.randrange(3) for _ in range(n))
        handle = self.library.moved(self.library.host_storage(data), n, self.library.place)
        self.storages.append((handle, data))
        dtype = self.rng.choice(KINDS)
        flat = c_void_p()
        self.library.do("tensor_storage_view", handle, NAMES.index(dtype), byref(flat))
        count = n // SIZES[dtype]
        self.lines.append(f"v{len(self.variables)} = {dtype} over all {n} bytes of storage {len(self.storages) - 1}: {data.hex()}")
        self.variables.append(Variable(flat, dtype, np.arange(count) * SIZES[dtype], len(self.storages) - 1))

    def close(self):
        for v in self.variables:
            self.library.c.tensor_free(v.handle)
        for handle, _ in self.storages:
            self.library.c.tensor_storage_free(handle)

    # --------------------------------------------------------------------------------------------------------------- steps

    def step(self):
        """Makes one view or one write on both sides; text on what differs."""
        v = self.rng.choice(self.variables)
        if self.rng.random() < 0.55:
            c, args, model, dtype = self.view(v)
            if model is None:
                return ""
            made = c_void_p()
            status = getattr(self.library.c, c)(v.handle, *args, byref(made))
            self.lines.append(
                f"v{len(self.variables)} = {c}(v{self.variables.index(v)}, {shown(args)})" + ("  # rejected" if status else "")
            )
            if status:
                told = self.library.c.tensor_last_error().decode()
                return "" if c in MAY_FAIL else f"{c} is rejected: {told}"
            self.variables.append(Variable(made, dtype, model, v.storage))
            return self.checked(self.variables[-1])
        c, args, change = self.write(v)
        if c is None:
            return ""
        before = [bytes(data) for _, data in self.storages]
        doubled = len(np.unique(v.positions)) < v.positions.size
        status = getattr(self.library.c, c)(v.handle, *args)
        self.lines.append(f"{c}(v{self.variables.index(v)}, {shown(args)})" + ("  # rejected" if status else ""))
        if not status:
            change()
        elif not doubled:
            return f"{c} is rejected: {self.library.c.tensor_last_error().decode()}"
        for i, (handle, data) in enumerate(self.storages):
            real = self.library.bytes_of(handle)
            if real != bytes(data):
                return f"storage {i} is {real.hex()}, the model has {bytes(data).hex()}, before it was {before[i].hex()}"
        return ""

    def checked(self, v):
        """The geometry of a new variable."""
        c, item = self.library.c, SIZES[v.dtype]
        dims = c.tensor_dim(v.handle)
        size, stride = c.tensor_sizes(v.handle)[:dims], c.tensor_strides(v.handle)[:dims]
        if tuple(size) != v.positions.shape:
            return f"sizes {size}, the model has {v.positions.shape}"
        grid = np.full(v.positions.shape, c.tensor_storage_offset(v.handle))
        for axis, s in enumerate(stride):
            grid += (np.arange(size[axis]) * s).reshape([-1 if i == axis else 1 for i in range(dims)])
        return "" if (grid * item == v.positions).all() else f"sizes {size}, strides {stride} do not name the model's places"

    def view(self, v):
        """(C function, arguments after the tensor, the model's positions, dtype)."""
        rng, p = self.rng, v.positions
        dim = rng.randrange(p.ndim) if p.ndim else None
        turn = rng.choice(
            (
                "transpose",
                "select",
                "narrow",
                "slice",
                "unsqueeze",
                "squeeze",
                "expand",
                "diagonal",
                "unfold",
                "view",
                "permute",
                "dtype",
                "split",
            )
        )
        if p.ndim == 0 and turn not in ("unsqueeze", "squeeze", "view", "expand"):
            turn = "unsqueeze"
        n = p.shape[dim] if dim is not None else 0
        match turn:
            case "transpose":
                other = rng.randrange(p.ndim)
                return "tensor_transpose", [dim, other - p.ndim], np.swapaxes(p, dim, other), v.dtype
            case "select" if n:
                i = rng.randrange(-n, n)
                return "tensor_select", [dim, i], np.take(p, i, dim), v.dtype
            case "narrow":
                start = rng.randrange(n + 1)
                length = rng.randrange(n - start + 1)
                return "tensor_narrow", [dim, start, length], np.take(p, range(start, start + length), dim), v.dtype
            case "slice":
                low, high = (rng.choice((None, *range(-n - 1, n + 2))) for _ in range(2))
                step = rng.choice((1, 1, 2, 3))
                cut = (*(slice(None),) * dim, slice(low, high, step))
                return "tensor_slice", [dim, *(ABSENT if b is None else b for b in (low, high)), step], p[cut], v.dtype
            case "unsqueeze" if p.ndim < 6:
                at = rng.randrange(p.ndim + 1)
                return "tensor_unsqueeze", [at], np.expand_dims(p, at), v.dtype
            case "squeeze":
                return "tensor_squeeze", [], np.squeeze(p), v.dtype
            case "expand" if p.ndim < 5:
                size = (2, *(3 if n == 1 else n for n in p.shape))
                return "tensor_expand", [*listed(size), False], np.broadcast_to(p, size), v.dtype
            case "diagonal" if p.ndim >= 2:
                offset = rng.randrange(-2, 3)
                if -p.shape[0] <= offset <= p.shape[1]:
                    return "tensor_diagonal", [offset, 0, 1], np.diagonal(p, offset, 0, 1), v.dtype
            case "unfold" if n:
                size, step = rng.randrange(1, n + 1), rng.choice((1, 2))
                windows = np.lib.stride_tricks.sliding_window_view(p, size, dim)
                return "tensor_unfold", [dim, size, step], windows[(*(slice(None),) * dim, slice(None, None, step))], v.dtype
            case "view" if p.size:
                a = rng.choice([k for k in range(1, p.size + 1) if p.size % k == 0])
                return "tensor_view", listed((a, -1)), p.reshape(a, p.size // a), v.dtype
            case "permute":
                order = rng.sample(range(p.ndim), p.ndim)
                return "tensor_permute", listed(order), p.transpose(order), v.dtype
            case "dtype" if v.dtype in WIDER and p.ndim and n:
                dtype = rng.choice(WIDER[v.dtype])
                old, new = SIZES[v.dtype], SIZES[dtype]
                if old >= new:
                    k = old // new
                    model = (p[..., None] + np.arange(k) * new).reshape(*p.shape[:-1], p.shape[-1] * k)
                elif p.shape[-1] % (new // old):
                    return None, None, None, None
                else:
                    model = p[..., :: new // old]
                return "tensor_view_dtype", [NAMES.index(dtype)], model, dtype
        return None, None, None, None

    def write(self, v):
        """(C function, arguments after the tensor, what it does to the model)."""
        rng, p, item = self.rng, v.positions, SIZES[v.dtype]
        data = self.storages[v.storage][1]

        def numbers(of):
            raw = self.storages[of.storage][1]
            places = of.positions[..., None] + np.arange(SIZES[of.dtype])
            return np.frombuffer(np.frombuffer(raw, np.uint8)[places].tobytes(), of.dtype).reshape(of.positions.shape)

        def put(values, where=None):
            places = p if where is None else p[where]
            raw = np.ascontiguousarray(np.broadcast_to(values, places.shape).astype(v.dtype))
            flat = np.frombuffer(data, np.uint8)
            flat[places[..., None] + np.arange(item)] = np.frombuffer(raw.tobytes(), np.uint8).reshape(*places.shape, item)

        k = rng.randrange(5)
        number = scalar({"kind": "int", "value": k})
        turn = rng.choice(("fill", "zero", "copy", "copy", "add", "neg", "index_fill", "set"))
        match turn:
            case "fill":
                return "tensor_fill_scalar_", [number], lambda: put(k)
            case "zero":
                return "tensor_zero_", [], lambda: put(0)
            case "add":
                with np.errstate(all="ignore"):
                    values = numbers(v) + np.array(k).astype(v.dtype)
                return "tensor_add_scalar_", [number, scalar({"kind": "int", "value": 1})], lambda: put(values)
            case "neg":
                values = -numbers(v)
                return "tensor_neg_", [], lambda: put(values)
            case "copy":
                sources = [s for s in self.variables if s.dtype == v.dtype and broadcasts(s.positions.shape, p.shape)]
                source = rng.choice(sources)
                values = numbers(source).copy()
                return "tensor_copy_", [source.handle, False], lambda: put(values)
            case "set" if p.ndim and p.shape[0] > 1:
                # v[1:] = v[:-1], through the slices' own handles
                low, high = c_void_p(), c_void_p()
                self.library.do("tensor_slice", v.handle, 0, 0, -1, 1, byref(low))
                self.library.do("tensor_slice", v.handle, 0, 1, 2**62, 1, byref(high))
                whole = numbers(v)
                for handle, part in ((low, np.s_[:-1]), (high, np.s_[1:])):
                    self.lines.append(f"v{len(self.variables)} = slice of v{self.variables.index(v)}")
                    self.variables.append(Variable(handle, v.dtype, p[part], v.storage))
                values = whole[:-1].copy()
                if len(np.unique(p[1:])) == p[1:].size:
                    status = self.library.c.tensor_copy_(high, low, False)
                    self.lines.append(f"tensor_copy_(v{len(self.variables) - 1}, v{len(self.variables) - 2})")
                    if status == OK:
                        put(values, np.s_[1:])
        return None, None, None


# Strides may not permit them; the state after an error is checked all the same.
MAY_FAIL = ("tensor_view", "tensor_view_dtype")


def listed(values):
    return [(c_int64 * len(values))(*values), len(values)]


def shown(args):
    return ", ".join(str(list(a)) if isinstance(a, ctypes.Array) else "tensor" if isinstance(a, c_void_p) else str(a) for a in args)


def broadcasts(size, to):
    return len(size) <= len(to) and all(a in (1, b) for a, b in zip(reversed(size), reversed(to), strict=False))


def run(options, law, report):
    library = Library(device=options.device)
    for n in case_numbers(options, PER_ROUND):
        machine = Machine(library, rng_of(options.seed, law, n))
        report.start(f"program/{n}")
        for _ in range(STEPS):
            problem = machine.step()
            if problem:
                report.fail(law, f"program/{n}", problem, "\n".join(machine.lines))
                break
        else:
            report.tell(law, True, "tensor_set__storage_geometry")
        machine.close()
