"""Law 8: whatever a C program passes, it gets an error or a result, soon, and the process lives.

The calls are those of build/laws/hostile.c (hostile.py, hostile.h). They run in blocks, each with its own tensors, in child
processes; a block that fails is reduced to the fewest calls that still fail, which are printed. Every second block begins and ends
transforms. Two calls in three are recorded ones, most of them changed; of all functions SUCCEEDING must succeed at least once.
"""

import os
import re
import subprocess
import tempfile
from collections import Counter

import hostile
from library import FORMS, NAMES, ROOT

NAME = "hostile"
HOST_ONLY = "its calls are of the CPU and, where there is a device, of that too"
STARTS_CHILDREN = True
BLOCK = 2000  # calls, as in hostile.c
CHILD = 50  # blocks of one child process
SHOWN = 3  # blocks that fail in one way and are cut down
PER_ROUND = 15  # blocks for each of --rounds
SUCCEEDING = 0.95  # the others need a device, memory or descriptors of other programs


def run(options, law, report, mode="calls"):
    import time

    if options.dtype:
        os.environ["HOSTILE_DTYPES"] = " ".join(str(NAMES.index(d)) for d in options.dtype)
    program = hostile.build(flags=os.environ.get("LAWS_CFLAGS", "").split())
    end = time.monotonic() + options.budget if options.budget else None
    first, blocks, seen, done, succeeded = 0, 0, Counter(), Counter(), set()
    limit = 10**9 if end else options.rounds * PER_ROUND
    if options.case:
        first, limit = int(options.case.rsplit("/", 1)[1]), 1
    while blocks < limit and (not end or time.monotonic() < end):
        count = min(CHILD if not end else 5, limit - blocks)
        status, text = child(program, options.seed, first, count, mode)
        ran = text.count("BLOCK ")
        if status == 0:
            answered, rejected = map(int, re.search(r"DONE (\d+) answered, (\d+) rejected", text).groups())
            done += Counter(answered=answered, rejected=rejected)
        blocks, first = blocks + ran, first + ran
        succeeded.update(re.findall(r"^ACCEPTED (\w+)$", text, re.M))
        report.count(law, ran - bool(status))
        if status:
            kind = reason(status, text)
            if seen[kind] < SHOWN:
                calls = fewest(program, options.seed, first - 1, mode, kind) if mode == "calls" else []
                kind = f"{kind} ({calls[-1].split('(')[0]})" if calls else kind
                if not seen[kind]:
                    report.fail(law, f"block/{first - 1}", kind, "\n".join(calls))
                    print("\n".join("       " + c for c in calls), flush=True)
            seen[kind] += 1
    print(
        f"{law}: {blocks * BLOCK} calls in {blocks} blocks; {done['answered']} answered, {done['rejected']} rejected; failures {dict(seen)}"
    )
    if mode == "calls":
        tell_successes(law, report, succeeded, options.verbose, blocks >= PER_ROUND and not options.dtype and not seen)


def tell_successes(law, report, succeeded, verbose, judged):
    """Prints how many functions have succeeded, and which have not; too few are a failure."""
    share = len(succeeded) / len(FORMS)
    print(f"{law}: {len(succeeded)} of {len(FORMS)} functions succeeded ({share:.1%})")
    if verbose:
        print("".join(f"       never: {c}\n" for c in FORMS if c not in succeeded), end="")
    if judged:
        report.count(law, share >= SUCCEEDING)
        if share < SUCCEEDING:
            report.fail(law, "block/0", f"{share:.1%} of the functions succeeded, fewer than {SUCCEEDING:.0%}", "")


def child(program, seed, first, count, mode="calls", left_out=()):
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program), str(seed), str(first), str(count), mode, *left_out]
        environment = os.environ | {"GOTRACEBACK": "single", "HOSTILE_SHARE": "1"}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=environment, errors="replace", text=True
        )
    return done.returncode, done.stdout


def reason(status, text):
    """A failure in a line, without what differs between runs."""
    found = re.findall(r"^FAULT (.*)", text, re.M)
    if found:
        return re.sub(r"(leak|grew by): -?\d+", r"\1: some", "; ".join(dict.fromkeys(found)))
    frames = [re.sub(r"\(.*", "", line).split("/")[-1] for line in text.splitlines() if line.startswith("github.com/libtensor")]
    told = re.findall(
        r"^(?:SIG\w+|fatal error|panic|==\d+==ERROR|SUMMARY|\S+ runtime error|corrupted|free\(\)|malloc|double free).*", text, re.M
    )
    told += re.findall(r"^.*runtime error: .*", text, re.M)
    return f"status {status}: {'; '.join(dict.fromkeys(told[:3]))} {' < '.join(frames[:7])}".strip()


def ranges(kept):
    """What to leave out, so that only some calls are made."""
    out, low = [], 0
    for i in (*sorted(kept), BLOCK):
        if low < i:
            out.append(f"{low}-{i - 1}")
        low = i + 1
    return out


def fewest(program, seed, block, mode, kind):
    """The lines of the fewest calls of a block that still fail in the same way, by halving what is left out."""

    def fails(kept):
        status, text = child(program, seed, block, 1, mode, ranges(kept))
        return status != 0 and reason(status, text) == kind

    kept = list(range(BLOCK))
    if not fails(kept):
        return ["this block alone does not fail: run the blocks before it too"]
    size = BLOCK // 2
    while size:
        i = 0
        while i < len(kept):
            fewer = kept[:i] + kept[i + size :]
            if fails(fewer):
                kept = fewer
            else:
                i += size
        size //= 2
    _, text = child(program, seed, block, 1, "trace", ranges(kept))
    lines = [line.strip() for line in text.splitlines() if line.startswith("  tensor_")]
    favoured = f'HOSTILE_DTYPES="{os.environ["HOSTILE_DTYPES"]}" ' if "HOSTILE_DTYPES" in os.environ else ""
    command = f"{favoured}{os.path.relpath(program, ROOT)} {seed} {block} 1 trace {' '.join(ranges(kept))}"
    return [f"{len(kept)} calls over the tensors that begin() in capi/test/laws/hostile.h makes; {command}", *lines]
