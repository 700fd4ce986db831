"""How numbers, times and places are written for a reader."""

import math
import re

from .inputs import number

SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

MINUS, THIN = "\u2212", "\u202f"


def raised(text):
    """Names as works print them: 2^26 + 1 -> 2²⁶ + 1, 10000000 -> 10 000 000."""
    if re.fullmatch(r"\d{5,}", str(text)):
        return f"{int(text):,}".replace(",", THIN)
    return re.sub(r"(?<=[\w)])\^(\d+)(?!\w|\.\d)", lambda m: m.group(1).translate(SUPERSCRIPT), str(text))


# A figure of a note and the reference in braces that follows it (tools/docs.py).
SOURCED = re.compile(r"(?P<figure>[-+]?\d[\d,.-]*)\{(?P<reference>[^{}]*)\}")


def unsourced(text):
    """A note without the references of its figures: 93{cell('large', 'factor')} times -> 93 times."""
    return SOURCED.sub(lambda m: m["figure"], str(text))


def plain(value, digits=4):
    """A float with `digits` significant digits: 0.05321, 12 300, 3.1e−7."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        mantissa, exponent = f"{value:.{digits - 2}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa}e{int(exponent)}"
    elif abs(value) >= 10 ** (digits - 1) or value == int(value):
        text = f"{value:,.0f}".replace(",", THIN if abs(value) >= 1e4 else "")
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", MINUS)


def shown(text, digits=4):
    """A field of a CSV: rounded where it is a number, else as it stands."""
    value = number(text)
    return str(text or "").strip() if value is None else plain(value, digits)


def published(text):
    """A printed value: as works print it, in decimals down to 0.000001."""
    if str(text or "")[:2] in ("<=", ">="):
        return {"<=": "≤ ", ">=": "≥ "}[text[:2]] + published(text[2:])
    value = number(text)
    if value is not None and 1e-6 <= abs(value) < 1e-4:
        return f"{value:.12f}".rstrip("0").replace("-", MINUS)
    return shown(text, 9)


def ratio(text):
    value = number(text)
    if value is None:
        return ""
    if value == 0:
        return "0×"
    if value >= 1000 or (0 < abs(value) < .001):
        return plain(value, 2) + "×"
    return (f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
            if abs(value) >= .1 else f"{value:.3f}").replace("-", MINUS) + "×"


def interval(low, high):
    if "inf" in str(high):
        return "unbounded"
    low, high = number(low), number(high)
    if low is None or high is None or low == high:
        return ""
    return f"{plain(low)} … {plain(high)}"


def seconds(value):
    value = number(value)
    if value is None:
        return ""
    if value < 60:
        return f"{plain(value, 3)} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def moment(text):
    """2026-01-02T03:04:05Z -> 2026-01-02 03:04 UTC; anything else as it stands."""
    text = str(text or "")
    if len(text) >= 16 and text[4:5] == "-" and text[10:11] in "T ":
        return text[:10] + " " + text[11:16] + (" UTC" if text.rstrip().endswith(("Z", "+00:00")) else "")
    return text


def sentence(text):
    """Words as a sentence: a capital, a full stop."""
    text = str(text).strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".") if text else ""


def count(amount, singular, plural=None):
    return f"{amount} {singular if amount == 1 else plural or singular + 's'}"


def size(value):
    value = number(value)
    if value is None:
        return ""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{plain(value, 3)} {unit}"
        value /= 1024
    return ""
