"""The style and the script of a class's page. Both are inline, and the page's policy names them by their digests."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --right: #0057b0; --wrong: #a84300; --line: #8885; --shade: #8881; --back: #8883 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #14171b; --right: #7cbcff; --wrong: #ffae63 } }
* { box-sizing: border-box }
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 0 }
main { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: .5rem 0 .2rem; overflow-wrap: anywhere }
h2 { border-top: 1px solid var(--line); font-size: 1.35rem; margin: 2.5rem 0 .8rem; padding-top: 1.2rem }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem }
i { font-style: normal }
a { color: inherit; text-decoration-color: var(--line); text-underline-offset: .2em }
a:hover { text-decoration-color: currentColor }
:focus-visible { outline: 3px solid var(--right); outline-offset: 2px }
:target { background: var(--shade) }
.lead { font-size: 1.1rem; margin: 0 0 1rem }
.quiet, caption, figcaption, small { color: color-mix(in srgb, currentColor 74%, transparent) }
.right { color: var(--right) }
.wrong { color: var(--wrong) }
.tag { border: 1px solid var(--line); border-radius: 3px; padding: 0 .3em }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin-bottom: 1.5rem }
.stack { border-radius: 4px; display: block; height: 1.1rem; width: 100% }
.v-passed { fill: var(--right) }
.v-failed { fill: var(--wrong) }
.v-error, .v-timeout, .v-memory, .v-not-allowed { fill: var(--wrong); opacity: .6; stroke: var(--paper); stroke-width: .3 }
.v-none { fill: #8888 }
.verdicts ul { display: flex; flex-wrap: wrap; gap: .5rem 2rem; list-style: none; margin: .7rem 0 0; padding: 0 }
.verdicts li { display: grid; grid-template-columns: auto auto; gap: 0 .5rem; align-items: baseline }
.verdicts b { font-size: 1.7rem; grid-row: span 2; line-height: 1.1 }
.verdicts small { grid-column: 2; line-height: 1 }
.figures { display: grid; gap: 1.5rem 2rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr)) }
figure { margin: 0; max-width: 34rem }
.histogram { display: block; font: 9px system-ui, sans-serif; height: auto; width: 100% }
.histogram text { fill: var(--ink); text-anchor: middle }
.histogram .axis { opacity: .75 }
.histogram .fill { fill: var(--right) }
.histogram line { stroke: var(--ink); opacity: .5 }
.bar { border-radius: 3px; display: block; height: .8rem; min-width: 6rem; width: 100% }
.bar .back { fill: var(--back) }
.bar .half { fill: var(--wrong); opacity: .3 }
.bar .fill { fill: var(--wrong) }
.bars { vertical-align: middle; width: 45% }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100% }
caption { padding: 0 0 .5rem; text-align: left }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .9rem .3rem 0; text-align: left; vertical-align: top }
tbody th { font-weight: 600; max-width: 22rem; min-width: 7rem }
tbody td { white-space: nowrap }
thead th { white-space: nowrap }
th button { background: none; border: 0; color: inherit; cursor: pointer; font: inherit; padding: 0 }
th button { text-decoration: underline dotted; text-underline-offset: .25em }
th[aria-sort=ascending] button::after { content: " ▴" }
th[aria-sort=descending] button::after { content: " ▾" }
.number { text-align: right }
bdi { overflow-wrap: anywhere; white-space: pre-wrap }
.mistakes { padding-left: 1.6rem }
.mistakes li { margin-bottom: 1.2rem }
.mistakes p { margin: 0 0 .4rem }
pre, code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .85rem }
pre { background: var(--shade); border-radius: 4px; line-height: 1.45; margin: .5rem 0; overflow-x: auto; padding: .8rem; tab-size: 4 }
.excerpt i { color: var(--wrong); user-select: none }
.excerpt b { color: var(--wrong) }
.tools { display: flex; flex-wrap: wrap; gap: .6rem 1rem; margin-bottom: .8rem }
.tools input { flex: 0 1 22rem; font: inherit; min-width: 0; padding: .3rem .5rem; width: 100% }
.tools button { font: inherit; padding: .2rem .7rem }
.report { border-bottom: 1px solid var(--line) }
.report pre { contain: paint }
.report summary b { font-weight: 600 }
summary { cursor: pointer; padding: .45rem 0 }
@media (max-width: 40rem) {
  body { font-size: 15px }
  pre { font-size: .78rem }
  th, td { padding-right: .6rem }
  .bars { width: 30% }
  .bar { min-width: 3.5rem }
  #student-table, #student-table tbody, #student-table thead, #student-table caption { display: block }
  #student-table tr:not([hidden]) { border-bottom: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; padding: .4rem 0 }
  #student-table :is(th, td) { border: 0; max-width: none; padding: 0; white-space: normal }
  #student-table tbody th { flex: 1 0 100% }
  #student-table td:empty { display: none }
  #student-table td[data-label]::before { content: attr(data-label) " "; opacity: .75 }
}
@media print {
  :root { color-scheme: light; --ink: #000; --paper: #fff; --right: #0057b0; --wrong: #a84300 }
  main { max-width: none; padding: 0 }
  nav, .tools, .report:not([open]), .report a { display: none }
  pre { white-space: pre-wrap }
  .wide { overflow: visible }
  tr, figure, .mistakes li { break-inside: avoid }
  .stack, .bar, pre { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
"""

# Filter, sort, unfold. Without it everything is there too: the controls are made here, so none stands about that does nothing.
SCRIPT = """
(() => {
  const make = (tag, words, into) => { const one = document.createElement(tag); one.textContent = words; into.append(one); return one }
  const table = document.getElementById("student-table"), body = table.tBodies[0], rows = [...body.rows]
  const input = make("input", "", document.getElementById("student-tools"))
  input.type = "search"
  input.placeholder = "name, verdict or mistake"
  input.setAttribute("aria-label", "Show only the students whose row has these letters")
  const shown = make("span", "", input.parentNode)
  shown.setAttribute("role", "status")
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase()
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted)
    shown.textContent = wanted ? rows.filter(row => !row.hidden).length + " of " + rows.length : ""
  })
  const heads = [...table.tHead.rows[0].cells]
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent
  const compared = (a, b) => a - b || a.localeCompare(b, "en", { numeric: true })
  heads.forEach((head, column) => {
    const button = document.createElement("button")
    button.append(...head.childNodes)
    head.append(button)
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending"
      heads.forEach(one => one.removeAttribute("aria-sort"))
      head.setAttribute("aria-sort", up ? "ascending" : "descending")
      rows.sort((a, b) => (up ? 1 : -1) * compared(key(a, column), key(b, column)))
      body.append(...rows)
    })
  })
  const reports = [...document.querySelectorAll("details.report")], tools = document.getElementById("report-tools")
  for (const [words, open] of [["Open all", true], ["Close all", false]])
    make("button", words, tools).addEventListener("click", () => reports.forEach(one => { one.open = open }))
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1))
    if (target?.matches("details")) { target.open = true; target.scrollIntoView() }
  }
  addEventListener("hashchange", unfold)
  unfold()
})()
"""
