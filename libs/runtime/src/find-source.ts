/** Version 3 of ECMA-426. */
export interface SourceMapFile {
  readonly sources: readonly string[];
  readonly mappings: string;
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) =>
  Math.max(0, BASE64.indexOf(String.fromCharCode(code))),
);
const CONTINUES = 32;
const [COMMA, SEMICOLON] = [44, 59];

/**
 * `source:line:column` of a position in a generated file. Lines and columns begin with 1. Reads the map up to the line
 * in one pass and stores nothing: a bundle's map has 300,000 segments, and each frame of a first error needs it.
 */
export function findSource(map: SourceMapFile, line: number, column: number): string | undefined {
  const { mappings, sources } = map;
  // Each field is the difference to its previous value; that of the generated column begins anew with each line.
  let [generated, source, sourceLine, sourceColumn] = [0, 0, 0, 0];
  let [atLine, field, value, shift] = [1, 0, 0, 0];
  let best: string | undefined;
  for (let index = 0; index <= mappings.length && atLine <= line; index += 1) {
    const code = index === mappings.length ? SEMICOLON : mappings.charCodeAt(index);
    if (code === COMMA || code === SEMICOLON) {
      if (atLine === line && field >= 4 && generated < column)
        best = `${sources[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
      field = 0;
      if (code === SEMICOLON) {
        atLine += 1;
        generated = 0;
      }
      continue;
    }
    const bits = DIGITS[code] ?? 0;
    value += (bits & (CONTINUES - 1)) << shift;
    shift += 5;
    if (bits & CONTINUES) continue;
    const change = value & 1 ? -(value >> 1) : value >> 1;
    if (field === 0) generated += change;
    else if (field === 1) source += change;
    else if (field === 2) sourceLine += change;
    else if (field === 3) sourceColumn += change;
    field += 1;
    value = 0;
    shift = 0;
  }
  return best;
}
