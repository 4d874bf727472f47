import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

export interface MarkdownFile {
  readonly name: string;
  readonly text: string;
}

export function readMarkdownFiles(): readonly MarkdownFile[] {
  const names = [
    ...readdirSync(CHECKOUT).filter((name) => name.endsWith('.md')),
    ...globSync('{docs/**/*.md,{libs,services,deploy,tools}/*/{*.md,docs/*.md}}', {
      cwd: CHECKOUT,
    }).toSorted(),
  ];
  return names.map((name) => ({ name, text: readFileSync(join(CHECKOUT, name), 'utf8') }));
}

export interface FencedBlock {
  /** From `<!-- test:<mark> -->` before the block. */
  readonly mark: string | undefined;
  readonly language: string;
  readonly text: string;
}

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

/** Rows of the first table under a second-level heading, without its header. */
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

export function codeSpans(text: string): readonly string[] {
  return [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`(?<code>[^`\n]+)`/g)].map(
    (match) => match.groups?.['code'] ?? '',
  );
}
