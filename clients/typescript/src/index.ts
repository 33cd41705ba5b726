export { SfumatoClient, type Embeddings, type EmbedOptions, type InputType } from "./client.js";
export {
  Collection,
  type ErasureRecord,
  type Hit,
  type Metadata,
  type NewDocument,
  type SearchOptions,
  type SearchResult,
  type StoredDocument,
  type Where,
} from "./collection.js";
export {
  ArgumentError,
  AuthenticationError,
  BudgetError,
  InvalidRequestError,
  NetworkError,
  NotFoundError,
  PermissionError,
  ProtocolError,
  RefusalError,
  RequestTimeoutError,
  SfumatoError,
  UnavailableError,
} from "./errors.js";
export type * from "./schema.js";
export type { CallOptions, ClientOptions } from "./transport.js";
export { decodeVector } from "./vectors.js";
