// Made by scripts/schema.mjs from the gateway's /openapi.json. A test compares it with a running gateway's.

export type EmbeddingsRequest = {
  /** A text, texts, the tokens of a text, or lists of tokens. */
  input: string | Array<string> | Array<number> | Array<Array<number>>;
  /** Any name: the key decides which protector answers. */
  model?: string | null;
  encoding_format?: "float" | "base64";
  /** Keep the first so many numbers of the released vector, at unit length again. */
  dimensions?: number;
  /** Documents have sticky noise; queries have fresh noise and spend each time; clean queries have none and promise nothing: they need the operator's consent. */
  input_type?: "document" | "query" | "clean_query";
  /** Accepted and ignored. */
  user?: string | null;
};

export type EmbeddingsAnswer = {
  object: "list";
  model: string;
  data: Array<{
    object: "embedding";
    index: number;
    embedding: Array<number> | string;
  }>;
  usage: {
    prompt_tokens: number;
    total_tokens: number;
  };
};

export type ErrorAnswer = {
  error: {
    message: string;
    type: string;
    param: string | null;
    code: string | null;
  };
};

export type ModelsAnswer = {
  object: "list";
  data: Array<{
    id: string;
    object: "model";
    created: number;
    owned_by: string;
  }>;
};

export type HealthAnswer = {
  status: "ok";
  version: string;
};

export type CollectionsAnswer = {
  object: "list";
  data: Array<{
    id: string;
    object: "collection";
  }>;
};

export type AddRequest = {
  /** One a text; a document with the same id is replaced. */
  ids: Array<string>;
  texts: Array<string>;
  metadata?: Array<Record<string, string | number | boolean | null>>;
};

export type AddAnswer = {
  /** Documents that are new or changed. */
  changed: number;
};

export type ReadRequest = {
  ids: Array<string>;
};

export type ReadAnswer = {
  documents: Array<{
    id: string;
    text: string;
    metadata: Record<string, string | number | boolean>;
  }>;
};

export type DeleteRequest = {
  ids: Array<string>;
  /** Destroy the salts too, so that copies of the store open nothing of them. */
  erase?: boolean;
};

export type DeleteAnswer = {
  /** Documents that were there. */
  deleted: number;
  /** The record of an erasure, if it was one. */
  erased: {
    time: string;
    count: number;
    old_root: string;
    new_root: string;
  } | null;
};

export type SearchRequest = {
  /** A text to look for; or `queries`. */
  query?: string;
  queries?: Array<string>;
  k?: number;
  /** Fields and the value each must have, or a list of values it may have. */
  where?: Record<string, string | number | boolean | Array<string | number | boolean>>;
};

export type SearchAnswer = {
  /** Whether the store gave all that it was asked for. */
  complete: boolean;
  results: Array<{
    query: number;
    hits: Array<{
      id: string;
      text: string;
      metadata: Record<string, string | number | boolean>;
      score: number;
    }>;
    complete: boolean;
    faults: Array<string>;
  }>;
};
