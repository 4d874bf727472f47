import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { startSuiDevnet, type SuiDevnet, type SuiNode } from '@opentill/devnet/sui/start-sui-devnet';
import { suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { examineNetwork } from '../src/doctor/examine-network.ts';
import type { Finding } from '../src/doctor/finding.ts';

/* opentill doctor on a SUI network: what it says of one endpoint, where money is real and where it is not. */

let devnet: SuiDevnet;
let other: SuiNode;
beforeAll(async () => {
  devnet = await startSuiDevnet({ checkpointMs: 0, seed: 'doctor' });
  other = await devnet.control.openNode();
  devnet.control.checkpoint(3);
});
afterAll(() => devnet.close());

/** Not by a file: that must name the main network's own genesis. */
async function doctor(changes: Partial<NetworkConfig>) {
  const clock = { now: () => new Date() };
  const findings: readonly Finding[] = await examineNetwork(suiDevnetNetwork(devnet, changes), clock);
  return { findings, sources: findings.find(({ check }) => check === 'sources') };
}

/** Another host by its name. */
const elsewhere = (url: string): string => url.replace('127.0.0.1', 'localhost');

test('one endpoint on the main network is told with what it is not enough for: who pays anew what never landed', async () => {
  const { sources, findings } = await doctor({ chain: 'SUI' });
  expect(sources).toMatchObject({ outcome: 'warn', detail: 'One endpoint is configured.' });
  expect(sources?.mend).toMatch(
    /two endpoints of different providers in SUI_RPC_URLS.*paid anew by the word of two alone\.$/,
  );
  expect(findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([sources]);
  const test = await doctor({ chain: 'SUI_TEST' });
  expect(test.sources?.mend).toMatch(/two endpoints of different providers in SUI_TEST_RPC_URLS/);
  expect(test.sources?.mend).not.toMatch(/paid anew/);
});

test('two that agree are well', async () => {
  const both = { chain: 'SUI', rpcUrls: [devnet.url, elsewhere(other.url)] } as const;
  const well = await doctor(both);
  expect(well.findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(well.sources).toMatchObject({ detail: '2 of 2 endpoints can be used.' });
});
