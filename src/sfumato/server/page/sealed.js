const FIRST = 8;
const number = (value) => value.toLocaleString("en");
const many = (count, name) => `${number(count)} ${name}${count === 1 ? "" : "s"}`;

function size(bytes) {
  return bytes < 1000 ? `${bytes} bytes` : bytes < 1e6 ? `${(bytes / 1000).toPrecision(3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
}

function showCollections(names) {
  const chosen = by("collection").value;
  by("collection").replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
  by("choose").hidden = names.length < 2;
}

function sealedHit(hit) {
  const line = make("li", hit.text);
  const fields = Object.entries(hit.metadata).map(([name, value]) => `${name} ${value}`);
  line.append(make("small", [`score ${hit.score.toFixed(3)}`, `id ${hit.id}`, ...fields].join(" · ")));
  return line;
}

function recordRows(records) {
  return records.map((record) => {
    const line = make("tr");
    line.append(make("td", record.id), make("td", number(record.bytes)), make("td", record.begins || "not there"));
    return line;
  });
}

function requestTable(request, place) {
  const table = make("table");
  const head = make("tr");
  for (const name of ["id", "bytes", "begins with"]) {
    const cell = make("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const caption = `Request ${place + 1}: ${many(request.records, "record")}, ${size(request.bytes)}`;
  table.append(make("caption", caption), make("thead"), make("tbody"));
  table.tHead.append(head);
  table.tBodies[0].append(...recordRows(request.shown.slice(0, FIRST)));
  const more = request.shown.slice(FIRST);
  if (!more.length) return [table];
  const rest = make("details");
  const inner = make("table");
  inner.append(make("tbody"));
  inner.tBodies[0].append(...recordRows(more));
  const beyond = request.records - request.shown.length;
  rest.append(make("summary", `${number(more.length)} more`), inner);
  if (beyond > 0) rest.append(make("p", `and ${number(beyond)} that are not shown`, "soft"));
  return [table, rest];
}

function showStolen(store) {
  const part = store.looked_at < store.records ? `of the first ${number(store.looked_at)} records` : "of all records";
  const cards = [
    ["records in the store", number(store.records), `for ${many(store.rows, "document")} of yours`],
    ["sizes among them", number(store.classes.length + store.other_classes), part],
    ["bytes", size(store.bytes), "sealed, each record under a key of its own"],
  ];
  by("stolen").replaceChildren(...cards.map(([name, value, note]) => {
    const card = make("div", undefined, "card");
    card.append(make("span", name), make("b", value), make("span", note));
    return card;
  }));
  const most = Math.max(1, ...store.classes.map((each) => each.records));
  by("classes").replaceChildren(...store.classes.map((each) => {
    const line = make("tr");
    const bar = draw("svg", { viewBox: "0 0 200 12", preserveAspectRatio: "none", "aria-hidden": "true" });
    bar.append(draw("rect", { width: (200 * each.records) / most, height: 12, rx: 2 }));
    const cell = make("td");
    cell.append(bar);
    line.append(make("td", number(each.bytes)), make("td", number(each.records)), cell);
    return line;
  }));
  by("rest").textContent = store.other_classes
    ? `and ${many(store.other_classes, "other size")} with ${many(store.other_records, "record")}.`
    : "These are all the sizes there are.";
}

function showFound(found) {
  const result = found.results[0];
  by("lacking").textContent = result.complete ? "" : `The store did not give all it was asked for: ${result.faults[0]}.`;
  by("you-see").textContent = result.hits.length
    ? `The nearest ${many(result.hits.length, "document")}, opened and ranked here.`
    : "Nothing was found: the collection is empty.";
  by("found").replaceChildren(...result.hits.map(sealedHit));
  const asked = found.requests.reduce((sum, each) => sum + each.records, 0);
  by("store-sees").textContent = found.requests.length
    ? `${number(asked)} ids and sealed bytes. First sealed candidates, always by the same rule, then texts: your hits among others ` +
      "drawn at random. Nothing here says which are which."
    : "It was not asked for anything.";
  by("requests").replaceChildren(...found.requests.flatMap(requestTable));
  showStolen(found.store);
  by("sides").hidden = false;
  by("thief").hidden = false;
}

let latest = 0;
async function seek(event) {
  event.preventDefault();
  const query = by("query").value;
  if (!query.trim()) return;
  trouble();
  by("sought").textContent = "Searching…";
  const turn = ++latest;
  let found = null, problem = "";
  try {
    found = await ask("/console/sealed", { collection: by("collection").value, query });
  } catch (error) {
    problem = error.message;
  }
  if (turn !== latest) return; // a later search is under way
  by("sought").textContent = "";
  trouble(problem);
  if (found) showFound(found);
}

by("seek").addEventListener("submit", seek);
refresh();
