import { expect, test } from 'vitest';
import { openDrivenChains, type DrivenChainsDeps } from './driven-chain.ts';

function openChain() {
  let writes = 0;
  const execute = () => Promise.resolve(void (writes += 1));
  const deps = {
    db: { transaction: () => ({ execute }) },
    clock: { now: () => new Date(0) },
    networks: [{ network: { chain: 'ETH' }, sender: { checkNetwork: () => Promise.resolve() } }],
    fail: () => undefined,
  } as unknown as DrivenChainsDeps;
  return { chain: openDrivenChains(deps).get('ETH')!, writes: () => writes };
}

test('reports a chain’s state once under each of its wallets’ leases', async () => {
  const { chain, writes } = openChain();
  const leases = [
    { name: 'wallet/ETH/one', fencingToken: 7, holder: 'test' },
    { name: 'wallet/ETH/two', fencingToken: 3, holder: 'test' },
  ];
  for (let pass = 0; pass < 3; pass += 1) for (const lease of leases) await chain.report(lease, true);
  expect(writes()).toBe(2);
  // Another holder of the lease may have written another state meanwhile.
  await chain.report({ name: 'wallet/ETH/one', fencingToken: 9, holder: 'test' }, true);
  expect(writes()).toBe(3);
  // The token repeats after a failover that lost the last take.
  await chain.report({ name: 'wallet/ETH/one', fencingToken: 9, holder: 'other' }, true);
  expect(writes()).toBe(4);
});

test('reports no state of a chain before its start-up checks have a result', async () => {
  const { chain, writes } = openChain();
  const lease = { name: 'wallet/ETH/one', fencingToken: 1, holder: 'test' };
  await chain.report(lease, false);
  expect(writes()).toBe(0);
  chain.gate.leaveOut({ code: 'WRONG_CHAIN', detail: 'chain id 5' }, new Error('chain id 5'));
  await chain.report(lease, false);
  expect(writes()).toBe(1);
});
