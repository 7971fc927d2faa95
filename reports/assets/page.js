// Starts the page: the timeline, the buttons that copy, and a record of what went wrong
// in these scripts, so that a test can see it.

window.addEventListener("error", (e) => { document.body.dataset.error = String(e.message); });
window.addEventListener("unhandledrejection", (e) => { document.body.dataset.error = String(e.reason); });

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.copy).textContent;
    const done = () => { button.textContent = "copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => choosePart(button.dataset.copy));
    else choosePart(button.dataset.copy); // files opened from disk may have no clipboard
  });
}

function choosePart(id) {
  const range = document.createRange();
  range.selectNodeContents(document.getElementById(id));
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}

async function start() {
  const packed = document.getElementById("timeline-data");
  if (!packed) return;
  const data = decode(JSON.parse(await inflate(JSON.parse(packed.textContent))));
  const root = document.getElementById("timeline");
  root.hidden = false;
  timeline(root, data);
  document.body.dataset.ready = performance.now().toFixed(0); // ms since the page was asked for
}
start().catch((e) => {
  const sorry = document.getElementById("timeline-fails");
  sorry.textContent = `The timeline cannot be shown by this browser (${e.message}). The pictures in this page do not need it.`;
  sorry.hidden = false;
  document.body.dataset.error = String(e.message);
});
