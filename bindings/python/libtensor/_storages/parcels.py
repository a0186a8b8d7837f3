"""File descriptors that other processes request at a socket of the sender.

If the sender ends first, for example after putting a tensor in a queue, it leaves a process behind until the descriptors are received, or
until the process that started the sender ends.
"""

import contextlib
import os
import secrets
import threading
import warnings
from multiprocessing import AuthenticationError, current_process, parent_process, util
from multiprocessing.connection import Client, Listener, wait
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any

TRIES = 100
LAST = -1000  # of the exit functions of multiprocessing: runs after queues are flushed


class Parcel:
    """A descriptor in its pickled form."""

    def __init__(self, address, number):
        self.address, self.number = address, number

    def detach(self):
        """Returns the descriptor. Can be called once."""
        for _ in range(TRIES):
            # A sender that ends may drop a connection, which the process that it leaves behind accepts. Without either, no new one is
            # created.
            with (
                contextlib.suppress(EOFError, ConnectionResetError, BrokenPipeError),
                Client(self.address, authkey=current_process().authkey) as connection,
            ):
                connection.send((self.number, os.getpid()))
                if not connection.recv():
                    raise ConnectionError("no pending transfer has this number")
                return recv_handle(connection)
        raise ConnectionError(f"{TRIES} connections to the sender broke")


class Office:
    """The descriptors of this process that wait for receivers."""

    def __init__(self):
        self.lock, self.handing, self.waiting, self.number = threading.Lock(), threading.Lock(), {}, 0
        self.listener: Any = None

    def send(self, descriptor):
        with self.lock:
            if self.listener is None:
                # A name that begins with NUL is an abstract socket, which is removed with its last descriptor.
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
        """Sends a receiver the requested descriptor."""
        number, process = connection.recv()
        connection.send(number in self.waiting)
        send_handle(connection, self.waiting[number], process)
        os.close(self.waiting.pop(number))

    def stay(self):
        """Leaves a process behind while descriptors wait. It does not call the library."""
        parent = parent_process()
        self.handing.acquire(timeout=10)  # from here on, this process sends no descriptors
        if not self.waiting or parent is None:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the DeprecationWarning for fork with threads
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
    """Registers the office with multiprocessing's exit functions. Functions that are registered during exit are not called."""
    util.Finalize(None, office.stay, exitpriority=LAST)


def anew(office):
    """Resets the state in a child, which does not send the descriptors of its parent."""
    office.__init__()
    enrol(office)


enrol(office)
util.register_after_fork(office, anew)
