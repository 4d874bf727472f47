import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { startSuiDevnet, type SuiDevnet, type SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { examineNetwork } from '../src/doctor/examine-network.ts';
import type { Finding } from '../src/doctor/finding.ts';

let devnet: SuiDevnet;
let other: SuiNode;
beforeAll(async () => {
  devnet = await startSuiDevnet({ checkpointMs: 0, seed: 'doctor' });
  other = await devnet.control.openNode();
  devnet.control.checkpoint(3);
});
afterEach(() => {
  devnet.control.clearFaults();
  other.clearFaults();
});
afterAll(() => devnet.close());

/** A file would have to name the main network's own genesis. */
async function doctor(changes: Partial<NetworkConfig>) {
  const clock = { now: () => new Date(devnet.control.summary().timestampMs) };
  const findings: readonly Finding[] = await examineNetwork(suiDevnetNetwork(devnet, changes), clock);
  return { findings, sources: findings.find(({ check }) => check === 'sources') };
}

const elsewhere = (url: string): string => url.replace('127.0.0.1', 'localhost');

test('warns of a single endpoint on the main network and names the consequence', async () => {
  const { sources, findings } = await doctor({ chain: 'SUI' });
  expect(sources).toMatchObject({ outcome: 'warn', detail: 'One endpoint is configured.' });
  expect(sources?.mend).toMatch(
    /two endpoints of different providers in SUI_RPC_URLS.*paid again only with two of them\.$/,
  );
  expect(findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([sources]);
  const test = await doctor({ chain: 'SUI_TEST' });
  expect(test.sources?.mend).toMatch(/two endpoints of different providers in SUI_TEST_RPC_URLS/);
  expect(test.sources?.mend).not.toMatch(/paid anew/);
});

test('accepts two endpoints that agree', async () => {
  const both = { chain: 'SUI', rpcUrls: [devnet.url, elsewhere(other.url)] } as const;
  const well = await doctor(both);
  expect(well.findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(well.sources).toMatchObject({ detail: '2 of 2 endpoints are usable.' });
});

test('accepts an archive as last endpoint but does not count it for comparison', async () => {
  const archive = await devnet.control.openNode();
  archive.fault({ kind: 'status', method: 'GetCoinInfo', code: 'UNIMPLEMENTED' });
  const full = [devnet.url, elsewhere(other.url)];
  const well = await doctor({ chain: 'SUI', rpcUrls: [...full, archive.url] });
  expect(well.findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(well.sources).toMatchObject({ detail: '2 of 2 endpoints are usable.' });
  expect(well.findings.map(({ detail }) => detail)).toContain('It has no coins and no balances: an archive.');
  const single = await doctor({ chain: 'SUI', rpcUrls: [devnet.url, elsewhere(archive.url)] });
  expect(single.findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([single.sources]);
  expect(single.sources).toMatchObject({ outcome: 'warn', detail: 'One endpoint is configured.' });
  const first = await doctor({ chain: 'SUI', rpcUrls: [archive.url, ...full] });
  expect(first.findings.filter(({ outcome }) => outcome === 'fail')).toEqual([
    expect.objectContaining({ mend: expect.stringMatching(/an archive only as the last one/) }),
  ]);
  await archive.close();
});
