"""arrow-avro, for raw decoding: a program of `benches/rust` with the protocol of `versus.worker`."""

import json
import os
import subprocess

from versus.contenders.contender import Contender, NotSupported
from versus.homes import REPOSITORY

PROFILE = os.environ.get("VERSUS_PROFILE", "bench")
BUILD = ["cargo", "build", "--profile", PROFILE, "--package", "mortice-benches", "--bench", "decode_worker"]


class ArrowAvro(Contender):
    name = "arrow-avro"
    kinds = ("decode",)

    def command(self):
        output = subprocess.run(
            [*BUILD, "--message-format", "json"], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False
        )
        for line in output.stdout.splitlines():
            message = json.loads(line)
            if message.get("executable") and message["target"]["name"] == "decode_worker":
                return [message["executable"], "--worker"]
        raise NotSupported(f"its program was not built: {' '.join(BUILD)}")

    def version(self):
        raise NotImplementedError("the program tells")

    def run(self, query):
        raise NotImplementedError(query["kind"])
