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

test('opentill devnet sui: says where it is, and keeps its chain', async () => {
  await withScratchDirectory(async (directory) => {
    const state = join(directory, 'sui.state');
    const args = ['sui', '--port=0', '--checkpoint-ms=0', '--consensus-ms=0', `--state=${state}`];
    const post = async (url: string, name: string, body: object = {}): Promise<Record<string, unknown>> => {
      const response = await fetch(`${url}/devnet/${name}`, { method: 'POST', body: JSON.stringify(body) });
      return (await response.json()) as Record<string, unknown>;
    };
    let before: Record<string, unknown> = {};
    const first = await runUntilStopped(args, async (url) => {
      await post(url, 'fund', { address: `0x${'7'.repeat(64)}`, symbol: 'USDC', amountBaseUnits: '5' });
      before = await post(url, 'summary');
    });
    const second = await runUntilStopped(args, async (url) => {
      const { checkpoint, transactions } = await post(url, 'summary');
      // One more was closed for what was waiting when the node stopped.
      expect([checkpoint, transactions]).toEqual([
        Number(before['checkpoint']) + 1,
        Number(before['transactions']) + 1,
      ]);
      await post(url, 'checkpoint');
    });
    expect([first, second]).toEqual([0, 0]);
  });
});
