const NUMBER = /^-?\d+(\.\d+)?$/;
/** A spreadsheet reads such text as a formula (OWASP, "CSV Injection"), also after white space. */
const FORMULA = /^\s*[=+\-@\t\r]/;

/** RFC 4180. Text that looks like a formula gets a leading apostrophe; numbers do not. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  const safe = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
