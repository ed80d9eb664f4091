"use strict";
// The reader's own time on hover, keys, looking again while the page is seen, and telling when nobody
// answers any more. Everything else works without it.

const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });

function tellTimes(root) {
  for (const time of root.querySelectorAll("time:not(.age):not([title])")) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.title = `${inZone.format(at)}, your time`;
  }
}

// ------------------------------------------------------------------ looking again

const since = new WeakMap();

function beginPulses() {
  for (const element of document.querySelectorAll("[data-pulse]")) {
    if (!since.has(element)) since.set(element, Date.now());
  }
}

// What stands still says how old it is.
function tellAge(element) {
  const label = element.querySelector("[data-as-of]");
  if (!label) return;
  const minutes = Math.floor((Date.now() - since.get(element)) / 60000);
  const age = minutes < 1 ? "less than a minute" : `${minutes} minute${minutes === 1 ? "" : "s"}`;
  const text = `as of ${age} ago: this page stands still while you fill it in`;
  label.className = "badge waiting";
  if (label.textContent !== text) label.textContent = text;
}

setInterval(() => {
  if (document.visibilityState !== "visible") return;
  for (const element of document.querySelectorAll("[data-pulse]")) {
    const seconds = Number(element.dataset.pulse);
    if (Date.now() - since.get(element) < seconds * 1000) continue;
    // What somebody fills in stays as it is.
    const isFilledIn = element.contains(document.activeElement)
      && document.activeElement.matches("input, select, textarea");
    if (isFilledIn) {
      tellAge(element);
    } else {
      since.set(element, Date.now());
      htmx.trigger(element, `pulse-${seconds}`);
    }
  }
}, 500);

// A click is lost if what was pressed is gone before it is released: what comes meanwhile is asked for
// once more after it. The focus stays, for htmx gives it to what has the same id.
let pressed = false;
const held = new Map(); // by what is to be replaced

document.addEventListener("pointerdown", () => { pressed = true; }, true);
for (const end of ["pointerup", "pointercancel"]) {
  // The click itself comes after it.
  document.addEventListener(end, () => setTimeout(() => {
    pressed = false;
    const again = [...held.values()];
    held.clear();
    for (const one of again) if (one.target.isConnected) htmx.ajax("GET", one.path, one);
  }), true);
}

document.body.addEventListener("htmx:beforeSwap", (event) => {
  const { isError, pathInfo, requestConfig, target } = event.detail;
  if (isError || requestConfig.verb !== "get" || !pressed) return;
  const source = requestConfig.elt;
  const swap = source.getAttribute("hx-swap") || "innerHTML";
  held.set(target, { path: pathInfo.requestPath, source, target, swap });
  event.detail.shouldSwap = false;
});

// ------------------------------------------------------------------ errors

const offline = document.getElementById("offline");

function tell(sentence) {
  offline.textContent = sentence;
  offline.hidden = false;
}

function tellOffline() {
  tell("The console does not answer: it may have been ended. This page shows how it was before, "
    + "and what you typed is still here.");
}

document.body.addEventListener("htmx:sendError", tellOffline);
document.body.addEventListener("htmx:timeout", tellOffline);
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) offline.hidden = true;
});
// What fails is told above what was there, which stays; an answer to a form, beside the form.
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (!event.detail.isError) return;
  if (event.detail.target.matches("#answer, #decide-answer")) return;
  event.detail.shouldSwap = false;
  const answer = new DOMParser().parseFromString(event.detail.serverResponse, "text/html");
  tell(answer.querySelector(".bad")?.textContent || "This could not be shown.");
});
document.body.addEventListener("htmx:afterSettle", () => {
  tellTimes(document);
  beginPulses();
});

// ------------------------------------------------------------------ keys

let went = false;

function rows() {
  return [...document.querySelectorAll("[data-row]")];
}

// The row that one is in is the one that has the focus.
function here() {
  return document.activeElement.closest("[data-row]");
}

function go(by) {
  const all = rows();
  const to = all[Math.max(0, Math.min(all.length - 1, all.indexOf(here()) + by))];
  to?.querySelector("a")?.focus({ preventScroll: true });
  to?.scrollIntoView({ block: "nearest" });
}

function tick() {
  const box = here()?.querySelector("input[type=checkbox]");
  if (!box) return;
  box.checked = !box.checked;
  box.dispatchEvent(new Event("change", { bubbles: true }));
}

const KEYS = {
  "/": () => document.getElementById("q").focus(),
  "?": () => document.getElementById("keys").showModal(),
  j: () => go(1),
  k: () => go(-1),
  o: () => here()?.querySelector("a")?.click(),
  x: tick,
  a: () => document.getElementById("scope-all")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.matches("input:not([type=checkbox]):not([type=radio]), select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (document.querySelector("dialog[open]")) return;
  if (went) {
    went = false;
    document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  if (event.key === "g") {
    went = true;
    return;
  }
  const button = document.querySelector(`main button[data-key="${CSS.escape(event.key)}"]`);
  if (KEYS[event.key]) {
    event.preventDefault();
    KEYS[event.key]();
  } else if (button) {
    event.preventDefault();
    // A key opens the page that asks, or looks again; none decides.
    if (button.matches("#choose button, .actions button, .quiet")) button.click();
    else button.focus();
  }
});

document.getElementById("keys-button").addEventListener("click", KEYS["?"]);

document.addEventListener("change", (event) => {
  const form = document.getElementById("choose");
  if (!form || !form.contains(event.target)) return;
  if (event.target.id === "tick-all") {
    for (const box of form.querySelectorAll("input[name=entry]")) box.checked = event.target.checked;
  }
  if (event.target.type === "checkbox") document.getElementById("scope-ticked").checked = true;
});

tellTimes(document);
beginPulses();
