// The filter hides what is not asked for, in the grids and in the list of cells. Without
// this script the page shows everything.
const form = document.querySelector("#filter");

function show() {
  const marks = new Set([...form.querySelectorAll("input[name=mark]:checked")].map((box) => box.value));
  const lock = form.elements.lock.value.trim().toLowerCase();
  const named = (e) => e.dataset.lock.toLowerCase().includes(lock);
  let shown = 0;
  for (const row of document.querySelectorAll(".grid tbody tr")) {
    let any = false;
    for (const cell of row.querySelectorAll("td[data-mark]")) {
      const on = marks.has(cell.dataset.mark) && named(row);
      cell.classList.toggle("off", !on);
      cell.firstElementChild.tabIndex = on ? 0 : -1;
      any ||= on;
    }
    row.hidden = !any;
  }
  const cells = document.querySelectorAll(".cell");
  for (const cell of cells) {
    cell.hidden = !(marks.has(cell.dataset.mark) && named(cell));
    shown += cell.hidden ? 0 : 1;
  }
  form.querySelector("output").textContent = `${shown} of ${cells.length} cells`;
}

// Arrow keys go from cell to cell, over gaps and hidden rows.
function move(event) {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  const at = event.target.closest(".grid td");
  if (!step || !at || event.ctrlKey || event.altKey || event.metaKey) return;
  const rows = [...at.closest("tbody").rows];
  let r = rows.indexOf(at.parentElement), c = at.cellIndex;
  for (;;) {
    r += step[0];
    c += step[1];
    const cell = rows[r]?.cells[c];
    if (!cell) return;
    const link = cell.matches("td:not(.off)") && !rows[r].hidden && cell.querySelector("a");
    if (link) {
      event.preventDefault();
      link.focus();
      return;
    }
  }
}

// A link to a cell of the list opens it, even if the filter hides it.
function open() {
  const cell = location.hash.startsWith("#cell-") && document.getElementById(location.hash.slice(1));
  if (!cell) return;
  if (cell.hidden && form) {
    form.reset();
    show();
  }
  cell.open = true;
  cell.scrollIntoView();
}

if (form) {
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("reset", () => setTimeout(show));
  form.addEventListener("submit", (event) => event.preventDefault());
  show();
}
document.addEventListener("keydown", move);
addEventListener("hashchange", open);
open();
