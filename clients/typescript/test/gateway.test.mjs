// Against a real gateway: SFUMATO_URL, and keys of three tenants, come from whoever starts it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import {
  ArgumentError,
  AuthenticationError,
  BudgetError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RefusalError,
  RequestTimeoutError,
  SfumatoClient,
  SfumatoError,
} from "../dist/index.js";

const { SFUMATO_URL: baseUrl, SFUMATO_KEY: apiKey, SFUMATO_OPEN_KEY, SFUMATO_STRICT_KEY } = process.env;
const PRIVATE = "Ottoline moved to Lisbon in May.";
const client = new SfumatoClient({ baseUrl, apiKey });

/** A client, and how often it asked. */
function counting(key, options = {}) {
  const seen = [];
  const counted = (input, init) => (seen.push(init), fetch(input, init));
  return [new SfumatoClient({ baseUrl, apiKey: key, fetch: counted, ...options }), seen];
}

async function raw(path, body, key = apiKey) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return (await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

test("it is up, and says which model answers", async () => {
  const { status, version } = await client.health();
  assert.equal(status, "ok");
  assert.match(version, /^\d+\.\d+/);
  assert.match(await client.model(), /^sfumato\/mild@[0-9a-f]{8}$/);
});

test("a /v1 at the end of the address makes no difference", async () => {
  for (const tail of ["/", "/v1", "/v1/"]) {
    assert.equal((await new SfumatoClient({ baseUrl: baseUrl + tail, apiKey }).health()).status, "ok");
  }
});

test("documents are the gateway's numbers to the last bit, in order, and the same again", async () => {
  const texts = [PRIVATE, "A quiet week.", "東京 and \u{1f600}"];
  const first = await client.embed(texts);
  const again = await client.embed(texts);
  assert.equal(first.model, await client.model());
  assert.ok(Number.isInteger(first.tokens) && first.tokens > 0);
  assert.deepEqual(first.vectors, again.vectors);
  const plain = await raw("/v1/embeddings", { input: texts, encoding_format: "float" });
  assert.deepEqual(first.vectors, plain.data.map((each) => Float32Array.from(each.embedding)));
  for (const vector of first.vectors) assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-3);
});

test("queries have fresh noise", async () => {
  const [one, two] = [await client.embedQuery(PRIVATE), await client.embedQuery(PRIVATE)];
  assert.ok(one instanceof Float32Array && one.length === two.length);
  assert.notDeepEqual(one, two);
});

test("fewer dimensions", async () => {
  const { vectors } = await client.embed([PRIVATE], { dimensions: 8 });
  assert.equal(vectors[0].length, 8);
  await assert.rejects(client.embed([PRIVATE], { dimensions: 65 }), InvalidRequestError);
});

test("clean queries need the operator's consent, and are marked", async () => {
  await assert.rejects(client.embed([PRIVATE], { inputType: "clean_query" }), (error) => {
    assert.ok(error instanceof PermissionError && error instanceof RefusalError && error instanceof SfumatoError);
    assert.deepEqual([error.status, error.code, error.param], [403, "clean_queries_not_allowed", "input_type"]);
    return true;
  });
  const open = new SfumatoClient({ baseUrl, apiKey: SFUMATO_OPEN_KEY });
  const [one, two] = [0, 1].map(() => open.embed([PRIVATE], { inputType: "clean_query" }));
  assert.deepEqual((await one).vectors, (await two).vectors);
  assert.match((await one).model, /#unprotected$/);
});

test("a wrong key", async () => {
  for (const key of ["sfm-wrong", undefined]) {
    const [stranger, seen] = counting(key);
    await assert.rejects(stranger.embed([PRIVATE]), (error) => {
      assert.ok(error instanceof AuthenticationError);
      assert.equal(error.code, "invalid_api_key");
      assert.match(error.requestId, /^[0-9a-f]{16}$/);
      return true;
    });
    assert.equal(seen.length, 1);
  }
});

test("a broken rule names the field and not the text", async () => {
  const many = new Array(17).fill(PRIVATE);
  await assert.rejects(client.embed(many), (error) => {
    assert.ok(error instanceof InvalidRequestError);
    assert.deepEqual([error.status, error.param], [400, "input"]);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes("Lisbon"));
    return true;
  });
});

test("a spent budget is not tried again", async () => {
  const [strict, seen] = counting(SFUMATO_STRICT_KEY);
  await strict.embedQuery("asked once");
  await assert.rejects(strict.embedQuery("asked once"), (error) => {
    assert.ok(error instanceof BudgetError);
    assert.deepEqual([error.status, error.code, error.mayRetry], [429, "budget_spent", false]);
    return true;
  });
  assert.equal(seen.length, 2);
});

test("what cannot be sent is refused here", async () => {
  for (const texts of [[], "one text", [1], null]) await assert.rejects(client.embed(texts), ArgumentError);
  for (const name of ["", "Notes", "../notes", "a/b", "x".repeat(65)]) {
    assert.throws(() => client.collection(name), ArgumentError);
  }
  for (const wrong of [
    { baseUrl: "nowhere" },
    { baseUrl: "ftp://host" },
    { baseUrl: "http://name:password@host" },
    { baseUrl, apiKey: "two words" },
    { baseUrl, apiKey: "a\nb" },
    { baseUrl, timeoutMs: 0 },
    { baseUrl, retries: -1 },
    { baseUrl, retries: 1.5 },
  ]) {
    assert.throws(() => new SfumatoClient(wrong), (error) => error instanceof ArgumentError && !/password@|two words/.test(error.message));
  }
});

test("documents are sealed, found, read, deleted and erased", async () => {
  assert.deepEqual(await client.collections(), ["notes"]);
  const notes = client.collection("notes");
  const documents = [
    { id: "n1", text: "Moved to Lisbon in May.", metadata: { year: 2024, done: true } },
    { id: "n2", text: "Moved to Faro.", metadata: { year: 2025 } },
    { id: "n/3 ?", text: "A quiet week." },
  ];
  assert.equal(await notes.add(documents), 3);
  assert.equal(await notes.add(documents), 0);
  assert.equal(await notes.add([]), 0);
  const { hits, complete, faults } = await notes.search("Moved to Faro.", { k: 2 });
  assert.deepEqual([complete, faults], [true, []]);
  assert.deepEqual(hits[0], { id: "n2", text: "Moved to Faro.", metadata: { year: 2025 }, score: 1 });
  assert.equal(hits.length, 2);
  const filtered = await notes.searchAll(["Moved to Faro.", "week"], { where: { year: [2024, 2023] } });
  assert.deepEqual(filtered.map((each) => each.hits.map((hit) => hit.id)), [["n1"], ["n1"]]);
  assert.deepEqual(await notes.searchAll([]), []);
  assert.deepEqual(await notes.get(["n/3 ?", "absent"]), [{ id: "n/3 ?", text: "A quiet week.", metadata: {} }]);
  assert.deepEqual(await notes.get([]), []);
  assert.equal(await notes.delete(["n1", "absent"]), 1);
  assert.equal(await notes.delete([]), 0);
  const record = await notes.erase(["n2"]);
  assert.ok(record.count >= 1); // what was deleted or replaced before goes, too
  assert.notEqual(record.old_root, record.new_root);
  assert.equal(await notes.erase(["n2"]), null);
  assert.deepEqual(await notes.get(["n1", "n2"]), []);
  await assert.rejects(notes.search(" "), InvalidRequestError);
  await assert.rejects(notes.search("x", { where: { year: [] } }), InvalidRequestError);
  await assert.rejects(notes.search("x", { k: 1001 }), ArgumentError);
});

test("another tenant's collection is as one that is not there", async () => {
  const messages = [];
  for (const name of ["others", "absent"]) {
    await assert.rejects(client.collection(name).get(["x"]), (error) => (messages.push(error.message), error instanceof NotFoundError));
  }
  assert.equal(messages[0], messages[1]);
});

test("a signal ends a call with its reason", async () => {
  await assert.rejects(client.embed([PRIVATE], { signal: AbortSignal.abort("early") }), (error) => error === "early");
  const stop = new AbortController();
  const asked = client.embed([PRIVATE], { signal: stop.signal });
  stop.abort();
  await assert.rejects(asked, { name: "AbortError" });
  await assert.rejects(client.collection("notes").search("x", { signal: AbortSignal.abort("no") }), (error) => error === "no");
});

test("a call that takes too long says so", async () => {
  const slow = (input, init) => new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(new Error("cut"))));
  const patient = new SfumatoClient({ baseUrl, apiKey, fetch: slow, timeoutMs: 60_000 });
  await assert.rejects(patient.health({ timeoutMs: 20 }), (error) => error instanceof RequestTimeoutError && error.milliseconds === 20);
});

test("a client and what it makes show no key", () => {
  for (const each of [client, client.collection("notes")]) {
    assert.ok(!inspect(each, { depth: 9, showHidden: true }).includes(apiKey));
    assert.ok(!JSON.stringify(each).includes(apiKey));
  }
});
