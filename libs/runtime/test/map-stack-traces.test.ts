import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const MODULE = new URL('../src/map-stack-traces.ts', import.meta.url).href;

test('stack traces name the sources of a bundle with a map, and other files unchanged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'opentill-stack-'));
  try {
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    const failing = 'export const fail = () => {\n  throw new Error("spilled");\n};\n';
    write('bundle.mjs', failing);
    write('plain.mjs', failing);
    const map = { version: 3, sources: ['libs/one/src/a.ts'], mappings: ';AAoBE' };
    write('bundle.mjs.map', JSON.stringify(map));
    write(
      'main.mjs',
      `import { mapStackTraces } from '${MODULE}';
       mapStackTraces();
       for (const name of ['bundle', 'plain']) {
         const { fail } = await import('./' + name + '.mjs');
         try { fail(); } catch (error) { console.log(error.stack.split('\\n', 2).join('\\n')); }
       }`,
    );
    const printed = execFileSync(process.execPath, [join(folder, 'main.mjs')], { encoding: 'utf8' });
    expect(printed.trim().split('\n')).toEqual([
      'Error: spilled',
      '    at fail (libs/one/src/a.ts:21:3)',
      'Error: spilled',
      `    at fail (${pathToFileURL(join(folder, 'plain.mjs')).href}:2:9)`,
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
