"""The threads of Dask's workers."""

from distributed import WorkerPlugin

from .._gen import gen_functions as _f


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
