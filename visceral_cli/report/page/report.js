"use strict";
// Sorts and filters the tables, and moves along the curves. The page is complete without it.

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function sortValue(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value ?? cell.textContent;
  return value !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

function sortRows(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const compare = (one, other) => {
    const [a, b] = [sortValue(one, column), sortValue(other, column)];
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a) < String(b) ? -1 : Number(String(a) > String(b));
  };
  rows.sort((one, other) => (descending ? compare(other, one) : compare(one, other)));
  body.append(...rows);
  for (const [place, heading] of [...table.tHead.rows[0].cells].entries()) {
    heading.removeAttribute("aria-sort");
    if (place === column) heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }
}

function makeSortable(table, controls) {
  const headings = [...table.tHead.rows[0].cells];
  const select = element("select", { "aria-label": "Sort by" }, element("option", { value: "" }, "as given"));
  for (const [place, heading] of headings.entries()) {
    const text = heading.textContent;
    const isNumber = heading.classList.contains("number");
    const button = element("button", { type: "button" }, text);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const now = heading.getAttribute("aria-sort");
      sortRows(table, place, now === null ? isNumber : now === "ascending");
    });
    select.append(element("option", { value: String(place) }, text));
  }
  select.addEventListener("change", () => {
    if (select.value === "") return;
    const place = Number(select.value);
    sortRows(table, place, headings[place].classList.contains("number"));
  });
  controls.append(element("label", { class: "sort" }, "sort by ", select));
}

function makeFilter(table, controls) {
  const input = element("input", { type: "search", placeholder: "filter", "aria-label": "Filter rows" });
  const count = element("span", { role: "status" });
  const rows = [...table.tBodies[0].rows];
  const apply = () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = wanted.length ? `${shown} of ${rows.length} rows` : "";
  };
  input.addEventListener("input", apply);
  controls.prepend(input, count);
}

for (const place of document.querySelectorAll("[data-table]")) {
  const table = place.querySelector("table");
  if (table.tBodies[0].rows.length < 3) continue;
  const controls = element("div", { class: "controls" });
  if ("sorts" in place.dataset) makeSortable(table, controls);
  if ("filter" in place.dataset) makeFilter(table, controls);
  if (controls.childNodes.length) place.prepend(controls);
}

for (const figure of document.querySelectorAll("[data-curve]")) {
  const points = [...figure.querySelectorAll("details li")].map((point) => point.textContent);
  if (points.length < 2) continue;
  const slider = element("input", {
    type: "range", min: "0", max: String(points.length - 1), value: figure.dataset.proposed,
    "aria-label": "Serve results up to this age",
  });
  const said = element("output", {});
  const show = () => {
    said.textContent = points[slider.valueAsNumber];
    slider.setAttribute("aria-valuetext", points[slider.valueAsNumber]);
  };
  slider.addEventListener("input", show);
  show();
  figure.insertBefore(element("div", { class: "what-if" }, slider, said), figure.querySelector("details"));
}
