"""Makes the SVG of a figure small and gives it the page's colours: shared classes, short ids, relative paths, no empty groups."""

import re

from markupsafe import Markup

from . import style

COLOURS = {style.INK: "--ink", style.MUTED: "--muted", style.GRID: "--grid", style.PAPER: "--paper", style.BAND: "--band",
           "#aab2bd": "--soft", **{c: f"--c{i}" for i, c in enumerate(style.COLOURS)}}
TOKEN = re.compile(r"<[^>]*>|[^<]+")
# A clipped group and the head of the next one, which is clipped alike.
CLIPPED_ALIKE = re.compile(r'(<g clip-path="[^"]*">)((?:<(?!/?g\b)[^>]*>)*)</g>\1')
# Two shapes of one style, clipped alike, with nothing but words between them.
STYLED_ALIKE = re.compile(r'<path d="([^"]*)"((?: clip-path="[^"]*")? class="(s\d+)")/>((?:<text[^>]*>[^<]*</text>)*)<path d="([^"]*)"\2/>')
# Three or more marks of one shape in a row.
MARKS = re.compile(r'<use href="#([^"]+)" x="[^"]*" y="[^"]*"/>(?:<use href="#\1" x="[^"]*" y="[^"]*"/>){2,}')


class Classes:
    """The styles of all figures of a page, each written once."""

    def __init__(self):
        self.names, self.figures = {}, 0

    def prefix(self):
        """What the ids of the next figure begin with."""
        self.figures += 1
        return f"p{self.figures}"

    def __call__(self, match):
        text = match.group(1).replace("stroke-linejoin: miter", "")
        text = re.sub(r"font: ([^;\"]*?)'DejaVu Sans', Verdana, sans-serif", r"font: \1var(--sans)", text)
        for colour, name in COLOURS.items():
            text = text.replace(colour, f"var({name})")
        text = ";".join(re.sub(r"\s*:\s*", ":", part.strip(), count=1) for part in text.split(";") if part.strip())
        return f' class="{self.names.setdefault(text, "s" + str(len(self.names)))}"' if text else ""

    def opaque(self, name):
        """Whether shapes of the class look the same as parts of one."""
        return not any("opacity" in text for text, other in self.names.items() if other == name)

    def sheet(self):
        return Markup("".join(f".{name}{{{text}}}\n" for text, name in self.names.items()))


def short(value):
    """A coordinate in tenths, as short as it can be written."""
    text = f"{value:.1f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def joined(numbers):
    """Coordinates with no more spaces than they need."""
    text = ""
    for number in map(short, numbers):
        text += number if not text or number.startswith("-") else " " + number
    return text


def steps_text(steps):
    """Steps in tenths as commands of a path: h and v along an axis, else l."""
    text, before = "", ""
    for x, y in steps:
        letter, step = ("v", [y]) if x == 0 else ("h", [x]) if y == 0 else ("l", [x, y])
        step = joined(number / 10 for number in step)
        text += (letter if letter != before else "" if step.startswith("-") else " ") + step
        before = letter
    return text


def straight(a, b):
    """Whether step b goes on in the direction of step a."""
    return a[0] * b[1] == a[1] * b[0] and a[0] * b[0] + a[1] * b[1] > 0


def small_path(match):
    """A path of absolute M, L and z in relative steps of a tenth of a point, as few as draw it; a circle as two arcs; any other
    path as it is but for its spaces."""
    steps = re.findall(r"([A-Za-z])([^A-Za-z]*)", match.group(1))
    if "".join(letter for letter, _ in steps) == "MCCCCCCCCz":
        ends = [[float(v) for v in body.split()[-2:]] for _, body in steps[:-1]]
        r = ends[0][1]
        if [ends[0], ends[2], ends[4], ends[6], ends[8]] == [[0, r], [r, 0], [0, -r], [-r, 0], [0, r]]:
            arc = f"a{joined((r, r))} 0 1 0 "
            return f' d="M0 {short(r)}{arc}{joined((0, -2 * r))}{arc}{joined((0, 2 * r))}z"'
    if any(letter not in "MLz" for letter, _ in steps):
        body = re.sub(r"-?\d+\.\d+", lambda m: short(float(m.group())), match.group(1))
        return f' d="{re.sub(r"(?<=[A-Za-z]) | (?=[A-Za-z])", "", " ".join(body.split()))}"'
    text, lines, x, y = "", [], 0, 0
    for letter, body in [*steps, ("", "")]:
        new_x, new_y = (round(10 * float(v)) for v in body.split()) if body.strip() else (x, y)
        step = (new_x - x, new_y - y)
        if letter != "L":
            text += steps_text(lines) + (f"M{joined((new_x / 10, new_y / 10))}" if letter == "M" else letter)
            lines = []
        elif lines and straight(lines[-1], step):
            lines[-1] = (lines[-1][0] + step[0], lines[-1][1] + step[1])
        elif step != (0, 0) or not lines:
            lines.append(step)
        x, y = new_x, new_y
    return f' d="{text}"'


def without_bare_groups(body):
    """Drops groups that say nothing, what is never seen, and space between elements."""
    body = re.sub(r'<path [^>]*style="fill: none;? ?"/>|<defs>\s*</defs>', "", body)
    kept, open_groups = [], []
    for token in TOKEN.findall(body):
        if token == "<g>" or token == "</g>":
            if token == "<g>":
                open_groups.append(False)
            elif open_groups.pop():
                kept.append(token)
        elif token != "<g/>":
            if token.startswith("<g "):
                open_groups.append(not token.endswith("/>"))
                if token.endswith("/>"):
                    open_groups.pop()
                    continue
            kept.append(token if token.startswith("<") else re.sub(r"\s*\n\s*", "", token))
    return "".join(kept)


def used_once(body):
    """Puts a shape that is used once where it is used."""
    shapes = dict(re.findall(r'<path id="([^"]+)"( d="[^"]*")[^>]*/>', body))
    uses = re.findall(r'<use href="#([^"]+)"', body)
    single = {name for name in shapes if uses.count(name) == 1}
    body = re.sub(r'<path id="([^"]+)"[^>]*/>', lambda m: "" if m.group(1) in single else m.group(), body)
    def place(match):
        if match.group(1) not in single:
            return match.group()
        x, y, path = float(match.group(2)), float(match.group(3)), shapes[match.group(1)]
        if re.fullmatch(r' d="[MLz\d.\s-]*"', path):
            path = re.sub(r"(-?[\d.]+) (-?[\d.]+)", lambda m: f"{float(m.group(1)) + x:.6f} {float(m.group(2)) + y:.6f}", path)
            x = y = 0
        moved = f' transform="translate({short(x)} {short(y)})"' if x or y else ""
        return f"<path{path}{moved}{match.group(4)}/>"
    body = re.sub(r'<use href="#([^"]+)" x="([^"]+)" y="([^"]+)"([^>]*)/>', place, body)
    return re.sub(r"<defs>\s*</defs>", "", body)


def styled_once(body):
    """Gives a shape the style that all its uses have, in place of theirs; its own counts first."""
    found = {}
    for use in re.findall(r"<use [^>]*>", body):
        name, style_of_use = re.search(r'href="#([^"]+)"', use), re.search(r'style="([^"]*)"', use)
        found.setdefault(name.group(1), set()).add(style_of_use.group(1) if style_of_use else "")
    same = {name: styles.pop() for name, styles in found.items() if len(styles) == 1}

    def shape(match):
        own = re.search(r' style="([^"]*)"', match.group())
        both = (same.get(match.group(1), "") + ";" + (own.group(1) if own else "")).split(";")
        parts = dict(part.strip().split(":", 1) for part in both if part.strip())
        bare = match.group().replace(own.group(), "") if own else match.group()
        return bare[:-2] + f' style="{";".join(map(":".join, parts.items()))}"/>'
    body = re.sub(r'<path id="([^"]+)"[^>]*/>', shape, body)
    return re.sub(r"<use [^>]*>", lambda m: re.sub(r' style="[^"]*"', "", m.group())
                  if re.search(r'href="#([^"]+)"', m.group()).group(1) in same else m.group(), body)


def marked(body):
    """Draws marks in a row as the inner corners of one line, which itself is not seen."""
    shapes = set()

    def line(match):
        shapes.add(match.group(1))
        places = [(round(10 * float(x)), round(10 * float(y))) for x, y in re.findall(r' x="([^"]+)" y="([^"]+)"', match.group())]
        steps = [(x - a, y - b) for (a, b), (x, y) in zip([(0, 0), *places], places)]
        return f'<path d="M0 0{steps_text(steps)}z" marker-mid="url(#{match.group(1)}m)"/>'
    body = MARKS.sub(line, body)
    return body + "".join(f'<marker id="{name}m"><use href="#{name}"/></marker>' for name in sorted(shapes))


def inline(svg, alt, classes):
    """A figure for the page: without its title, in the page's colours and font, with ids of its own."""
    band = re.search(r'data-title-band="([\d.]+)"', svg)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if not box or "<svg" not in svg:
        return Markup("")
    width, height, cut = float(box.group(1)), float(box.group(2)), float(band.group(1)) if band else 0.0
    body = svg[svg.index(">", svg.index("<svg")) + 1:svg.rindex("</svg>")]
    body = re.sub(r'<g id="title">.*?</g>', "", body, count=1, flags=re.S)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.S).replace("xlink:href", "href")
    body, prefix = styled_once(used_once(body)), classes.prefix()
    used = list(dict.fromkeys(re.findall(r'(?:href="#|url\(#)([^")]+)', body)))
    name = {old: f"{prefix}-{i}" for i, old in enumerate(used)}
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{name[m.group(1)]}"' if m.group(1) in name else "", body)
    body = re.sub(r'(href="#|url\(#)([^")]+)', lambda m: m.group(1) + name[m.group(2)], body)
    body = without_bare_groups(body)
    while CLIPPED_ALIKE.search(body):
        body = CLIPPED_ALIKE.sub(r"\1\2", body)
    body = re.sub(r' transform="rotate\(-?0 [^)]*\)"', "", body)
    # Lines of the grid end where their axes do.
    body = re.sub(rf' clip-path="[^"]*"(?=[^>]*stroke: {style.GRID}\b)', "", body)
    body = re.sub(r' style="([^"]*)"', classes, body)
    body = re.sub(r' d="([^"]*)"', small_path, body)
    body = re.sub(r'<path d="M[^A-Za-z"]*"[^>]*/>', "", body)  # a line of one point
    before = ""
    while before != body:
        before, body = body, STYLED_ALIKE.sub(lambda m: f'<path d="{m.group(1)}{m.group(5)}"{m.group(2)}/>{m.group(4)}'
                                              if classes.opaque(m.group(3)) else m.group(), body)
    body = marked(re.sub(r' (x|y|x1|x2|y1|y2)="(-?\d+\.\d+)"', lambda m: f' {m.group(1)}="{short(float(m.group(2)))}"', body))
    return Markup(f'<svg class="plot" role="img" aria-label="{Markup.escape(alt)}" viewBox="0 {cut:.1f} {width:.1f} '
                  f'{height - cut:.1f}" style="--w:{width / 72:.2f}" stroke-linejoin="round" stroke-linecap="butt">{body}</svg>')
