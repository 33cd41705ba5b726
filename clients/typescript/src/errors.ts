// What can go wrong, as one tree. No error holds a text, an id, a vector or a key.
//
//     SfumatoError
//     ├── ArgumentError            what was asked for cannot be sent
//     ├── RefusalError             the gateway answered and refused: status, code, retryAfter
//     │   ├── InvalidRequestError  400, 408, 413 and others of 4xx
//     │   ├── AuthenticationError  401
//     │   ├── PermissionError      403
//     │   ├── NotFoundError        404
//     │   ├── BudgetError          429: the privacy budget is spent, trying again cannot help
//     │   └── UnavailableError     5xx
//     ├── RequestTimeoutError      no answer in time
//     ├── NetworkError             no answer at all
//     └── ProtocolError            an answer that is not the gateway's
//
// A call that its own AbortSignal ended rejects with that signal's reason, as fetch does.

import type { ErrorAnswer } from "./schema.js";

export class SfumatoError extends Error {
  override name = "SfumatoError";
}

export class ArgumentError extends SfumatoError {
  override name = "ArgumentError";
}

export interface Refusal {
  status: number;
  message: string;
  code: string | null;
  param: string | null;
  /** Seconds that the gateway asks to wait. */
  retryAfter: number | undefined;
  /** False where the gateway says that trying again cannot help. */
  mayRetry: boolean;
  /** The id under which the gateway's log has the request. */
  requestId: string | undefined;
}

export class RefusalError extends SfumatoError {
  override name = "RefusalError";
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly retryAfter: number | undefined;
  readonly mayRetry: boolean;
  readonly requestId: string | undefined;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.status = refusal.status;
    this.code = refusal.code;
    this.param = refusal.param;
    this.retryAfter = refusal.retryAfter;
    this.mayRetry = refusal.mayRetry;
    this.requestId = refusal.requestId;
  }
}

export class InvalidRequestError extends RefusalError {
  override name = "InvalidRequestError";
}

export class AuthenticationError extends RefusalError {
  override name = "AuthenticationError";
}

export class PermissionError extends RefusalError {
  override name = "PermissionError";
}

export class NotFoundError extends RefusalError {
  override name = "NotFoundError";
}

export class BudgetError extends RefusalError {
  override name = "BudgetError";
}

export class UnavailableError extends RefusalError {
  override name = "UnavailableError";
}

export class RequestTimeoutError extends SfumatoError {
  override name = "RequestTimeoutError";

  constructor(readonly milliseconds: number) {
    super(`There was no answer within ${milliseconds} milliseconds.`);
  }
}

export class NetworkError extends SfumatoError {
  override name = "NetworkError";

  /** @param code the system's word for it, such as ECONNREFUSED, where there is one. */
  constructor(readonly code: string | undefined) {
    super(`The gateway could not be reached${code === undefined ? "" : ` (${code})`}.`);
  }

  /** Whether it is certain that the gateway got nothing. */
  get nothingSent(): boolean {
    return this.code !== undefined && NEVER_CONNECTED.has(this.code);
  }
}

export class ProtocolError extends SfumatoError {
  override name = "ProtocolError";
}

const NEVER_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

const KINDS: Record<number, typeof RefusalError> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  429: BudgetError,
};

/** The error for a status and a body; a body that is not the gateway's is not repeated. */
export function refusalOf(status: number, headers: Headers, body: string): RefusalError {
  const told = errorIn(body);
  const kind = KINDS[status] ?? (status >= 500 ? UnavailableError : InvalidRequestError);
  return new kind({
    status,
    message: told?.message ?? `The gateway answered with status ${status}.`,
    code: told?.code ?? null,
    param: told?.param ?? null,
    retryAfter: seconds(headers.get("retry-after")),
    mayRetry: headers.get("x-should-retry") !== "false",
    requestId: headers.get("x-request-id") ?? undefined,
  });
}

function errorIn(body: string): ErrorAnswer["error"] | undefined {
  try {
    const found = (JSON.parse(body) as Partial<ErrorAnswer> | null)?.error;
    return typeof found?.message === "string" ? found : undefined;
  } catch {
    return undefined;
  }
}

/** What Retry-After says: seconds, or a date. */
function seconds(header: string | null): number | undefined {
  if (header === null) return undefined;
  const told = /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(told) ? Math.max(0, told) : undefined;
}
