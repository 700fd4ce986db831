"""Writes the figures of a report, skipping those whose inputs have not changed."""

import glob
import hashlib
import json
import os
import re

from . import figures
from .figures import Nothing

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = ("figures/*.py", "render.py", "style.py", "inputs.py", "numbers.py")


def write_atomically(path, data):
    """Writes bytes or text to `path` so that a reader sees the old file or the whole new one."""
    mode, encoding = ("wb", None) if isinstance(data, bytes) else ("w", "utf-8")
    with open(path + ".tmp", mode, encoding=encoding) as stream:
        stream.write(data)
    os.replace(path + ".tmp", path)


def code_hash():
    """Changed drawing code redraws every figure."""
    digest = hashlib.sha256()
    for name in sorted(name for pattern in SOURCES for name in glob.glob(os.path.join(HERE, pattern))):
        with open(name, "rb") as stream:
            digest.update(stream.read())
    return digest.hexdigest()


def inputs_hash(artifact, code):
    """Hash of all that the figure of `artifact` is drawn from."""
    digest = hashlib.sha256(code.encode())
    for machine, part in [("", artifact)] + artifact.recorded:
        for value in (machine, part.meta, part.tidy, part.samples, part.curves, part.verdicts):
            digest.update(json.dumps(value, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def shrink(svg):
    """Drops what the figure does not need and rounds coordinates to a hundredth of a point."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r'(?<=[ "])(-?\d+\.\d{3,})', lambda m: f"{float(m.group(1)):.2f}".rstrip("0").rstrip("."), svg)
    svg = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1'DejaVu Sans', Verdana, sans-serif", svg)
    return re.sub(r"\s*\n\s*", "\n", svg).strip() + "\n"


def save(drawing, base, png):
    """Writes base.svg and, if asked, base.png; the SVG says how much of its top is title."""
    figure = drawing.figure
    figure.savefig(base + ".svg.tmp", format="svg", metadata={"Date": None, "Creator": None})
    with open(base + ".svg.tmp", encoding="utf-8") as stream:
        svg = shrink(stream.read())
    svg = svg.replace("<svg ", f'<svg data-title-band="{72 * drawing.band:.1f}" ', 1)
    os.remove(base + ".svg.tmp")
    if png:
        figure.savefig(base + ".png.tmp", format="png", dpi=170, metadata={"Software": None})
        os.replace(base + ".png.tmp", base + ".png")
    write_atomically(base + ".svg", svg)


def render(report, say=lambda line: None, png=True):
    """Draws every artifact of `report`. @return {artifact: note}; a note of "" means that a figure is there."""
    os.makedirs(report.root, exist_ok=True)
    store = os.path.join(report.root, ".figures.json")
    try:
        with open(store, encoding="utf-8") as stream:
            known = json.load(stream)
        known = known if isinstance(known, dict) else {}
    except (OSError, ValueError):
        known = {}
    code, notes, fresh = code_hash(), {}, dict(known)
    for name, artifact in report.artifacts.items():
        base = os.path.join(report.root, *name.split("/"))
        digest = inputs_hash(artifact, code)
        old = known.get(name)
        if isinstance(old, dict) and old.get("hash") == digest and (
                not old.get("drawn") or (os.path.exists(base + ".svg") and (not png or os.path.exists(base + ".png")))):
            notes[name] = str(old.get("note", ""))
            continue
        drawn, note = False, ""
        try:
            drawing = figures.draw(artifact)
            os.makedirs(os.path.dirname(base), exist_ok=True)
            save(drawing, base, png)
            drawn, note = True, drawing.note
        except Nothing as reason:
            note = f"No figure: {reason}." if artifact.figure() else ""
        except OSError:
            raise
        except Exception as error:  # a figure that cannot be drawn must not cost the page
            note = f"No figure: drawing failed ({type(error).__name__}: {error})."
        if not drawn:
            for suffix in (".svg", ".png"):
                if os.path.exists(base + suffix):
                    os.remove(base + suffix)  # an old figure would show old numbers
        fresh[name] = {"hash": digest, "drawn": drawn, "note": note}
        notes[name] = note
        say(f"figure {name}: {'drawn' if drawn else note or 'none'}")
    write_atomically(store, json.dumps(fresh, indent=0, sort_keys=True) + "\n")
    return notes
