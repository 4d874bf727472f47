// Renders the repository's documents, and the examples of the SDK, to HTML for /docs/guides: dist/guides.json maps a path
// in the repository to {title, html}. Part of `pnpm build`, because an image has neither the documents nor the library.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { Marked } from 'marked';

const ROOT = join(import.meta.dirname, '..', '..');
const FIRST = 'docs/README.md';
const EXAMPLES = /^libs\/sdk\/examples\/[^/]+$/;
/** Phones show shorter cells next to each other. */
const SHORT = 24;

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const escapeHtml = (text) =>
  text.replace(
    /[&<>"']/g,
    (found) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[found],
  );

/** Path in the repository that a relative link leads to; undefined for a page that is not rendered. */
function targetOf(from, href) {
  const path = posix.join(posix.dirname(from), decodeURI(href.split('#')[0]));
  const isRendered = (path.endsWith('.md') || EXAMPLES.test(path)) && existsSync(join(ROOT, path));
  return isRendered ? path : undefined;
}

const listing = (label, text) =>
  `<div class="listing"><pre tabindex="0" role="region" aria-label="${label}"><code>${escapeHtml(text)}</code></pre></div>\n`;

/** Anchors as .ci/check-text.mjs and GitHub make them. */
function slugs() {
  const used = new Map();
  return (heading) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
    const repeats = used.get(slug) ?? 0;
    used.set(slug, repeats + 1);
    return repeats === 0 ? slug : `${slug}-${repeats}`;
  };
}

function rendererFor(path, found) {
  const slugOf = slugs();
  let listings = 0;
  let tables = 0;
  return {
    heading({ tokens, depth, text }) {
      const inner = this.parser.parseInline(tokens);
      const id = slugOf(text.replaceAll('`', ''));
      return depth === 1 ? `<h1 id="${id}">${inner}</h1>\n` : `<h${depth} id="${id}">${inner}</h${depth}>\n`;
    },
    code: ({ text }) => listing(`Listing ${++listings}`, text),
    table({ header, rows }) {
      const inline = ({ tokens }) => this.parser.parseInline(tokens);
      const labels = header.map(({ text }) => escapeHtml(text.replaceAll('`', '')));
      const head = header.map((cell) =>
        cell.text === ''
          ? '<td role="cell"></td>'
          : `<th scope="col" role="columnheader">${inline(cell)}</th>`,
      );
      const body = rows.map(([first, ...rest]) => {
        const cells = rest.map((cell, at) => {
          const kind = cell.text.length <= SHORT ? ' class="short"' : '';
          return `<td role="cell"${kind} data-label="${labels[at + 1]}">${inline(cell)}</td>`;
        });
        return `<tr role="row"><th scope="row" role="rowheader">${inline(first)}</th>${cells.join('')}</tr>`;
      });
      return `<div class="wide" tabindex="0" role="region" aria-label="Table ${++tables}"><table role="table"><thead role="rowgroup"><tr role="row">${head.join('')}</tr></thead><tbody role="rowgroup">${body.join('')}</tbody></table></div>\n`;
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      if (href.startsWith('#') || /^(https?|mailto):/.test(href))
        return `<a href="${escapeHtml(href)}">${inner}</a>`;
      const target = targetOf(path, href);
      if (target === undefined) return inner;
      found.add(target);
      return `<a href="${escapeHtml(href)}">${inner}</a>`;
    },
    image: ({ text }) => escapeHtml(text),
    html: () => '', // marks of tests, and README's picture
  };
}

function render(path, found) {
  const text = read(path);
  if (!path.endsWith('.md'))
    return {
      title: posix.basename(path),
      html: `<h1>${posix.basename(path)}</h1>\n${listing(posix.basename(path), text)}`,
    };
  const marked = new Marked({ gfm: true, renderer: rendererFor(path, found) });
  return { title: /^# (.+)$/m.exec(text)?.[1].replaceAll('`', '') ?? path, html: marked.parse(text) };
}

const guides = {};
const found = new Set([FIRST]);
for (const path of found) guides[path] = render(path, found); // a set's iteration includes what is added meanwhile
mkdirSync(join(import.meta.dirname, 'dist'), { recursive: true });
writeFileSync(join(import.meta.dirname, 'dist', 'guides.json'), JSON.stringify(guides));
