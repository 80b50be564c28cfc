// Sort a ledger table by the column whose heading was pressed.
document.addEventListener("click", (event) => {
  const button = event.target.closest("table.ledger th button");
  if (!button) return;
  const th = button.closest("th");
  const body = th.closest("table").tBodies[0];
  const order = th.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const text = (row) => row.cells[th.cellIndex].textContent.trim();
  const rows = [...body.rows].sort(
    (a, b) => order * text(a).localeCompare(text(b), "en", { numeric: true }),
  );
  for (const other of th.parentNode.cells) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", order === 1 ? "ascending" : "descending");
  body.append(...rows);
});

// What scrolls sideways can be reached and scrolled with the keyboard.
const reach = () => {
  for (const box of document.querySelectorAll(".figure, .math-display, .highlight pre, .ledger-box")) {
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("load", reach);
addEventListener("resize", reach);
