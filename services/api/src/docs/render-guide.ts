import { escapeHtml } from '../routes/escape-html.ts';
import { GUIDES, type Guide } from './guides.ts';
import { PAGE_SCRIPT } from './page-script.ts';
import { REFERENCE_STYLE } from './style.ts';

/** Frames a document as a page below /docs/guides. Links are relative, for a gateway behind a path. */
export function renderGuide(path: string, { title, html }: Guide): string {
  const toGuides = '../'.repeat(path.split('/').length - 1);
  const toRoot = `${toGuides}../../`;
  const links = GUIDES.map(
    ([file, name]) =>
      `<li><a href="${toGuides}${file}"${file === path ? ' aria-current="page"' : ''}>${name}</a></li>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escapeHtml(title)}</title><link rel="icon" href="${toRoot}favicon.svg" type="image/svg+xml"><style>${REFERENCE_STYLE}</style></head><body>
<nav aria-label="Contents"><details class="menu"><summary>Contents</summary><p><a href="${toRoot}docs">API reference</a></p><p>Guides</p><ul>${links.join('')}</ul><p><a href="${toGuides}docs/README.md">All documents</a></p></details></nav>
<main id="top" class="guide">${html}
<p id="copied" role="status"></p></main><script>${PAGE_SCRIPT}</script></body></html>
`;
}
