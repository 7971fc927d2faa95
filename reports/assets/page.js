// Starts the page: the timeline, the buttons that copy, and a record of what went wrong
// in these scripts, so that a test can see it.

window.addEventListener("error", (e) => { document.body.dataset.error = String(e.message); });

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    const done = () => { button.textContent = "copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => choose(button.dataset.copy));
    else choose(button.dataset.copy); // files opened from disk may have no clipboard
  });
}

function choose(id) {
  const range = document.createRange();
  range.selectNodeContents(document.getElementById(id));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

const raw = document.getElementById("timeline-data");
if (raw) {
  const root = document.getElementById("timeline");
  root.hidden = false;
  timeline(root, decode(JSON.parse(raw.textContent)));
}
