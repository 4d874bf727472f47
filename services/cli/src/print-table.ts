/** Lines of tab-separated columns; a cell that is null or empty is a dash. */
export function tableLine(cells: readonly (string | number | boolean | null | undefined)[]): string {
  return cells
    .map((cell) => (cell === null || cell === undefined || cell === '' ? '-' : oneLine(String(cell))))
    .join('\t');
}

/** What somebody else wrote must not move the cursor or hide a line of the terminal. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ');
}
