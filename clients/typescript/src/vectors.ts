// Embeddings as they travel, four bytes a number in base64, and as they are used.

import { ProtocolError } from "./errors.js";
import type { EmbeddingsAnswer } from "./schema.js";

/** One vector of float32 numbers, little end first, out of base64. */
export function decodeVector(text: string): Float32Array {
  let bytes: string;
  try {
    bytes = atob(text);
  } catch {
    throw new ProtocolError("An embedding must be base64. Found something else.");
  }
  if (bytes.length === 0 || bytes.length % 4 !== 0) {
    throw new ProtocolError(`An embedding must have four bytes a number. Found ${bytes.length} bytes.`);
  }
  const view = new DataView(new ArrayBuffer(bytes.length));
  for (let at = 0; at < bytes.length; at++) view.setUint8(at, bytes.charCodeAt(at));
  const vector = new Float32Array(bytes.length / 4);
  for (let at = 0; at < vector.length; at++) vector[at] = view.getFloat32(4 * at, true);
  return vector;
}

/** The vectors of an answer in the order of the texts: one each, of one length, all numbers finite. */
export function vectorsOf(answer: EmbeddingsAnswer, count: number): Float32Array[] {
  const vectors: Array<Float32Array | undefined> = new Array(count).fill(undefined);
  if (!Array.isArray(answer?.data) || answer.data.length !== count) {
    throw new ProtocolError(`The answer must hold ${count} embeddings. Found another number.`);
  }
  for (const { index, embedding } of answer.data) {
    if (!Number.isInteger(index) || index < 0 || index >= count || vectors[index] !== undefined) {
      throw new ProtocolError("The answer must number its embeddings from 0. Found other numbers.");
    }
    vectors[index] = typeof embedding === "string" ? decodeVector(embedding) : Float32Array.from(embedding);
  }
  const found = vectors as Float32Array[];
  if (found.some((each) => each.length !== found[0]?.length || !each.every(Number.isFinite))) {
    throw new ProtocolError("The embeddings must have one length and finite numbers. Found others.");
  }
  return found;
}
