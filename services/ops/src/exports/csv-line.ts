const NUMBER = /^-?\d+(\.\d+)?$/;
/** Characters that start a formula in spreadsheets (OWASP, "CSV Injection"), also after white space. */
const FORMULA = /^\s*[=+\-@\t\r]/;

/** RFC 4180. Text that a spreadsheet would read as a formula gets a leading apostrophe; numbers do not. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  const safe = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
