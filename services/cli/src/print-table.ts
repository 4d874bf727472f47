/** Lines of tab-separated columns; a cell that is null or empty is a dash. */
export function tableLine(cells: readonly (string | number | boolean | null | undefined)[]): string {
  return cells
    .map((cell) => (cell === null || cell === undefined || cell === '' ? '-' : oneLine(String(cell))))
    .join('\t');
}

/** What somebody else wrote must not move the cursor, hide a line of the terminal, or make one more. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ');
}

/** The same for a line that has columns. */
export function plainLine(line: string): string {
  return line.split('\t').map(oneLine).join('\t');
}

/** A value as JSON for programs and people. */
export function jsonLines(value: unknown): readonly string[] {
  return JSON.stringify(value, null, 2).split('\n');
}
