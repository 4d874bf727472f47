import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SuiGrpcClient } from '@mysten/sui/grpc';
import { expect, test } from 'vitest';
import { devAccounts } from '../../src/sui/dev-accounts.ts';
import { devTokenTypes } from '../../src/sui/genesis.ts';
import { startSuiDevnet } from '../../src/sui/start-sui-devnet.ts';
import { runUntilStopped } from '../run-until-stopped.ts';
import { withScratchDirectory } from '@opentill/test-servers/scratch-directory';

test("the README's program pays on opentill devnet sui, whose state survives a restart", async () => {
  const readme = readFileSync(join(import.meta.dirname, '..', '..', 'README.md'), 'utf8');
  const program = /<!-- test:sui-client -->\s*```js\n([^]*?)```/.exec(readme)?.[1] ?? '';
  const [account] = devAccounts('command', 1);
  const { USDC: coinType } = devTokenTypes('command');
  // In this directory, from which the client package resolves.
  const file = join(import.meta.dirname, `pay-${process.pid}.mjs`);
  await withScratchDirectory(async (directory) => {
    const stateFile = join(directory, 'sui.state');
    const args = ['sui', '--port=0', '--seed=command', '--checkpoint-ms=50', `--state=${stateFile}`];
    let customer = '';
    try {
      await writeFile(file, program);
      const stopped = await runUntilStopped(args, async (baseUrl) => {
        const run = promisify(execFile)(process.execPath, [file, account!.secretKey, coinType, baseUrl], {
          timeout: 240_000,
        });
        const { stdout } = await run;
        expect(stdout).toMatch(/^sent \w{40,44}\n0x[0-9a-f]{64} received 12500000\n$/);
        customer = /0x\w+/.exec(stdout)?.[0] ?? '';
      });
      expect(stopped).toBe(0);
      const devnet = await startSuiDevnet({ checkpointMs: 0, seed: 'command', stateFile });
      const client = new SuiGrpcClient({ network: 'localnet', baseUrl: devnet.url });
      const { balance } = await client.getBalance({ owner: customer, coinType });
      expect(balance.balance).toBe('12500000');
      await devnet.close();
      const other = startSuiDevnet({ checkpointMs: 0, seed: 'another', stateFile });
      await expect(other).rejects.toMatchObject({ code: 'NOT_THIS_CHAIN' });
    } finally {
      await rm(file, { force: true });
    }
  });
});
