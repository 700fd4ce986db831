"""The pictures of the course: every slider changes its picture, and what the pictures say is so. Needs Chromium."""

import glob
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

TEACHING = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "teaching")
FAMILIES = ("shuffle", "quantiles", "treeshap", "shapley", "extratrees")
CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)

DRIVER = """<pre id="told"></pre><script>
const told = {errors: [], moved: {}, said: {}};
window.onerror = message => { told.errors.push(message); };
const set = (e, value) => { e.value = value; e.dispatchEvent(new Event("input", {bubbles: true})); };
for (const play of document.querySelectorAll(".play")) {
  const svg = play.querySelector("svg"), fields = [...play.querySelectorAll("input,select")], first = fields.map(e => e.value);
  for (const e of fields) {
    const seen = new Set([svg.innerHTML]), values = e.type === "range" ? [e.min, e.max, (+e.min + +e.max) / 2] : [...e.options].map(o => o.value);
    for (const value of values) { set(e, value); seen.add(svg.innerHTML); if (/NaN|undefined|Infinity/.test(play.innerHTML)) told.errors.push(play.id + ": " + e.name + " = " + value); }
    told.moved[play.id + " " + e.name] = seen.size;
    set(e, first[fields.indexOf(e)]);
  }
}
for (const [id, values] of ASKED) {
  const play = document.getElementById(id);
  for (const name in values) set(play.querySelector(`[name=${name}]`), values[name]);
  told.said[id + " " + Object.values(values).join(" ")] = play.querySelector("output").textContent;
}
document.getElementById("told").textContent = JSON.stringify(told);
</script>"""

ASKED = [
    ("shuffle-bijection", {"rounds": 0, "cards": 16}), ("shuffle-bijection", {"rounds": 24, "cards": 13}),
    ("shuffle-memory", {"step": 256, "cache": 8, "method": "gather"}), ("shuffle-memory", {"step": 256, "cache": 32, "method": "gather"}),
    ("shuffle-memory", {"step": 256, "cache": 8, "method": "buckets first"}),
    *[("quantiles-moments", {"order": order, "data": data}) for order in (2, 4, 8) for data in ("two bumps", "five values")],
    ("quantiles-cancel", {"far": 0, "order": 8}), ("quantiles-cancel", {"far": 20, "order": 8}),
    ("treeshap-box", {"income": 88, "age": 25}), ("treeshap-box", {"income": 10, "age": 10}),
    *[("treeshap-packing", {"paths": 72, "packing": rule}) for rule in ("None", "NF", "FFD", "BFD")],
    ("shapley-orders", {"orders": 12}), ("shapley-orders", {"orders": 200}),
    ("shapley-sphere", {"orders": 8, "sample": "greedy"}), ("shapley-sphere", {"orders": 24, "sample": "greedy"}),
    *[("extratrees-cuts", {"trees": trees, "cut": cut}) for trees in (1, 60) for cut in ("random", "best")],
    ("extratrees-frontier", {"step": 20, "grow": "a frontier of all trees"}), ("extratrees-frontier", {"step": 20, "grow": "a node at a time"}),
]


def numbers(text):
    return [float(number.replace("−", "-")) for number in re.findall(r"[-−]?\d+(?:\.\d+)?", text)]


class Teaching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if CHROMIUM is None:
            raise unittest.SkipTest("no Chromium: the pictures of the course are not tried")
        with tempfile.TemporaryDirectory(prefix="retable-teaching-") as folder:
            page = os.path.join(folder, "page.html")
            lessons = [pathlib.Path(TEACHING, family + ".html").read_text(encoding="utf-8") for family in FAMILIES]
            with open(page, "w", encoding="utf-8") as out:
                out.write("<!doctype html><meta charset=utf-8>" + "".join(lessons) + DRIVER.replace("ASKED", json.dumps(ASKED)))
            done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + folder + "/profile",
                                   "--dump-dom", "file://" + page], text=True, capture_output=True, timeout=240)
        found = re.search(r'<pre id="told">(.+?)</pre>', done.stdout, re.S)
        if not found:
            raise AssertionError("the pictures' scripts did not run to their end:\n" + done.stderr[-2000:])
        cls.told = json.loads(html.unescape(found[1]))

    def said(self, play, *values):
        return self.told["said"][" ".join([play, *map(str, values)])]

    def test_every_control_changes_its_picture(self):
        self.assertEqual(self.told["errors"], [])
        plays = {key.split()[0] for key in self.told["moved"]}
        self.assertEqual(len(plays), 10)
        for key, pictures in self.told["moved"].items():
            self.assertGreater(pictures, 1, key)

    def test_every_family_has_its_lesson(self):
        self.assertEqual(sorted(os.path.basename(page)[:-5] for page in glob.glob(TEACHING + "/*.html")), sorted(FAMILIES))

    def test_a_shuffle(self):
        self.assertEqual(numbers(self.said("shuffle-bijection", 0, 16))[0], 1)
        self.assertLess(abs(numbers(self.said("shuffle-bijection", 24, 13))[0]), .5)
        gather, cached, buckets = (numbers(self.said("shuffle-memory", 256, *how))[-2]
                                   for how in ((8, "gather"), (32, "gather"), (8, "buckets first")))
        self.assertEqual(cached, 32)
        self.assertGreater(gather, 1.5 * buckets)

    def test_moments(self):
        errors = [numbers(self.said("quantiles-moments", order, "two bumps"))[0] for order in (2, 4, 8)]
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertGreater(numbers(self.said("quantiles-moments", 8, "five values"))[0], 3 * errors[-1])
        near, far = self.said("quantiles-cancel", 0, 8), self.said("quantiles-cancel", 20, 8)
        self.assertLess(max(numbers(near)), .2)
        self.assertIn("raw sums no answer", far)
        self.assertLess(numbers(far)[0], .2)

    def test_shap_values_add_up(self):
        for row in ((88, 25), (10, 10)):
            mean, income, age, prediction = numbers(self.said("treeshap-box", *row).replace("+", " "))
            self.assertAlmostEqual(mean + income + age, prediction, delta=.011)
        self.assertEqual((numbers(self.said("treeshap-box", 88, 25))[-1], numbers(self.said("treeshap-box", 10, 10))[-1]), (12, 1))
        warps = [numbers(self.said("treeshap-packing", 72, rule))[0] for rule in ("None", "NF", "FFD", "BFD")]
        self.assertEqual(warps[0], 72)
        self.assertGreater(warps[0], warps[1])
        self.assertGreater(warps[1], warps[2])
        self.assertGreaterEqual(warps[2], warps[3])

    def test_orders(self):
        few, many = (numbers(self.said("shapley-orders", orders))[1:] for orders in (12, 200))
        self.assertLess(few[1], few[0])
        self.assertLess(many[1], many[0])
        self.assertLess(many[0], few[0] / 2)
        mine, random, antithetic, greedy = numbers(self.said("shapley-sphere", 8, "greedy"))
        self.assertTrue(greedy < antithetic < random)
        self.assertEqual(mine, greedy)
        self.assertEqual(numbers(self.said("shapley-sphere", 24, "greedy"))[0], 0)

    def test_forests(self):
        right = {(trees, cut): numbers(self.said("extratrees-cuts", trees, cut))[1] for trees in (1, 60) for cut in ("random", "best")}
        gain = {cut: right[60, cut] - right[1, cut] for cut in ("random", "best")}
        self.assertGreater(gain["random"], 0)
        self.assertGreater(gain["random"], 3 * gain["best"])
        frontier, node = (numbers(self.said("extratrees-frontier", 20, how)) for how in ("a frontier of all trees", "a node at a time"))
        self.assertLess(frontier[1], node[1])
        self.assertEqual(frontier[2], frontier[3])
        self.assertEqual(node[2], frontier[2])


if __name__ == "__main__":
    unittest.main()
