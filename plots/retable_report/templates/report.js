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
