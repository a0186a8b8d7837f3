"""Bytes between processes of one machine, in memory whose descriptor is sent to the receiver.

A message is a name and the descriptor of anonymous memory that contains the bytes. It waits in the receiver's socket: the sender may end
before it is received, and the memory is freed with the receiver. No call waits; a message that cannot be sent at once is not sent.
"""

import functools
import os
import secrets
import socket
import struct
import threading
import time

from .._gen import gen_functions as _f

ANNOUNCED = "libtensor-inbox"  # key of the announcement in the connection handshake
LEAST = 1 << 22  # bytes below which a socket is as fast; a socket queues about ten messages
NAME, CREDENTIALS = 16, struct.Struct("3i")
FORGOTTEN = 300  # seconds after which an unclaimed message is dropped; Dask declares a silent worker dead after the same time


def post(address, data):
    """Sends bytes and returns the name of the message; None if the address is on another machine or the queue is full."""
    name = secrets.token_bytes(NAME)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
            to.setblocking(False)
            to.connect(f"\0{address}")
            memory = os.memfd_create("libtensor")
            try:
                while data:
                    data = data[os.write(memory, data) :]
                socket.send_fds(to, [name], [memory])
            finally:
                os.close(memory)
    except OSError:
        return None
    return name


class Inbox:
    """The socket on which this process receives messages."""

    def __init__(self):
        # A name that begins with NUL is an abstract socket, which is removed with its last descriptor.
        self.address = f"libtensor-{secrets.token_hex(16)}"
        self.lock, self.letters = threading.Lock(), {}
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(f"\0{self.address}")

    def receive(self):
        """Receives one message from the socket; those of other users are dropped."""
        room = socket.CMSG_SPACE(4) + socket.CMSG_SPACE(CREDENTIALS.size)
        name, about, _, _ = self.socket.recvmsg(NAME, room, socket.MSG_CMSG_CLOEXEC)
        told = {kind: value for _, kind, value in about}
        (memory,) = struct.unpack("i", told.get(socket.SCM_RIGHTS, struct.pack("i", -1)))
        _, user, _ = CREDENTIALS.unpack(told[socket.SCM_CREDENTIALS])
        if memory >= 0 and user == os.getuid():
            self.letters[name] = memory, time.monotonic()
        elif memory >= 0:
            os.close(memory)

    def forget(self):
        """Drops messages that were not claimed in time."""
        for name, (memory, when) in list(self.letters.items()):
            if time.monotonic() - when > FORGOTTEN:
                os.close(memory)
                del self.letters[name]

    def open(self, name, dtype, count):
        """Returns the elements of a message as a tensor over its memory."""
        with self.lock:
            self.forget()
            try:
                while name not in self.letters:
                    self.receive()
            except BlockingIOError:
                raise ConnectionError("the memory of a tensor that a worker on this machine sent is not available") from None
            memory, _ = self.letters.pop(name)
        try:
            return _f.from_file(f"/proc/self/fd/{memory}", shared=False, size=count, dtype=dtype)
        finally:
            os.close(memory)


@functools.cache
def inbox():
    return Inbox()
