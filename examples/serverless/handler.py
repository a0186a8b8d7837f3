"""A serverless function that classifies points of the plane, for AWS Lambda behind a function URL or API Gateway: handler.handler.

The body of a request is {"points": [[x, y], ...]}, that of the response {"scores": [[p0, p1], ...]}: the probability of each class. The
weights in model.safetensors are read once per process.
"""

import base64
import json
from pathlib import Path
from typing import Any

import libtensor as torch
from libtensor import safetensors
from libtensor.nn import functional as F

MAX_POINTS, MAX_COORDINATE = 10_000, 1e6
LAYERS = ("0", "2", "4")

weights = safetensors.load_file(Path(__file__).with_name("model.safetensors"))


def is_coordinate(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_COORDINATE


def is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_coordinate, value))


def read_points(event: dict[str, Any]) -> torch.Tensor:
    """Returns the points of a request, (N, 2). Raises ValueError for other bodies."""
    body = event.get("body") or ""
    request = json.loads(base64.b64decode(body) if event.get("isBase64Encoded") else body)
    points = request.get("points") if isinstance(request, dict) else None
    if not isinstance(points, list) or not 1 <= len(points) <= MAX_POINTS or not all(map(is_point, points)):
        raise ValueError(f'the body must be {{"points": [[x, y], ...]}} with 1 to {MAX_POINTS} points of coordinates up to {MAX_COORDINATE:.0f}')
    return torch.tensor(points, dtype=torch.float32)


def compute_scores(x: torch.Tensor) -> torch.Tensor:
    for name in LAYERS:
        x = F.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])
        x = x.softmax(1) if name == LAYERS[-1] else x.tanh()
    return x


def handler(event: dict[str, Any], context: object = None) -> dict[str, Any]:
    try:
        status, answer = 200, {"scores": compute_scores(read_points(event)).tolist()}
    except ValueError as e:
        status, answer = 400, {"error": str(e)}
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(answer)}
