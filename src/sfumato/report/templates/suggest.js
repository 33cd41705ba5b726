const boxes = [...document.querySelectorAll("tbody input")];
const given = JSON.parse(document.getElementById("given").textContent);
const own = document.getElementById("own");
function terms() {
  const ticked = boxes.filter((box) => box.checked).map((box) => box.value);
  const written = own.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return [...new Set([...given, ...ticked, ...written])].filter((term) => !term.startsWith("#"));
}
function count() {
  document.getElementById("count").textContent = `${terms().length} terms`;
}
function tick(wanted) {
  for (const box of boxes) box.checked = wanted(box);
  count();
}
document.getElementById("all").addEventListener("click", () => tick(() => true));
document.getElementById("likely").addEventListener("click", () => tick((box) => box.dataset.likely === "1"));
document.getElementById("none").addEventListener("click", () => tick(() => false));
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([terms().join("\n") + "\n"], { type: "text/plain" }));
  link.download = document.getElementById("save").dataset.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
for (const box of boxes) box.addEventListener("change", count);
own.addEventListener("input", count);
count();
