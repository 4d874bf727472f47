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

/** A position in a generated file. Line and column begin with 1. */
export interface GeneratedPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * `source:line:column` of each place, or undefined. Reads the map once, up to the last of the lines, and keeps no part
 * of it: a bundle's map has 500,000 segments.
 */
export function findSources(
  map: SourceMapFile,
  places: readonly GeneratedPlace[],
): readonly (string | undefined)[] {
  const { mappings, sources } = map;
  const found: (string | undefined)[] = places.map(() => undefined);
  const byLine = Map.groupBy(places.entries(), ([, { line }]) => line);
  const lastLine = Math.max(...byLine.keys());
  // Each field is the difference to its previous value; that of the generated column begins anew with each line.
  let [generated, source, sourceLine, sourceColumn] = [0, 0, 0, 0];
  let [line, field, value, shift] = [1, 0, 0, 0];
  let wanted = byLine.get(line);
  for (let index = 0; index <= mappings.length && line <= lastLine; index += 1) {
    const code = index === mappings.length ? SEMICOLON : mappings.charCodeAt(index);
    if (code === COMMA || code === SEMICOLON) {
      if (field >= 4)
        for (const [place, { column }] of wanted ?? [])
          if (generated < column) found[place] = `${sources[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
      field = 0;
      if (code === SEMICOLON) {
        line += 1;
        wanted = byLine.get(line);
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
  return found;
}
