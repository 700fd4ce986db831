"use strict";
// Quality against cost: marks of every method, the Pareto front of each machine, a choice of data, methods that can be left out.
const retablePareto = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const node = (tag, attributes = {}, ...children) => {
    const element = document.createElementNS(NS, tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    element.append(...children);
    return element;
  };
  const html = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const [METHOD, LABEL, DEVICE, SOURCE, X, XLOW, XHIGH, Y, YLOW, YHIGH, DETAIL, ANCHOR] = [...Array(12).keys()];
  const short = v => {
    if (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5)) return v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−");
    return String(+v.toPrecision(3)).replace("-", "−");
  };
  const raised = n => String(n).replace(/[-\d]/g, d => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(d)]);

  // A scale from values to pixels with its ticks: [[value, text], …].
  const scaleOf = (values, axis, from, to) => {
    values = values.filter(v => v !== null && (!axis.log || v > 0));
    let low = Math.min(...values), high = Math.max(...values);
    if (axis.enough) { low = Math.min(low, axis.enough); high = Math.max(high, axis.enough); }
    const at = axis.log ? Math.log10 : v => v;
    let a = at(low), b = at(high);
    const pad = (b - a || 1) * .07;
    a -= pad; b += pad;
    const ticks = [];
    if (axis.log) {
      const steps = b - a > 2.2 ? [1] : b - a > .9 ? [1, 3] : [1, 1.5, 2, 3, 4, 5, 6, 8];
      const every = b - a > 7 ? 2 : 1;
      for (let k = Math.floor(a); k <= b; ++k) for (const s of steps) {
        const v = s * 10 ** k;
        if (at(v) >= a && at(v) <= b && (steps.length > 1 || k % every === 0))
          ticks.push([v, (k < -3 || k > 4) && s === 1 ? "10" + raised(k) : short(v)]);
      }
    } else {
      const raw = (b - a) / 4, unit = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 2.5, 5, 10].find(s => s * unit >= raw) * unit;
      for (let v = Math.ceil(a / step) * step; v <= b; v += step) ticks.push([v, short(+v.toPrecision(6))]);
    }
    return {place: v => from + (to - from) * (at(v) - a) / (b - a), ticks};
  };

  const worth = (v, axis) => {
    const better = axis.low ? -v : v;
    return axis.enough && (axis.low ? v <= axis.enough : v >= axis.enough) ? (axis.low ? -axis.enough : axis.enough) : better;
  };
  // The points that no other one beats in one axis without losing in the other.
  const paretoFront = (points, spec) => {
    const sorted = points.map(p => [worth(p[X], spec.x), worth(p[Y], spec.y), p]).sort((a, b) => b[0] - a[0] || b[1] - a[1]);
    let best = -Infinity;
    return sorted.filter(([, y]) => y > best && ((best = y), true)).map(entry => entry[2]);
  };

  const colourOf = i => i < 8 ? `var(--c${i})` : `color-mix(in oklab,var(--c${i % 8}) ${i < 16 ? 50 : 75}%,var(--${i < 16 ? "ink" : "paper"}))`;
  const mark = (shape, x, y, r, colour, hollow) => {
    const look = {fill: hollow ? "var(--paper)" : colour, stroke: colour, "stroke-width": hollow ? 1.6 : 1, "fill-opacity": hollow ? 1 : .85};
    if (shape === "GPU") return node("rect", {x: x - r * .9, y: y - r * .9, width: 1.8 * r, height: 1.8 * r, ...look});
    return node("circle", {cx: x, cy: y, r, ...look});
  };

  // state: {panel, off: Set of methods, devices and sources that are left out}
  const draw = (spec, state, width, height, small, tell) => {
    const panel = spec.panels[state.panel];
    const methods = [...new Set(spec.panels.flatMap(p => p.points.map(q => q[METHOD])))];
    const colour = p => colourOf(methods.indexOf(p[METHOD]));
    // A log axis has no place for 0: it is drawn below all others.
    const zero = !spec.y.floor && spec.y.log && panel.points.some(p => p[Y] === 0)
      ? Math.min(1, ...panel.points.map(p => p[Y]).filter(v => v > 0)) / 3 : 0;
    const floor = spec.y.floor || zero;
    const drawable = p => (!spec.x.log || p[X] > 0) && (!spec.y.log || p[Y] > 0 || floor);
    const lift = p => floor && p[Y] < floor ? Object.assign([...p], {[Y]: floor, raw: p[Y]}) : p;
    const every = panel.points.filter(drawable).map(lift);
    const points = every.filter(p => ![p[METHOD], p[DEVICE], "source " + p[SOURCE]].some(k => state.off.has(k)));
    const left = small ? 4 : 54, bottom = small ? 4 : 44, top = small ? 4 : 22;
    const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${spec.title}: ${panel.name}`});
    const x = scaleOf(every.map(p => p[X]), spec.x, left, width - (small ? 4 : 14));
    const y = scaleOf(every.map(p => p[Y]), spec.y, height - bottom, top);
    if (zero) y.ticks = [[zero, "0"], ...y.ticks.filter(([v]) => v > 1.5 * zero)];
    const text = (words, at, more = {}) => node("text", {x: at[0], y: at[1], "font-size": 12, style: "fill:var(--muted)", ...more}, words);
    if (!small) {
      let last = -Infinity;
      for (const [v, words] of x.ticks) {
        const px = x.place(v);
        svg.append(node("line", {x1: px, x2: px, y1: top, y2: height - bottom, stroke: "var(--grid)"}));
        if (px - last > 38) { svg.append(text(words, [px, height - bottom + 16], {"text-anchor": "middle"})); last = px; }
      }
      for (const [v, words] of y.ticks) {
        svg.append(node("line", {x1: left, x2: width - 14, y1: y.place(v), y2: y.place(v), stroke: "var(--grid)"}));
        svg.append(text(words, [left - 6, y.place(v) + 4], {"text-anchor": "end"}));
      }
      const say = axis => axis.name + (axis.unit ? ` (${axis.unit})` : "");
      svg.append(text(`${say(spec.x)} ${spec.x.low ? "◂ better" : "better ▸"}`, [width - 14, height - 8], {"text-anchor": "end"}));
      svg.append(text(`${spec.y.low ? "▾" : "▴"} better: ${spec.y.low ? "smaller" : "larger"} ${say(spec.y)}`, [4, 13]));
      if (spec.y.enough) svg.append(node("line", {x1: left, x2: width - 14, y1: y.place(spec.y.enough), y2: y.place(spec.y.enough), stroke: "var(--c1)", "stroke-dasharray": "5 4"}));
    } else {
      svg.append(node("rect", {x: .5, y: .5, width: width - 1, height: height - 1, rx: 4, fill: "none", stroke: "var(--line)"}));
    }
    const named = [];
    spec.sources.forEach((source, s) => {
      const front = paretoFront(points.filter(p => p[SOURCE] === s), spec);
      const steps = front.flatMap((p, i) => i ? [[x.place(front[i - 1][X]), y.place(p[Y])], [x.place(p[X]), y.place(p[Y])]] : [[x.place(p[X]), y.place(p[Y])]]);
      if (steps.length > 1 && !spec.y.enough) svg.append(node("polyline", {points: steps.map(p => p.map(v => v.toFixed(1)).join()).join(" "), fill: "none",
        stroke: "var(--ink)", "stroke-opacity": .45, "stroke-width": small ? 1 : 1.4, "stroke-dasharray": source.recorded ? "4 3" : "none", class: "front"}));
      named.push(...front);
    });
    const lines = new Map();
    for (const p of points) {
      const key = [p[LABEL], p[DEVICE], p[SOURCE]].join("|");
      lines.set(key, [...(lines.get(key) || []), p]);
    }
    for (const line of lines.values()) line.sort((a, b) => parseFloat(a[DETAIL].replace(/^\D*/, "")) - parseFloat(b[DETAIL].replace(/^\D*/, "")) || a[X] - b[X]);
    for (const line of lines.values()) if (line.length > 1 && !small)
      svg.append(node("polyline", {points: line.map(p => `${x.place(p[X]).toFixed(1)},${y.place(p[Y]).toFixed(1)}`).join(" "), fill: "none", stroke: colour(line[0]), "stroke-opacity": .4}));
    for (const p of points) {
      const px = x.place(p[X]), py = y.place(p[Y]);
      if (!small) for (const [low, high, across] of [[p[XLOW], p[XHIGH], true], [p[YLOW], p[YHIGH], false]]) {
        if (low === null || high === null || low <= 0 || p.raw !== undefined) continue;
        const ends = across ? {x1: x.place(low), x2: x.place(high), y1: py, y2: py} : {x1: px, x2: px, y1: y.place(low), y2: y.place(high)};
        svg.append(node("line", {...ends, stroke: colour(p), "stroke-opacity": .5}));
      }
      const shape = mark(p[DEVICE], px, py, small ? 2.6 : 5, colour(p), spec.sources[p[SOURCE]].recorded);
      if (!small) {
        shape.setAttribute("tabindex", "-1");
        shape.setAttribute("class", "dot");
        const source = spec.sources[p[SOURCE]];
        const words = [p[LABEL] + (p[LABEL].includes(p[DEVICE]) ? "" : `, ${p[DEVICE]}`), p[DETAIL], `${spec.x.name}: ${short(p[X])} ${spec.x.unit}`,
          `${spec.y.name}: ${short(p.raw === undefined ? p[Y] : p.raw)} ${spec.y.unit}`, source.recorded ? `recorded on ${source.name}, ${source.date}` : source.name];
        shape.append(node("title", {}, words.filter(Boolean).join("\n")));
        shape.onmouseenter = shape.onfocus = () => tell(words, px, py);
        shape.onmouseleave = shape.onblur = () => tell(null);
        if (p[ANCHOR]) shape.onclick = () => tell("open", p[ANCHOR]);
      }
      svg.append(shape);
    }
    if (!small) {  // the names on the Pareto front, where there is room
      const taken = every.map(p => [x.place(p[X]) - 5, y.place(p[Y]) - 5, 10, 10]);
      const said = new Set(), one = new Set(every.map(p => p[DEVICE])).size === 1;
      for (const p of named) {
        const name = one || p[LABEL].includes(p[DEVICE]) ? p[LABEL] : `${p[LABEL]}, ${p[DEVICE]}`;
        if (said.has(name)) continue;
        const wide = 6.9 * name.length, px = x.place(p[X]), py = y.place(p[Y]);
        const spots = [[px + 9, py - 8], [px + 9, py + 16], [px - 9 - wide, py - 8], [px - 9 - wide, py + 16], [px - wide / 2, py - 12], [px - wide / 2, py + 22]];
        const free = spots.find(([a, b]) => a > left && a + wide < width && b - 11 > top - 8 && b < height - bottom &&
          !taken.some(([c, d, w, h]) => a < c + w && a + wide > c && b - 11 < d + h && b > d));
        if (!free) continue;
        said.add(name);
        taken.push([free[0], free[1] - 11, wide, 13]);
        svg.append(node("text", {x: free[0], y: free[1], "font-size": 11.5, style: "fill:var(--ink)"}, name));
      }
    }
    return svg;
  };

  const TEXTS = [METHOD, LABEL, DEVICE, DETAIL, ANCHOR];
  const unpack = spec => {
    if (!spec.words) return spec;
    for (const panel of spec.panels) for (const point of panel[1]) for (const k of TEXTS) point[k] = spec.words[point[k]];
    spec.panels = spec.panels.map(([name, points]) => ({name, points}));
    delete spec.words;
    return spec;
  };
  const mini = (holder, packed) => {
    const spec = unpack(packed);
    holder.replaceChildren(draw(spec, {panel: 0, off: new Set()}, Math.max(120, holder.clientWidth || 200), 96, true));
  };

  const full = (holder, packed, open) => {
    const spec = unpack(packed);
    const state = {panel: 0, off: new Set()};
    const stage = html("div", {className: "stage"}), tip = html("div", {className: "tip", hidden: true});
    const tell = (words, x, y) => {
      if (words === "open") { open(x); return; }
      tip.hidden = !words;
      if (!words) return;
      tip.replaceChildren(...words.filter(Boolean).map((line, i) => html(i ? "div" : "b", {textContent: line})));
      const wide = stage.clientWidth;
      tip.style.left = `${Math.max(0, Math.min(x + 12, wide - 250))}px`;
      tip.style.top = `${y + 14}px`;
    };
    const fill = () => {
      const width = Math.max(280, stage.clientWidth || 680);
      stage.replaceChildren(draw(spec, state, width, Math.min(430, Math.max(300, width * .52)), false, tell), tip);
      tip.hidden = true;
      const here = new Set(spec.panels[state.panel].points.flatMap(p => [p[METHOD], p[DEVICE], "source " + p[SOURCE]]));
      chips.forEach(chip => { chip.hidden = !here.has(chip.dataset.key); });
    };
    const methods = [...new Set(spec.panels.flatMap(p => p.points.map(q => q[METHOD])))];
    const chip = (key, words, colour, sign) => {
      const button = html("button", {type: "button", className: "chip"}, ...(sign ? [html("i", {textContent: sign, style: colour ? `color:${colour}` : ""})] : []), words);
      button.dataset.key = key;
      button.setAttribute("aria-pressed", "true");
      button.onclick = () => {
        if (!state.off.delete(key)) state.off.add(key);
        button.setAttribute("aria-pressed", String(!state.off.has(key)));
        fill();
      };
      return button;
    };
    const devices = [...new Set(spec.panels.flatMap(p => p.points.map(q => q[DEVICE])))];
    const chips = [...methods.map((m, i) => chip(m, m, colourOf(i), "●")),
      ...(devices.length > 1 ? devices.map(d => chip(d, d, "", d === "GPU" ? "■" : "●")) : []),
      ...spec.sources.map((s, i) => chip("source " + i, s.recorded ? `recorded on ${s.name}` : s.name, "", s.recorded ? "○" : "●"))];
    if (spec.sources.length === 1) chips.pop();
    const choice = html("select", {ariaLabel: "Data set"}, ...spec.panels.map((p, i) => html("option", {value: i, textContent: p.name})));
    choice.onchange = () => { state.panel = Number(choice.value); fill(); };
    const sources = spec.sources.length === 1 && spec.sources[0].recorded ? `All marks are hollow: recorded on ${spec.sources[0].name}, ${spec.sources[0].date}. ` : "";
    holder.replaceChildren(...(spec.panels.length > 1 ? [html("label", {className: "pick"}, "data ", choice)] : []), stage,
      html("div", {className: "legend", role: "group", ariaLabel: "Methods shown"}, ...chips),
      html("p", {className: "small", textContent: `${spec.note ? spec.note + " " : ""}${sources}The line is the Pareto front of each machine. A choice of a name leaves the method out; a mark leads to its table.`}));
    fill();
    return fill;
  };
  return {mini, full};
})();
"use strict";
(() => {
  const root = document.documentElement;
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const make = (tag, props = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), props);
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
  };
  document.body.classList.add("live");

  // ---- light, dark, or as the system says
  const themes = ["auto", "light", "dark"];
  const theme = document.getElementById("theme");
  const setTheme = name => {
    if (name === "auto") delete root.dataset.theme; else root.dataset.theme = name;
    theme.querySelector("span").textContent = name;
    theme.setAttribute("aria-label", "Colours: " + name);
    try { localStorage.setItem("retable-theme", name); } catch (e) { /* a file page may have no storage */ }
  };
  let stored = null;
  try { stored = localStorage.getItem("retable-theme"); } catch (e) { /* likewise */ }
  setTheme(themes.includes(stored) ? stored : "auto");
  theme.onclick = () => setTheme(themes[(themes.indexOf(theme.querySelector("span").textContent) + 1) % 3]);

  // ---- one view at a time; a link shows the view that holds its target and opens what it lies in
  const views = all(".view");
  let data = {tables: {}, cells: {}, pareto: {}};
  try { data = Object.assign(data, JSON.parse(document.getElementById("data").textContent)); } catch (e) { console.error(e); }
  const drawn = new Map();
  const go = anchor => {
    const target = document.getElementById(anchor);
    if (target) location.hash = anchor; else if (data.places && data.places[anchor]) location.href = data.places[anchor];
  };
  const picture = holder => {
    const spec = data.pareto[holder.dataset.pareto];
    if (!spec || drawn.has(holder)) return;
    drawn.set(holder, holder.classList.contains("mini") ? (() => { retablePareto.mini(holder, spec); return () => retablePareto.mini(holder, spec); })()
                                                         : retablePareto.full(holder, spec, go));
  };
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const view = target && target.closest(".view") || views[0];
    views.forEach(other => { other.hidden = other !== view; });
    all(".tabs a[data-view]").forEach(link => {
      if (view && link.dataset.view === view.id) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    });
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) for (const inner of all(":scope > details.fold", target)) inner.open = true;
    if (view) all("[data-pareto]", view).forEach(holder => { if (drawn.has(holder)) drawn.get(holder)(); else picture(holder); });
    if (target && target !== view) target.scrollIntoView(); else scrollTo(0, 0);
  };
  addEventListener("hashchange", reveal);
  let wide = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === wide) return;
    wide = innerWidth;
    drawn.forEach((again, holder) => { if (holder.offsetParent) again(); });
  });

  // ---- on a narrow screen a row of a wide table is a list: each value under the head of its column
  const narrow = matchMedia("(max-width:560px)");
  const stack = table => {
    if (!table.tHead || table.dataset.stacked) return;
    table.dataset.stacked = "1";
    const heads = [...table.tHead.rows[0].cells].map(th => th.textContent.trim());
    if (heads.length > 3) {
      table.classList.add("stack");
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.head = heads[i] || ""; });
    }
  };
  const stackAll = () => { if (narrow.matches) all("details[open] table, .view > section table").forEach(stack); };
  document.addEventListener("toggle", event => { if (narrow.matches && event.target.open) all("table", event.target).forEach(stack); }, true);
  narrow.addEventListener("change", stackAll);

  // ---- sorting: by data-v where it is given, as numbers where all are numbers; empty cells last
  // What is written for people, as what can be compared: 1.2e−3, 12 300, 2²⁰+1.
  const plain = text => text.replace(/\u2212/g, "-").replace(/(\d)\u202f(?=\d)/g, "$1")
    .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, digits => "^" + [...digits].map(d => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(d)).join(""));
  const sortable = table => {
    if (!table.tHead) return;
    table.classList.add("live");
    const original = [...table.tBodies[0].rows];
    all("th", table.tHead).forEach((th, column) => {
      th.tabIndex = 0;
      const sort = () => {
        const before = th.getAttribute("aria-sort");
        all("th", table.tHead).forEach(other => other.removeAttribute("aria-sort"));
        all("tr.drill", table).forEach(row => row.remove());
        if (before === "descending") { table.tBodies[0].append(...original); return; }
        const down = before === "ascending";
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        const value = row => {
          const cell = row.cells[column];
          if (!cell) return "";
          return plain((cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent).trim());
        };
        const values = new Map(original.map(row => [row, value(row)]));
        const numeric = [...values.values()].every(v => v === "" || v === "–" || isFinite(v));
        const empty = v => v === "" || v === "–";
        const compare = (a, b) => {
          const x = values.get(a), y = values.get(b);
          if (empty(x) || empty(y)) return empty(x) - empty(y);
          const order = numeric ? x - y : x.localeCompare(y, "en", {numeric: true});
          return down ? -order : order;
        };
        table.tBodies[0].append(...original.slice().sort(compare));
      };
      th.onclick = sort;
      th.onkeydown = event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } };
    });
  };
  all("table.sortable").forEach(sortable);
  window.retableSortable = sortable;

  // ---- claims: one verdict at a time
  all(".filter").forEach(group => {
    group.hidden = false;
    all("button", group).forEach(button => button.onclick = () => {
      all("button", group).forEach(other => other.setAttribute("aria-pressed", other === button));
      all(".claim", group.parentElement).forEach(claim => { claim.hidden = Boolean(button.dataset.show) && claim.dataset.verdict !== button.dataset.show; });
    });
  });

  // ---- copying a command
  document.addEventListener("click", async event => {
    if (!event.target.classList.contains("copy")) return;
    const code = event.target.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      event.target.textContent = "copied";
    } catch (e) {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      event.target.textContent = "selected";
    }
    setTimeout(() => event.target.textContent = "copy", 1500);
  });
  const command = text => make("div", {className: "cmd"}, make("code", {textContent: text}),
                               make("button", {type: "button", className: "copy", textContent: "copy"}));

  // ---- every measurement, and the cell behind each
  const short = v => {
    if (v === null || v === undefined || v === "") return "";
    const n = Number(v);
    if (!isFinite(n)) return String(v);
    if (n !== 0 && (Math.abs(n) < 1e-5 || Math.abs(n) >= 1e7)) return n.toExponential(2).replace("-", "−");
    return String(+n.toPrecision(4)).replace("-", "−");
  };
  const svg = (tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    return element;
  };

  // Samples as dots along their range, in the order they were taken from top to bottom; the tick is the median.
  const strip = (values, name) => {
    const good = values.filter(v => v !== null).sort((a, b) => a - b);
    if (!good.length) return null;
    const low = good[0], high = good[good.length - 1], span = high - low || 1;
    const at = v => high > low ? 20 + 520 * (v - low) / span : 280;
    const picture = svg("svg", {viewBox: "0 0 560 44", class: "strip", role: "img", "aria-label": `${good.length} samples of ${name}`});
    picture.append(svg("line", {x1: 20, x2: 540, y1: 30, y2: 30, stroke: "var(--line)"}));
    values.forEach((v, i) => {
      if (v !== null) picture.append(svg("circle", {cx: at(v), cy: 6 + 20 * (values.length > 1 ? i / (values.length - 1) : .5), r: 3, fill: "var(--c0)", "fill-opacity": .65}));
    });
    const middle = good.length % 2 ? good[(good.length - 1) / 2] : (good[good.length / 2 - 1] + good[good.length / 2]) / 2;
    picture.append(svg("line", {x1: at(middle), x2: at(middle), y1: 2, y2: 32, stroke: "var(--c1)", "stroke-width": 2}));
    for (const [v, anchor, x] of [[low, "start", 16], [high, "end", 544]]) {
      if (v === high && high === low) continue;
      const text = svg("text", {x: high > low ? x : 280, y: 42, "text-anchor": high > low ? anchor : "middle", "font-size": 11, fill: "var(--muted)"});
      text.textContent = short(v);
      picture.append(text);
    }
    return picture;
  };

  const drill = (key, reason) => {
    const cell = data.cells[key];
    const box = make("div", {}, make("p", {className: "small", textContent: "cell " + key}));
    if (!cell) {
      if (reason) box.append(make("p", {textContent: reason}));
      box.append(make("p", {className: "small", textContent: "Its samples are not on this page. To see them:"}), command("build/retable explain " + key));
      return box;
    }
    if (cell.r) box.append(make("p", {textContent: cell.r}));
    for (const [name, unit, total, samples, clocks] of cell.m) {
      const good = samples.filter(v => v !== null);
      box.append(make("p", {className: "small", textContent: `${name}${unit ? " (" + unit + ")" : ""}: ${total} sample${total === 1 ? "" : "s"}` +
        (samples.length < total ? samples.length ? `, the first ${samples.length} shown` : ", too many for this page: see the command below" : "") + (samples.length > good.length ? `, ${samples.length - good.length} failed` : "")}));
      const picture = strip(samples, name);
      if (picture) box.append(picture);
      if (clocks && clocks.length) box.append(make("p", {className: "small", textContent: `GPU clock at these samples: ${short(Math.min(...clocks))} to ${short(Math.max(...clocks))} MHz`}));
      if (samples.length) box.append(make("details", {}, make("summary", {className: "small", textContent: "values"}),
        make("p", {className: "small", textContent: samples.map(v => v === null ? "failed" : short(v)).join(", ")})));
    }
    const list = make("dl");
    const words = data.words || [];
    for (let i = 0; i < cell.f.length; i += 2) list.append(make("dt", {textContent: words[cell.f[i]]}), make("dd", {textContent: words[cell.f[i + 1]]}));
    if (cell.t !== null) list.append(make("dt", {textContent: "took"}), make("dd", {textContent: short(cell.t) + " s"}));
    box.append(list, command(words[cell.c] || "build/retable explain " + key));
    return box;
  };

  const PAGE = 200;
  const mount = holder => {
    if (holder.dataset.done) return;
    holder.dataset.done = "1";
    const table = data.tables[holder.dataset.table];
    if (!table) return;
    const names = ["Label", ...table.columns, "Metric", "Median", "95 % interval", "n", "Failed", "Status"];
    const shares = table.rows.some(row => row.length > 10 + 1 + table.columns.length);
    if (shares) names.push("Of the ceiling");
    const from = 1 + table.columns.length;
    const body = make("tbody");
    const grid = make("table", {className: "sortable"}, make("thead", {}, make("tr", {}, ...names.map((n, i) =>
      make("th", {textContent: n, className: i >= from + 1 && i <= from + 4 ? "num" : ""})))), body);
    const search = make("input", {type: "search", placeholder: "filter rows", ariaLabel: "Filter rows"});
    const tail = make("span", {className: "small"});
    const more = make("button", {type: "button", textContent: "show more"});
    const wrapper = make("div", {className: "scroll", tabIndex: 0});
    let limit = PAGE;
    const fill = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = table.rows.filter(row => words.every(word => row.join(" ").toLowerCase().includes(word)));
      const fresh = grid.cloneNode(true);
      const rows = found.slice(0, limit).map(row => {
        const [metric, unit, status, median, low, high, n, failures, reason, keys, share, ceiling] = row.slice(from);
        const tr = make("tr", {className: keys ? "pick" : "", tabIndex: keys ? 0 : -1});
        const th = make("th", {textContent: row[0], scope: "row"});
        tr.append(th, ...row.slice(1, from).map(v => make("td", {textContent: isFinite(v) && v !== "" ? short(v) : v})));
        const cells = [unit ? `${metric} (${unit})` : metric, short(median), low === null ? "" : `${short(low)} … ${short(high)}`, n, failures === "0" ? "" : failures,
                       status.replace("_", " ") + (reason ? ": " + reason : "")];
        cells.forEach((v, i) => tr.append(make("td", {textContent: v, className: i >= 1 && i <= 4 ? "num" : ""})));
        tr.cells[from + 1].dataset.v = median === null ? "" : median;
        tr.cells[from + 2].dataset.v = low === null ? "" : low;
        if (shares) {
          const td = make("td", {className: "num", title: ceiling || "", textContent: share === null ? "" : `${short(+(100 * share).toPrecision(3))} %`});
          td.dataset.v = share === null ? "" : share;
          tr.append(td);
        }
        const open = () => {
          if (tr.nextSibling && tr.nextSibling.classList && tr.nextSibling.classList.contains("drill")) { tr.nextSibling.remove(); return; }
          const list = keys.split(" ");
          tr.after(make("tr", {className: "drill"}, make("td", {colSpan: names.length}, ...list.slice(0, 8).map(key => drill(key, reason)),
            list.length > 8 ? make("p", {className: "small", textContent: `and ${list.length - 8} more cells: ${list.slice(8, 40).join(" ")}`}) : null)));
        };
        if (keys) {
          tr.onclick = open;
          tr.onkeydown = event => { if (event.key === "Enter") open(); };
        }
        return tr;
      });
      fresh.tBodies[0].replaceChildren(...rows);
      wrapper.replaceChildren(fresh);
      sortable(fresh);
      if (narrow.matches) stack(fresh);
      const total = table.total || table.rows.length;
      tail.textContent = `${Math.min(limit, found.length)} of ${words.length ? found.length + " found" : total} rows; choose a row to see its samples` +
        (total > table.rows.length ? `; the page holds ${table.rows.length}, the rest is in the tidy CSV` : "");
      more.hidden = found.length <= limit;
    };
    search.oninput = () => { limit = PAGE; fill(); };
    more.onclick = () => { limit += 5 * PAGE; fill(); };
    holder.append(make("div", {className: "page"}, search, tail), wrapper, more);
    fill();
  };
  all("details.cells").forEach(holder => {
    holder.addEventListener("toggle", () => { if (holder.open) mount(holder); });
    if (holder.open) mount(holder);
  });

  // ---- print: every table, no drill-down
  let closed = [];
  addEventListener("beforeprint", () => {
    all("[data-pareto]").forEach(picture);
    closed = all("details.art,details.fold,details.table,details.teach,.teach details,details.data,details.origins").filter(d => !d.open);
    closed.forEach(d => d.open = true);
  });
  addEventListener("afterprint", () => closed.forEach(d => d.open = false));
  stackAll();
  reveal();
})();
