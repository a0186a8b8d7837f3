"""Tries every operator, in every form, against laws that hold for all of them. See docs/testing.md.

  build/venv/bin/python capi/test/laws --budget 60                       a sample: rounds over all functions until time is out
  build/venv/bin/python capi/test/laws --rounds 100                      a soak
  build/venv/bin/python capi/test/laws --only views --operator add -v    one law, the operators with this name
  build/venv/bin/python capi/test/laws --only views --case tensor_add_out/3 --seed 1    the case that a failure names

A failure prints the command that repeats it and a C program of the call. The seed is 1 unless given, so that a run repeats itself.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

LAWS = (
    *("views", "outputs", "errors", "allocations", "pieces", "places", "tiers", "languages", "storages", "hostile", "threads"),
    "derivatives",
    "gradients",
    "bases",
    "callbacks",
    "programs",
    "kinds",
    "layouts",
    "names",
    "quantized",
    "positions",
    "dispatch",
    "transforms",
    "devices",
    "pointers",
)
SHOWN = 3  # failures printed of one function and law
LIMIT = 1 << 28  # bytes that the tensors of one call may take
PATIENCE = 120  # seconds for one case
CRASHES = 20  # of a worker, before its share is given up


def parser():
    p = argparse.ArgumentParser(prog="laws", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--budget", type=float, default=0, help="seconds in all; without it, --rounds end the run")
    p.add_argument("--rounds", type=int, default=20, help="calls of each C function for each law")
    p.add_argument("--only", metavar="LAW", action="append", choices=LAWS, help=", ".join(LAWS))
    p.add_argument("--operator", metavar="NAME", help="operators, or C functions, of this name or category")
    p.add_argument("--case", metavar="FUNCTION/N", help="one case, as a failure names it")
    p.add_argument("--dtype", metavar="NAME", action="append", help="a dtype that hostile calls draw most of the time")
    p.add_argument(
        "--device", default="cpu", choices=("cpu", "cuda"), help="where tensors are, in laws without a reason against it (HOST_ONLY)"
    )
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--report", metavar="FILE", help="write all failures there, with their programs")
    p.add_argument("-v", "--verbose", action="store_true", help="print every case, and the program of a case")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    p.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--resume", type=int, default=0, help=argparse.SUPPRESS)
    return p


def module(law):
    return importlib.import_module(f"law_{law}")


# --------------------------------------------------------------------------------------------------------------- workers


def functions(options):
    from inputs import rng_of
    from library import FORMS

    if options.case:
        return [options.case.rsplit("/", 1)[0]]
    wanted = options.operator
    names = [c for c, (o, _) in FORMS.items() if not wanted or wanted in (c, o["name"], o["id"], o["category"])]
    rng_of(options.seed).shuffle(names)
    return names


def tell(**event):
    print(json.dumps(event), flush=True)


class Events:
    """A worker's report: JSON lines that the parent reads."""

    def start(self, case, done=0):
        signal.alarm(PATIENCE)  # whose default is to end the process: a call that hangs is reported as one that crashes
        tell(start=case, done=done)

    def tell(self, law, applies, c):
        tell(passed=c, applies=applies)

    def fail(self, law, case, text, program=""):
        tell(failed=case.rsplit("/", 1)[0], case=case, text=text, program=program)


def work(options, law, part):
    """Checks one worker's share of the functions against a law; prints a JSON line for every event."""
    from inputs import Inputs, rng_of
    from library import Library
    from program import program

    held, library, inputs = module(law), Library(device=options.device), Inputs()
    library.limit = getattr(held, "LIMIT", LIMIT)
    if options.trace:
        library.before = lambda call: tell(trace=program(call))
    draw = getattr(held, "draw", Inputs.draw)
    names = functions(options)[part :: options.jobs]
    end = time.monotonic() + options.budget if options.budget else None
    rounds = (
        [int(options.case.rsplit("/", 1)[1])]
        if options.case
        else range(getattr(held, "ROUNDS", lambda n: n)(options.rounds) if not options.budget else 10**6)
    )
    failed, done = {}, 0
    for n in rounds:
        for c in names:
            if end and time.monotonic() > end:
                return
            done += 1
            if done <= options.resume:
                continue
            case = f"{c}/{n}"
            rng = rng_of(options.seed, law, case)
            call = draw(inputs, c, rng)
            if call is None or failed.get(c, 0) >= SHOWN:
                continue
            Events().start(case, done)
            try:
                found = held.check(library, call, rng)
            except Exception:  # a defect of the test is reported as one, and the test continues
                found = f"the suite failed: {traceback.format_exc()}", call
            if found is None:
                tell(passed=c, applies=False)
            elif not found:
                tell(passed=c, applies=True)
            else:
                failed[c] = failed.get(c, 0) + 1
                text, made = found
                tell(failed=c, case=case, text=text, program=program(made))


# ---------------------------------------------------------------------------------------------------------------- runner


class Report:
    """What has been found, by laws that run side by side."""

    def __init__(self, options):
        self.options, self.failures, self.tried, self.cases, self.unexplained = options, [], {}, {}, []
        self.lock = threading.Lock()

    def command(self, law, case):
        favoured = "".join(f" --dtype {d}" for d in self.options.dtype or ())
        favoured += f" --device {self.options.device}" if self.options.device != "cpu" else ""
        return f"build/venv/bin/python capi/test/laws --seed {self.options.seed}{favoured} --only {law} --case {case} -v"

    def fail(self, law, case, text, program=""):
        self.failures.append((law, case, text, program))
        self.tried.setdefault(case.rsplit("/", 1)[0], set()).add(law)
        print(f"FAIL {law}: {case.rsplit('/', 1)[0]}: {text}\n     {self.command(law, case)}", flush=True)
        if program and (self.options.verbose or self.options.case):
            print(program, flush=True)

    def count(self, law, cases):
        with self.lock:
            self.cases[law] = self.cases.get(law, 0) + cases

    def tell(self, law, applies, c):
        self.count(law, applies)
        if applies:
            self.tried.setdefault(c, set()).add(law)


def summary(errors):
    """What the lines of a Go crash, a Python traceback or a sanitizer say about the reason, and the engine's frames."""
    told = [e.strip() for e in errors]
    frames = [e.split("(0x")[0].split("({")[0].split("/")[-1] for e in told if e.startswith("github.com/libtensor")]
    reason = [e for e in told if e.startswith(("SIG", "panic", "fatal", "==", "SUMMARY")) or "Error" in e or "runtime error" in e][:4]
    return "; ".join([*reason, " < ".join(frames[:6])]) or "".join(errors)[-800:]


def crashing(base, law, case):
    """The program of the call at which a case ends its process."""
    command = [*base, "--case", case, "--worker", f"{law}:0", "--trace"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
    return next((json.loads(line)["trace"] for line in reversed(lines) if line.startswith('{"trace"')), "")


def shares(options, law, report):
    """What there is to do for a law, as functions that can be called side by side."""
    held = module(law)
    if getattr(held, "STARTS_CHILDREN", False):
        return [partial(held.run, options, law, report)]
    parts = ["whole"] if hasattr(held, "run") else range(1 if options.case else options.jobs)
    return [partial(attend, options, law, part, report) for part in parts]


def attend(options, law, part, report):
    """Runs a law's worker, and starts it again behind the call that ended it."""
    base = [sys.executable, str(HERE), "--seed", str(options.seed), "--rounds", str(options.rounds), "--jobs", str(options.jobs)]
    base += ["--device", options.device]
    base += ["--operator", options.operator] if options.operator else []
    base += ["--case", options.case] if options.case else []
    environment = os.environ | getattr(module(law), "ENVIRONMENT", {}) | {"GOTRACEBACK": "single"}
    if "LAWS_PRELOAD" in os.environ:
        environment["LD_PRELOAD"] = os.environ["LAWS_PRELOAD"]
    end = time.monotonic() + options.budget
    done, crashes = 0, 0
    while crashes <= CRASHES:
        command = [*base, "--worker", f"{law}:{part}", "--resume", str(done)]
        command += ["--budget", str(max(end - time.monotonic(), 1))] if options.budget else []
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        errors = []
        reader = threading.Thread(target=lambda w=worker, e=errors: e.extend(w.stderr), daemon=True)
        reader.start()
        last = "start/0"
        for line in worker.stdout:
            event = json.loads(line) if line.startswith("{") else {}
            if not event:
                print(line, end="", flush=True)
            elif "start" in event:
                last, done = event["start"], event["done"]
                if options.verbose:
                    print(f"{law} {last}", flush=True)
            elif "passed" in event:
                report.tell(law, event["applies"], event["passed"])
            else:
                report.fail(law, event["case"], event["text"], event["program"])
        code = worker.wait()
        reader.join(5)
        if not code:
            return
        crashes += 1
        report.fail(law, last, f"the process ended with status {code}: {summary(errors)}", crashing(base, law, last))
        if part == "whole" or last == "start/0":
            return


def hold(options, laws, report):
    """Runs laws side by side, and tells of each when it is done. Those that cannot be divided come first, for they take longest."""
    began, left = {}, {}

    def run(law, share):
        began.setdefault(law, time.monotonic())
        share()
        return law

    todo = sorted(
        ((law, share) for law in laws for share in shares(options, law, report)), key=lambda item: not hasattr(module(item[0]), "run")
    )
    for law, _ in todo:
        left[law] = left.get(law, 0) + 1
    with ThreadPoolExecutor(options.jobs) as pool:
        for finished in as_completed([pool.submit(run, *item) for item in todo]):
            law = finished.result()
            left[law] -= 1
            if not left[law]:
                failures = sum(f[0] == law for f in report.failures)
                print(f"{law}: {report.cases.get(law, 0)} passed, {failures} failed, {time.monotonic() - began[law]:.0f} s", flush=True)


def coverage(report):
    import uncovered
    from library import FORMS

    missing = {c: uncovered.reason(c) for c in FORMS if c not in report.tried}
    unexplained = [c for c, why in missing.items() if not why]
    explained = len(missing) - len(unexplained)
    print(
        f"coverage: {len(report.tried)} of {len(FORMS)} C functions met a law, {explained} have a reason not to, {len(unexplained)} have "
        "none"
    )
    for c, why in sorted(missing.items()):
        print(f"  {c}: {why or 'NOT COVERED'}")
    return unexplained


def main():
    options = parser().parse_args()
    if options.worker:
        law, part = options.worker.split(":")
        return module(law).run(options, law, Events()) if part == "whole" else work(options, law, int(part))
    from inputs import recorded

    recorded()
    report, start = Report(options), time.monotonic()
    laws = options.only or LAWS
    if options.device != "cpu":
        reasons = {law: module(law).HOST_ONLY for law in laws if hasattr(module(law), "HOST_ONLY")}
        for law in reasons if options.only else ():
            raise SystemExit(f"law {law} is not for --device {options.device}: {reasons[law]}")
        laws = [law for law in laws if law not in reasons]
    total = options.budget
    if not total:
        hold(options, laws, report)
    for i, law in enumerate(laws if total else ()):  # each gets a share of the remaining time
        options.budget = max((total - (time.monotonic() - start)) / (len(laws) - i), 1)
        hold(options, [law], report)
    if not (options.only or options.operator or options.case):
        # Within a time budget, the speed of the system determines how far the property tests get.
        report.unexplained = coverage(report) if not total else coverage(report) and []
    if options.report:
        Path(options.report).write_text("\n".join(f"== {law} {case}\n{text}\n{program}" for law, case, text, program in report.failures))
    print(f"laws: {sum(report.cases.values())} passed, {len(report.failures)} failed, seed {options.seed}")
    return bool(report.failures or report.unexplained)


if __name__ == "__main__":
    sys.exit(main())
