"""A serverless function that classifies points of the plane, for AWS Lambda behind a function URL or API Gateway: handler.handler.

The body of a request is {"points": [[x, y], ...]}, that of the response {"scores": [[p0, p1], ...]}: the probability of each class. The
exported program in model.pt2 is loaded once per process.
"""

import base64
import json
from pathlib import Path
from typing import Any

import libtensor as torch

MAX_POINTS, MAX_COORDINATE = 10_000, 1e6

compute_scores = torch.export.load(Path(__file__).with_name("model.pt2")).module()


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
        raise ValueError(
            f'the body must be {{"points": [[x, y], ...]}} with 1 to {MAX_POINTS} points of coordinates up to {MAX_COORDINATE:.0f}'
        )
    return torch.tensor(points, dtype=torch.float32)


def handler(event: dict[str, Any], context: object = None) -> dict[str, Any]:
    try:
        with torch.no_grad():
            status, answer = 200, {"scores": compute_scores(read_points(event)).tolist()}
    except ValueError as e:
        status, answer = 400, {"error": str(e)}
    return {"statusCode": status, "headers": {"content-type": "application/json"}, "body": json.dumps(answer)}
