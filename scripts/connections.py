#!/usr/bin/env python3
"""connections.py PORT COUNT: opens COUNT connections to 127.0.0.1:PORT and holds them.

Every second one asks once and then rests; the others stop in the middle of their
head. Says `held` when all are open, and closes them when its input ends.
"""

import resource
import socket
import sys

ASK = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
HALF = b"GET /healthz HTTP/1.1\r\nhost: loc"


def main() -> None:
    port, count = int(sys.argv[1]), int(sys.argv[2])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = []
    for n in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        held.append(connection)
        if n % 2:
            connection.sendall(HALF)
            continue
        connection.sendall(ASK)
        answer = connection.recv(4096)
        if not answer.startswith(b"HTTP/1.1 200"):
            sys.exit(f"connection {n} was answered {answer[:60]!r}")
    print("held", flush=True)
    sys.stdin.read()


main()
