"""The function of examples/serverless in Python: train.py writes the program that handler.py scores points with."""

import base64
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import libtensor as torch
from libtensor import nn

EXAMPLE = Path(__file__).parents[3] / "examples" / "serverless"


@pytest.fixture(scope="module")
def function(tmp_path_factory):
    folder = tmp_path_factory.mktemp("function")
    done = subprocess.run([sys.executable, EXAMPLE / "train.py", folder / "model.pt2"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.partition("%")[0]) > 95
    shutil.copy(EXAMPLE / "handler.py", folder)
    spec = importlib.util.spec_from_file_location("serverless_handler", folder / "handler.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(function, body, **event):
    answer = function.handler({"body": body, **event}, None)
    assert answer["headers"] == {"content-type": "application/json"}
    return answer["statusCode"], json.loads(answer["body"])


def test_scores_are_those_of_the_trained_module(function):
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2), nn.Softmax(1))
    model.load_state_dict(torch.export.load(Path(function.__file__).with_name("model.pt2")).state_dict)
    points = [[0.1, 0.2], [-0.3, 0.4], [1, -1], [1e6, -1e6]]
    body = json.dumps({"points": points})
    expected = {"scores": model(torch.tensor(points)).tolist()}
    assert call(function, body) == (200, expected)
    assert call(function, base64.b64encode(body.encode()).decode(), isBase64Encoded=True) == (200, expected)


@pytest.mark.parametrize(
    "body",
    [
        "",
        None,
        "{",
        "[]",
        "1",
        '{"points": []}',
        '{"points": [[1]]}',
        '{"points": [[1, true]]}',
        '{"points": [[1, "2"]]}',
        '{"points": [1, 2]}',
    ]
    + [
        '{"points": [[NaN, 1]]}',
        '{"points": [[1e7, 1]]}',
        '{"points": [[1' + 400 * "0" + ", 1]]}",
        json.dumps({"points": [[0, 0]] * 10_001}),
    ],
    ids=range(14),
)
def test_other_bodies_are_rejected(function, body):
    status, answer = call(function, body)
    assert status == 400 and answer["error"]
    assert call(function, '{"points": [[0, 0]]}')[0] == 200


def test_invalid_base64_is_rejected(function):
    assert call(function, "x", isBase64Encoded=True)[0] == 400
