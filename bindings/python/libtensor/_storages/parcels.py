"""Descriptors on their way to other processes, which fetch them at a socket of the sender's.

The sender may end first, as after putting a tensor in a queue: a process that does nothing else then stays until what is under way is
fetched, or until the process that started the sender is gone.
"""

import contextlib
import os
import secrets
import threading
import warnings
from multiprocessing import AuthenticationError, current_process, parent_process, util
from multiprocessing.connection import Client, Listener, wait
from multiprocessing.reduction import recv_handle, send_handle

TRIES = 100
LAST = -1000  # of what multiprocessing does at the end of a process: queues have been emptied into their pipes


class Parcel:
    """A descriptor as it is pickled."""

    def __init__(self, address, number):
        self.address, self.number = address, number

    def detach(self):
        """The descriptor, once."""
        for _ in range(TRIES):
            # A sender that ends may drop a connection, which the process that it leaves behind then takes. Without either, none is made.
            with (
                contextlib.suppress(EOFError, ConnectionResetError, BrokenPipeError),
                Client(self.address, authkey=current_process().authkey) as connection,
            ):
                connection.send((self.number, os.getpid()))
                if not connection.recv():
                    raise ConnectionError("nothing waits under this number")
                return recv_handle(connection)
        raise ConnectionError(f"{TRIES} connections to the sender broke")


class Office:
    """Where the descriptors of this process wait."""

    def __init__(self):
        self.lock, self.handing, self.waiting, self.number, self.listener = threading.Lock(), threading.Lock(), {}, 0, None

    def send(self, descriptor):
        with self.lock:
            if self.listener is None:
                # A name that begins with NUL is not in the file system, and gone with the socket.
                self.listener = Listener(f"\0libtensor-{secrets.token_hex(16)}", "AF_UNIX", backlog=128, authkey=current_process().authkey)
                threading.Thread(target=self.serve, daemon=True).start()
            self.number += 1
            self.waiting[self.number] = os.dup(descriptor)
            return Parcel(self.listener.address, self.number)

    def serve(self):
        while True:
            with contextlib.suppress(OSError, EOFError, KeyError, AuthenticationError), self.listener.accept() as connection, self.handing:
                self.hand(connection)

    def hand(self, connection):
        """Gives a receiver what it asks for."""
        number, process = connection.recv()
        connection.send(number in self.waiting)
        send_handle(connection, self.waiting[number], process)
        os.close(self.waiting.pop(number))

    def stay(self):
        """Leaves a process behind while there is something to fetch. It calls nothing of the library, which cannot be used in it."""
        parent = parent_process()
        self.handing.acquire(timeout=10)  # from now on, this process hands out nothing
        if not self.waiting or parent is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
            if os.fork():
                return
        try:
            socket = self.listener._listener._socket
            kept = {socket.fileno(), parent.sentinel, *self.waiting.values()}
            for name in os.listdir("/proc/self/fd"):
                if int(name) not in kept:
                    with contextlib.suppress(OSError):
                        os.close(int(name))
            while self.waiting and parent.sentinel not in (ready := wait([socket, parent.sentinel])):
                if socket in ready:
                    with contextlib.suppress(OSError, EOFError, KeyError, AuthenticationError), self.listener.accept() as connection:
                        self.hand(connection)
        finally:
            os._exit(0)


office = Office()


def enrol(office):
    """Has multiprocessing call the office at the end of a process. What is registered while that ends is not called."""
    util.Finalize(None, office.stay, exitpriority=LAST)


def anew(office):
    """A child has forgotten what its parent registered, and hands out nothing of it."""
    office.__init__()
    enrol(office)


enrol(office)
util.register_after_fork(office, anew)
