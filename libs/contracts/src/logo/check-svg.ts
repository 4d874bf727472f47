const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
const XLINK_NAMESPACE = 'http://www.w3.org/1999/xlink';

/** Only drawing. No scripts, links, images, animations, foreign content or metadata. */
const ELEMENTS: ReadonlySet<string> = new Set(
  `svg g defs symbol use title desc style path rect circle ellipse line polyline polygon text tspan
  linearGradient radialGradient stop pattern clipPath mask marker filter feBlend feColorMatrix feComposite feDropShadow
  feFlood feGaussianBlur feMerge feMergeNode feOffset`.split(/\s+/),
);
const DEPTH_MAX = 32;
const ELEMENTS_MAX = 2_000;
/** Each may double what is drawn. */
const USES_MAX = 16;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Sticky: each matches at the position only. */
const COMMENT = /<!--(?!>|->)(?:(?!--)[^])*-->/y;
const END_TAG = /<\/(?<name>[A-Za-z]+)\s*>/y;
const START_TAG =
  /<(?<name>[A-Za-z]+)(?<attributes>(?:\s+[A-Za-z][\w:.-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<slash>\/?)>/y;
const TEXT = /[^<]+/y;
const ATTRIBUTE = /(?<name>[A-Za-z][\w:.-]*)\s*=\s*(?:"(?<double>[^"<]*)"|'(?<single>[^'<]*)')/g;
const DECLARATION = /^\uFEFF?(?:<\?xml\s[^?<>]*\?>)?\s*/;

/**
 * A strict subset of XML, read as a whole, so that this function and a browser cannot understand it differently.
 *
 * @returns the problem, if there is one; completes the sentence "The logo …"
 */
export function checkSvg(bytes: Uint8Array): string | undefined {
  let source: string;
  try {
    source = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return 'is neither an SVG file in UTF-8 nor a PNG file';
  }
  try {
    readDocument(source);
    return undefined;
  } catch (error) {
    if (error instanceof Rejected) return error.message;
    throw error;
  }
}

class Rejected extends Error {}

function reject(problem: string): never {
  throw new Rejected(problem);
}

function readDocument(source: string): void {
  let at = DECLARATION.exec(source)?.[0].length ?? 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(source);
    if (found !== null) at += found[0].length;
    return found;
  };
  const open: string[] = [];
  let elements = 0;
  let uses = 0;
  while (at < source.length) {
    if (take(COMMENT) !== null) continue;
    const text = take(TEXT);
    if (text !== null) {
      checkText(text[0], open.at(-1));
      continue;
    }
    const end = take(END_TAG);
    if (end !== null) {
      if (open.pop() !== end.groups?.['name'])
        reject(`is not well-formed XML near </${end.groups?.['name']}>`);
      continue;
    }
    const start = take(START_TAG);
    if (start === null) reject(unreadable(source.slice(at)));
    const { name = '', attributes = '', slash } = start.groups ?? {};
    if (!ELEMENTS.has(name)) reject(`contains the element ${name}, which is not allowed`);
    const isRoot = elements === 0;
    // A logo needs no nested svg.
    if (isRoot !== (name === 'svg' && open.length === 0))
      reject('must have the root element svg, and only one');
    if (!isRoot && open.length === 0) reject('has an element after its root');
    elements += 1;
    uses += name === 'use' ? 1 : 0;
    checkAttributes(name, attributes, isRoot);
    if (slash === '') open.push(name);
    if (elements > ELEMENTS_MAX) reject('has more than 2,000 elements');
    if (open.length > DEPTH_MAX) reject('has elements that are nested more than 32 deep');
    if (uses > USES_MAX) reject('has more than 16 elements use');
  }
  if (elements === 0 || open.length > 0) reject('is neither an SVG nor a PNG file');
}

function unreadable(rest: string): string {
  if (/^<!(DOCTYPE|ENTITY|\[)/i.test(rest)) return 'contains a document type, an entity or CDATA; remove it';
  if (rest.startsWith('<?')) return 'contains a processing instruction; remove it';
  const prefixed = /^<(?<name>[A-Za-z]+:[\w.-]+)/.exec(rest)?.groups?.['name'];
  if (prefixed !== undefined) return `contains the element ${prefixed}, which is not allowed`;
  return `is not well-formed XML near ${JSON.stringify(rest.slice(0, 40))}`;
}

function checkText(text: string, within: string | undefined): void {
  if (within === undefined && text.trim() !== '') reject('is neither an SVG nor a PNG file');
  const plain = plainText(text);
  if (within === 'style') checkStyle(plain, 'its style sheet');
}

function checkAttributes(element: string, attributes: string, isRoot: boolean): void {
  const values = new Map<string, string>();
  for (const { groups } of attributes.matchAll(ATTRIBUTE)) {
    const name = groups?.['name'] ?? '';
    if (values.has(name)) reject(`has two attributes ${name} in one element`);
    const value = plainText(groups?.['double'] ?? groups?.['single'] ?? '');
    values.set(name, value);
    checkAttribute(name, value);
  }
  if (!isRoot) return;
  if (values.get('xmlns') !== SVG_NAMESPACE) reject(`needs xmlns="${SVG_NAMESPACE}" in its root element`);
  if (!values.has('viewBox') && !(values.has('width') && values.has('height')))
    reject(`needs viewBox, or width and height, in its root element ${element}`);
}

function checkAttribute(name: string, value: string): void {
  const where = `the attribute ${name}`;
  if (/^on/i.test(name)) reject(`contains ${where}, an event handler`);
  if (name === 'xmlns' || name === 'xmlns:xlink') {
    if (value !== (name === 'xmlns' ? SVG_NAMESPACE : XLINK_NAMESPACE))
      reject(`has a foreign namespace in ${where}`);
    return;
  }
  if (name.includes(':') && name !== 'xlink:href' && name !== 'xml:space')
    reject(`contains ${where}, which is not allowed`);
  if (/^(xlink:href|href|src)$/i.test(name) && !/^#[\w.-]+$/.test(value))
    reject(`refers to something outside of itself in ${where}`);
  checkStyle(value, where);
}

/** Attributes such as fill and filter may contain `url(…)` too. */
function checkStyle(text: string, where: string): void {
  if (text.includes('\\')) reject(`contains a backslash in ${where}`);
  const withoutOwn = text.replaceAll(/url\(\s*(["']?)#[\w.-]+\1\s*\)/gi, '');
  if (
    /url\s*\(|@import|image-set|image\s*\(|src\s*\(|expression|javascript:|data:|behavior|-moz-binding/i.test(
      withoutOwn,
    )
  ) {
    reject(`refers to something outside of itself in ${where}`);
  }
}

/** Only the five predefined entities: a numeric one could hide what the checks look for. */
function plainText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- XML forbids these characters
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/.test(text))
    reject('contains control characters');
  return text.replaceAll(/&(?<name>[^;\s]*);?/g, (whole, name: string) => {
    const plain = whole.endsWith(';') ? ENTITIES[name] : undefined;
    return (
      plain ??
      reject(`contains the entity ${whole.slice(0, 20)}; only &amp; &lt; &gt; &quot; &apos; are allowed`)
    );
  });
}
