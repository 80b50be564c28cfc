// Sort a ledger table by the column whose heading was pressed.
document.addEventListener("click", (event) => {
  const button = event.target.closest("table.ledger th button");
  if (!button) return;
  const th = button.closest("th");
  const rows = [...th.closest("table").tBodies[0].rows];
  const order = th.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const text = (row) => row.cells[th.cellIndex].textContent.trim();
  rows.sort((a, b) => order * text(a).localeCompare(text(b), "en", { numeric: true }));
  for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", order === 1 ? "ascending" : "descending");
  th.closest("table").tBodies[0].append(...rows);
});
