// Links into the timeline: #t=<seconds>&op=<operation's id> or #violation-<index>.

// place reads a fragment; null: it leads elsewhere.
function place(hash) {
  const violation = /^#violation-(\d+)$/.exec(hash);
  if (violation) return { violation: Number(violation[1]) };
  const at = /^#t=(\d+(?:\.\d+)?)(?:&op=(\d+))?$/.exec(hash);
  return at ? { t: Number(at[1]) * 1e6, id: at[2] ? Number(at[2]) : null } : null;
}

function listenToLinks(root, canvas, t) {
  const follow = (hash) => {
    const to = place(hash);
    if (!to) return false;
    if (to.violation !== undefined) t.pick(to.violation);
    else t.go(to.t, to.id);
    return true;
  };
  const reveal = () => {
    root.scrollIntoView({ block: "start" });
    canvas.focus({ preventScroll: true });
  };
  document.addEventListener("click", (e) => {
    const target = e.target.closest && e.target.closest("[data-violation], a[href^='#t=']");
    if (!target) return;
    if (target.dataset.violation !== undefined) t.pick(Number(target.dataset.violation));
    else follow(target.getAttribute("href")); // again, where the fragment is that one already
    reveal();
  });
  // The times that stories name point into the timeline.
  document.addEventListener("mouseover", (e) => {
    const at = e.target.closest && e.target.closest("[data-t]");
    if (at) t.point(Number(at.dataset.t) * 1e6);
  });
  window.addEventListener("hashchange", () => { if (follow(location.hash) && location.hash.startsWith("#t=")) reveal(); });
  if (follow(location.hash) && location.hash.startsWith("#t=")) reveal();
}
