export function tableLine(cells: readonly (string | number | boolean | null | undefined)[]): string {
  return cells
    .map((cell) => (cell === null || cell === undefined || cell === '' ? '-' : oneLine(String(cell))))
    .join('\t');
}

/** Third-party text must not move the cursor, hide text or add lines. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ');
}

export function plainLine(line: string): string {
  return line.split('\t').map(oneLine).join('\t');
}

export function jsonLines(value: unknown): readonly string[] {
  return JSON.stringify(value, null, 2).split('\n');
}
