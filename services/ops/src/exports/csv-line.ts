const NUMBER = /^-?\d+(\.\d+)?$/;
/** What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection"); also behind white space. */
const FORMULA = /^\s*[=+\-@\t\r]/;

/**
 * A line of CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front; numbers stay.
 */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  const safe = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
