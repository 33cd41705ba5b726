// One call to the gateway: bounded in time and size, tried again only where that is safe, and never logged.

import { ArgumentError, NetworkError, ProtocolError, RefusalError, refusalOf, RequestTimeoutError } from "./errors.js";

export interface ClientOptions {
  /** Where the gateway is, such as "https://gateway.example"; a "/v1" at its end may be there. */
  baseUrl: string;
  /** An API key that `sfumato serve --new-key` made; a gateway on this machine may need none. */
  apiKey?: string;
  /** Milliseconds for a whole call, further tries included: 60,000 if not said. */
  timeoutMs?: number;
  /** Further tries after a failure that allows them: 2 if not said. */
  retries?: number;
  /** Bytes of an answer that are read: 256 MiB if not said. */
  maxAnswerBytes?: number;
  /** What fetches, in the place of the global one. */
  fetch?: typeof fetch;
}

export interface CallOptions {
  signal?: AbortSignal;
  /** Milliseconds for this call, in the place of the client's. */
  timeoutMs?: number;
}

export interface Call extends CallOptions {
  path: string;
  /** Sent as JSON by POST; without one it is a GET. */
  body?: unknown;
  /** Whether doing it twice is the same as doing it once, the answer and the cost included. */
  repeatable: boolean;
}

const MOST_RETRIES = 10;
const LONGEST = 2 ** 31 - 1;

export class Transport {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #mostBytes: number;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.#base = baseOf(options.baseUrl);
    this.#headers = { accept: "application/json" };
    if (options.apiKey !== undefined) {
      if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new ArgumentError("`apiKey` must be visible ASCII characters.");
      this.#headers["authorization"] = `Bearer ${options.apiKey}`;
    }
    this.#timeoutMs = whole(options.timeoutMs ?? 60_000, "timeoutMs", 1, LONGEST);
    this.#retries = whole(options.retries ?? 2, "retries", 0, MOST_RETRIES);
    this.#mostBytes = whole(options.maxAnswerBytes ?? 2 ** 28, "maxAnswerBytes", 1, Number.MAX_SAFE_INTEGER);
    const own = options.fetch;
    this.#fetch = own ?? ((input, init) => globalThis.fetch(input, init));
  }

  /** The parsed JSON of an answer that is no refusal. */
  async send(call: Call): Promise<unknown> {
    const limit = whole(call.timeoutMs ?? this.#timeoutMs, "timeoutMs", 1, LONGEST);
    call.signal?.throwIfAborted();
    const end = Date.now() + limit;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), limit);
    const forward = () => stop.abort();
    call.signal?.addEventListener("abort", forward, { once: true });
    try {
      for (let tried = 0; ; tried++) {
        try {
          return await this.#once(call, stop.signal);
        } catch (error) {
          const wait = tried < this.#retries ? waitBefore(error, call.repeatable, tried) : undefined;
          if (stop.signal.aborted || wait === undefined || Date.now() + wait >= end) throw error;
          await pause(wait, stop.signal);
        }
      }
    } catch (error) {
      call.signal?.throwIfAborted();
      throw stop.signal.aborted ? new RequestTimeoutError(limit) : error;
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener("abort", forward);
    }
  }

  async #once(call: Call, signal: AbortSignal): Promise<unknown> {
    const sent: RequestInit =
      call.body === undefined
        ? { method: "GET", headers: this.#headers }
        : {
            method: "POST",
            headers: { ...this.#headers, "content-type": "application/json" },
            body: JSON.stringify(call.body),
          };
    let answer: Response;
    let body: string;
    try {
      // Redirects are refused: the key and the texts are for this address alone.
      answer = await this.#fetch(this.#base + call.path, {
        ...sent,
        signal,
        redirect: "error",
        credentials: "omit",
        cache: "no-store",
        referrerPolicy: "no-referrer",
      });
      body = await bounded(answer, this.#mostBytes);
    } catch (error) {
      // What fetch throws may quote the address; only the system's word for it is kept.
      throw error instanceof ProtocolError ? error : new NetworkError(codeOf(error));
    }
    if (!answer.ok) throw refusalOf(answer.status, answer.headers, body);
    try {
      return JSON.parse(body);
    } catch {
      throw new ProtocolError("The answer must be JSON. Found something else: is this a Sfumato gateway?");
    }
  }
}

/** Milliseconds to wait before another try, or undefined where there must be none. */
function waitBefore(error: unknown, repeatable: boolean, tried: number): number | undefined {
  const backoff = 250 * 2 ** tried * (0.5 + Math.random());
  if (error instanceof NetworkError) return repeatable || error.nothingSent ? backoff : undefined;
  if (!(error instanceof RefusalError) || !error.mayRetry) return undefined;
  // 503 with Retry-After: the gateway refused before it released or wrote anything.
  if (error.status === 503 && error.retryAfter !== undefined) return Math.max(backoff, 1000 * error.retryAfter);
  return repeatable && (error.status === 502 || error.status === 503) ? backoff : undefined;
}

async function bounded(answer: Response, most: number): Promise<string> {
  if (answer.body === null) return "";
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let read = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    read += value.byteLength;
    if (read > most) {
      await reader.cancel();
      throw new ProtocolError(`The answer must have at most ${most} bytes. Found more: ask for less at once.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopped = () => {
      clearTimeout(timer);
      reject(new Error("stopped"));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stopped);
      resolve();
    }, milliseconds);
    signal.addEventListener("abort", stopped, { once: true });
    if (signal.aborted) stopped();
  });
}

function codeOf(error: unknown): string | undefined {
  for (let each = error, depth = 0; each instanceof Error && depth < 4; each = each.cause, depth++) {
    const code = (each as { code?: unknown }).code;
    if (typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code)) return code;
  }
  return undefined;
}

function baseOf(given: string): string {
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw new ArgumentError("`baseUrl` must be an address such as https://gateway.example.");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new ArgumentError("`baseUrl` must begin with http:// or https://.");
  if (url.username || url.password || url.search || url.hash) {
    throw new ArgumentError("`baseUrl` must hold no name, password, query or fragment. Give the key as `apiKey`.");
  }
  return (url.origin + url.pathname).replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** An answer that has what it must have: a list, or a number, under a name. */
export function holding<T>(answer: unknown, name: keyof T & string, kind: "list" | "number" | "string"): T {
  const found = (answer as Record<string, unknown> | null)?.[name];
  if (kind === "list" ? !Array.isArray(found) : typeof found !== kind) {
    throw new ProtocolError(`The answer must hold a ${kind} \`${name}\`. Found something else: is this a Sfumato gateway?`);
  }
  return answer as T;
}

/** A whole number between two others, or a refusal. */
export function whole(value: number, name: string, low: number, high: number): number {
  if (!Number.isSafeInteger(value) || value < low || value > high) {
    throw new ArgumentError(`\`${name}\` must be a whole number from ${low} to ${high}.`);
  }
  return value;
}
