import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the repository: this file lies in tools/e2e/src. */
export const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

/** A document of the repository. */
export interface MarkdownFile {
  /** Its path from the root. */
  readonly name: string;
  readonly text: string;
}

/** Those of the root, the guides, and what packages say of themselves. */
export function readMarkdownFiles(): readonly MarkdownFile[] {
  const names = [
    ...readdirSync(CHECKOUT).filter((name) => name.endsWith('.md')),
    ...globSync('{docs/**/*.md,{libs,services,deploy,tools}/*/{*.md,docs/*.md}}', {
      cwd: CHECKOUT,
    }).toSorted(),
  ];
  return names.map((name) => ({ name, text: readFileSync(join(CHECKOUT, name), 'utf8') }));
}

/** A fenced block of a document. */
export interface FencedBlock {
  /** What `<!-- test:<mark> -->` before it says. */
  readonly mark: string | undefined;
  readonly language: string;
  readonly text: string;
}

/** All fenced blocks, those of lists too, in order. */
export function fencedBlocks(text: string): readonly FencedBlock[] {
  const pattern =
    /(?:<!-- test:(?<mark>[a-z-]+) -->\s*\n)?^(?<indent> *)```(?<language>[a-z]*)\n(?<block>[^]*?)\n *```$/gm;
  return [...text.matchAll(pattern)].map(({ groups = {} }) => ({
    mark: groups['mark'],
    language: groups['language'] ?? '',
    text: (groups['block'] ?? '')
      .split('\n')
      .map((line) => line.slice(groups['indent']?.length ?? 0))
      .join('\n'),
  }));
}

/** Where links of a document point to, without those of fenced blocks. */
export function linksOf(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, '');
  return [...prose.matchAll(/\]\((?<target>[^)\s]+)\)/g)].map((match) => match.groups?.['target'] ?? '');
}

/** The names under which a document's headings can be linked to, as GitHub makes them. */
export function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (?<title>.+)$/gm)].map((match) =>
    (match.groups?.['title'] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The rows of the first table under a heading of the second level, cell by cell, without head and rule. */
export function tableUnder(text: string, heading: string): readonly (readonly string[])[] {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim()),
  );
}

/** What stands between single backticks. */
export function codeSpans(text: string): readonly string[] {
  return [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`(?<code>[^`\n]+)`/g)].map(
    (match) => match.groups?.['code'] ?? '',
  );
}
