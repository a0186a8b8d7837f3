"""Law 9: two threads over the same tensors, one freeing, resizing or writing what the other uses, get an error or an answer each, and
the process lives; nothing is left when both are done.

Both threads make the hostile calls of law 8 (one the even ones, one the odd ones) on one set of handles, which each also frees and
makes anew.
"""

import law_hostile

NAME = "threads"
HOST_ONLY = "its calls are of the CPU and, where there is a device, of that too"
STARTS_CHILDREN = True


def run(options, law, report):
    law_hostile.run(options, law, report, "threads")
