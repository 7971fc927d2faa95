// Mouse, pen, fingers and keys: they become calls of the timeline's actions.

const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", Home: "start", End: "end",
  ArrowUp: "up", ArrowDown: "down", ",": "before", ".": "after", Enter: "closer", Escape: "clear", n: "next", p: "previous" };

function listenToKeys(root, actions) {
  document.addEventListener("keydown", (e) => {
    const name = Object.hasOwn(KEYS, e.key) ? KEYS[e.key] : null, on = document.activeElement;
    if (!name || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    // n and p work everywhere, the rest where the timeline has the focus; Enter belongs to its buttons.
    const jumps = name === "next" || name === "previous";
    if (!jumps && (!root.contains(on) || on.tagName !== "CANVAS" && (name === "closer" || name === "clear"))) return;
    if (jumps) root.scrollIntoView({ block: "nearest" });
    actions[name]();
    e.preventDefault();
  });
}

// listenToPointers takes over the canvas. The timeline t gives view, layout and what to do.
function listenToPointers(canvas, t) {
  const fingers = new Map(); // pointers that are down, by id
  let drag = null, pinch = null;

  canvas.addEventListener("wheel", (e) => {
    if (document.activeElement !== canvas && !e.ctrlKey && !e.metaKey) return; // the page scrolls
    e.preventDefault();
    const lay = t.layout();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) t.pan((e.deltaX || e.deltaY) / lay.plot);
    else t.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / (e.ctrlKey ? 100 : 400)))), t.timeAt(Math.max(e.offsetX, lay.left)));
  }, { passive: false });

  canvas.addEventListener("pointerdown", (e) => {
    if (e.button > 0) return;
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, e.offsetX);
    if (fingers.size === 2) {
      const [a, b] = [...fingers.values()];
      pinch = { apart: Math.max(20, Math.abs(a - b)), at: t.timeAt((a + b) / 2), view: t.view() };
      drag = null;
    } else if (fingers.size === 1) {
      drag = { x: e.offsetX, view: t.view(), moved: false, overview: e.offsetY < OVERVIEW };
      if (drag.overview) t.centre(e.offsetX);
    }
  });
  canvas.addEventListener("pointermove", (e) => {
    if (fingers.has(e.pointerId)) fingers.set(e.pointerId, e.offsetX);
    if (pinch && fingers.size === 2) return pinched([...fingers.values()]);
    if (!drag) return t.hover(e.offsetX, e.offsetY);
    if (drag.overview) return t.centre(e.offsetX);
    drag.moved = drag.moved || Math.abs(e.offsetX - drag.x) > 3;
    const by = (drag.x - e.offsetX) / t.layout().plot * (drag.view.to - drag.view.from);
    if (drag.moved) t.show(drag.view.from + by, drag.view.to + by);
  });
  // pinched keeps the moment that was between the fingers there.
  function pinched([a, b]) {
    const lay = t.layout(), length = (pinch.view.to - pinch.view.from) * pinch.apart / Math.max(20, Math.abs(a - b));
    const from = pinch.at - ((a + b) / 2 - lay.left) / lay.plot * length;
    t.show(from, from + length);
  }
  function up(e) {
    fingers.delete(e.pointerId);
    if (e.type === "pointerup" && drag && !drag.moved && !drag.overview) t.click(e.offsetX, e.offsetY);
    drag = null;
    if (fingers.size < 2) pinch = null;
  }
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("dblclick", (e) => { if (e.offsetY >= OVERVIEW) t.zoom(0.4, t.timeAt(e.offsetX)); });
  canvas.addEventListener("pointerleave", () => t.leave());
}
