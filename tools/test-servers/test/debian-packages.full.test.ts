import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unpackDebianPackages } from '../src/debian-packages.ts';
import { withScratchDirectory } from '../src/scratch-directory.ts';

const HAS_APT = existsSync('/usr/bin/apt-get');

test.skipIf(!HAS_APT)(
  'unpacks a package once for concurrent callers',
  async () => {
    await withScratchDirectory(async (cache) => {
      const said: string[] = [];
      const request = {
        name: 'hello',
        complete: ['hello'],
        always: 'hello',
        adapt: 'echo adapted >note',
        cache,
        say: (line: string) => void said.push(line),
      };
      const [first, second] = await Promise.all([
        unpackDebianPackages(request),
        unpackDebianPackages(request),
      ]);
      expect(first).toMatchObject({ ok: true });
      expect(second).toEqual(first);
      const { root } = first as { root: string };
      expect(execFileSync(join(root, 'usr/bin/hello'), { encoding: 'utf8' })).toMatch(/^Hello/);
      expect(readFileSync(join(root, 'note'), 'utf8')).toBe('adapted\n');
      said.length = 0;
      expect(await unpackDebianPackages(request)).toEqual(first);
      expect(said).toEqual([]);
    });
  },
  600_000,
);

test.skipIf(!HAS_APT)(
  'reports the last lines of apt for an unknown package',
  async () => {
    await withScratchDirectory(async (cache) => {
      const name = 'no-package-of-this-name';
      expect(await unpackDebianPackages({ name, bare: [name], cache })).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/Unable to locate package no-package-of-this-name/),
      });
    });
  },
  600_000,
);

test('stops unpacking on an abort signal', async () => {
  await withScratchDirectory(async (cache) => {
    const request = { name: 'hello', bare: ['hello'], cache, signal: AbortSignal.abort(new Error('Ctrl-C')) };
    if (HAS_APT) await expect(unpackDebianPackages(request)).rejects.toThrow('Ctrl-C');
  });
});
