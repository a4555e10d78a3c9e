"""How the page of a run of discovery looks and moves: its style, for light and dark screens, and its script.

The script only shows and hides what is there: without it the page shows the last generation.
"""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --card: #f7f7f4; --ink: #222; --soft: #666; --line: #e2e2dc;
  --accent: #1b6ca8; --before: #c9561c; --search: #8a8f94; --good: #3a7d44; --grid: #dcdcd6; --frame: #9a9a94 }
@media (prefers-color-scheme: dark) { :root { --paper: #15181b; --card: #1e2226; --ink: #e6e8ea; --soft: #9aa2a9;
  --line: #30363c; --accent: #5aa9e0; --before: #ee8a52; --search: #7d858c; --good: #74bf80; --grid: #333a40;
  --frame: #66707a } }
* { box-sizing: border-box }
body { max-width: 76rem; margin: 2.5rem auto 4rem; padding: 0 1.4rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .1rem 0 .6rem; overflow-wrap: anywhere }
h2 { font-size: 1.25rem; margin: 3rem 0 .3rem } p { margin: .3rem 0 .8rem; max-width: 46rem }
figure { margin: 0; min-width: 0 } .charts figure { max-width: 26rem }
figcaption { font-size: .88rem; color: var(--soft); margin: 0 0 .2rem }
figcaption b { color: var(--ink); font-weight: 600 } svg { display: block; max-width: 100%; height: auto }
.soft, .eyebrow { color: var(--soft); font-size: .9rem } .eyebrow { letter-spacing: .04em }
.hero { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 2.5rem; align-items: center }
.hero.wide, .hero.bare { grid-template-columns: minmax(0, 1fr) }
.score { font-size: 4.6rem; font-weight: 650; line-height: 1; color: var(--accent);
  font-variant-numeric: tabular-nums; margin-right: .9rem }
.verdict { display: flex; flex-wrap: wrap; align-items: center; margin: 1rem 0 1.1rem }
.badge { padding: .2rem .8rem; border-radius: 2rem; background: var(--card); border: 1px solid var(--line);
  font-size: .95rem } .badge.good { color: var(--good); border-color: currentColor }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(16rem, 1fr)); gap: 1.3rem 1.3rem }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; font-size: .88rem; color: var(--soft);
  margin: .2rem 0 1rem }
.legend i { display: inline-block; width: 1.3rem; height: 0; border-top: 3px solid; vertical-align: .25rem;
  margin-right: .45rem } .legend i.best { border-top: 2px dashed var(--ink) }
i.before { color: var(--before) } i.after { color: var(--accent) } i.search { color: var(--search) }
.line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round }
.chart circle { fill: currentColor }
g.before { color: var(--before) } g.after { color: var(--accent) } g.search { color: var(--search) }
g.best { color: var(--ink) } g.best .line { stroke-dasharray: 5 3; stroke-width: 1.4 } g.best circle { display: none }
path.before { fill: var(--before) } path.after { fill: var(--accent) } path.search { fill: var(--search) }
path.illegal { fill: none; stroke: var(--before); stroke-dasharray: 3 2 } .level { stroke: var(--line); fill: none }
path.known { stroke: var(--good); stroke-width: 1.6; stroke-dasharray: 4 3; fill: none }
.tick { fill: var(--soft); font-size: 11px } .cursor { stroke: var(--soft); stroke-width: 1; opacity: .55 }
.slider { display: flex; align-items: center; gap: 1rem; margin: .6rem 0 1rem } .slider input { flex: 1;
  accent-color: var(--accent); max-width: 34rem } output { font-weight: 600; min-width: 8.5rem }
.generation { display: grid; gap: 1.1rem; max-width: 52rem } .generation[hidden] { display: none }
.smalls { display: grid; grid-template-columns: repeat(auto-fill, minmax(7.6rem, 1fr)); gap: .6rem; margin-top: 1.4rem }
button { font: inherit; color: inherit; background: none; border: 1px solid transparent; border-radius: 6px;
  padding: .3rem; cursor: pointer; text-align: left } button:hover { border-color: var(--line) }
.smalls button { font-size: .8rem; color: var(--soft) } .smalls button.now { border-color: var(--accent);
  color: var(--ink) } .smalls path.after { opacity: .72 } .smalls path.before { opacity: .9 }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(11.5rem, 1fr)); gap: 1rem }
.cards.wide { grid-template-columns: repeat(auto-fill, minmax(22rem, 1fr)) }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .7rem .8rem;
  font-size: .84rem; color: var(--soft); min-width: 0; display: flex; flex-direction: column }
.card b { font-size: 1.25rem; color: var(--ink) }
.card.record { border-color: var(--accent); border-width: 2px } .card p { margin: 0; line-height: 1.4 }
.picture { display: block; width: 100%; padding: 0; margin-top: auto; border: 0 }
.card .picture { padding-top: .5rem } .picture svg { width: 100% }
.hero .picture svg { max-height: 27rem; width: auto; margin: auto } .card .picture svg { max-height: 15rem }
.tree { display: flex; flex-wrap: wrap; align-items: stretch; gap: .9rem 0; margin-top: .8rem }
.tree .card { width: 11rem } .tree.wide .card { width: 22rem }
.tree .arrow { align-self: center; padding: 0 .55rem; color: var(--soft); font-size: 1.2rem }
.paper { fill: none } .chosen { fill: var(--accent) } .chosen-line { stroke: var(--accent) }
.grid { stroke: var(--grid) } .frame { stroke: var(--frame) }
.vertex { fill: var(--paper); stroke: var(--ink) } .label { fill: var(--soft) }
.box { fill: var(--card); stroke: var(--grid) } .hero .box { fill: none }
table { border-collapse: collapse; font-size: .88rem; margin: .5rem 0 } td { padding: .15rem 1.2rem .15rem 0;
  vertical-align: top; overflow-wrap: anywhere } td:first-child { color: var(--soft) } summary { cursor: pointer }
dialog { border: 1px solid var(--line); border-radius: 10px; background: var(--paper); color: var(--ink);
  padding: 1.4rem; max-width: 96vw; max-height: 96vh } dialog:focus { outline: none }
dialog::backdrop { background: rgb(0 0 0 / .55) }
@media (max-width: 52rem) { .hero { grid-template-columns: minmax(0, 1fr); gap: 1rem } .score { font-size: 3.6rem } }
"""

SCRIPT = """
const all = selector => [...document.querySelectorAll(selector)];
const shown = all('.generation'), slider = document.querySelector('.slider input');
const axis = document.body.dataset, first = +axis.first, last = +axis.last, left = +axis.left, right = +axis.right;
function choose(i) {
  const g = +shown[i].dataset.generation, share = last > first ? (g - first) / (last - first) : 0.5;
  shown.forEach((part, k) => part.hidden = k !== i);
  all('.smalls button').forEach(small => small.classList.toggle('now', +small.dataset.at === i));
  all('.cursor').forEach(line => ['x1', 'x2'].forEach(end => line.setAttribute(end, left + share * (right - left))));
  slider.value = i;
  document.querySelector('output').textContent = 'Generation ' + g;
}
if (slider) {
  slider.addEventListener('input', () => choose(+slider.value));
  all('.smalls button').forEach(small => small.addEventListener('click', () => choose(+small.dataset.at)));
  all('svg.chart').forEach(chart => chart.addEventListener('click', event => {
    const box = chart.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width;
    const wanted = first + (x - left) / (right - left) * (last - first);
    const far = shown.map(part => Math.abs(part.dataset.generation - wanted));
    choose(far.indexOf(Math.min(...far)));
  }));
  choose(shown.length - 1);
}
const dialog = document.querySelector('dialog');
all('button.picture').forEach(button => button.addEventListener('click', () => {
  const large = button.firstElementChild.cloneNode(true), box = large.viewBox.baseVal;
  large.style.width = `min(90vw, ${84 * box.width / box.height}vh)`;
  dialog.replaceChildren(large);
  dialog.showModal();
}));
dialog.addEventListener('click', () => dialog.close());
"""
