"""Bytes from process to process of one machine, in memory that the receiver is sent a descriptor of.

A letter is a name, and a descriptor of memory without a name that has been written already. It waits in the receiver's socket, in the system's
hands: the sender may forget it and end, and with the receiver it is gone. Nobody waits for anybody. What cannot be sent at once is not sent.
"""

import functools
import os
import secrets
import socket
import struct
import threading
import time

from .._gen import gen_functions as _f

ANNOUNCED = "libtensor-inbox"  # what workers tell of themselves when they connect
LEAST = 1 << 22  # bytes below which a socket is as fast; the system lets some ten letters wait
NAME, CREDENTIALS = 16, struct.Struct("3i")
FORGOTTEN = 300  # seconds after which a message that never came is not waited for; a worker that is silent for as long is dead to Dask


def post(address, data):
    """Sends bytes and gives the letter's name, or None where the address is on another machine or there is no room."""
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
    """Where the letters to this process arrive."""

    def __init__(self):
        # A name that begins with NUL is not in the file system, and gone with the socket.
        self.address = f"libtensor-{secrets.token_hex(16)}"
        self.lock, self.letters = threading.Lock(), {}
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(f"\0{self.address}")

    def receive(self):
        """Takes one letter from the socket; those of other users are dropped."""
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
        """Drops what came long ago without the message that tells of it."""
        for name, (memory, when) in list(self.letters.items()):
            if time.monotonic() - when > FORGOTTEN:
                os.close(memory)
                del self.letters[name]

    def open(self, name, dtype, count):
        """The elements that a letter has, as a tensor over its memory."""
        with self.lock:
            self.forget()
            try:
                while name not in self.letters:
                    self.receive()
            except BlockingIOError:
                raise ConnectionError("a tensor's memory, which a worker of this machine has sent, is not here") from None
            memory, _ = self.letters.pop(name)
        try:
            return _f.from_file(f"/proc/self/fd/{memory}", shared=False, size=count, dtype=dtype)
        finally:
            os.close(memory)


@functools.cache
def inbox():
    return Inbox()
