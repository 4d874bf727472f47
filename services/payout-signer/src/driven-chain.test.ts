import { expect, test } from '@jest/globals';
import type { SignerDeps } from './signer-deps.ts';
import { openDrivenChains } from './driven-chain.ts';

test('two wallets of a chain report its state once under each of their leases', async () => {
  let writes = 0;
  const execute = () => Promise.resolve(void (writes += 1));
  const deps = {
    db: { transaction: () => ({ execute }) },
    clock: { now: () => new Date(0) },
    networks: [{ network: { chain: 'ETH' }, sender: { checkNetwork: () => Promise.resolve() } }],
    fail: () => undefined,
  } as unknown as SignerDeps;
  const chain = openDrivenChains(deps).get('ETH')!;
  await chain.gate.admit(new AbortController().signal);
  const leases = [
    { name: 'wallet/ETH/one', fencingToken: 7 },
    { name: 'wallet/ETH/two', fencingToken: 3 },
  ];
  for (let pass = 0; pass < 3; pass += 1) for (const lease of leases) await chain.report(lease);
  expect(writes).toBe(2);
  // Whoever held the lease meanwhile may have written another state.
  await chain.report({ name: 'wallet/ETH/one', fencingToken: 9 });
  expect(writes).toBe(3);
});
