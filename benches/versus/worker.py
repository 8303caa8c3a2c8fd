"""The process of a contender: `python -m versus.worker NAME CORES`. Requests and replies are JSON, one per line:

    {"do": "start"}                                  {"version": …}
    {"do": "prepare", "query": {…}}                  {}
    {"do": "run", "query": {…}, "times": n}          {"wall": seconds of one, "rows": of one, or null}
    {"do": "answer", "query": {…}, "path": …}        {}

Errors are replies, too: {"cannot": why} if the contender does not support the query, otherwise {"error": what}. Output
of libraries is redirected to standard error, so that it is never taken for a reply.
"""

import json
import os
import sys
import time

from versus.contenders import contender_of
from versus.contenders.contender import NotSupported


def run(contender, query, times):
    """Runs a query `times` times; returns the wall time of one run."""
    began = time.perf_counter()
    for _ in range(times):
        rows = contender.run(query)
    return {"wall": (time.perf_counter() - began) / times, "rows": rows}


def handle(contender, request, cores):
    """Returns the reply to one request."""
    if request["do"] == "start":
        contender.start(cores)
        return {"version": contender.version()}
    if request["do"] == "prepare":
        contender.prepare(request["query"])
        return {}
    if request["do"] == "answer":
        contender.answer(request["query"], request["path"])
        return {}
    return run(contender, request["query"], request["times"])


def handle_safely(contender, request, cores):
    """The same, with errors as replies."""
    try:
        return handle(contender, request, cores)
    except NotSupported as no:
        return {"cannot": str(no)}
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        first = str(error).strip().partition("\n")[0]
        return {"error": f"{type(error).__name__}: {first}"[:500]}


def main():
    contender, cores = contender_of(sys.argv[1]), int(sys.argv[2])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(handle_safely(contender, json.loads(line), cores)), file=replies, flush=True)


if __name__ == "__main__":
    main()
