// A slider, small pictures and the charts choose the generation whose histograms are shown. It only shows and hides what
// is there: without a script the page shows the last generation.
{
  const all = selector => [...document.querySelectorAll(selector)];
  const shown = all('.generation'), slider = document.querySelector('.slider input');
  const charts = document.querySelector('.charts'), axis = charts ? charts.dataset : {};
  const first = +axis.first, last = +axis.last, left = +axis.left, right = +axis.right;
  const choose = i => {
    const g = +shown[i].dataset.generation, share = last > first ? (g - first) / (last - first) : 0.5;
    shown.forEach((part, k) => part.hidden = k !== i);
    all('.smalls button').forEach(small => small.classList.toggle('now', +small.dataset.at === i));
    all('.cursor').forEach(line => line.setAttribute('transform', `translate(${left + share * (right - left) + 9})`));
    slider.value = i;
    document.querySelector('output').textContent = `Generation ${g}`;
  };
  if (slider) {
    slider.addEventListener('input', () => choose(+slider.value));
    all('.smalls button').forEach(small => small.addEventListener('click', () => choose(+small.dataset.at)));
    all('svg.chart').forEach(chart => chart.addEventListener('click', event => {
      const box = chart.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width;
      const wanted = first + (x - left) / (right - left) * (last - first);
      const far = shown.map(part => Math.abs(part.dataset.generation - wanted));
      choose(far.indexOf(Math.min(...far)));
    }));
    choose(shown.length - 1);
  }
}
