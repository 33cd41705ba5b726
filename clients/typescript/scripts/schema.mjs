// Writes src/schema.ts: the types of what the gateway takes and gives, from its own OpenAPI schema.
//
//     sfumato serve --protector P --collections C &
//     node scripts/schema.mjs http://127.0.0.1:8000 > src/schema.ts

const COLLECTION = "/v1/collections/{name}";
const TYPES = [
  ["EmbeddingsRequest", "/v1/embeddings", "post", "request"],
  ["EmbeddingsAnswer", "/v1/embeddings", "post", "200"],
  ["ErrorAnswer", "/v1/embeddings", "post", "400"],
  ["ModelsAnswer", "/v1/models", "get", "200"],
  ["HealthAnswer", "/health", "get", "200"],
  ["CollectionsAnswer", "/v1/collections", "get", "200"],
  ["AddRequest", `${COLLECTION}/documents`, "post", "request"],
  ["AddAnswer", `${COLLECTION}/documents`, "post", "200"],
  ["ReadRequest", `${COLLECTION}/documents/get`, "post", "request"],
  ["ReadAnswer", `${COLLECTION}/documents/get`, "post", "200"],
  ["DeleteRequest", `${COLLECTION}/documents/delete`, "post", "request"],
  ["DeleteAnswer", `${COLLECTION}/documents/delete`, "post", "200"],
  ["SearchRequest", `${COLLECTION}/search`, "post", "request"],
  ["SearchAnswer", `${COLLECTION}/search`, "post", "200"],
];

// What is turned into types, and what only bounds values; anything else must not be passed over.
const KNOWN = new Set(
  ("type const enum anyOf oneOf items properties required additionalProperties description default minItems " +
    "maxItems minLength maxLength minimum maximum pattern propertyNames maxProperties").split(" "),
);
const PLAIN = { string: "string", integer: "number", number: "number", boolean: "boolean", null: "null" };

function typeOf(schema, indent = "") {
  const odd = Object.keys(schema).filter((name) => !KNOWN.has(name));
  if (odd.length > 0) throw new Error(`The schema says ${odd.join(", ")}, which this script does not know.`);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.anyOf) return union(schema.anyOf.map((each) => typeOf(each, indent)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  if (schema.type === "array") return `Array<${typeOf(schema.items, indent)}>`;
  if (schema.type === "object") return objectOf(schema, indent);
  if (!(schema.type in PLAIN)) throw new Error(`The schema has a type ${schema.type}, which this script does not know.`);
  return PLAIN[schema.type];
}

function objectOf(schema, indent) {
  if (!schema.properties) {
    const open = schema.additionalProperties;
    return `Record<string, ${typeof open === "object" ? typeOf(open, indent) : "unknown"}>`;
  }
  const inner = `${indent}  `;
  const required = new Set(schema.required ?? []);
  const lines = Object.entries(schema.properties).map(([name, each]) => {
    const words = each.description ? `${inner}/** ${each.description} */\n` : "";
    return `${words}${inner}${name}${required.has(name) ? "" : "?"}: ${typeOf(each, inner)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

function union(parts) {
  return [...new Set(parts)].join(" | ");
}

function schemaOf(document, path, method, part) {
  const operation = document.paths[path]?.[method];
  const place = part === "request" ? operation?.requestBody : operation?.responses?.[part];
  const found = place?.content?.["application/json"]?.schema;
  if (!found) throw new Error(`The gateway's schema says nothing of ${method} ${path} (${part}).`);
  return found;
}

export function written(document) {
  const types = TYPES.map(([name, ...where]) => `export type ${name} = ${typeOf(schemaOf(document, ...where))};\n`);
  return `// Made by scripts/schema.mjs from the gateway's /openapi.json. A test compares it with a running gateway's.\n\n${types.join("\n")}`;
}

if (process.argv[1] && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  const answer = await fetch(new URL("/openapi.json", process.argv[2] ?? "http://127.0.0.1:8000"));
  process.stdout.write(written(await answer.json()));
}
