"""A report of a record: one HTML page, with plots if matplotlib is installed, made from the record alone."""

import html
from pathlib import Path

from versus import plots
from versus.record import load
from versus.results import by_point, per_log_mib, ratios, results, title

STYLE = """
body { font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }
table { border-collapse: collapse; margin: .5em 0 1.5em }
td, th { padding: .15em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left }
td.why { text-align: left; color: #a33 }
tr.limit { color: #777 }
img { max-width: 100% }
"""

NOTES = """
Every contender runs in a separate process, bound to the given cores; at each point they alternate, one run each per
round. CPU is user and system time of the process and its descendants: every thread of a JVM and every Python worker.
Times are medians, with the minimum and the maximum of the rounds. Rows were compared, sorted by hash, before any time
was measured, with those of the first contender at the point that has a result. A ratio is the CPU (and wall) time of a
contender divided by that of mortice: of mortice mapInArrow for contenders on Spark, otherwise of the mortice API; for
writes of the mortice writer, and in the summary of mortice.spark.write, too. Grey contenders are lower bounds for the
others: they merge nothing. Every run of a write is into a fresh copy of the table, of rows that are in memory, and Hudi
reads what each writer has written first. “cold” is the first query of a new process, with a session that has started,
and files dropped from the page cache. Peak is the maximum of resident memory, including mapped files and the heap that
a JVM has reserved.
"""


def write(path, out=None):
    """Writes the page of a record, with its plots in a directory next to it. Returns the page's path."""
    path = Path(path)
    head, lines = load(path)
    page = Path(out or path.with_suffix(".html"))
    found = results(lines)
    pictures = plots.draw(found, page.with_suffix(""))
    page.write_text("\n".join(_page(head, found, pictures, page)))
    return page


def _page(head, found, pictures, page):
    yield "<!doctype html><html lang=en><meta charset=utf-8><title>mortice compared with others</title>"
    yield f"<style>{STYLE}</style><h1>mortice compared with others</h1><table>"
    yield from (f"<tr><td>{_text(name)}</td><td>{_text(value)}</td></tr>" for name, value in head.items())
    yield f"</table><p>{NOTES}</p><h2>Summary</h2>{_summary(found)}"
    workloads = dict.fromkeys(point[0] for point, _ in by_point(found))
    for workload in workloads:
        yield f"<h2>{_text(workload)}</h2>"
        of_workload = [picture for name, picture in pictures if name == workload]
        yield from (
            f'<p><img src="{picture.relative_to(page.parent)}" alt="{_text(workload)}"></p>' for picture in of_workload
        )
        if workload == "growth":
            yield from _per_log_mib(found)
        for (point, state), together in by_point(found).items():
            if point[0] == workload:
                yield from _table(together, state)
    yield "</html>"


def _per_log_mib(found):
    """Equal cost per MiB at every size means linear growth."""
    yield "<p>What a MiB of log costs beyond the table without logs, by the size of the log:</p><table>"
    for (contender, cores), costs in per_log_mib(found).items():
        cells = "".join(f"<td>{size:,.1f} MiB: {_time(max(cost, 0.0))}</td>" for size, cost in costs)
        yield f"<tr><td>{_text(contender)}, {cores} cores</td>{cells}</tr>"
    yield "</table>"


def _text(value):
    return html.escape(str(value))


def _table(together, state):
    line = together[0].line
    yield f"<h3>{_text(title(line))}: {state}</h3>"
    yield f"<p>{_text(line.table)}: base files {_size(line.base_bytes)}, log files {_size(line.log_bytes)}</p><table>"
    heads = (
        "contender",
        "CPU",
        "minimum – maximum",
        "wall",
        "minimum – maximum",
        "peak",
        "× CPU (wall) of mortice",
        "rounds",
    )
    yield f"<tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>"
    first_ratios = {}
    for (name, _), ratio in ratios(together).items():
        first_ratios.setdefault(name, ratio)
    for result in together:
        yield _row(result, first_ratios.get(result.line.contender))
    yield "</table>"


def _row(result, ratio):
    line = result.line
    name = f"{_text(line.contender)} <small>{_text(line.version)}</small>"
    head = f"<tr{' class=limit' if line.is_limit else ''}><td>{name}</td>"
    if not result.is_ok:
        return f"{head}<td class=why colspan=7>{_text(result.reason)}</td></tr>"
    cpu, wall = result.spread("cpu_s"), result.spread("wall_s")
    cells = [_time(cpu.median), f"{_time(cpu.minimum)} – {_time(cpu.maximum)}"]
    cells += [_time(wall.median), f"{_time(wall.minimum)} – {_time(wall.maximum)}"]
    cells += [
        _size(result.spread("peak_bytes").maximum),
        f"{_ratio(ratio[0])} ({_ratio(ratio[1])})" if ratio else "",
        len(result.lines),
    ]
    return head + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _time(seconds):
    return (
        f"{seconds:.2f} s"
        if seconds >= 1
        else f"{seconds * 1e3:.1f} ms"
        if seconds >= 1e-3
        else f"{seconds * 1e6:.0f} µs"
    )


def _ratio(ratio):
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2g}"


def _size(count):
    return f"{count / 2**20:,.1f} MiB"


def summary(found):
    """Returns the rows of a table of ratios: (point, contender, CPU ratio, wall ratio, spread of the CPU ratio), warm
    points only."""
    for (_, state), together in by_point(found).items():
        if state != "warm":
            continue
        for (name, ours), (cpu, wall) in ratios(together).items():
            if not name.startswith("mortice"):
                yield title(together[0].line), name, ours, cpu, wall


def _summary(found):
    rows = [
        f"<tr><td>{_text(point)}<td>{_text(rival)}<td>{_text(ours)}<td>{_ratio(cpu)}<td>{_ratio(wall)}</tr>"
        for point, rival, ours, cpu, wall in summary(found)
    ]
    head = "<tr><th>warm<th>contender<th>compared with<th>× CPU<th>× wall</tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def markdown(path):
    """Returns the summary of a record as a Markdown table, and the command that creates such a record."""
    head, lines = load(path)
    yield f"{head.get('processor', '')}; {head.get('date', '')}; commit {head.get('commit', '')}"
    yield ""
    yield "| query | contender | compared with | × CPU | × wall |"
    yield "|---|---|---|---|---|"
    for point, rival, ours, cpu, wall in summary(results(lines)):
        yield f"| {point} | {rival} | {ours} | {_ratio(cpu)} | {_ratio(wall)} |"
    yield ""
    yield f"`make bench{' QUICK=1' if head.get('scale') == 'quick' else ''}` takes such figures."
