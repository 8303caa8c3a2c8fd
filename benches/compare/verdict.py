"""Decides what counts as slower. A busy machine makes everything slow: a part is slower only if its minimum and its
median are both more than a tenth above the baseline's, and also in proportion to its yardsticks, which are the
contenders in the same benchmark that no commit of mortice changes.
"""

import statistics

TOLERANCE = 1.10
OURS = ("mortice", "frames", "storage", "metadata table")
"""Prefixes of the names of mortice's parts; all others are yardsticks."""


def together(runs):
    """Combines several runs: {part: (minimum, median of medians)}."""
    parts = dict.fromkeys(part for run in runs for part in run)
    of_part = {part: [run[part] for run in runs if part in run] for part in parts}
    return {
        part: (min(minimum for minimum, _ in times), statistics.median(median for _, median in times))
        for part, times in of_part.items()
    }


def is_ours(part):
    return part[2].startswith(OURS)


def drift(before, now, part):
    """Returns how much slower the machine is: the median ratio of the yardsticks in the same benchmark, or 1 without
    any."""
    yardsticks = [other for other in now if other[:2] == part[:2] and not is_ours(other) and other in before]
    return statistics.median(now[other][1] / before[other][1] for other in yardsticks) if yardsticks else 1.0


def comparison(before, now, part):
    """Returns a line that says how much slower a part is."""
    minimum, median = (new / old for new, old in zip(now[part], before[part], strict=True))
    ratios = f"minimum {minimum:5.2f}  median {median:5.2f}  yardsticks {drift(before, now, part):5.2f}"
    return f"{' / '.join(part):80} {ratios}"


def compared(before, now):
    """Returns the parts of mortice that both runs have."""
    return [part for part in now if part in before and is_ours(part)]


def slower(before, now):
    """Returns the parts that got slower."""
    for part in compared(before, now):
        by_minimum, by_median = (new / old for new, old in zip(now[part], before[part], strict=True))
        if min(by_minimum, by_median) > TOLERANCE * max(1.0, drift(before, now, part)):
            yield part
