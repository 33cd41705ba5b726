// The client: protected embeddings, and the sealed collections of a key.

import { Collection } from "./collection.js";
import { ArgumentError, ProtocolError } from "./errors.js";
import type { CollectionsAnswer, EmbeddingsAnswer, EmbeddingsRequest, HealthAnswer, ModelsAnswer } from "./schema.js";
import { type CallOptions, type ClientOptions, holding, Transport, whole } from "./transport.js";
import { vectorsOf } from "./vectors.js";

/**
 * What texts are embedded as. A "document" has sticky noise and costs once. A "query" has fresh noise and costs each
 * time. A "clean_query" has no noise and no promise, and is refused unless the operator allowed it.
 */
export type InputType = NonNullable<EmbeddingsRequest["input_type"]>;

export interface EmbedOptions extends CallOptions {
  /** "document" if not said. */
  inputType?: InputType;
  /** Keep the first so many numbers of each vector, at unit length again. */
  dimensions?: number;
}

export interface Embeddings {
  /** One vector a text, in their order. */
  vectors: Float32Array[];
  /** The protector that answered; "#unprotected" stands at its end for clean queries. */
  model: string;
  tokens: number;
}

export class SfumatoClient {
  readonly #transport: Transport;

  constructor(options: ClientOptions) {
    this.#transport = new Transport(options);
  }

  /** The protected vectors of texts. */
  async embed(texts: readonly string[], options: EmbedOptions = {}): Promise<Embeddings> {
    if (!Array.isArray(texts) || texts.length === 0 || !texts.every((each) => typeof each === "string")) {
      throw new ArgumentError("`texts` must be a list of texts that is not empty.");
    }
    const { inputType = "document", dimensions, ...rest } = options;
    const body: EmbeddingsRequest = { input: [...texts], input_type: inputType, encoding_format: "base64" };
    if (dimensions !== undefined) body.dimensions = whole(dimensions, "dimensions", 1, 2 ** 20);
    // A document again is the same release, at no cost. A query again is another release.
    const call = { path: "/v1/embeddings", body, repeatable: inputType === "document", ...rest };
    const answer = (await this.#transport.send(call)) as EmbeddingsAnswer;
    const vectors = vectorsOf(answer, texts.length);
    const tokens = answer.usage?.total_tokens;
    if (typeof answer.model !== "string" || !Number.isInteger(tokens)) {
      throw new ProtocolError("The answer must name its model and count tokens. Found neither or one.");
    }
    return { vectors, model: answer.model, tokens };
  }

  /** The protected vector of one search. */
  async embedQuery(text: string, options: Omit<EmbedOptions, "inputType"> = {}): Promise<Float32Array> {
    const { vectors } = await this.embed([text], { ...options, inputType: "query" });
    return vectors[0] as Float32Array;
  }

  /** A sealed collection of this key; whether it is there turns out when it is used. */
  collection(name: string): Collection {
    return new Collection(this.#transport, name);
  }

  /** The names of the sealed collections of this key. */
  async collections(options: CallOptions = {}): Promise<string[]> {
    const answer = holding<CollectionsAnswer>(await this.#get("/v1/collections", options), "data", "list");
    return answer.data.map((each) => each.id);
  }

  /** The protector behind this key. */
  async model(options: CallOptions = {}): Promise<string> {
    const answer = holding<ModelsAnswer>(await this.#get("/v1/models", options), "data", "list");
    const [first] = answer.data;
    if (first === undefined) throw new ProtocolError("The gateway must name one model. Found none.");
    return first.id;
  }

  /** Whether the gateway is up, and its version. */
  async health(options: CallOptions = {}): Promise<HealthAnswer> {
    return holding<HealthAnswer>(await this.#get("/health", options), "version", "string");
  }

  #get(path: string, options: CallOptions): Promise<unknown> {
    return this.#transport.send({ path, repeatable: true, ...options });
  }
}
