"use strict";
// Unpacks Plotly when the first chart comes into view, and puts an interactive chart in the place of its picture.
// Where that fails (an old browser), the picture stays.

const DARK = matchMedia("(prefers-color-scheme: dark)");
const SETTINGS = {
  responsive: true,
  displaylogo: false,
  modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
};

let unpacked = null;

function plotly() {
  unpacked ??= (async () => {
    const packed = document.getElementById("Plotly-packed").textContent;
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return window.Plotly;
  })();
  return unpacked;
}

// A figure names colours as variables of page.css: `var(--ink)`. Only whole values count, never a part of a text.
function coloured(value, style) {
  if (typeof value === "string") {
    const name = /^var\((--[a-z0-9-]+)\)$/.exec(value);
    return name ? style.getPropertyValue(name[1]).trim() : value;
  }
  if (Array.isArray(value)) return value.map((entry) => coloured(entry, style));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, coloured(entry, style)]));
}

async function draw(chart) {
  const library = await plotly();
  const figure = JSON.parse(chart.querySelector("script").textContent);
  const { data, layout } = coloured(figure, getComputedStyle(document.documentElement));
  chart.classList.add("drawn");
  await library.react(chart.querySelector(".figure"), data, layout, SETTINGS);
}

function attempt(chart) {
  draw(chart).catch((error) => {
    chart.classList.remove("drawn");
    console.warn("the chart stays a picture:", error);
  });
}

const charts = [...document.querySelectorAll("figure.chart")];
const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      attempt(entry.target);
    }
  },
  { rootMargin: "400px" },
);
charts.forEach((chart) => seen.observe(chart));
DARK.addEventListener("change", () => charts.filter((one) => one.classList.contains("drawn")).forEach(attempt));
