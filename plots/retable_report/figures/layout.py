"""A figure of fixed width whose height follows its rows.

All lengths are inches, and every margin is computed from the text it holds: a layout engine that measures by
rendering is several times slower, and less even from figure to figure.
"""

import math
from dataclasses import dataclass

from matplotlib.figure import Figure

from .. import style
from ..numbers import raised
from ..style import MUTED, SIZE, SMALL, WIDTH

MAX_PANELS, MAX_ROWS = 30, 80
ROW = 0.163              #: a row of a legend
LINE = 0.145             #: a line of small text
BOLD = 1.13              #: how much wider bold letters are


@dataclass
class Drawing:
    figure: Figure
    band: float = 0.0        #: height of the title at the top, which the page cuts off
    note: str = ""


class Page:
    """A figure with a title band on top and a foot for the legend; places panels by inches."""

    def __init__(self, artifact, figure, body, foot=0.0, width=WIDTH):
        title = str(figure.get("title") or artifact.text("title") or artifact.name)
        text = style.wrap(raised(title), (width - 0.2) / BOLD, SIZE + 1)
        self.band = 0.12 + 0.185 * (text.count("\n") + 1)
        self.width, self.body, self.foot = width, body, foot
        self.height = self.band + body + foot
        self.figure = Figure(figsize=(width, self.height))
        self.figure.text(0.08 / width, 1 - 0.07 / self.height, text, size=SIZE + 1, weight="bold", va="top", ha="left",
                         gid="title", linespacing=1.15)

    def axes(self, left, top, width, height):
        """Axes whose upper left corner lies `left` and `top` inches inside the body."""
        return self.figure.add_axes([left / self.width, 1 - (self.band + top + height) / self.height,
                                     width / self.width, height / self.height])

    def text(self, left, top, text, **options):
        options.setdefault("size", SMALL)
        return self.figure.text(left / self.width, 1 - (self.band + top) / self.height, text, **options)

    def drawing(self, note=""):
        return Drawing(self.figure, self.band, note)


def legend_size(names):
    """(columns, height) of a legend below the figure."""
    if not names:
        return 1, 0.0
    each = style.widest(names, SMALL) + 0.55
    columns = max(1, min(len(names), int((WIDTH - 0.1) / each)))
    return columns, ROW * math.ceil(len(names) / columns) + 0.1


def add_legend(page, handles, names, note=""):
    columns, height = legend_size(names)
    if names:
        page.figure.legend(handles, names, loc="upper left", ncol=columns, borderpad=0, borderaxespad=0, handlelength=2.6,
                           columnspacing=1.4, labelspacing=0.35, handletextpad=0.6,
                           bbox_to_anchor=(0.1 / page.width, page.foot / page.height))
    if note:
        page.figure.text(0.1 / page.width, 0.06 / page.height, wrapped(note), size=SMALL, color=MUTED, va="bottom", ha="left")


def wrapped(note):
    return style.wrap(note, WIDTH - .25, SMALL)


def foot_height(names, note):
    return legend_size(names)[1] + (LINE * (wrapped(note).count("\n") + 1) + 0.06 if note else 0.0) + 0.04


def row_names(names, width, row):
    """(labels wrapped to `width`, the row height that holds the tallest of them, at least `row`)"""
    names = [style.wrap(name, width, SMALL) for name in names]
    return names, max(row, LINE * max((name.count("\n") + 1 for name in names), default=1) + .03)


def grid_of(count):
    """(columns, rows) for `count` panels."""
    columns = 1 if count == 1 else 2 if count <= 8 else 3
    return columns, math.ceil(count / columns)


def panel_title(title, width):
    """At most two lines, broken after a comma or a bracket where there is no space."""
    too_wide = lambda line: style.text_width(line, SMALL + .5) * BOLD > width  # noqa: E731
    lines = style.wrap(title, width / BOLD, SMALL + .5).split("\n")
    if any(map(too_wide, lines)) and "(" in title:
        lines = [title[:title.index("(")], title[title.index("("):]]
    lines = lines[:1] + [" ".join(lines[1:])] if len(lines) > 2 else lines
    for i, line in enumerate(lines):
        while too_wide(line) and len(line) > 8:
            line = line[:-2].rstrip("… ") + "…"
        lines[i] = line
    return "\n".join(lines)


def panels(artifact, figure, titles, names, note, xlabel, ylabel, height=None, y_room=0.58):
    """A grid of equal panels. @return (page, axes in the order of titles)"""
    columns, rows = grid_of(len(titles))
    tall = height or (2.9 if columns == 1 else 1.55 if columns == 2 else 1.25)
    wide = (WIDTH - 0.12 - 0.2 * bool(ylabel)) / columns
    shown = [panel_title(title, wide - y_room + .08) for title in titles]
    head = 0.22 + LINE * max(title.count("\n") for title in shown) if len(titles) > 1 else 0.06
    step = head + tall + 0.36
    page = Page(artifact, figure, rows * step + (0.14 if xlabel else 0.0), foot_height(names, note))
    axes = []
    for i, title in enumerate(titles):
        left = 0.06 + 0.2 * bool(ylabel) + (i % columns) * wide
        top = (i // columns) * step
        ax = page.axes(left + y_room - 0.12, top + head, wide - y_room, tall)
        if len(titles) > 1:
            page.text(left + y_room - 0.12, top + head - 0.07, shown[i], weight="bold", size=SMALL + .5, va="bottom", ha="left", linespacing=1.1)
        axes.append(ax)
    middle = rows * step / 2
    if ylabel:
        page.text(0.14, middle, style.wrap(raised(ylabel), rows * step), rotation=90, va="center", ha="center", size=SIZE)
    if xlabel:
        page.text(WIDTH / 2, rows * step - 0.1, style.wrap(raised(xlabel), WIDTH - .4), va="top", ha="center", size=SIZE)
    return page, axes
