import { encode } from 'uqr';
import { markup, type Html } from './html.ts';

/** Scanners need four light modules around the code; the surrounding tile adds the rest. */
const QUIET_MODULES = 2;

/** An SVG element with a single path; deterministic. `label` is for screen readers. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_MODULES });
  let path = '';
  data.forEach((row, y) => {
    for (let x = 0; x < size; x += 1) {
      if (row[x] !== true) continue;
      let width = 1;
      while (row[x + width] === true) width += 1;
      path += `M${x} ${y}h${width}v1h-${width}z`;
      x += width;
    }
  });
  return markup`<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path d="${path}" /></svg>`;
}
