"""Plugins for Dask's workers."""

from distributed import WorkerPlugin

from .._gen import gen_functions as _f
from .inbox import ANNOUNCED, inbox


class Threads(WorkerPlugin):
    """Has operators on a worker share their work among as many threads as Dask gives it: client.register_plugin(Threads()).

    Without it they have one thread each, since Dask starts workers with OMP_NUM_THREADS=1, and runs as many tasks at once as a worker has
    threads. It is for workers with one task at a time, or with few large ones. Results are the same with any number of threads.
    """

    name = "libtensor-threads"
    idempotent = True

    def setup(self, worker):
        self.before = _f.get_num_threads()
        _f.set_num_threads(worker.state.nthreads)

    def teardown(self, worker):
        _f.set_num_threads(self.before)


class SharedMemory(WorkerPlugin):
    """Has large tensors go between the workers of a machine in memory instead of through sockets: client.register_plugin(SharedMemory()).

    A worker tells those it fetches from where its inbox is. A tensor is copied once then, into memory that is the receiver's alone and gone with
    it. Workers on other machines, and those that have no room or descriptor for it, send bytes as without it.
    """

    name = "libtensor-shared-memory"
    idempotent = True

    def setup(self, worker):
        given = worker.rpc.connection_args
        overrides = given.get("handshake_overrides") or {}
        worker.rpc.connection_args = given | {"handshake_overrides": overrides | {ANNOUNCED: inbox().address}}
        worker.rpc.collect()  # closes connections that nobody uses, by which nothing was told

    def teardown(self, worker):
        worker.rpc.connection_args["handshake_overrides"].pop(ANNOUNCED)
        worker.rpc.collect()
