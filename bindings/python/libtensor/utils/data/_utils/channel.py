"""Messages with file descriptors between a DataLoader and a worker process, over a pair of sockets. A message is received completely or not
at all.
"""

from __future__ import annotations

import array
import os
import pickle
import socket
from collections import deque
from typing import Any

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds after which a waiting process checks whether the others exist
LONGEST = 1 << 16  # bytes of a message; longer ones are sent in an anonymous file
DESCRIPTORS = 250  # descriptors of a message: the limit of the system

Message = tuple[bytes, "list[int]"]


def pair() -> tuple[socket.socket, socket.socket]:
    """Returns two ends of a connection."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Channel:
    """One end of a channel. `send` does not wait: `flush` sends what does not fit into the receiver's buffer."""

    def __init__(self, end: socket.socket, waits: bool) -> None:
        self.end, self.waits = end, waits
        self.unsent: deque[tuple[bytes, list[int]]] = deque()

    def fileno(self) -> int:
        return self.end.fileno()

    def send(self, message: bytes, descriptors: Any = ()) -> None:
        """Sends a message with duplicates of file descriptors. Raises OSError if the receiver is gone."""
        descriptors = [os.dup(fd) for fd in descriptors]
        if len(message) + 1 > LONGEST:
            descriptors.append(os.memfd_create("libtensor", os.MFD_CLOEXEC))
            with open(descriptors[-1], "wb", closefd=False) as file:
                file.write(message)
            message = b"f"
        else:
            message = b"m" + message
        self.unsent.append((message, descriptors))
        self.flush()

    def send_object(self, made: Any) -> None:
        """Sends an object as a pickle."""
        self.send(pickle.dumps(made, 5))

    def flush(self) -> bool:
        """Sends queued messages. Returns whether none is left."""
        while self.unsent:
            message, descriptors = self.unsent[0]
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
            try:
                self.end.sendmsg([message], ancillary, 0 if self.waits else socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            self.unsent.popleft()
            for fd in descriptors:
                os.close(fd)
        return True

    def receive(self) -> Message | None:
        """Returns the next message and its descriptors, which the caller closes; None after the last one. Waits for it."""
        size = array.array("i").itemsize
        try:
            message, ancillary, _, _ = self.end.recvmsg(LONGEST, socket.CMSG_LEN(DESCRIPTORS * size), socket.MSG_CMSG_CLOEXEC)
        except ConnectionResetError:
            return None
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % size])
        if not message:
            return None
        held = list(descriptors)
        if message[:1] == b"m":
            return message[1:], held
        with open(held.pop(), "rb") as file:
            file.seek(0)
            return file.read(), held

    def close(self) -> None:
        """Closes this end, and drops queued messages."""
        while self.unsent:
            for fd in self.unsent.popleft()[1]:
                os.close(fd)
        self.end.close()
