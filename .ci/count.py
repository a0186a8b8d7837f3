"""Add up what the test runners printed: count.py LOG FAILED."""

import re
import sys

# What `make test` tells meanwhile, it tells again.
text = "".join(line for line in open(sys.argv[1], encoding="utf-8", errors="replace") if not line.startswith(".. "))
passed = failed = skipped = 0


def total(pattern: str) -> int:
    return sum(int(n) for n in re.findall(pattern, text, re.M))


passed += len(re.findall(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))", text, re.M))  # go: a package each
failed += len(re.findall(r"^FAIL\s+\S+\s+[\d.]+s", text, re.M))
passed += total(r"^C programs: (\d+) passed")
failed += total(r"^C programs: \d+ passed, (\d+) failed")
passed += total(r"^laws: (\d+) passed")
failed += total(r"^laws: \d+ passed, (\d+) failed")
passed += total(r"^world: (\d+) passed")
failed += total(r"^world: \d+ passed, (\d+) failed")
passed += total(r"^(?:=+ )?.*?\b(\d+) passed.* in [\d.]+s")  # pytest
failed += total(r"^(?:=+ )?.*?\b(\d+) failed.* in [\d.]+s")
skipped += total(r"^(?:=+ )?.*?\b(\d+) skipped.* in [\d.]+s")
passed += total(r"^(?:#|ℹ) pass (\d+)")  # node
failed += total(r"^(?:#|ℹ) fail (\d+)")
if sys.argv[2] != "0" and not failed:
    failed = 1  # a step outside the runners failed
print(f"{passed} passed, {failed} failed, {skipped} skipped")
