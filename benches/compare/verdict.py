"""What counts as slower. A busy machine makes everything slow: a part is slower only where its least and its median are
both more than a tenth above the baseline's, and above it as well in proportion to its yardsticks, which are the
contenders beside it that no commit of ours changes.
"""

import statistics

TOLERANCE = 1.10
OURS = ("mortice", "frames", "storage", "metadata table")
"""How names of contenders begin that are parts of ours; all others are yardsticks."""


def together(runs):
    """Several runs as one: {part: (the least of all, the median of medians)}."""
    parts = dict.fromkeys(part for run in runs for part in run)
    of_part = {part: [run[part] for run in runs if part in run] for part in parts}
    return {
        part: (min(least for least, _ in times), statistics.median(median for _, median in times))
        for part, times in of_part.items()
    }


def is_ours(part):
    return part[2].startswith(OURS)


def drift(before, now, part):
    """How much slower the machine is by the yardsticks beside a part: the median of their ratios, or 1 without any."""
    beside = [other for other in now if other[:2] == part[:2] and not is_ours(other) and other in before]
    return statistics.median(now[other][1] / before[other][1] for other in beside) if beside else 1.0


def comparison(before, now, part):
    """How much slower a part is, in a line."""
    least, median = (new / old for new, old in zip(now[part], before[part], strict=True))
    ratios = f"least {least:5.2f}  median {median:5.2f}  yardsticks {drift(before, now, part):5.2f}"
    return f"{' / '.join(part):80} {ratios}"


def compared(before, now):
    """Parts of ours that both have."""
    return [part for part in now if part in before and is_ours(part)]


def slower(before, now):
    """Parts that got slower."""
    for part in compared(before, now):
        by_least, by_median = (new / old for new, old in zip(now[part], before[part], strict=True))
        if min(by_least, by_median) > TOLERANCE * max(1.0, drift(before, now, part)):
            yield part
