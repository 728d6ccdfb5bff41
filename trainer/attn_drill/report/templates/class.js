// Filter, sort and unfold. The script makes its controls itself. Without it the page shows all rows.
(() => {
  const make = (tag, words, into) => {
    const element = document.createElement(tag)
    element.textContent = words
    into.append(element)
    return element
  }
  const table = document.getElementById("student-table")
  const body = table.tBodies[0]
  const rows = [...body.rows]
  const input = make("input", "", document.getElementById("student-tools"))
  input.type = "search"
  input.placeholder = "name, verdict, late or mistake"
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
      heads.forEach(other => other.removeAttribute("aria-sort"))
      head.setAttribute("aria-sort", up ? "ascending" : "descending")
      rows.sort((a, b) => (up ? 1 : -1) * compared(key(a, column), key(b, column)))
      body.append(...rows)
    })
  })
  const reports = [...document.querySelectorAll("details.report")]
  const tools = document.getElementById("report-tools")
  const toggle = open => reports.forEach(report => { report.open = open })
  make("button", "Open all", tools).addEventListener("click", () => toggle(true))
  make("button", "Close all", tools).addEventListener("click", () => toggle(false))
  const unfold = () => {
    const target = document.getElementById(location.hash.slice(1))
    if (target?.matches("details")) { target.open = true; target.scrollIntoView() }
  }
  addEventListener("hashchange", unfold)
  unfold()
})()
