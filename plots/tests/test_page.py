"""Clicks through the page in Chromium: views, filters, choices, the picture, the drill-down, sliders, widths and heights."""

import gzip
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import fixture  # noqa: E402
import report as program  # noqa: E402
from browser import Browser, Unavailable  # noqa: E402

SCREENS = 15  #: a view is at most this many screens long
SITE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "site")
SHOWN = "[...document.querySelectorAll('.view')].filter(v => v.offsetParent).map(v => v.id).join()"


class Clicks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="page-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        out = os.path.join(cls.folder, "out")
        recorded = fixture.everything(out)
        program.main(["--out", out, "--recorded", recorded, "--quiet"])
        cls.file = os.path.join(out, "report.html")
        cls.address = "file://" + cls.file
        try:
            cls.browser = cls.enterClassContext(Browser())
        except Unavailable as error:
            raise unittest.SkipTest(str(error)) from error

    def setUp(self):
        self.browser.problems = []
        self.browser.open(self.address)

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])

    def run_script(self, script):
        return self.browser.run(script)

    def views(self):
        return self.run_script("[...document.querySelectorAll('.view')].map(v => v.id)")

    def test_one_view_at_a_time(self):
        views = self.views()
        self.assertEqual([v for v in views if v in ("top", "family-quantiles", "family-shuffle", "learn", "glossary", "environment")],
                         ["top", "family-quantiles", "family-shuffle", "learn", "glossary", "environment"])
        self.assertEqual(self.run_script(SHOWN), "top")
        for view in views[1:] + ["top"]:
            self.browser.click(f'.tabs a[data-view="{view}"]')
            self.assertEqual(self.run_script(SHOWN), view)
            self.assertEqual(self.run_script("document.querySelector('.tabs [aria-current]').dataset.view"), view)
        self.run_script("history.back(), new Promise(done => setTimeout(done, 300))")
        self.assertEqual(self.run_script(SHOWN), views[-1])

    def test_a_link_opens_what_it_leads_to(self):
        self.browser.click('a.card[href="#family-shapley"]')
        self.assertEqual(self.run_script(SHOWN), "family-shapley")
        self.browser.click(".tabs .home")
        self.browser.click("#claims summary")
        self.browser.click("#claims .claim a")
        anchor = self.run_script("location.hash.slice(1)")
        self.assertTrue(anchor.startswith("claim-"))
        self.assertEqual(self.run_script(f"document.getElementById('{anchor}').offsetParent !== null"), True)
        self.browser.open(self.address + "#quantiles-fig10")
        self.assertEqual(self.run_script("document.getElementById('quantiles-fig10').open"), True)
        self.assertEqual(self.run_script(SHOWN), "family-quantiles")

    def test_the_first_screen_holds_the_bar_and_the_five_works(self):
        bottom = "Math.max(...[...document.querySelectorAll('%s')].map(e => e.getBoundingClientRect().bottom))"
        self.assertLess(self.run_script(bottom % "#scoreboard .big"), 300)
        self.assertLess(self.run_script(bottom % ".card"), 900)
        self.assertGreaterEqual(self.run_script("document.querySelectorAll('.card').length"), 5)

    def test_claims_are_folded_and_filtered(self):
        self.assertEqual(self.run_script("document.querySelector('#claims details').open"), False)
        self.browser.click("#claims summary")
        shown = "[...new Set([...document.querySelectorAll('#claims .claim')].filter(c => c.offsetParent).map(c => c.dataset.verdict))].join()"
        self.assertTrue(self.run_script(shown).startswith("FAILS,"))
        self.browser.click('#claims .filter button[data-show="HOLDS"]')
        self.assertEqual(self.run_script(shown), "HOLDS")
        self.browser.click('#claims .filter button[data-show=""]')
        self.assertTrue(self.run_script(shown).startswith("FAILS,"))

    def test_the_picture_is_chosen_toggled_and_told(self):
        self.browser.click('.tabs a[data-view="family-quantiles"]')
        dots = "document.querySelectorAll('#family-quantiles .dot').length"
        self.assertEqual(self.run_script(dots), 8)  # four sketches, here and recorded
        fronts = "[...document.querySelectorAll('#family-quantiles .front')].map(f => f.getAttribute('points').trim().split(' ').length).join()"
        self.assertEqual(self.run_script(fronts), "5,5")  # three of four are not beaten: a stair of five corners
        self.browser.click('.chip[data-key="Moments"]')
        self.assertEqual(self.run_script(dots), 6)
        self.assertEqual(self.run_script("document.querySelector('.chip[data-key=\"Moments\"]').getAttribute('aria-pressed')"), "false")
        self.browser.click('.chip[data-key="source 1"]')
        self.assertEqual(self.run_script(dots), 3)
        self.browser.click('.chip[data-key="Moments"]')
        self.assertEqual(self.run_script(dots), 4)
        before = self.run_script("document.querySelector('#family-quantiles .stage svg').getAttribute('aria-label')")
        self.run_script("(() => { const s = document.querySelector('#family-quantiles select'); s.value = 2; s.dispatchEvent(new Event('change')); })()")
        self.assertNotEqual(self.run_script("document.querySelector('#family-quantiles .stage svg').getAttribute('aria-label')"), before)
        self.browser.hover("#family-quantiles .dot")
        said = self.run_script("document.querySelector('#family-quantiles .tip').hidden ? '' : document.querySelector('#family-quantiles .tip').textContent")
        self.assertIn("size of the sketch: 80 bytes", said)
        self.browser.click("#family-quantiles .dot")
        self.assertEqual(self.run_script("location.hash"), "#quantiles-beyond-bytes")

    def test_a_row_leads_to_its_samples(self):
        self.browser.open(self.address + "#quantiles-fig10")
        self.browser.click("#quantiles-fig10 .cells summary")
        self.browser.click("#quantiles-fig10 tr.pick")
        self.assertEqual(self.run_script("document.querySelectorAll('#quantiles-fig10 .drill .strip circle').length"), 15)
        self.assertIn("build/retable run quantiles/fig10 --only", self.run_script("document.querySelector('#quantiles-fig10 .drill .cmd').textContent"))
        self.browser.click("#quantiles-fig10 tr.pick")
        self.assertEqual(self.run_script("document.querySelectorAll('#quantiles-fig10 .drill').length"), 0)
        self.run_script("(() => { const i = document.querySelector('#quantiles-fig10 input'); i.value = 'KLL 1024'; i.dispatchEvent(new Event('input')); })()")
        self.assertEqual(self.run_script("document.querySelectorAll('#quantiles-fig10 tr.pick').length"), 2)

    def test_tables_sort_as_numbers_and_back(self):
        self.browser.open(self.address + "#quantiles-table2")
        order = "[...document.querySelector('#quantiles-table2 .verdicts').tBodies[0].rows].map(r => r.cells[3].dataset.v)"
        self.run_script("document.querySelectorAll('#quantiles-table2 details').forEach(d => { d.open = true; })")
        sorts = [self.run_script(order)]
        for _ in range(3):
            self.browser.click("#quantiles-table2 .verdicts thead th:nth-child(4)")
            sorts.append(self.run_script(order))
        given, up, down, again = ([float(v) for v in column if v] for column in sorts)
        self.assertGreater(len(set(given)), 3)
        self.assertEqual((up, down), (sorted(given), sorted(given, reverse=True)))
        self.assertEqual(again, given)
        odd = self.run_script("""(() => { const body = document.createElement('tbody'), table = document.createElement('table');
            body.innerHTML = '<tr><td>2²⁰+1</td><td>1.2e−3</td></tr><tr><td>2⁸+1</td><td>12\\u202f300</td></tr><tr><td>2¹¹+1</td><td>−4</td></tr>';
            table.innerHTML = '<thead><tr><th></th><th></th></tr></thead>'; table.append(body); window.retableSortable(table);
            return [0, 1].map(i => { table.tHead.rows[0].cells[i].click(); return [...body.rows].map(r => r.cells[i].textContent).join(' '); }).join(';'); })()""")
        self.assertEqual(odd, "2⁸+1 2¹¹+1 2²⁰+1;−4 1.2e−3 12\u202f300")

    def test_colours_follow_the_system_and_the_button(self):
        paper = "getComputedStyle(document.body).backgroundColor"
        light = self.run_script(paper)
        self.browser.open(self.address, dark=True)
        dark = self.run_script(paper)
        self.assertNotEqual(light, dark)
        self.browser.click("#theme")
        self.assertEqual(self.run_script(paper), light)

    def test_paper_has_nothing_to_click_on(self):
        folded = "[...document.querySelectorAll('details.art,details.fold,details.table,.teach details,details.data')].filter(d => !d.open).length"
        before = self.run_script(folded)
        self.assertGreater(before, 0)
        self.assertEqual(self.run_script(f"dispatchEvent(new Event('beforeprint')), {folded}"), 0)
        self.assertEqual(self.run_script(f"dispatchEvent(new Event('afterprint')), {folded}"), before)

    def test_sliders_move_their_pictures(self):
        self.browser.open(self.address + "#learn")
        still = self.run_script("""(() => { document.querySelectorAll('#learn details').forEach(d => { d.open = true; });
            return [...document.querySelectorAll('#learn input[type=range]')].filter(slider => {
              const lesson = slider.closest('details.teach'), look = () => [...lesson.querySelectorAll('svg,canvas')].map(p => p.innerHTML).join();
              const before = look();
              slider.value = slider.value === slider.max ? slider.min : slider.max;
              for (const kind of ['input', 'change']) slider.dispatchEvent(new Event(kind, {bubbles: true}));
              return look() === before; }).map(slider => slider.id || slider.outerHTML); })()""")
        self.assertEqual(still, [])

    def check_size(self, width, height):
        """No view is too wide or too long; nor is anything in it, once all is open, on a narrow screen."""
        self.browser.open(self.address, width=width, height=height)
        for view in self.views():
            self.run_script(f"location.hash = '{view}', new Promise(done => setTimeout(done, 60))")
            self.assertLessEqual(self.run_script("document.documentElement.scrollWidth"), width, view)
            self.assertLessEqual(self.run_script("document.documentElement.scrollHeight") / height, SCREENS, view)
            if width < 560:
                self.run_script(f"[...document.querySelectorAll('#{view} details')].forEach(d => {{ d.open = true; }}), new Promise(done => setTimeout(done, 300))")
                wide = self.run_script(f"[...document.querySelectorAll('#{view} *')].filter(e => e.scrollWidth > e.clientWidth + 1 && "
                                       "['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && !e.matches('pre,.eq,input,select')).map(e => e.outerHTML.slice(0, 120))")
                self.assertEqual(wide, [], view)
                self.assertLessEqual(self.run_script("document.documentElement.scrollWidth"), width, view)

    def test_nothing_scrolls_sideways_on_a_telephone(self):
        self.check_size(390, 844)

    def test_no_view_is_long_on_a_desk(self):
        self.check_size(1280, 900)


class Published(unittest.TestCase):
    """The site in docs/."""

    def test_it_is_small_enough_to_travel_with_the_sources(self):
        if not os.path.isdir(SITE):
            self.skipTest("docs/site is not there: make site")
        sizes = {name: os.path.getsize(os.path.join(SITE, name)) for name in os.listdir(SITE)}
        self.assertLess(sum(sizes.values()), 1_800_000, sizes)
        with open(os.path.join(SITE, "shapley.html"), "rb") as stream:
            self.assertLess(len(gzip.compress(stream.read())), 200_000)


if __name__ == "__main__":
    unittest.main()
