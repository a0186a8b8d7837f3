"""dtype, layout and memory_format objects, finfo and iinfo."""

import sys
from ctypes import c_void_p

from . import gen_names
from .library import Cell, bind

c_default = bind("tensor_get_default_dtype", c_void_p)
ABBREVIATIONS = {"bool": "b8", "bfloat": "bf", "bcomplex": "bc", "float": "f", "complex": "c", "int": "i", "uint": "u"}


class dtype:
    """The type of the elements of a tensor, such as torch.float32."""

    __slots__ = ("code", "name", "itemsize", "is_floating_point", "is_complex", "is_signed", "bits", "letter")

    def __init__(self, code, name, itemsize, kind, is_signed=True):
        self.code = code
        self.name = name
        self.itemsize = itemsize
        self.bits = itemsize * 8
        self.letter = kind  # as NumPy's dtypes have it
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = is_signed

    @property
    def dtype(self):
        """Returns NumPy's dtype, which numpy.dtype() asks for."""
        if self.name == "bfloat16" and "ml_dtypes" in sys.modules:
            import ml_dtypes
            import numpy

            return numpy.dtype(ml_dtypes.bfloat16)
        if self not in OF_NUMPY:
            raise AttributeError(f"NumPy has no dtype for {self}; it has dtypes for {', '.join(d.name for d in OF_NUMPY)}")
        import numpy

        return numpy.dtype(self.name)

    __numpy_dtype__ = dtype

    def __eq__(self, other):
        """Compares with dtypes, NumPy's dtypes, and the scalar types of Python and NumPy, as NumPy's dtypes do."""
        if other.__class__ is dtype_class:
            return self is other
        return of_type(other) is self if isinstance(other, type) else NotImplemented

    __hash__ = object.__hash__

    @property
    def abbr(self):
        """Returns an abbreviation of the name, "f32" for float32."""
        for kind, short in ABBREVIATIONS.items():
            if self.name.startswith(kind):
                return short + self.name.removeprefix(kind).replace("_", "")
        return self.name  # of a quantized dtype

    def to_real(self):
        return REAL.get(self, self)

    def to_complex(self):
        for complex_, real in REAL.items():
            if real is self:
                return complex_
        if self.is_complex:
            return self
        raise RuntimeError(
            f"Unknown Complex ScalarType for {self.name.capitalize()}"
            if self in FLOAT8 or self is float4_e2m1fn_x2
            else f"{self} has no complex counterpart"
        )

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return named, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


dtype_class = dtype  # in the class body, dtype is a property


# Attributes that SciPy and Dask read; None for dtypes that NumPy does not have.
for _name in ("base", "char", "fields", "hasobject", "isnative", "names", "str", "subdtype", "type"):
    setattr(dtype, _name, property(lambda self, name=_name: getattr(self.dtype, name)))


def show_kind(package):
    """Adds NumPy's attribute `kind` to dtypes, for Dask and xarray. Other packages take a tensor with it for a NumPy array, and call
    methods that differ in PyTorch; therefore it is absent unless one of these packages is imported.
    """
    dtype.kind = property(lambda self: self.letter)


class Named:
    """A layout or memory format: an enumeration value with a name."""

    __slots__ = ("code", "name")

    def __init__(self, code, name):
        self.code = code
        self.name = name

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return named, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class layout(Named):
    """The layout of a tensor: torch.strided, torch.sparse_coo, ..."""

    __slots__ = ()


class qscheme(Named):
    """A quantization scheme: torch.per_tensor_affine, ..."""

    __slots__ = ()


class memory_format(Named):
    """A memory format: torch.contiguous_format, torch.channels_last, ..."""

    __slots__ = ()


ROWS = gen_names.DTYPES
DTYPES = tuple(dtype(code, *row[:4]) for code, row in enumerate(ROWS))
BY_NAME = {d.name: d for d in DTYPES}
bool_ = BY_NAME["bool"]
globals().update((name, d) for name, d in BY_NAME.items() if d is not bool_)  # declared in gen_dtypes.pyi
QUANTIZED = tuple(d for d in DTYPES if d.letter == "q")
FLOAT8 = tuple(d for d in DTYPES if d.is_floating_point and d.itemsize == 1)
INTEGERS = frozenset(d for d in DTYPES if d.letter in "iu")
REAL = {d: DTYPES[row[4]] for d, row in zip(DTYPES, ROWS, strict=True) if d.is_complex}
SCALAR_TYPES = {row[5]: d for d, row in zip(DTYPES, ROWS, strict=True)}
TYPESTRS = {d: ("|" if d.itemsize == 1 else "<") + row[6] for d, row in zip(DTYPES, ROWS, strict=True) if row[6]}
OF_NUMPY = tuple(TYPESTRS)
EXPORTED = {row[7]: d for d, row in zip(DTYPES, ROWS, strict=True) if row[7]}
LIMITS = {d: row[8] for d, row in zip(DTYPES, ROWS, strict=True) if row[8]}  # eps, smallest normal, largest value, decimal digits
PYTHON = {bool: bool_, int: BY_NAME["int64"], float: BY_NAME["float64"], complex: BY_NAME["complex128"]}


def of_type(value):
    """Returns the dtype of a scalar type of Python or NumPy, or of a NumPy dtype; None for other values."""
    if value in PYTHON:
        return PYTHON[value]
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(value, numpy.dtype) and not (isinstance(value, type) and issubclass(value, numpy.generic)):
        return None
    found = numpy.dtype(value)
    return NAMES.get(found.name) if found.isnative else None


def of_numpy(value):
    """Returns the dtype that NumPy makes of a value such as "f4"; a dtype or None unchanged."""
    if value is None or isinstance(value, dtype):
        return value
    import numpy

    found = of_type(numpy.dtype(value))
    if found is None:
        raise TypeError(f"NumPy dtype {numpy.dtype(value)} is not supported; supported are {', '.join(d.name for d in OF_NUMPY)}")
    return found


LAYOUTS = tuple(layout(*item) for item in enumerate(gen_names.LAYOUTS))
strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = LAYOUTS

FORMATS = tuple(memory_format(*item) for item in enumerate(gen_names.FORMATS))
contiguous_format, preserve_format, channels_last, channels_last_3d = FORMATS

SCHEMES = tuple(
    qscheme(*item)
    for item in enumerate(
        ("per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric", "per_channel_affine_float_qparams")
    )
)

# A name without tensors: two elements per byte.
float4_e2m1fn_x2 = dtype(-2, "float4_e2m1fn_x2", 1, "f")

NAMES = {x.name: x for x in DTYPES + (float4_e2m1fn_x2,) + LAYOUTS + FORMATS + SCHEMES}
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64"}
ALIASES |= {"cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32"}
NAMES |= {alias: BY_NAME[name] for alias, name in ALIASES.items()}


def named(name):
    """Returns the dtype, layout or memory format of a name."""
    return NAMES[name]


def default():
    """Returns the default dtype of floating-point numbers."""
    cell = Cell()
    c_default(cell.address)
    return DTYPES[cell.e]


class finfo:
    """Numerical properties of a floating-point dtype; by default, of the default dtype."""

    def __init__(self, type=None):
        if type is None:
            type = default()
        if not isinstance(type, dtype) or not (type.is_floating_point or type.is_complex):
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{type}'")
        if type is float4_e2m1fn_x2:
            raise NotImplementedError("\"epsilon\" not implemented for 'Float4_e2m1fn_x2'")
        self._dtype = type.to_real()
        self.eps, self.tiny, self.max, digits = LIMITS[self._dtype]
        self.smallest_normal = self.tiny
        self.min = -self.max if type.is_signed else self.tiny
        self.bits = self._dtype.bits
        self.resolution = float(f"1e-{digits}")
        self.dtype = self._dtype.name

    def __eq__(self, other):
        return isinstance(other, finfo) and self._dtype is other._dtype

    def __hash__(self):
        return hash((finfo, self._dtype))

    def __repr__(self):
        numbers = {"resolution": self.resolution, "min": self.min, "max": self.max, "eps": self.eps}
        numbers |= {"smallest_normal": self.smallest_normal, "tiny": self.tiny}
        return "finfo(" + ", ".join(f"{k}={v:g}" for k, v in numbers.items()) + f", dtype={self.dtype})"


class iinfo:
    """Numerical properties of an integer dtype."""

    def __init__(self, type):
        if not isinstance(type, dtype) or type.is_floating_point or type.is_complex or type is bool_:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type}'")
        self._dtype = type
        self.bits = type.bits
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.dtype = type.name

    def __eq__(self, other):
        return isinstance(other, iinfo) and self._dtype is other._dtype

    def __hash__(self):
        return hash((iinfo, self._dtype))

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
