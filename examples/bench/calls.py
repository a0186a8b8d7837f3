"""Times small calls from Python and from Node, round about, and prints the medians.

python examples/bench/calls.py --rounds 200
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

CALLS = 200


def cases():
    import libtensor as t

    a, b, out = t.tensor([1, 2, 3.5]), t.tensor([3, 4, 5.5]), t.zeros(3)
    square, large = t.rand(4, 4), t.rand(100, 100)
    x, weights, bias, f = t.rand(1, 64), t.rand(64, 64), t.rand(64), t.nn.functional
    return {
        "a + b": lambda: a + b,
        "add(a, b, out=c)": lambda: t.add(a, b, out=out),
        "x[1:50]": lambda: large[1:50],
        "a.view(3, 1)": lambda: a.view(3, 1),
        "a.sum()": lambda: a.sum(),
        "a.sum().item()": lambda: a.sum().item(),
        "zeros(3)": lambda: t.zeros(3),
        "x[3]": lambda: large[3],
        "x.shape": lambda: large.shape,
        "m @ m (4 x 4)": lambda: square @ square,
        "a * b + a - b": lambda: a * b + a - b,
        "linear, relu (64)": lambda: f.relu(f.linear(x, weights, bias)),
    }


def timed(call):
    began = time.perf_counter_ns()
    for _ in range(CALLS):
        call()
    return (time.perf_counter_ns() - began) / CALLS


def node():
    """A function that has every call timed once in Node."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls.js")
    process = subprocess.Popen(["node", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def one_round():
        process.stdin.write("\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    return one_round


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200, help="rounds of both (default 200)")
    rounds = parser.parse_args().rounds
    calls, of_node = cases(), node()
    times = {name: ([], []) for name in calls}
    for i in range(rounds + 10):
        found = of_node()
        for name, call in calls.items():
            if i >= 10:  # compiled by then
                times[name][0].append(timed(call))
                times[name][1].append(found[name])
            else:
                timed(call)
    print(f"{'call':18} {'Python':>8} {'Node':>8}  ratio")
    for name, (python, javascript) in times.items():
        p, n = statistics.median(python), statistics.median(javascript)
        print(f"{name:18} {p:5.0f} ns {n:5.0f} ns {n / p:6.2f}")


if __name__ == "__main__":
    sys.exit(main())
