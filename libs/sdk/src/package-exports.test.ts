import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('names only built files that have a source', () => {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const built = [...text.matchAll(/"\.\/dist\/(?:commonjs\/)?([a-z-]+)\.js"/g)].map(([, name]) => name);
  expect(built.length).toBeGreaterThan(0);
  for (const name of built)
    expect([name, existsSync(new URL(`${name}.ts`, import.meta.url))]).toEqual([name, true]);
});
