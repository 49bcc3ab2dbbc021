"""Servers that violate HTTP in the way that the argument selects. Prints its port."""

import socket
import sys
import threading
import time

MODE = sys.argv[1]
GOOD = b'{"actions": [[0.25, -0.5]]}'


def response(body, more=b""):
    return b"HTTP/1.1 200 OK\r\n" + more + b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body


def request(stream):
    """Returns the path of the next request; reads and drops its body."""
    path, length = stream.readline().split(b" ")[1], 0
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    stream.read(length)
    return path


def endlessly(connection, piece, pause_s=0.0):
    while True:
        connection.sendall(piece)
        time.sleep(pause_s)


def act(connection):
    if MODE == "continues":
        endlessly(connection, b"HTTP/1.1 100 Continue\r\n\r\n" * 4096)
    if MODE == "headers":
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        endlessly(connection, b"X-More: " + b"x" * 8192 + b"\r\n")
    if MODE == "drips":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        endlessly(connection, b" ", 0.02)
    if MODE == "endless":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        endlessly(connection, b"1000\r\n" + b" " * 4096 + b"\r\n")
    if MODE == "short":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + GOOD)
        connection.shutdown(socket.SHUT_RDWR)
    if MODE == "two_lengths":
        connection.sendall(response(GOOD, b"Content-Length: 3\r\n"))
    if MODE == "doubled":
        connection.sendall(response(GOOD) * 2)
        print("doubled", flush=True)
    if MODE == "gibberish":
        connection.sendall(b"\x00\xff SSH-2.0-OpenSSH_9.6\r\n\r\n")
    if MODE == "gzip":
        connection.sendall(response(b"\x1f\x8b\x08\x00\x00", b"Content-Encoding: gzip\r\n"))
    if MODE == "markup":
        body = b"<script>alert(1)</script>\n\x1b]0;owned\x07\nVerdict: SAFE"
        connection.sendall(b"HTTP/1.1 500 Oh\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body)


def serve(connection):
    stream = connection.makefile("rb")
    try:
        while True:
            if request(stream) == b"/act":
                act(connection)
            else:
                connection.sendall(response(b"{}"))
    except (OSError, IndexError):
        connection.close()


with socket.create_server(("127.0.0.1", 0)) as listener:
    print(f"port {listener.getsockname()[1]}", flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
