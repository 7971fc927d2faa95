"use strict";
// The niceties of the pages; without them they work as well.

// follow asks every second how something goes, and shows it. When it is over, the page is
// loaded anew: it then has the verdict.
function follow(section) {
  let failed = 0;
  const lists = {
    log: (box, all) => { box.textContent = all.join("\n"); },
    faults: (box, all) => {
      box.replaceChildren(...all.map((text) => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
      }));
    },
  };
  const show = (live) => {
    for (const box of section.querySelectorAll("[data-field]")) {
      const text = live.fields[box.dataset.field];
      if (text !== undefined && box.textContent !== text) box.textContent = text;
    }
    for (const box of section.querySelectorAll("[data-list]")) lists[box.dataset.list](box, live[box.dataset.list] || []);
    const bar = section.querySelector("progress");
    if (bar) bar.value = live.share;
    const line = section.querySelector("polyline");
    if (line) line.setAttribute("points", live.line || "");
  };
  const ask = async () => {
    try {
      const answer = await fetch(section.dataset.live, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const live = await answer.json();
      failed = 0;
      if (live.over) {
        location.reload();
        return;
      }
      show(live);
    } catch {
      failed++;
      const phase = section.querySelector("[data-field=phase]");
      if (phase && failed > 2) phase.textContent = "picklock serve does not answer";
    }
    setTimeout(ask, Math.min(1000 * (1 + failed), 10000));
  };
  setTimeout(ask, 1000);
}

// pick lets a form have two ticks: a third one takes the place of the first.
function pick(form) {
  const most = Number(form.dataset.pick);
  const ticked = [];
  const tell = () => {
    for (const button of form.querySelectorAll("button")) button.disabled = ticked.length !== most;
  };
  for (const box of form.querySelectorAll("input[type=checkbox]")) {
    if (box.checked) ticked.push(box);
    box.addEventListener("change", () => {
      if (box.checked) ticked.push(box);
      else ticked.splice(ticked.indexOf(box), 1);
      while (ticked.length > most) ticked.shift().checked = false;
      tell();
    });
  }
  tell();
}

for (const section of document.querySelectorAll("[data-live]")) follow(section);
for (const form of document.querySelectorAll("[data-pick]")) pick(form);

// On a phone the tests come first, and the filters fold up, unless they are used.
if (matchMedia("(max-width: 760px)").matches) {
  for (const more of document.querySelectorAll(".more:not([data-used])")) more.open = false;
}

// "/" goes to the search, as on many pages.
document.addEventListener("keydown", (event) => {
  const search = document.querySelector("input[type=search]");
  if (event.key !== "/" || !search || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  event.preventDefault();
  search.focus();
});
