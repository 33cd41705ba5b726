// What a gateway in trouble, or something that is no gateway, makes of a call; over a real connection.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";

import { NetworkError, ProtocolError, RequestTimeoutError, SfumatoClient, UnavailableError, decodeVector } from "../dist/index.js";

const VECTOR = Buffer.from(new Float32Array([0.6, -0.8]).buffer).toString("base64");
const GOOD = {
  object: "list",
  model: "m",
  usage: { prompt_tokens: 1, total_tokens: 1 },
  data: [{ object: "embedding", index: 0, embedding: VECTOR }],
};
let server, baseUrl, replies, asked;

before(async () => {
  server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      asked.push(request.method);
      const reply = replies.length > 1 ? replies.shift() : replies[0];
      if (reply === "hang up") return request.socket.destroy();
      if (reply === "wait") return undefined;
      const { status = 200, headers = {}, body = GOOD } = reply;
      response.writeHead(status, headers);
      return response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${server.address().port}`;
});
after(() => (server.closeAllConnections(), server.close()));
beforeEach(() => {
  replies = [{}];
  asked = [];
});

const BUSY = { status: 503, headers: { "retry-after": "0" }, body: { error: { message: "Busy.", type: "server_error", param: null, code: "overloaded" } } };
const DAMAGED = { status: 503, body: { error: { message: "Damaged.", type: "server_error", param: null, code: "collection_damaged" } } };
const UPSTREAM = { status: 502, body: "<html>" };
const client = (options = {}) => new SfumatoClient({ baseUrl, ...options });
const document = () => client().embed(["x"]);
const query = () => client().embedQuery("x");
const erase = () => client().collection("notes").erase(["x"]);

test("a busy gateway is asked again by all: nothing had been done", async () => {
  for (const call of [document, query]) {
    replies = [BUSY, BUSY, {}];
    asked = [];
    await call();
    assert.equal(asked.length, 3);
  }
  replies = [BUSY, { body: { deleted: 0, erased: null } }];
  assert.equal(await erase(), null);
});

test("what may have been done is asked again only where twice is as once", async () => {
  for (const trouble of ["hang up", UPSTREAM, DAMAGED]) {
    replies = [trouble, {}];
    asked = [];
    await document();
    assert.equal(asked.length, 2);
    for (const call of [query, erase]) {
      replies = [trouble, {}];
      asked = [];
      await assert.rejects(call(), trouble === "hang up" ? NetworkError : UnavailableError);
      assert.equal(asked.length, 1);
    }
  }
});

test("tries are bounded", async () => {
  replies = [BUSY];
  await assert.rejects(document(), (error) => error instanceof UnavailableError && error.code === "overloaded" && error.retryAfter === 0);
  assert.equal(asked.length, 3);
  asked = [];
  await assert.rejects(client({ retries: 0 }).embed(["x"]), UnavailableError);
  assert.equal(asked.length, 1);
});

test("a gateway that asks for more time than there is, or for no more tries, is not asked again", async () => {
  replies = [{ ...BUSY, headers: { "retry-after": "3600" } }];
  await assert.rejects(document(), (error) => error.retryAfter === 3600);
  replies = [{ ...BUSY, headers: { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() } }];
  await assert.rejects(document(), (error) => error.retryAfter > 3500);
  replies = [{ ...BUSY, headers: { "retry-after": "0", "x-should-retry": "false" } }];
  await assert.rejects(document(), (error) => error.mayRetry === false);
  assert.equal(asked.length, 3);
});

test("time is counted over all tries", async () => {
  replies = [BUSY, "wait"];
  await assert.rejects(client({ timeoutMs: 4000 }).embed(["x"]), RequestTimeoutError);
  assert.equal(asked.length, 2);
});

test("a signal ends the wait between two tries", async () => {
  replies = [{ ...BUSY, headers: { "retry-after": "30" } }];
  const stop = new AbortController();
  const call = client().embed(["x"], { signal: stop.signal });
  setTimeout(() => stop.abort("enough"), 50);
  await assert.rejects(call, (error) => error === "enough");
});

test("nobody there", async () => {
  const closed = await new Promise((resolve) => {
    const other = createServer().listen(0, "127.0.0.1", () => {
      const { port } = other.address();
      other.close(() => resolve(`http://127.0.0.1:${port}`));
    });
  });
  let tries = 0;
  const counted = (input, init) => (tries++, fetch(input, init));
  const alone = new SfumatoClient({ baseUrl: closed, apiKey: "sfm-secret", fetch: counted });
  await assert.rejects(alone.embedQuery("secret text"), (error) => {
    assert.ok(error instanceof NetworkError && error.nothingSent);
    assert.equal(error.code, "ECONNREFUSED");
    assert.ok(!/secret/.test(error.message + error.stack) && error.cause === undefined);
    return true;
  });
  assert.equal(tries, 3); // nothing was sent, so even a query is safe to try again
});

test("redirects are not followed", async () => {
  replies = [{ status: 307, headers: { location: "http://127.0.0.1:9/" }, body: "" }];
  await assert.rejects(query(), NetworkError);
});

test("answers that are no gateway's", async () => {
  const [row] = GOOD.data;
  const bad = Buffer.from(new Float32Array([Number.NaN, 1]).buffer).toString("base64");
  for (const body of [
    "<html>",
    "null",
    "{}",
    { ...GOOD, data: [] },
    { ...GOOD, data: [{ ...row, index: 1 }] },
    { ...GOOD, data: [{ ...row, embedding: "%%%" }] },
    { ...GOOD, data: [{ ...row, embedding: "AAA=" }] },
    { ...GOOD, data: [{ ...row, embedding: "" }] },
    { ...GOOD, data: [{ ...row, embedding: bad }] },
    { ...GOOD, model: undefined },
    { ...GOOD, usage: undefined },
  ]) {
    replies = [{ body }];
    await assert.rejects(document(), ProtocolError, JSON.stringify(body));
  }
  replies = [{ body: {} }];
  const notes = client().collection("notes");
  for (const call of [notes.search("x"), notes.get(["x"]), notes.add([{ id: "x", text: "y" }]), notes.delete(["x"])]) {
    await assert.rejects(call, ProtocolError);
  }
  replies = [{ body: { results: [] } }];
  await assert.rejects(notes.search("x"), ProtocolError);
});

test("an answer without end is cut off", async () => {
  replies = [{ body: "x".repeat(5000) }];
  await assert.rejects(client({ maxAnswerBytes: 1000 }).embed(["x"]), (error) => error instanceof ProtocolError && /1000 bytes/.test(error.message));
});

test("an error page of a proxy is not repeated", async () => {
  replies = [{ status: 504, body: "<html>secret</html>" }];
  await assert.rejects(document(), (error) => error instanceof UnavailableError && error.status === 504 && !/secret/.test(error.message));
  assert.equal(asked.length, 1); // it took too long: it would again
});

test("base64 of float32, little end first", () => {
  assert.deepEqual(decodeVector(VECTOR), new Float32Array([0.6, -0.8]));
  assert.throws(() => decodeVector("AAAA"), ProtocolError);
});
