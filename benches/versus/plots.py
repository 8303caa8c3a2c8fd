"""Plots of a record: bars of CPU time with its spread; lines against log ratio, table size, columns, log size, files.

Without matplotlib there are no plots; the page contains the same figures in tables.
"""

from dataclasses import dataclass

MIB = 1 << 20
COLORS = {
    "mortice API": "#c33",
    "mortice mapInArrow": "#e83",
    "mortice data source": "#eb5",
    "Hudi 1.2.0 on Spark": "#247",
    "Hudi 0.15.0 on Spark": "#68b",
    "Hudi 1.3.0-SNAPSHOT on Spark": "#135",
    "Hudi's log reader": "#48c",
    "hudi-rs": "#393",
    "arrow-avro": "#639",
    "fastavro": "#963",
    "batches ready in the worker": "#c9a",
    "empty Python tasks": "#dca",
    "base files by Spark": "#9ab",
    "base files by pyarrow": "#aaa",
    "memcpy of the log": "#ccc",
    "mortice writer": "#c33",
    "mortice.spark.write": "#e83",
    "Hudi 1.2.0 writer": "#247",
    "delta-rs": "#393",
    "Parquet by pyarrow": "#aaa",
}
ALL_COLUMNS = 25


def columns_of(line):
    """Returns the number of projected columns."""
    return ALL_COLUMNS if line.columns == "all" else int(line.columns)


@dataclass(frozen=True)
class Plot:
    """A line plot: which results, the parameter of the panels, the parameter of the x axis."""

    workload: str
    file: str
    panel: object
    x: object
    x_label: str
    y: str = "cpu_s"
    y_label: str = "CPU, s"
    is_log: bool = False
    state: str = "warm"
    is_from_zero: bool = False
    """Whether the table without logs is the first point of every line."""


def _log_mib(line):
    return line.log_bytes / MIB


LINES = (
    Plot(
        "slice",
        "log-ratio",
        lambda line: f"{line.columns} columns, {line.commits} log files",
        lambda line: line.fraction * 100,
        "% of the rows updated",
        is_from_zero=True,
    ),
    Plot(
        "slice", "columns", lambda line: f"{line.fraction:.0%} updated, {line.commits} log files", columns_of, "columns"
    ),
    Plot("size", "table-size", lambda _: "10 % updated by 5 upserts", lambda line: line.rows, "rows", is_log=True),
    Plot("growth", "log-size", lambda line: f"{line.cores} cores, CPU", _log_mib, "log files, MiB"),
    Plot(
        "growth",
        "log-size-wall",
        lambda line: f"{line.cores} cores, wall",
        _log_mib,
        "log files, MiB",
        "wall_s",
        "wall, s",
    ),
    Plot(
        "memory",
        "memory",
        lambda _: "a new process, one query",
        _log_mib,
        "log files, MiB",
        "peak_bytes",
        "peak, MiB",
        state="cold",
    ),
    Plot(
        "planning",
        "planning",
        lambda line: "metadata table" if line.metadata else "listing",
        lambda line: line.rows // 2,
        "files",
        "wall_s",
        "wall, s",
        is_log=True,
    ),
)
BARS = ("decode", "table", "spark", "write")


def draw(found, folder):
    """Draws all plots for which the results have data: [(workload, path)]."""
    try:
        import matplotlib as mpl
    except ImportError:
        return []
    mpl.use("agg")
    good = [result for result in found.values() if result.is_ok]
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [(workload, _bars(good, workload, folder)) for workload in BARS]
    pictures += [(plot.workload, _lines(good, plot, folder)) for plot in LINES]
    return [(workload, picture) for workload, picture in pictures if picture]


def _color(line):
    return COLORS.get(line.contender, "#000")


def _scale(name, value):
    return value / MIB if name == "peak_bytes" else value


def _grid(count, height):
    from matplotlib import pyplot as plt

    across = min(count, 3)
    down = -(-count // across)
    figure, axes = plt.subplots(
        down, across, figsize=(5.2 * across, height * down), squeeze=False, layout="constrained"
    )
    for empty in list(axes.flat)[count:]:
        empty.set_visible(False)
    return figure, list(axes.flat)


def _save(figure, path):
    from matplotlib import pyplot as plt

    figure.savefig(path, dpi=80)
    plt.close(figure)
    return path


def _panels(results, name_of):
    panels = {}
    for result in results:
        panels.setdefault(name_of(result.line), []).append(result)
    return panels


def _from_zero(panels):
    """Returns the panels of tables with logs, preceded by results of the table without logs for the same columns."""
    without = [result for results in panels.values() for result in results if not result.line.commits]
    extended = {}
    for name, results in panels.items():
        of_panel = results[0].line
        if of_panel.commits:
            extended[name] = [one for one in without if one.line.columns == of_panel.columns] + results
    return extended or panels


def _bars(good, workload, folder):
    """Draws a panel for each point: bars of CPU time, whiskers from minimum to maximum."""
    chosen = [result for result in good if result.line.workload == workload and result.line.state == "warm"]
    if not chosen:
        return None
    panels = _panels(chosen, _bar_title)
    figure, axes = _grid(len(panels), 2.6)
    for axis, (name, results) in zip(axes, panels.items(), strict=False):
        spreads = [result.spread("cpu_s") for result in results]
        medians = [spread.median for spread in spreads]
        whiskers = [[s.median - s.minimum for s in spreads], [s.maximum - s.median for s in spreads]]
        axis.barh(
            [r.line.contender for r in results],
            medians,
            xerr=whiskers,
            color=[_color(r.line) for r in results],
            capsize=3,
        )
        axis.invert_yaxis()
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("CPU, s")
        axis.tick_params(labelsize=8)
    return _save(figure, folder / f"{workload}.png")


def _bar_title(line):
    shown = f"{line.columns} columns" if line.kind == "read" else line.kind
    return f"{line.table}\n{shown}, {line.cores} core{'s' * (line.cores != 1)}"


def _lines(good, plot, folder):
    """Draws a panel for each value of the panel parameter, and a line for each contender."""
    chosen = [result for result in good if result.line.workload == plot.workload and result.line.state == plot.state]
    if not chosen:
        return None
    panels = _panels(chosen, plot.panel)
    if plot.is_from_zero:
        panels = _from_zero(panels)
    figure, axes = _grid(len(panels), 3.4)
    for axis, (name, results) in zip(axes, sorted(panels.items()), strict=False):
        for contender, of_one in _panels(results, lambda line: line.contender).items():
            _line(axis, plot, contender, of_one)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel(plot.x_label)
        axis.set_ylabel(plot.y_label)
        if plot.is_log:
            axis.set_xscale("log")
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=7)
    return _save(figure, folder / f"{plot.file}.png")


def _line(axis, plot, contender, results):
    points = sorted(((plot.x(result.line), result.spread(plot.y)) for result in results), key=lambda point: point[0])
    xs = [x for x, _ in points]
    middle = [_scale(plot.y, spread.median) for _, spread in points]
    low = [_scale(plot.y, spread.median - spread.minimum) for _, spread in points]
    high = [_scale(plot.y, spread.maximum - spread.median) for _, spread in points]
    style = "--" if results[0].line.is_limit else "-"
    axis.errorbar(
        xs,
        middle,
        yerr=[low, high],
        fmt=f"o{style}",
        ms=3,
        lw=1,
        capsize=2,
        color=_color(results[0].line),
        label=contender,
    )
