import { expect, test } from 'vitest';
import type { Lease } from '@opentill/db/lease';
import { driveWallet, type Driven } from './drive-wallet.ts';

test('forgets what it sent when it takes its lease again, even with the same token', async () => {
  const under = (holder: string): Lease => ({ name: 'wallet/ETH/0x1', fencingToken: 5, holder });
  const leases = [under('a#1'), under('a#1'), under('a#2')];
  const passes: string[] = [];
  const ended = Promise.withResolvers<void>();
  let memories = 0;
  const silent = () => undefined;
  const deps = {
    key: { chain: 'ETH', wallet: '0x1' },
    leaseKeeper: {
      current: () => leases[passes.length],
      acquire: () => Promise.resolve(leases[passes.length]),
      release: () => Promise.resolve(),
    },
    clock: { now: () => new Date(0) },
    leaseIntervalMs: 60_000,
    sweepMs: 1,
    fail: (error: unknown) => ended.reject(error),
    observe: {
      leads: silent,
      passed: silent,
      chainStopped: silent,
      ended: silent,
      passFailed: (_key: unknown, error: unknown) => ended.reject(error),
    },
    sender: { checkNetwork: () => Promise.resolve() },
  } as unknown as Driven;
  const driver = driveWallet(deps, () => {
    const memory = (memories += 1);
    return ({ holder }) => {
      passes.push(`${holder} with memory ${memory}`);
      if (passes.length === leases.length) ended.resolve();
      return Promise.resolve(undefined);
    };
  });
  await ended.promise;
  await driver.stop();
  expect(passes).toEqual(['a#1 with memory 1', 'a#1 with memory 1', 'a#2 with memory 2']);
});
