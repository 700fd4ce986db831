"""One picture per family for the page: the idea before the equations. Drawn from the real thing, not by hand.

Colours are the page's variables, so that a picture follows light and dark.
"""

import itertools
import math

import numpy

TEXT = 'font-size="13"'
NOTE = 'font-size="12" style="fill:var(--muted)"'


def points(pairs):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in pairs)


def picture(width, height, title, parts):
    body = "\n".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}">\n{body}\n</svg>'


# ------------------------------------------------------------------------------- moments bend a density

def maximum_entropy(target, grid, weights, order):
    """The density exp(sum a_k T_k) with the target's first `order` Chebyshev moments, by damped Newton steps."""
    basis = numpy.polynomial.chebyshev.chebvander(grid, order)
    moments = basis.T @ (weights * target)
    a = numpy.zeros(order + 1)
    a[0] = -math.log(weights.sum())
    def potential(a):
        return weights @ numpy.exp(numpy.minimum(basis @ a, 50)) - a @ moments
    for _ in range(200):
        density = numpy.exp(basis @ a) * weights
        gradient = basis.T @ density - moments
        step = numpy.linalg.solve(basis.T @ (basis * density[:, None]), gradient)
        size = 1.0
        while potential(a - size * step) > potential(a) - 1e-4 * size * gradient @ step and size > 1e-6:
            size /= 2
        a = a - size * step
        if numpy.abs(gradient).max() < 1e-10:
            break
    return numpy.exp(basis @ a)


def quantiles():
    grid = numpy.linspace(-1, 1, 401)
    weights = numpy.full(401, 2 / 400.0)
    weights[[0, -1]] /= 2
    bump = lambda centre, width: numpy.exp(-.5 * ((grid - centre) / width) ** 2) / width
    target = .42 * bump(-.45, .13) + .58 * bump(.36, .2)
    target /= weights @ target
    parts, scale = [], 82 / target.max()
    bins = [target[(grid >= -1 + .1 * i) & (grid <= -.9 + .1 * i)].mean() for i in range(20)]
    for i, order in enumerate((1, 2, 4, 8)):
        left, base = 12 + (i % 2) * 258, 118 + (i // 2) * 146
        x = lambda v: left + 120 * (v + 1)
        for j, height in enumerate(bins):
            parts.append(f'<rect x="{x(-1 + .1 * j) + .5:.1f}" y="{base - scale * height:.1f}" width="11" '
                         f'height="{scale * height:.1f}" style="fill:var(--grid)"/>')
        curve = maximum_entropy(target, grid, weights, order)
        parts.append(f'<polyline points="{points((x(v), base - scale * y) for v, y in zip(grid[::4], curve[::4]))}" '
                     'fill="none" style="stroke:var(--c1)" stroke-width="2.4" stroke-linejoin="round"/>')
        parts.append(f'<line x1="{left}" x2="{left + 240}" y1="{base}" y2="{base}" style="stroke:var(--muted)"/>')
        parts.append(f'<text x="{left + 2}" y="{base - 92}" {TEXT} font-weight="600">{order} moment{"s" if order > 1 else ""}</text>')
    parts.append(f'<text x="12" y="288" {NOTE}>grey: the data; line: the flattest density with just these moments</text>')
    return picture(520, 296, "Densities with 1, 2, 4 and 8 moments of the data close in on its histogram", parts)


# -------------------------------------------------------------------------------- a path through a tree

def treeshap():
    parts = []
    nodes = {"a": (128, 34, "income &lt; 60"), "b": (66, 112, "age &lt; 40"), "c": (196, 112, ""), "d": (26, 190, ""), "e": (106, 190, "income &lt; 25"),
             "f": (74, 262, ""), "g": (142, 262, "")}
    edges = [("a", "b", 1), ("a", "c", 0), ("b", "d", 0), ("b", "e", 1), ("e", "f", 0), ("e", "g", 1)]
    for start, end, on in edges:
        (x1, y1, _), (x2, y2, _) = nodes[start], nodes[end]
        parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" style="stroke:var(--{"c1" if on else "soft"})" stroke-width="{4 if on else 1.5}"/>')
    for name, (x, y, text) in nodes.items():
        if text:
            on = name in "abe"
            parts.append(f'<circle cx="{x}" cy="{y}" r="8" style="fill:var(--paper);stroke:var(--{"c1" if on else "muted"})" stroke-width="2.5"/>')
            parts.append(f'<text x="{x + (22 if name == "b" else 14)}" y="{y + 4 if name == "b" else y - 6}" {TEXT}>{text}</text>')
        else:
            on = name == "g"
            parts.append(f'<rect x="{x - 9}" y="{y - 9}" width="18" height="18" rx="2" style="fill:var(--{"c1" if on else "paper"});stroke:var(--{"c1" if on else "muted"})" stroke-width="2"/>')
    left, top, side = 286, 30, 212
    x = lambda v: left + side * v / 100
    y = lambda v: top + side * (1 - v / 80)
    parts.append(f'<rect x="{x(25):.1f}" y="{y(80):.1f}" width="{x(60) - x(25):.1f}" height="{y(40) - y(80):.1f}" style="fill:var(--c1)" opacity=".28"/>')
    parts.append(f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" style="stroke:var(--muted)"/>')
    for x1, y1, x2, y2 in ((60, 0, 60, 80), (0, 40, 60, 40), (25, 40, 25, 80)):
        parts.append(f'<line x1="{x(x1):.1f}" y1="{y(y1):.1f}" x2="{x(x2):.1f}" y2="{y(y2):.1f}" style="stroke:var(--muted)" stroke-width="1.3"/>')
    parts.append(f'<rect x="{x(25):.1f}" y="{y(80):.1f}" width="{x(60) - x(25):.1f}" height="{y(40) - y(80):.1f}" fill="none" style="stroke:var(--c1)" stroke-width="3"/>')
    parts.append(f'<circle cx="{x(44):.1f}" cy="{y(62):.1f}" r="5" style="fill:var(--ink)"/><text x="{x(44) + 9:.1f}" y="{y(62) + 5:.1f}" {TEXT} font-style="italic">x</text>')
    for value in (25, 60):
        parts.append(f'<text x="{x(value):.1f}" y="{top + side + 17}" text-anchor="middle" {NOTE}>{value}</text>')
    parts.append(f'<text x="{left - 6}" y="{y(40) + 4:.1f}" text-anchor="end" {NOTE}>40</text>')
    parts.append(f'<text x="{left + side}" y="{top + side + 17}" text-anchor="end" {NOTE}>income</text><text x="{left}" y="{top - 8}" {NOTE}>age</text>')
    parts.append(f'<text x="{left + side}" y="{top + side + 40}" text-anchor="end" {NOTE}>the path is a box: 25 ≤ income &lt; 60, age ≥ 40</text>')
    return picture(520, 290, "A path through a tree on the left is a box in the space of features on the right", parts)


# ------------------------------------------------------------------------- permutations on a sphere

def shapley():
    plane = numpy.array([[1, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3]], float)
    plane /= numpy.linalg.norm(plane, axis=1)[:, None]
    perms = list(itertools.permutations(range(4)))
    centred = numpy.array(perms) - 1.5
    sphere = centred @ plane.T
    sphere /= numpy.linalg.norm(sphere, axis=1)[:, None]
    turn, tilt = .62, .42
    spin = numpy.array([[math.cos(turn), math.sin(turn), 0], [-math.sin(turn), math.cos(turn), 0], [0, 0, 1]])
    lean = numpy.array([[1, 0, 0], [0, math.cos(tilt), -math.sin(tilt)], [0, math.sin(tilt), math.cos(tilt)]])
    seen = sphere @ (lean @ spin).T               # x to the right, z up, y away
    place = [(178 + 148 * v[0], 158 - 148 * v[2]) for v in seen]
    tops = numpy.linalg.qr(numpy.array([[.2, -.9, .55], [.95, .1, .35], [-.1, -.35, -.9]]).T)[0].T   # three directions at right angles, seen as (right, away, up)
    tops = tops * numpy.where(tops[:, 1:2] > 0, -1, 1)
    axes = [int(numpy.argmax(seen @ v)) for v in tops]
    opposite = [int(numpy.argmax(seen @ -v)) for v in tops]
    parts = ['<circle cx="178" cy="158" r="148" style="fill:var(--band);stroke:var(--grid)" stroke-width="1.5"/>']
    for i, j in itertools.combinations(range(24), 2):
        if numpy.abs(centred[i] - centred[j]).sum() == 2:      # two neighbouring values swapped
            back = seen[i][1] + seen[j][1] > 0
            (x1, y1), (x2, y2) = place[i], place[j]
            parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" style="stroke:var(--soft)" stroke-width="{.8 if back else 1.4}" opacity="{.4 if back else .9}"/>')
    for k, v in enumerate(tops):
        for end, i in ((v, axes[k]), (-v, opposite[k])):
            x, y = 178 + 148 * end[0], 158 - 148 * end[2]
            parts.append(f'<line x1="178" y1="158" x2="{x:.1f}" y2="{y:.1f}" style="stroke:var(--c{k})" stroke-width="1.8" stroke-dasharray="5 4"/>')
            parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{place[i][0]:.1f}" y2="{place[i][1]:.1f}" style="stroke:var(--c{k})" stroke-width="2.4"/>')
    chosen = {**{i: k for k, i in enumerate(axes)}, **{j: k for k, j in enumerate(opposite)}}
    for i in sorted(range(24), key=lambda i: -seen[i][1]):
        x, y = place[i]
        if i in chosen:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7.5" style="fill:var(--c{chosen[i]});stroke:var(--paper)" stroke-width="2"/>')
        else:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" style="fill:var(--muted)" opacity="{.45 if seen[i][1] > 0 else 1}"/>')
    name = lambda i: "".join("ABCD"[k] for k in sorted(range(4), key=lambda k: perms[i][k]))
    parts.append(f'<text x="350" y="40" {TEXT} font-weight="600">24 orders of 4 players</text>')
    for k, (i, j) in enumerate(zip(axes, opposite)):
        y = 72 + 34 * k
        parts.append(f'<circle cx="357" cy="{y - 4}" r="6.5" style="fill:var(--c{k})"/><text x="372" y="{y}" {TEXT}>{name(i)} and its reverse {name(j)}</text>')
    for k, line in enumerate(("Edges swap two neighbours.", "Three axes at right angles,", "drawn at random; each end takes", "the nearest order: six samples", "that lie far apart.")):
        parts.append(f'<text x="350" y="{186 + 19 * k}" {NOTE}>{line}</text>')
    return picture(560, 316, "The 24 permutations of four players on a sphere; the six nearest to the ends of three orthogonal axes", parts)


# --------------------------------------------------------------------------------- a bijection shuffles

def shuffle():
    size, keep, keys = 16, 11, (0x3, 0x1, 0x2)
    def round_of(value, key):  # VariablePhilox (algorithms/shuffle/bijective/bijection.hpp) over 2 + 2 bits
        left, right = value >> 2, value & 3
        product = 0xD2B74407B1CE6E93 * left
        return (((product >> 32) ^ key ^ right) & 3) << 2 | product & 3
    stages = [list(range(size))]
    for key in keys:
        row = [0] * size
        for position, item in enumerate(stages[-1]):
            row[round_of(position, key)] = item
        stages.append(row)
    parts, cell, left = [], 24, 100
    x = lambda position: left + cell * position + 12
    y = lambda stage: 34 + 54 * stage
    colour = lambda item: f"color-mix(in oklab,var(--c1) {round(100 * item / (keep - 1))}%,var(--c0))"
    for stage in range(len(keys)):
        for position, item in enumerate(stages[stage]):
            to = stages[stage + 1].index(item)
            ghost = item >= keep
            parts.append(f'<line x1="{x(position)}" y1="{y(stage) + 11}" x2="{x(to)}" y2="{y(stage + 1) - 11}" style="stroke:{"var(--soft)" if ghost else colour(item)}" '
                         f'stroke-width="{1 if ghost else 1.7}"{" stroke-dasharray=" + chr(34) + "3 3" + chr(34) if ghost else ""} opacity=".75"/>')
    kept = [item for item in stages[-1] if item < keep]
    for position, item in enumerate(kept):
        parts.append(f'<line x1="{x(stages[-1].index(item))}" y1="{y(3) + 11}" x2="{x(position)}" y2="{y(4) - 11}" style="stroke:{colour(item)}" stroke-width="1.7" opacity=".75"/>')
    for stage, row in enumerate(stages + [kept]):
        for position, item in enumerate(row):
            ghost = item >= keep
            look = 'style="fill:var(--paper);stroke:var(--soft)" stroke-dasharray="3 2"' if ghost else f'style="fill:{colour(item)}"'
            parts.append(f'<rect x="{x(position) - 11}" y="{y(stage) - 11}" width="22" height="22" rx="3" {look}/>')
            ink = "var(--muted)" if ghost else "#fff"
            parts.append(f'<text x="{x(position)}" y="{y(stage) + 4.5}" text-anchor="middle" font-size="12" style="fill:{ink}">{item}</text>')
    for stage, text in enumerate(("0 … 15", "round 1", "round 2", "round 3", "first 11")):
        parts.append(f'<text x="{left - 10}" y="{y(stage) + 4.5}" text-anchor="end" {NOTE}>{text}</text>')
    parts.append(f'<text x="{left}" y="286" {NOTE}>VariablePhilox on 4 bits, the first 3 of its 24 rounds, n = 11</text>')
    return picture(500, 294, "Sixteen indices pass three rounds of a cipher; the five that are too large are squeezed out", parts)


# ---------------------------------------------------------------------------------- a frontier grows

def extremely_random_tree(seed, depth=3):
    """{path of turns: whether the node's rows are of several classes} of a tree grown on three clouds of points.

    At each node a cut drawn between the extremes of each of two features; the purer one stays (Geurts et al. 2006).
    """
    random = numpy.random.RandomState(seed)
    classes = numpy.repeat([0, 1, 2], 12)
    points = random.normal([[0, 0], [1.6, .4], [.6, 1.7]], .55, (12, 3, 2)).transpose(1, 0, 2).reshape(36, 2)
    def purity(side):
        return sum(numpy.bincount(classes[rows], minlength=3).astype(float) @ numpy.bincount(classes[rows], minlength=3) / len(rows) for rows in side)
    nodes, shape = {"": numpy.arange(36)}, {}
    while nodes:
        path, rows = nodes.popitem()
        shape[path] = int(len(set(classes[rows])) > 1)
        if not shape[path] or len(path) == depth:
            continue
        sides = []
        for feature in (0, 1):
            values = points[rows, feature]
            left = values < random.uniform(values.min(), values.max())
            if left.any() and not left.all():
                sides.append((rows[left], rows[~left]))
        left, right = max(sides, key=purity)
        nodes[path + "0"], nodes[path + "1"] = left, right
    return shape


def extratrees():
    shapes = [extremely_random_tree(seed) for seed in GROWN]
    parts = ['<rect x="6" y="158" width="508" height="48" rx="8" style="fill:var(--c4)" opacity=".2"/>',
             f'<text x="10" y="302" {NOTE}>band: the frontier, split in one step; three trees on 36 points of three classes</text>']
    for tree, shape in enumerate(shapes):
        def place(path):
            middle = 88 + 172 * tree
            for depth, turn in enumerate(path):
                middle += (1 if turn == "1" else -1) * (42, 21, 10.5)[depth]
            return middle, 44 + 69 * len(path)
        parts.append(f'<text x="{88 + 172 * tree}" y="20" text-anchor="middle" {TEXT} font-weight="600">tree {tree + 1}</text>')
        for path, inner in sorted(shape.items(), key=lambda item: len(item[0])):
            x, y = place(path)
            if path:
                up_x, up_y = place(path[:-1])
                dash = ' stroke-dasharray="3 3"' if len(path) == 3 else ""
                parts.append(f'<line x1="{up_x}" y1="{up_y}" x2="{x}" y2="{y}" style="stroke:var(--soft)" stroke-width="1.4"{dash}/>')
        for path, inner in shape.items():
            x, y = place(path)
            if not inner:
                ahead = len(path) == 3
                parts.append(f'<rect x="{x - 7}" y="{y - 7}" width="14" height="14" rx="2" style="fill:var(--{"paper" if ahead else "c2"});stroke:var(--{"soft" if ahead else "c2"})"/>')
            elif len(path) < 2:
                parts.append(f'<circle cx="{x}" cy="{y}" r="8" style="fill:var(--muted)"/>')
            elif len(path) == 2:
                parts.append(f'<circle cx="{x}" cy="{y}" r="9" style="fill:var(--c1);stroke:var(--paper)" stroke-width="2"/>')
            else:
                parts.append(f'<circle cx="{x}" cy="{y}" r="7" style="fill:var(--paper);stroke:var(--soft)" stroke-width="1.5" stroke-dasharray="3 2"/>')
    for x, shape, text in ((16, '<circle cx="{x}" cy="274" r="7" style="fill:var(--muted)"/>', "split"), (92, '<circle cx="{x}" cy="274" r="7" style="fill:var(--c1)"/>', "open now"),
                           (196, '<rect x="{r}" y="268" width="12" height="12" rx="2" style="fill:var(--c2)"/>', "pure: a leaf"), (318, '<circle cx="{x}" cy="274" r="6.5" style="fill:var(--paper);stroke:var(--soft)" stroke-dasharray="3 2" stroke-width="1.5"/>', "the next frontier")):
        parts.append(shape.format(x=x, r=x - 6) + f'<text x="{x + 13}" y="278" {NOTE}>{text}</text>')
    return picture(520, 310, "Three trees grow together, one level at a time", parts)


GROWN = (6, 5, 18)  #: seeds of the three trees that are drawn


PICTURES = {"quantiles": quantiles, "treeshap": treeshap, "shapley": shapley, "shuffle": shuffle, "extratrees": extratrees}
