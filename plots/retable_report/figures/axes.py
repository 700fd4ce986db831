"""Numbers, scales, limits and ticks of one pair of axes."""

import math

from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from ..inputs import number
from ..style import MUTED, SMALL, text_width

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short(value):
    """A number in few letters: 1200, 0.05, 3e−7."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e5:
        text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    else:
        mantissa, exponent = f"{value:.2e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text.replace("-", "−")


def power(base, exponent):
    return f"{base}{str(int(exponent)).translate(SUPERSCRIPT)}"


def scientific(value):
    """A positive number as 2·10⁻⁴."""
    mantissa, exponent = f"{value:.1e}".split("e")
    mantissa = mantissa.removesuffix(".0")
    return power(10, exponent) if mantissa == "1" else f"{mantissa}·{power(10, exponent)}"


def with_unit(name, unit):
    return f"{name} ({unit})" if unit else name


def scale(figure, axis):
    return "log" if str(figure.get(axis + "scale", "")).lower() == "log" or (
        figure.get("log" + axis) is True or str(figure.get("log" + axis, "")).lower() == "true") else "linear"


def logarithmic(axis, low, high, values=()):
    """Ticks of a log axis: powers of two where the data are, else powers of ten, else 1, 2, 5."""
    logs = {math.log2(v) for v in values if v > 0}
    if len(logs) > 1 and all(abs(v - round(v)) < 1e-9 for v in logs) and max(logs) - min(logs) >= 3:
        exponents = sorted(int(round(v)) for v in logs)
        step = max(1, math.ceil((exponents[-1] - exponents[0]) / 6))
        axis.set_major_locator(FixedLocator([2.0 ** e for e in range(exponents[0], exponents[-1] + 1, step)]))
        axis.set_major_formatter(FuncFormatter(
            lambda v, _: "" if v <= 0 else short(v) if exponents[0] >= 0 and exponents[-1] <= 10 else power(2, round(math.log2(v)))))
    elif high / low >= 100:
        plain = low >= .009 and high <= 2000
        axis.set_major_locator(LogLocator(numticks=7))
        axis.set_major_formatter(FuncFormatter(
            lambda v, _: "" if v <= 0 else short(v) if plain else power(10, round(math.log10(v)))))
    else:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low > 4 else (1, 1.5, 2, 3, 4, 5, 6, 8), numticks=8))
        plain = low >= 1e-3 and high <= 1e5
        axis.set_major_formatter(FuncFormatter(lambda v, _: short(v) if plain or v <= 0 else scientific(v)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def linear(axis, bins=5):
    axis.set_major_locator(MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda v, _: short(round(v, 12))))


def thin(axis, low, high, inches, size=SMALL):
    """Drops ticks of a horizontal axis whose labels would touch; round numbers stay before others."""
    log = axis.get_scale() == "log"
    ticks = [t for t in axis.get_major_locator().tick_values(low, high) if low <= t <= high and (t > 0 or not log)]
    place = (lambda v: math.log(v / low) / math.log(high / low)) if log else (lambda v: (v - low) / (high - low))
    label = axis.get_major_formatter()
    kept = []
    for tick in sorted(ticks, key=lambda t: f"{t:.3e}"[0] != "1") if log else ticks:
        at, wide = inches * place(tick), text_width(label(tick), size)
        if all(abs(at - other) >= (wide + width) / 2 + .07 for _, other, width in kept):
            kept.append((tick, at, wide))
    axis.set_major_locator(FixedLocator(sorted(tick for tick, _, _ in kept)))


def finish_axes(ax, xscale, yscale, xs, ys, grid="both"):
    """Scales, limits, ticks and grid of one panel."""
    ax.grid(True, axis=grid)
    if not xs or not ys:
        ax.text(.5, .5, "no value", transform=ax.transAxes, ha="center", va="center", color=MUTED, size=SMALL)
        ax.set_xticks([])
        ax.set_yticks([])
        return
    for name, kind, values, axis in (("x", xscale, xs, ax.xaxis), ("y", yscale, ys, ax.yaxis)):
        if kind == "log" and min(values) > 0:
            (ax.set_xscale if name == "x" else ax.set_yscale)("log")
            room = max(1.15, (max(values) / min(values)) ** .03)  # markers of the outermost points are whole
            bottom, top = min(values) / room, max(values) * room
            if top / bottom < 2:
                bottom, top = bottom / 1.3, top * 1.3
            (ax.set_xlim if name == "x" else ax.set_ylim)(bottom, top)
            logarithmic(axis, bottom, top, values if name == "x" else ())
        else:
            linear(axis)
    thin(ax.xaxis, *ax.get_xlim(), ax.get_position().width * ax.figure.get_size_inches()[0])
