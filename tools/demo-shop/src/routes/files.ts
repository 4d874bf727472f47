import type { Express } from 'express';
import { SCRIPT, STYLE } from '../pages/style.ts';
import { LOGO, PICTURES } from '../pictures.ts';

/** Pictures, style and script of the pages. */
export function addFiles(app: Express): void {
  const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
    '/shop.css': ['css', STYLE],
    '/shop.js': ['js', SCRIPT],
    '/pictures/logo.svg': ['svg', LOGO],
    ...Object.fromEntries(Object.entries(PICTURES).map(([id, svg]) => [`/pictures/${id}.svg`, ['svg', svg]])),
  };
  for (const [path, [type, text]] of Object.entries(files))
    app.get(path, (_req, res) => void res.type(type).send(text));
}
