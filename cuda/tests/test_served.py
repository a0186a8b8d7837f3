"""The table of operators and dtypes that a device serves (docs/gen_cuda.md) is true: all are called again."""

import json

import served

import libtensor as torch


def test_the_table_is_true():
    assert json.loads(served.SERVED.read_text()) == served.table(), "run cuda/tests/served.py and make generate"
    assert not served.wrong


def test_dispatch_tells_the_same():
    known = json.loads(served.SERVED.read_text())
    for name in ("add", "sum", "matmul", "sort", "abs", "view", "where"):
        for operator, parts in torch.dispatch.table(name).items():
            words = set(known.get(operator, {"": "all"}).values())
            expected = "unsupported" if words == {"none"} else "partly" if words != {"all"} else parts["kind"]["dense"]
            assert parts["device"]["cuda"] == expected, operator
