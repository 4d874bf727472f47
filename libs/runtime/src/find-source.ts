/** Version 3 of ECMA-426. */
export interface SourceMapFile {
  readonly sources: readonly string[];
  readonly mappings: string;
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const CONTINUES = 32;

/**
 * `source:line:column` of a position in a generated file. Lines and columns begin with 1. Reads the map up to the line
 * and stores nothing.
 */
export function findSource(map: SourceMapFile, line: number, column: number): string | undefined {
  const lines = map.mappings.split(';', line);
  if (lines.length < line) return undefined;
  // Each field is the difference to its previous value; that of the generated column begins anew with each line.
  let [source, sourceLine, sourceColumn] = [0, 0, 0];
  let best: string | undefined;
  for (const [index, segments] of lines.entries()) {
    let generated = 0;
    for (const segment of segments === '' ? [] : segments.split(',')) {
      const fields = decode(segment);
      generated += fields[0] ?? 0;
      if (fields.length < 4) continue;
      source += fields[1] ?? 0;
      sourceLine += fields[2] ?? 0;
      sourceColumn += fields[3] ?? 0;
      if (index === line - 1 && generated < column)
        best = `${map.sources[source]}:${sourceLine + 1}:${sourceColumn + 1}`;
    }
  }
  return best;
}

function decode(segment: string): readonly number[] {
  const fields: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = BASE64.indexOf(digit);
    value += (bits & (CONTINUES - 1)) << shift;
    shift += 5;
    if (bits & CONTINUES) continue;
    fields.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return fields;
}
