"""Plugins for Dask's workers."""

from distributed import WorkerPlugin

from .._gen import gen_functions as _f
from .inbox import ANNOUNCED, inbox


class Threads(WorkerPlugin):
    """Runs operators on a worker with as many threads as Dask assigns to it: client.register_plugin(Threads()).

    Without it they use one thread, since Dask starts workers with OMP_NUM_THREADS=1, and runs as many tasks at once as a worker has
    threads. Use it for workers with one task at a time, or with few large ones. Results are bitwise identical for any number of threads.
    """

    name = "libtensor-threads"
    idempotent = True

    def setup(self, worker):
        self.before = _f.get_num_threads()
        _f.set_num_threads(worker.state.nthreads)

    def teardown(self, worker):
        _f.set_num_threads(self.before)


class SharedMemory(WorkerPlugin):
    """Sends large tensors between the workers of a machine in shared memory instead of sockets: client.register_plugin(SharedMemory()).

    A worker announces its inbox to the workers from which it fetches. A tensor is then copied once, into memory that is freed with the
    receiver. Workers on other machines, and transfers for which memory or descriptors are not available, use sockets.
    """

    name = "libtensor-shared-memory"
    idempotent = True

    def setup(self, worker):
        given = worker.rpc.connection_args
        overrides = given.get("handshake_overrides") or {}
        worker.rpc.connection_args = given | {"handshake_overrides": overrides | {ANNOUNCED: inbox().address}}
        worker.rpc.collect()  # closes idle connections, on which no inbox was announced

    def teardown(self, worker):
        worker.rpc.connection_args["handshake_overrides"].pop(ANNOUNCED)
        worker.rpc.collect()
