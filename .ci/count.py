"""Adds up what test runners print in their closing lines: count.py LOG FAILED, where FAILED is the number of steps that failed."""

import re
import sys
from collections import Counter

# The closing lines of each runner, from the beginning of a line on; (?P<passed>...) and so on are numbers, a group of another name is one.
CLOSING = (
    r"^(?P<one_passed>ok)\s+\S+\s+(?:[\d.]+s|\(cached\))",  # go: a package each
    r"^(?P<one_failed>FAIL)\s+\S+\s+(?:[\d.]+s|\[)",
    r"^(?:C programs|laws|world|operators|Node|suites): (?P<passed>\d+) passed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?",
    r"^(?:=+ )?(?:\d+ \w+, )*(?P<passed>\d+) passed\b.* in [\d.]+s",  # pytest
    r"^(?:=+ )?(?:\d+ \w+, )*(?P<failed>\d+) failed\b.* in [\d.]+s",
    r"^(?:=+ )?(?:\d+ \w+, )*(?P<failed>\d+) errors?\b.* in [\d.]+s",
    r"^(?:=+ )?(?:\d+ \w+, )*(?P<skipped>\d+) skipped\b.* in [\d.]+s",
)


def counts(text: str) -> Counter[str]:
    found: Counter[str] = Counter(passed=0, failed=0, skipped=0)
    for pattern in CLOSING:
        for match in re.finditer(pattern, text, re.M):
            for name, value in match.groupdict(default="0").items():
                found[name.removeprefix("one_")] += 1 if name.startswith("one_") else int(value)
    return found


def sentence(found: Counter[str]) -> str:
    return f"{found['passed']} passed, {found['failed']} failed, {found['skipped']} skipped"


if __name__ == "__main__":
    total = counts(open(sys.argv[1], encoding="utf-8", errors="replace").read())
    total["failed"] = max(total["failed"], int(sys.argv[2]))  # a step outside the runners may have failed
    print(sentence(total))
