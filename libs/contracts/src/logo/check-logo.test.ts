import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { checkLogo, LOGO_BYTES_MAX } from './check-logo.ts';

const NS = 'xmlns="http://www.w3.org/2000/svg"';
const svg = (inside: string, attributes = '') => `<svg ${NS} viewBox="0 0 8 8"${attributes}>${inside}</svg>`;
const problemOf = (file: string | Uint8Array) => {
  const checked = checkLogo(typeof file === 'string' ? Buffer.from(file) : file);
  return 'problem' in checked ? checked.problem : checked.type;
};

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

function png(
  width: number,
  height: number,
  end: readonly Buffer[] = [chunk('IEND', Buffer.alloc(0))],
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc(4))),
    ...end,
  ]);
}

describe('an SVG logo', () => {
  test.each([
    ['shapes', svg('<path d="M0 0h8v8z" fill="#123456"/><text x="1">A &amp; B</text>')],
    [
      'a declaration and comments',
      `<?xml version="1.0"?>\n<!-- drawn by hand -->\n${svg('<g><!-- x --></g>')}\n`,
    ],
    [
      'own gradients',
      svg('<defs><linearGradient id="a"/></defs><rect fill="url(#a)" style="fill:url(\'#a\')"/>'),
    ],
    ['own symbols', svg('<use xlink:href="#a"/>', ' xmlns:xlink="http://www.w3.org/1999/xlink"')],
    ['a style sheet', svg('<style>.a{fill:#fff}</style>')],
  ])('accepts %s', (_what, file) => {
    expect(problemOf(file)).toBe('image/svg+xml');
  });

  test.each([
    ['a script', svg('<script>alert(1)</script>'), 'element script'],
    ['a script of another prefix', svg('<s:script/>'), 'element s:script'],
    ['an event handler', svg('<g onload="alert(1)"/>'), 'onload, an event handler'],
    ['an event handler in capitals', svg('<g ONCLICK="x"/>'), 'ONCLICK, an event handler'],
    ['foreign content', svg('<foreignObject/>'), 'element foreignObject'],
    ['an image', svg('<image href="https://x.example/a.png"/>'), 'element image'],
    ['a link', svg('<a href="javascript:alert(1)"/>'), 'element a'],
    ['an animation', svg('<animate attributeName="href"/>'), 'element animate'],
    ['an outside reference', svg('<use href="https://x.example/a.svg#b"/>'), 'outside of itself'],
    ['an outside reference in a style', svg('<g style="fill:url(//x.example/a)"/>'), 'outside of itself'],
    [
      'an outside reference in an attribute',
      svg('<g fill="URL( https://x.example )"/>'),
      'outside of itself',
    ],
    ['an import', svg('<style>@import "https://x.example/a.css";</style>'), 'outside of itself'],
    ['an escaped import', svg('<style>@\\69mport "a"</style>'), 'backslash'],
    ['a document type', `<!DOCTYPE svg [<!ENTITY a "b">]>${svg('')}`, 'document type'],
    ['an entity', svg('<text>&a;</text>'), 'entity &a;'],
    ['a numeric entity', svg('<g fill="&#117;rl(//x)"/>'), 'entity &#117;'],
    ['CDATA', svg('<style><![CDATA[a]]></style>'), 'CDATA'],
    ['a style sheet reference', `<?xml-stylesheet href="a.css"?>${svg('')}`, 'processing instruction'],
    ['a foreign namespace', svg('<g xmlns="http://www.w3.org/1999/xhtml"/>'), 'foreign namespace'],
    ['another base', svg('<g xml:base="https://x.example"/>'), 'attribute xml:base'],
    ['no namespace', '<svg viewBox="0 0 1 1"/>', 'needs xmlns'],
    ['no size', `<svg ${NS}/>`, 'needs viewBox'],
    ['text after its root', `${svg('')}x`, 'neither an SVG nor a PNG'],
    ['a second root', svg('') + svg(''), 'root'],
    ['an open element', `<svg ${NS} viewBox="0 0 1 1"><g>`, 'neither an SVG nor a PNG'],
    ['crossed elements', svg('<g><defs></g></defs>'), 'well-formed'],
    ['an attribute twice', svg('<g fill="a" fill="b"/>'), 'two attributes fill'],
    ['many copies', svg('<use href="#a"/>'.repeat(17)), '16 elements use'],
    ['deep nesting', svg('<g>'.repeat(40) + '</g>'.repeat(40)), 'nested'],
    ['HTML', '<html><body/></html>', 'element html'],
    ['text', 'hello', 'neither an SVG nor a PNG'],
  ])('is rejected with %s', (_what, file, problem) => {
    expect(problemOf(file)).toContain(problem);
  });

  test('is rejected in another encoding and above 64 KiB', () => {
    expect(problemOf(Buffer.from(svg(''), 'utf16le'))).toContain('not well-formed');
    expect(problemOf(Buffer.from([0xff, 0xfe]))).toContain('UTF-8');
    expect(problemOf(svg(' '.repeat(LOGO_BYTES_MAX)))).toContain('at most 65,536');
  });

  test('is checked in linear time', () => {
    const hostile = [
      `<svg ${' a="b"'.repeat(10_000)}`,
      `<!--${'-'.repeat(60_000)}`,
      `${svg('')}${' '.repeat(60_000)}x`,
      svg(`<style>${'url( '.repeat(12_000)}</style>`),
    ];
    for (const file of hostile) expect(problemOf(file)).not.toBe('image/svg+xml');
  });
});

describe('a PNG logo', () => {
  test('is accepted with sides of 16 to 2,048 pixels', () => {
    expect(problemOf(png(16, 2_048))).toBe('image/png');
    expect(problemOf(png(15, 64))).toBe('has 15 × 64 pixels; each side may have 16 to 2,048');
    expect(problemOf(png(64, 2_049))).toContain('64 × 2049 pixels');
  });

  test('is rejected when it is damaged or continues after its end', () => {
    const whole = png(32, 32);
    const changed = Buffer.from(whole);
    changed[20] = 1;
    const files = [
      whole.subarray(0, -1),
      whole.subarray(0, 20),
      SIGNATURE,
      changed,
      Buffer.concat([whole, Buffer.from('<script>')]),
      png(32, 32, []),
    ];
    for (const file of files) expect(problemOf(file)).toBe('is a damaged PNG file');
    expect(problemOf(Buffer.from('89504e47', 'hex'))).toBe('is not a PNG file');
  });
});
