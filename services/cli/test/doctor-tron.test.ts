import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import type { Finding } from '../src/doctor/finding.ts';
import { runCli } from '../src/run-cli.ts';

let folder: string;
let devnet: TronDevnet;
/** The same genesis, other blocks, ten minutes older. */
let fork: TronDevnet;
let stranger: TronDevnet;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'opentill-doctor-tron-'));
  const nowMs = Date.now();
  const settings = { blockTimeMs: 0, solidLagBlocks: 3, genesisTimeMs: nowMs };
  [devnet, fork, stranger] = await Promise.all([
    startTronDevnet(settings),
    startTronDevnet({ ...settings, genesisTimeMs: nowMs - 600_000 }),
    startTronDevnet({ ...settings, seed: 'another chain' }),
  ]);
});
afterAll(async () => {
  await Promise.all([devnet.close(), fork.close(), stranger.close()]);
  rmSync(folder, { recursive: true, force: true });
});

const usdt = (changes: object = {}) => ({
  symbol: 'USDT',
  contract: devnet.tokens.USDT,
  decimals: 6,
  displayDecimals: 2,
  minAmount: null,
  maxAmount: null,
  ...changes,
});

async function doctor(changes: object = {}) {
  const network = {
    chain: 'TRON_TEST',
    family: 'TRON',
    enabled: true,
    genesisId: devnet.chainId,
    name: 'devnet',
    rpcUrls: [devnet.url],
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
    confirmations: 'finalized',
    finality: { staleSeconds: 60 },
    blockTimeMs: 3_000,
    pollIntervalMs: 1_000,
    reorgWindow: 64,
    maxBlockRange: 16,
    tokens: [usdt()],
    ...changes,
  };
  const file = join(folder, 'networks.json');
  writeFileSync(file, JSON.stringify({ networks: [network] }));
  const out: string[] = [];
  const code = await runCli(['doctor', file, '--json'], {
    env: {},
    clock: { now: () => new Date(devnet.control.summary().headTimeMs) },
    print: (line) => out.push(line),
    printError: () => undefined,
    askSecret: async () => '',
  });
  const { sections } = JSON.parse(out.join('\n')) as { sections: { findings: Finding[] }[] };
  const findings = sections.flatMap((section) => section.findings);
  const of = (check: string, url?: string): Finding | undefined =>
    findings.find((one) => one.check === check && (url === undefined || one.subject === new URL(url).host));
  return { code, of, findings };
}

test('accepts a node that matches the file and warns that it is the only one', async () => {
  const { code, of, findings } = await doctor();
  expect(findings.filter(({ outcome }) => outcome !== 'ok').map(({ check }) => check)).toEqual(['sources']);
  expect(of('network')).toMatchObject({ outcome: 'ok', detail: expect.stringContaining(devnet.chainId) });
  expect(of('finalized')?.detail).toMatch(/^Block 1 is solid, 3 blocks and 9 s behind the head\.$/);
  expect(of('receipts')?.detail).toBe('Block 1 was read whole, with all its receipts.');
  expect(code).toBe(0);
});

test('fails on another chain, a wrong token and an unreachable address', async () => {
  const other = await doctor({ rpcUrls: [devnet.url, stranger.url, 'http://127.0.0.1:1'] });
  expect(other.of('network', stranger.url)).toMatchObject({
    outcome: 'fail',
    detail: expect.stringMatching(new RegExp(`${stranger.chainId}|${devnet.chainId}`)),
    mend: expect.stringContaining('genesisId'),
  });
  expect(other.of('network', 'http://127.0.0.1:1')?.outcome).toBe('fail');
  expect(other.of('sources')).toMatchObject({
    outcome: 'warn',
    detail: expect.stringContaining('127.0.0.1'),
  });
  expect(other.code).toBe(1);

  const decimals = await doctor({ tokens: [usdt({ decimals: 18 })] });
  expect(decimals.of('network')).toMatchObject({
    outcome: 'fail',
    detail: expect.stringContaining('has 6 decimals'),
    mend: expect.stringContaining('issuer'),
  });
  const none = await doctor({ tokens: [usdt({ contract: devnet.accounts[5]!.address })] });
  expect(none.of('network')?.outcome).toBe('fail');
});

test('reports nodes with different blocks and a node that is stuck', async () => {
  const { of } = await doctor({ headStaleSeconds: 3_600, rpcUrls: [devnet.url, fork.url] });
  expect(of('same chain')).toMatchObject({
    outcome: 'fail',
    detail: expect.stringMatching(/have different blocks 1\.$/),
  });
  const still = await doctor({ headStaleSeconds: 1, rpcUrls: [fork.url] });
  expect(still.of('head')).toMatchObject({ outcome: 'fail', mend: expect.stringContaining('stuck') });
});
