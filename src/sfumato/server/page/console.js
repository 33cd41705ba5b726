"use strict";
const by = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(100 * share)} %`;
const PROGRESS = {
  idle: "The first look sends the made-up records to the upstream encoder.",
  building: "Embedding made-up records…",
  failed: "The preview could not be made; see the log.",
};
const state = { key: "", view: "", steps: [], others: [], preview: null, wanted: false };

function make(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function draw(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [each, value] of Object.entries(attributes)) made.setAttribute(each, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

async function ask(path, body) {
  const headers = state.key ? { Authorization: `Bearer ${state.key}` } : {};
  const options = { headers };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["Content-Type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (_) {
    throw Object.assign(new Error("The gateway does not answer."), { status: 0 });
  }
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.error.message), { status: answer.status });
  return found;
}

function trouble(words) {
  by("trouble").textContent = words || "";
}

const LEADS = {
  protected: "Type a sentence, choose how much noise, and compare what a search and an attacker make of it before and after.",
  sealed: "Search your sealed documents, and see side by side what you get and what the store that holds them gets to see.",
};

function showView(name) {
  state.view = name;
  by("lead").textContent = LEADS[name] || LEADS.protected;
  by("open").hidden = name !== "protected";
  by("sealed").hidden = name !== "sealed";
  for (const button of by("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === name));
}

function showState(found) {
  state.preview = found.preview;
  by("views").hidden = !(found.protects && found.collections.length);
  by("empty").hidden = found.protects || found.collections.length > 0;
  showCollections(found.collections);
  showView(found.protects ? state.view || "protected" : found.collections.length ? "sealed" : "");
  by("who").textContent = `· ${found.keyed ? "tenant " + found.tenant : "no keys, this machine only"}`;
  by("access").textContent = found.keyed
    ? "You see what is this tenant's only."
    : "No keys are configured: every program on this machine may use this gateway, and nothing outside it can.";
  if (!found.protects) return;
  showCertificate(found.certificate);
  by("promise").textContent = found.promise;
  by("facts").replaceChildren(...found.facts.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  by("notes").replaceChildren(...found.notes.map((note) => make("li", note)));
  by("looks-for").textContent = found.preview.looks_for || "terms";
  showLedger(found.ledger);
  showPreview(found.preview);
}

function makeCard([name, value, note]) {
  const card = make("div", undefined, "card");
  card.append(make("span", name), make("b", value), make("span", note));
  return card;
}

function showCertificate(found) {
  by("certified").textContent = found.words;
  by("certified-figures").replaceChildren(...found.cards.map(makeCard));
  by("conditions").hidden = !found.conditions.length;
  by("conditions").querySelector("ul").replaceChildren(...found.conditions.map((words) => make("li", words)));
}

function showLedger(ledger) {
  if (ledger.ceiling_advantage !== null) {
    by("ceiling").textContent = `All releases of a text together may tell two terms apart by ${ledger.ceiling_advantage} over a coin at most; a request that would pass it is answered 429 and nothing is spent.`;
  } else by("ceiling").textContent = ledger.ceiling === null
    ? "No ceiling is set: what is spent is counted and never refused."
    : `A text may spend epsilon ${ledger.ceiling} at most; a request that would pass it is answered 429 and nothing is spent.`;
  by("ledger-none").hidden = ledger.calls.length > 0;
  const names = ["noise", "mechanism", "metric", "calls", "texts"];
  by("calls").hidden = !ledger.calls.length;
  by("calls").querySelector("tbody").replaceChildren(...ledger.calls.map((row) => {
    const line = make("tr");
    for (const name of names) {
      const cell = make("td", String(row[name]));
      cell.dataset.label = name;
      line.append(cell);
    }
    return line;
  }));
}

function showPreview(preview) {
  const noise = by("noise");
  const chosen = state.steps[noise.value]?.factor ?? 1;
  const off = preview.plain.length > 0 && !by("neutral").checked;
  state.steps = off ? preview.plain : preview.steps;
  state.others = off ? preview.steps : preview.plain;
  by("neutral-choice").hidden = !preview.plain.length;
  by("other-line").hidden = !state.others.length;
  by("other-words").textContent = off ? "the same with neutral texts" : "the same without neutral texts";
  noise.max = String(Math.max(0, state.steps.length - 1));
  const place = state.steps.findIndex((step) => step.factor === chosen);
  noise.value = String(Math.max(0, place));
  const ready = preview.status === "ready";
  noise.disabled = !ready;
  by("look").disabled = !ready && preview.status !== "idle";
  by("progress").textContent = ready ? (preview.complete ? "" : `Measuring more amounts of noise… ${percent(preview.progress)}`)
    : PROGRESS[preview.status] + (preview.status === "building" ? ` ${percent(preview.progress)}` : "");
  if (ready && state.wanted) { state.wanted = false; look(); }
  if (ready && !by("examples").children.length) {
    by("examples").append(...preview.examples.map((text) => {
      const button = make("button", text.length > 60 ? text.slice(0, 58) + "…" : text, "sample");
      button.type = "button";
      button.addEventListener("click", () => { by("text").value = text; look(); });
      return button;
    }));
    if (!by("text").value) by("text").value = preview.examples[0];
  }
  showNoise();
}

function showNoise() {
  const step = state.steps[by("noise").value];
  if (!step) { chart(null, null); return; }
  const times = step.factor === 0 ? "none" : step.factor === 1 ? "as this protector adds it" : `${step.factor} times this protector's`;
  const words = `${times} (noise ratio ${step.noise_ratio.toPrecision(2)})`;
  by("noise-words").textContent = words;
  by("noise").setAttribute("aria-valuetext", words);
  const { control, guess, clean_found: found } = state.preview;
  const cards = [
    ["searches that find their record", percent(step.found), `${percent(found)} without protection`],
    ["ten nearest neighbours kept", percent(step.neighbours), "of every record"],
    ["terms the attack names", percent(step.read), `${percent(control)} from clean vectors, ${percent(guess)} by guessing`],
  ];
  by("figures").replaceChildren(...cards.map(makeCard));
  chart(step, guess);
}

function chart(here, guess) {
  const svg = by("chart");
  const x = (factor) => 50 + 560 * (factor / Math.max(1, ...state.steps.map((step) => step.factor)));
  const y = (share) => 250 - 230 * share;
  const parts = [svg.firstElementChild, draw("text", { x: 330, y: 296, "text-anchor": "middle" }, "noise, in times this protector's own")];
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    parts.push(draw("line", { x1: 50, x2: 610, y1: y(share), y2: y(share), class: "grid" }),
      draw("text", { x: 44, y: y(share) + 5, "text-anchor": "end" }, String(Math.round(100 * share))));
  }
  if (!here) { // nothing is measured yet: the frame, and how far it is
    const { status, progress } = state.preview;
    parts.push(draw("rect", { x: 130, y: 138, width: 400, height: 8, rx: 4, class: "track" }),
      draw("rect", { x: 130, y: 138, width: 400 * progress, height: 8, rx: 4, class: "done" }),
      draw("text", { x: 330, y: 122, "text-anchor": "middle" }, status === "building" ? `Measuring on made-up records: ${percent(progress)}` : "Not measured yet."));
    svg.replaceChildren(...parts);
    return;
  }
  let last = -100;
  for (const step of state.steps) {
    if (x(step.factor) - last < 80) continue;
    last = x(step.factor);
    parts.push(draw("text", { x: last, y: 278, "text-anchor": "middle" }, `${step.factor}×`));
  }
  parts.push(draw("line", { x1: x(here.factor), x2: x(here.factor), y1: y(1), y2: y(0), class: "here" }),
    draw("line", { x1: 50, x2: 610, y1: y(guess), y2: y(guess), class: "guess" }),
    draw("line", { x1: 50, x2: 610, y1: y(state.preview.control), y2: y(state.preview.control), class: "clean" }));
  if (state.others.length) {
    parts.push(draw("polyline", { points: state.others.map((step) => `${x(step.factor)},${y(step.read)}`).join(" "), class: "other" }));
  }
  for (const [kind, name] of [["useful", "found"], ["read", "read"]]) {
    const points = state.steps.map((step) => `${x(step.factor)},${y(step[name])}`).join(" ");
    parts.push(draw("polyline", { points, class: kind }));
    for (const step of state.steps) parts.push(draw("circle", { cx: x(step.factor), cy: y(step[name]), r: step === here ? 6 : 3.5, class: kind }));
  }
  svg.replaceChildren(...parts);
}

function hits(rows, after) {
  return rows.map((row) => {
    const line = make("li", row.text, after ? (row.kept ? "kept" : "new") : "");
    const note = after ? (row.kept ? " · also before" : " · new") : "";
    line.append(make("small", `cosine ${row.cosine.toFixed(3)}${note}`));
    return line;
  });
}

function chips(rows) {
  return rows.map((row) => {
    const chip = make("span", row.term, row.hit ? "chip hit" : "chip");
    if (row.hit) chip.append(make("span", " ✓"));
    return chip;
  });
}

async function look() {
  if (!by("text").value.trim()) return;
  if (state.preview.status === "idle") {
    state.wanted = true;
    await ask("/console/try", { text: by("text").value, factor: 1 }).catch(() => {});
    await refresh();
    return;
  }
  const step = state.steps[by("noise").value];
  if (!step) return;
  trouble();
  by("progress").textContent = "Looking…";
  try {
    const found = await ask("/console/try", { text: by("text").value, factor: step.factor, neutral: !state.preview.plain.length || by("neutral").checked });
    const kept = found.after.filter((row) => row.kept).length;
    by("overlap").textContent = `${kept} of ${found.after.length} neighbours are the same.` +
      (found.matched
        ? (found.neutral
          ? " A concept was found in the sentence: neutral texts were embedded in its place."
          : " A concept was found in the sentence, and embedded as it stands.")
        : " No concept was found in the sentence: noise is all that it has.");
    by("before").replaceChildren(...hits(found.before, false));
    by("after").replaceChildren(...hits(found.after, true));
    by("read-clean").replaceChildren(...chips(found.read_clean));
    by("read-released").replaceChildren(...chips(found.read_released));
    by("result").hidden = false;
    by("progress").textContent = "";
  } catch (error) {
    by("progress").textContent = "";
    trouble(error.message);
  }
}

async function release(event) {
  event.preventDefault();
  const text = by("text").value;
  if (!text.trim()) { by("released").textContent = "Type a sentence first."; return; }
  const role = new FormData(by("release")).get("role");
  try {
    const found = await ask("/v1/embeddings", { input: text, input_type: role });
    const vector = found.data[0].embedding;
    const first = vector.slice(0, 4).map((value) => value.toFixed(3)).join(", ");
    by("released").textContent = `Released: ${vector.length} numbers, ${first}, …`;
  } catch (error) {
    by("released").textContent = error.message;
  }
  showLedger((await ask("/console/state")).ledger);
}

async function refresh() {
  try {
    const found = await ask("/console/state");
    by("key-form").hidden = true;
    trouble();
    showState(found);
    const moving = found.protects && !["failed", "idle"].includes(found.preview.status) && !found.preview.complete;
    if (moving) setTimeout(refresh, found.preview.steps.length ? 1500 : 500);
  } catch (error) {
    if (error.status === 401) {
      showView("");
      by("views").hidden = true;
      by("key-form").hidden = false;
      trouble(state.key ? "This key is not valid." : "");
    } else trouble(error.message);
  }
}

let pending;
by("noise").addEventListener("input", () => {
  showNoise();
  clearTimeout(pending);
  if (!by("result").hidden) pending = setTimeout(look, 250);
});
by("neutral").addEventListener("change", () => {
  showPreview(state.preview);
  if (!by("result").hidden) look();
});
by("try").addEventListener("submit", (event) => { event.preventDefault(); look(); });
by("release").addEventListener("submit", release);
by("views").addEventListener("click", (event) => { if (event.target.dataset.view) showView(event.target.dataset.view); });
by("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  state.key = by("key").value.trim();
  by("key").value = "";
  refresh();
});
