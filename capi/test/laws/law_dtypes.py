"""Law 7: the dtypes and the promotion that an operator's entry declares are what happens.

A dtype that docs/gen_dtypes.md ticks is answered, at least by one of the calls known; one that it does not tick is refused by all.
"""

from inputs import FLOATS, Inputs, clones, decode, encode, is_position, main_dtype
from library import DTYPES, FORMS, OK, Library, Seen, dense

NAME = "dtypes"
COLUMNS = DTYPES[:12]
SETS = {
    "all": COLUMNS,
    "numbers": COLUMNS[1:],
    "ordered": COLUMNS[:10],
    "reals": COLUMNS[1:10],
    "integral": COLUMNS[1:6],
    "bits": COLUMNS[:6],
    "floating": COLUMNS[:10],
    "floating_complex": COLUMNS,
    "complex": COLUMNS[10:],
}
REAL_OF = {"complex64": "float32", "complex128": "float64", "complex32": "float16"}


def run(options, law, report):
    inputs, library = Inputs(), Library()
    library.limit = 1 << 28
    for c, (operator, form) in FORMS.items():
        wanted = options.operator or (options.case or "").rsplit("/", 1)[0]
        if wanted and wanted not in (c, operator["name"], operator["id"]):
            continue
        if form["mode"] != "function" or operator["dtypes"] == "none" or not any(t.startswith("Tensor") for t in form["types"]):
            continue
        if operator["category"] in ("file", "storage") or not inputs.calls[c]:
            continue
        report.start(f"{c}/0")
        problems = check(library, operator, inputs.calls[c])
        if problems is None:
            continue
        report.tell(law, True, c)
        for text in problems:
            report.fail(law, f"{c}/0", text)


def check(library, operator, calls):
    """What differs from the entry, None where no call has a tensor of numbers."""
    calls = [clones(call) for call in calls if main_dtype(call)]
    if not calls:
        return None
    ticked, problems = SETS[operator["dtypes"]], []
    for dtype in COLUMNS:
        answered, message = None, ""
        for call in calls:
            got = library.run(uniform(call, dtype))
            if got.status == OK:
                answered = answered or (call, got)
            else:
                message = got.message
        if dtype in ticked and not answered:
            problems.append(f"{dtype} is declared, and refused: {message}")
        elif dtype not in ticked and answered:
            problems.append(f"{dtype} is answered, and not declared")
        elif answered and (text := promoted(operator, dtype, *answered)):
            problems.append(text)
    return problems


def uniform(call, dtype):
    """The call with one dtype for every tensor of numbers."""
    return call.mapped(lambda t, at: t if is_position(call, at) else dense(encode(decode(t.elements(), t.dtype), dtype), dtype))


def promoted(operator, dtype, call, got):
    """Text where the result's dtype is not what the entry's promotion says of operands that all have one dtype."""
    result = next((r for r in got.results if isinstance(r, Seen)), None)
    if result is None or any(a["name"] == "dtype" and v for a, v in zip(operator["args"], call.args, strict=True)):
        return ""
    if any(k.rstrip("?") == "Scalar" and v and v["kind"] in ("float", "complex") for k, v in zip(call.form["types"], call.args, strict=True)):
        return ""
    floating = dtype if dtype in FLOATS or dtype in REAL_OF else "float32"
    want = {
        "promote": dtype,
        "promote_float": floating,
        "bool": "bool",
        "real": REAL_OF.get(dtype, dtype),
        "float64 or complex128": "complex128" if dtype in REAL_OF else "float64",
    }.get(operator["promotion"])
    if want is None or operator["promotion"] == "promote" and dtype == "bool" and result.dtype == "int64":
        return ""
    return "" if result.dtype == want else f"{dtype} gives {result.dtype}, the entry's promotion '{operator['promotion']}' says {want}"
