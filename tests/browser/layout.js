// What does not fit on the page that is shown: one line each.
() => {
  for (const details of document.querySelectorAll('#main details')) details.open = true;
  const found = [], wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push(`the page is ${wide} px too wide`);
  for (const el of document.querySelectorAll('table')) {
    const over = el.getBoundingClientRect().right - el.parentElement.getBoundingClientRect().right;
    if (over > 1) found.push(`a table is ${over} px wider than its panel`);
  }
  const shown = (el) => el.checkVisibility() && el.getClientRects().length;
  for (const el of document.querySelectorAll('#main *, .topbar *, #banner *')) {
    if (!shown(el) || el.closest('.vh, svg, pre, .filterbar, .preview, thead')) continue;
    const style = getComputedStyle(el), box = el.getBoundingClientRect();
    const text = [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!text) continue;
    const what = `${el.tagName}.${el.className} "${el.textContent.trim().slice(0, 40)}"`;
    if (box.right > innerWidth + 1 || box.left < -1) found.push(`off the screen: ${what}`);
    const hides = style.overflowX !== 'visible' && style.textOverflow !== 'ellipsis';
    if (hides && el.scrollWidth > el.clientWidth + 1) found.push(`cut: ${what}`);
    const clip = el.closest('.tiles li, .panel, .btn, .chip, .pill, .tag, td, th');
    if (clip && clip !== el) {
      const outer = clip.getBoundingClientRect();
      const over = box.right > outer.right + 1.5 || box.left < outer.left - 1.5;
      if (over) found.push(`over the edge of ${clip.tagName}.${clip.className}: ${what}`);
    }
  }
  for (const chart of document.querySelectorAll('.chart')) {
    const drawn = [...chart.querySelectorAll('svg')].filter(shown).length;
    if (drawn !== 1) found.push(`${drawn} drawings of a chart`);
  }
  return found;
}
