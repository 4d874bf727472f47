import type { Chain } from '@opentill/domain/chains';
import { encode } from 'uqr';
import { codeGlyph } from './glyphs.ts';
import { markup, type Html } from './html.ts';

/** Scanners need four light modules around the code; the surrounding tile adds the rest. */
const QUIET_MODULES = 2;
const FILE_QUIET_MODULES = 4;
/** The glyph hides less than 4 % of the modules. Level M corrects 15 % of the code. */
const GLYPH_SHARE = 0.17;

/** An SVG element; deterministic. `label` is for screen readers. A network's glyph is in the middle. */
export function qrCode(text: string, label: string, chain: Chain | null): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_MODULES });
  const hole = chain === null ? NO_HOLE : holeOf(size);
  const glyph = chain !== null && codeGlyph(chain, hole.from + 0.5, hole.to - hole.from - 1);
  return markup`<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}"><path shape-rendering="crispEdges" d="${pathOf(data, hole)}" />${glyph}</svg>`;
}

/** An SVG file, to be printed. */
export function qrFile(text: string): string {
  const { data, size } = encode(text, { ecc: 'M', border: FILE_QUIET_MODULES });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}"><path fill="#fff" d="M0 0h${size}v${size}h-${size}z"/><path shape-rendering="crispEdges" d="${pathOf(data, NO_HOLE)}"/></svg>\n`;
}

function pathOf(data: readonly (readonly boolean[])[], hole: Hole): string {
  let path = '';
  data.forEach((row, y) => {
    const isDark = (x: number) => row[x] === true && !(inside(x, hole) && inside(y, hole));
    for (let x = 0; x < row.length; x += 1) {
      if (!isDark(x)) continue;
      let width = 1;
      while (isDark(x + width)) width += 1;
      path += `M${x} ${y}h${width}v1h-${width}z`;
      x += width;
    }
  });
  return path;
}

interface Hole {
  readonly from: number;
  readonly to: number;
}

const NO_HOLE: Hole = { from: 0, to: 0 };

/** Symmetric to the centre, so of the same parity as the code. */
function holeOf(size: number): Hole {
  const code = size - 2 * QUIET_MODULES;
  const wanted = Math.round(code * GLYPH_SHARE);
  const width = wanted % 2 === code % 2 ? wanted : wanted + 1;
  const from = (size - width) / 2;
  return { from, to: from + width };
}

function inside(place: number, { from, to }: Hole): boolean {
  return place >= from && place < to;
}
