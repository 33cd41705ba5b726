// A sealed collection behind the gateway: its store finds documents and can read nothing.

import { ArgumentError, ProtocolError } from "./errors.js";
import type { AddAnswer, AddRequest, DeleteAnswer, DeleteRequest, ReadAnswer, ReadRequest, SearchAnswer, SearchRequest } from "./schema.js";
import { type CallOptions, holding, type Transport, whole } from "./transport.js";

export type Metadata = NonNullable<AddRequest["metadata"]>[number];
export type Where = NonNullable<SearchRequest["where"]>;
export type Hit = SearchAnswer["results"][number]["hits"][number];
/** `complete` is false where the store lost or changed something; `faults` says what, by numbers. */
export type SearchResult = Pick<SearchAnswer["results"][number], "hits" | "complete" | "faults">;
export type StoredDocument = ReadAnswer["documents"][number];
/** The record of an erasure, for the files of whoever must prove it. */
export type ErasureRecord = NonNullable<DeleteAnswer["erased"]>;

export interface NewDocument {
  id: string;
  text: string;
  metadata?: Metadata;
}

export interface SearchOptions extends CallOptions {
  /** Hits for each query: 10 if not said. */
  k?: number;
  /** Fields and the value each must have, or the values it may have. */
  where?: Where;
}

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export class Collection {
  readonly name: string;
  readonly #transport: Transport;
  readonly #path: string;

  /** Made by `SfumatoClient.collection`. */
  constructor(transport: Transport, name: string) {
    if (!NAME.test(name)) throw new ArgumentError("A collection's name must be up to 64 small letters, digits, dashes and underscores.");
    this.name = name;
    this.#transport = transport;
    this.#path = `/v1/collections/${name}`;
  }

  /** Seal documents, in the place of those with the same ids, and say how many were new or other. */
  async add(documents: readonly NewDocument[], options: CallOptions = {}): Promise<number> {
    if (documents.length === 0) return 0;
    const body: AddRequest = {
      ids: documents.map((each) => each.id),
      texts: documents.map((each) => each.text),
    };
    if (documents.some((each) => each.metadata !== undefined)) body.metadata = documents.map((each) => each.metadata ?? {});
    // The same documents again are no change.
    return holding<AddAnswer>(await this.#post("documents", body, true, options), "changed", "number").changed;
  }

  /** The documents nearest to a text. */
  async search(query: string, options: SearchOptions = {}): Promise<SearchResult> {
    const [only] = await this.searchAll([query], options);
    return only as SearchResult;
  }

  /** The documents nearest to each of up to 64 texts. */
  async searchAll(queries: readonly string[], options: SearchOptions = {}): Promise<SearchResult[]> {
    if (queries.length === 0) return [];
    const body: SearchRequest = { queries: [...queries] };
    if (options.k !== undefined) body.k = whole(options.k, "k", 1, 1000);
    if (options.where !== undefined) body.where = options.where;
    const { results } = holding<SearchAnswer>(await this.#post("search", body, true, options), "results", "list");
    if (results.length !== queries.length) throw new ProtocolError("The answer must hold one result a query. Found others.");
    return results.map(({ hits, complete, faults }) => ({ hits, complete, faults }));
  }

  /** The documents of up to 256 ids that are there. */
  async get(ids: readonly string[], options: CallOptions = {}): Promise<StoredDocument[]> {
    if (ids.length === 0) return [];
    const body: ReadRequest = { ids: [...ids] };
    return holding<ReadAnswer>(await this.#post("documents/get", body, true, options), "documents", "list").documents;
  }

  /** Take documents out, and say how many were there; older copies of the store still hold them. */
  async delete(ids: readonly string[], options: CallOptions = {}): Promise<number> {
    if (ids.length === 0) return 0;
    return (await this.#gone({ ids: [...ids] }, options)).deleted;
  }

  /** Take documents out so that no copy of the store opens them any more; null where none was there. */
  async erase(ids: readonly string[], options: CallOptions = {}): Promise<ErasureRecord | null> {
    if (ids.length === 0) return null;
    return (await this.#gone({ ids: [...ids], erase: true }, options)).erased;
  }

  // Ids stay out of addresses, which proxies log. A second try would answer that nothing was there.
  async #gone(body: DeleteRequest, options: CallOptions): Promise<DeleteAnswer> {
    return holding<DeleteAnswer>(await this.#post("documents/delete", body, false, options), "deleted", "number");
  }

  #post(path: string, body: unknown, repeatable: boolean, { signal, timeoutMs }: CallOptions): Promise<unknown> {
    return this.#transport.send({
      path: `${this.#path}/${path}`,
      body,
      repeatable,
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  }
}
