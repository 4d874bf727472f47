import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { runCli } from '../src/run-cli.ts';

const NETWORKS_FILE = join(import.meta.dirname, '..', '..', '..', 'deploy', 'networks', 'local.json');
const folder = mkdtempSync(join(tmpdir(), 'opentill-passphrase-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, name);
function secretFile(name: string, text: string): string {
  writeFileSync(path(name), text);
  chmodSync(path(name), 0o600);
  return path(name);
}

async function opentill(command: string): Promise<readonly string[]> {
  const out: string[] = [];
  const errors: string[] = [];
  const code = await runCli(command.split(' '), {
    env: { NETWORKS_FILE },
    clock: { now: () => new Date('2026-11-21T12:00:00Z') },
    print: (line) => out.push(line),
    printError: (line) => errors.push(line),
    askSecret: async () => '',
  });
  expect({ code, errors }).toEqual({ code: 0, errors: [] });
  return out;
}

it('reseals the policy with the same digest under the new passphrase', async () => {
  const [old, next] = [
    secretFile('old', 'a passphrase of the tests'),
    secretFile('next', 'quite another one'),
  ];
  const limits = { maxPerPayout: '5', maxPerHour: '20', maxPerDay: '100', maxPerMerchantPerDay: '50' };
  const chain = { enabled: true, coldAddress: devAccount(9).address, assets: { USDT: limits } };
  const policy = secretFile('policy.json', JSON.stringify({ version: 1, chains: { ETH_SEPOLIA: chain } }));
  const [keystore, sealed] = [path('keystore.json'), path('policy.sealed')];
  await opentill(
    `keys init --keystore ${keystore} --public-keys ${path('public.json')} --passphrase-file ${old}`,
  );
  const seal = await opentill(
    `policy seal ${policy} --out ${sealed} --keystore ${keystore} --passphrase-file ${old}`,
  );
  const change = await opentill(
    `keys change-passphrase --keystore ${keystore} --policy ${sealed} --passphrase-file ${old} --new-passphrase-file ${next}`,
  );
  expect(change[0]).toBe(`${keystore} and ${sealed}: sealed with the new passphrase.`);
  expect(readdirSync(folder).filter((name) => name.endsWith('.next'))).toEqual([]);
  const shown = await opentill(`policy show ${sealed} --keystore ${keystore} --passphrase-file ${next}`);
  expect(shown).toContain(seal.find((line) => line.startsWith('Policy ')));
});
