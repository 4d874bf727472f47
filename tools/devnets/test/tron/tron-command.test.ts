import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startTronDevnet } from '../../src/tron/start-tron-devnet.ts';
import { runUntilStopped } from '../run-until-stopped.ts';
import { withScratchDirectory } from '@opentill/test-servers/scratch-directory';

test('opentill devnet tron prints its URL and keeps its chain', async () => {
  await withScratchDirectory(async (directory) => {
    const args = ['tron', '--port', '0', '--block-time-ms', '0', '--state', join(directory, 'tron.state')];
    let head = '';
    const headOf = async (url: string): Promise<string> =>
      ((await (await fetch(`${url}/wallet/getnowblock`)).json()) as { blockID: string }).blockID;
    const first = await runUntilStopped(args, async (url) => {
      await fetch(`${url}/devnet/mine`, { method: 'POST', body: '{"count":2}' });
      head = await headOf(url);
    });
    const second = await runUntilStopped(args, async (url) => expect(await headOf(url)).toBe(head));
    expect([first, second]).toEqual([0, 0]);
  });
});

test("the README's TronWeb program pays and reads the solidified block", async () => {
  const readme = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
  const program = /<!-- test:tron-web -->\s*```js\n([^]*?)```/.exec(readme)?.[1] ?? '';
  const devnet = await startTronDevnet({ blockTimeMs: 200, solidLagBlocks: 3 });
  // In this directory, from which tronweb resolves.
  const file = join(import.meta.dirname, `pay-${process.pid}.mjs`);
  try {
    await writeFile(file, program);
    const { privateKeyHex } = devnet.accounts[1]!;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [file, privateKeyHex, devnet.tokens.USDT, devnet.url],
      { timeout: 240_000 },
    );
    expect(stdout).toMatch(/^sent [0-9a-f]{64}\nsolid in block \d+ SUCCESS received 12500000\n$/);
  } finally {
    await rm(file, { force: true });
    await devnet.close();
  }
});
