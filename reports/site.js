"use strict";
// Filters of the list. Without scripts they stay hidden, and the whole list stands.

const form = document.querySelector("form.filters");

function wanted(row) {
  const { service, cause, status } = Object.fromEntries(new FormData(form));
  return (
    (!service || row.dataset.service === service) &&
    (!cause || row.dataset.causes.split(" ").includes(cause)) &&
    (!status || row.dataset.status === status)
  );
}

function filter() {
  const rows = [...document.querySelectorAll("tr[data-service]")];
  for (const row of rows) row.hidden = !wanted(row);
  for (const group of document.querySelectorAll("section.list")) {
    group.hidden = !group.querySelector("tr[data-service]:not([hidden])");
  }
  const shown = rows.filter((row) => !row.hidden).length;
  form.querySelector(".shown").textContent = shown;
  form.querySelector("button").hidden = shown === rows.length;
}

// A day of the calendar leads to its incident, whatever is filtered.
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.closest("[hidden]")) {
    form.reset();
    filter();
    target.scrollIntoView();
  }
}

if (form) {
  form.hidden = false;
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", reveal);
  filter();
}
