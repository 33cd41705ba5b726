// What must compile, and what must not. Never run.

import { BudgetError, type Embeddings, type Hit, RefusalError, SfumatoClient, SfumatoError } from "../dist/index.js";

const client = new SfumatoClient({ baseUrl: "http://127.0.0.1:8000", apiKey: "sfm-key", timeoutMs: 5000 });
const notes = client.collection("notes");

export async function right(signal: AbortSignal): Promise<[Embeddings, Hit[]]> {
  const found = await client.embed(["a text"], { inputType: "clean_query", dimensions: 8, signal });
  await notes.add([{ id: "n1", text: "a text", metadata: { year: 2024, done: false, note: null } }]);
  const { hits } = await notes.search("a text", { k: 3, where: { year: [2024, 2025], done: true } });
  const score: number = hits[0]?.score ?? 0;
  const record = await notes.erase(["n1"]);
  const count: number | undefined = record?.count;
  const error: SfumatoError | RefusalError = new BudgetError({
    status: 429,
    message: `${score} ${count}`,
    code: null,
    param: null,
    retryAfter: undefined,
    mayRetry: false,
    requestId: undefined,
  });
  if (error instanceof RefusalError) error.status.toFixed();
  return [found, hits];
}

export async function wrong(): Promise<void> {
  // @ts-expect-error an address is needed
  new SfumatoClient({ apiKey: "sfm-key" });
  // @ts-expect-error one text is no list
  await client.embed("a text");
  // @ts-expect-error no such type
  await client.embed(["a text"], { inputType: "passage" });
  // @ts-expect-error a document has a text
  await notes.add([{ id: "n1" }]);
  // @ts-expect-error metadata is flat
  await notes.add([{ id: "n1", text: "a", metadata: { tags: ["x"] } }]);
  // @ts-expect-error operators are not known
  await notes.search("a", { where: { year: { $gt: 2000 } } });
  // @ts-expect-error hits may be fewer than asked for
  (await notes.search("a")).hits[0].score;
  // @ts-expect-error there may be no record
  (await notes.erase(["n1"])).count;
}
