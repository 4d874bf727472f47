import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { withScratchDirectory } from '../scratch-directory.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

async function runUntilStopped(
  args: readonly string[],
  work: (url: string) => Promise<void>,
): Promise<number> {
  const child = spawn(process.execPath, ['--conditions=source', MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const url = /http:\S+/.exec(line)?.[0];
      if (url === undefined) continue;
      await work(url);
      break;
    }
  } finally {
    child.kill('SIGTERM');
  }
  const [code] = await exited;
  return code as number;
}

test('opentill devnet tron: says where it is, and keeps its chain', async () => {
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
