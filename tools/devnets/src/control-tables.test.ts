import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runControl as runSuiControl } from './sui/run-control.ts';
import { runControl as runTronControl } from './tron/run-control.ts';

// Checks that the README's tables list exactly the controls of the devnets.

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

function documented(heading: string): readonly string[] {
  const section = README.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const table = section.slice(section.indexOf('| name'));
  const rows = table.slice(0, table.indexOf('\n\n')).split('\n').slice(2);
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
}

async function known(run: () => unknown): Promise<readonly string[]> {
  const refusal: unknown = await Promise.resolve()
    .then(run)
    .catch((error: unknown) => error);
  return /there are (.*)$/.exec((refusal as Error).message)?.[1]?.split(', ') ?? [];
}

test.each([
  ['TRON', () => runTronControl({} as never, 'nothing', {})],
  ['SUI', () => runSuiControl({} as never, 'nothing', {})],
])('the README lists every control of %s', async (heading, run) => {
  const names = await known(run);
  expect(names.length).toBeGreaterThan(5);
  expect([...documented(heading)].sort()).toEqual([...names].sort());
});
