"""Takes TLS connections and forwards them to a port of this machine, like a proxy in front of a service.

    tls_proxy.py CERTIFICATE.PEM PORT

Prints its own port.
"""

import asyncio
import ssl
import sys

CHUNK_BYTES = 65536


async def pump(reader, writer):
    try:
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def forward(reader, writer):
    to_reader, to_writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[2]))
    await asyncio.gather(pump(reader, to_writer), pump(to_reader, writer))


async def main():
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[1])
    server = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=tls)
    print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


asyncio.run(main())
