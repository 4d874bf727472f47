import { beforeEach, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { LeaseKeeper } from '@opentill/db/lease';
import { createMetrics, type Metrics } from '@opentill/runtime/metrics';
import { startExpiringDriver, type ExpiringDriverDeps } from '../expiring/drive-wallet.ts';
import type { WalletKey } from '../payouts/payout-facts.ts';
import { observeDeposits } from './observe-deposits.ts';
import { createObserve } from './create-observe.ts';
import type { Observe } from './observe.ts';

const CHAIN = 'TRON_TEST';
const HOT = { chain: CHAIN, wallet: 'hot' as Address } as const;
const DEPOSIT = { chain: CHAIN, wallet: 'deposit' as Address } as const;
const [A, B] = ['a', 'b'] as TxHash[] as [TxHash, TxHash];

let metrics: Metrics;
let hot: Observe;
let deposits: Observe;

beforeEach(() => {
  metrics = createMetrics('signer', { ofProcess: false });
  const ignore = () => undefined;
  hot = createObserve({
    logger: { debug: ignore, info: ignore, warn: ignore, error: ignore } as never,
    metrics,
  });
  deposits = observeDeposits(hot);
});

/** The transactions are in flight and were signed ten seconds ago. */
function readView(
  observe: Observe,
  key: WalletKey,
  txHashes: readonly TxHash[],
  halted: string | null = null,
): void {
  const inFlight = { count: txHashes.length, oldestSignedAt: txHashes.length > 0 ? new Date(0) : undefined };
  observe.viewRead(key, { requested: [], unsigned: [], halted, now: new Date(10_000) }, inFlight);
  observe.stillInFlight(key, txHashes);
}

async function value(name: string, kind = ''): Promise<number | undefined> {
  const lines = (await metrics.render()).split('\n');
  const line = lines.find((one) => one.startsWith(`${name}{`) && one.includes(CHAIN) && one.includes(kind));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}
const alarm = (kind: string) => value('opentill_signer_payout_alarm_bool', `kind="${kind}"`);

test('does not overwrite hot wallet metrics with those of deposit addresses', async () => {
  readView(hot, HOT, [A, B], 'stolen key');
  readView(deposits, DEPOSIT, []);
  expect(await alarm('halted')).toBe(1);
  expect(await value('opentill_signer_payouts_in_flight_count')).toBe(2);
  expect(await value('opentill_signer_payout_oldest_in_flight_seconds')).toBe(10);
});

test('holds an alarm while any wallet of the chain has it', async () => {
  hot.forged(HOT, ['a: amount']);
  deposits.forged(DEPOSIT, []);
  expect(await alarm('forged')).toBe(1);
  deposits.forged(DEPOSIT, ['b: amount']);
  hot.forged(HOT, []);
  expect(await alarm('forged')).toBe(1);
  deposits.forged(DEPOSIT, []);
  expect(await alarm('forged')).toBe(0);
});

test('ends the alarm about an unrecorded transaction when it is not in flight', async () => {
  for (const [observe, key] of [
    [hot, HOT],
    [deposits, DEPOSIT],
  ] as const) {
    observe.unrecorded(key, [A]);
    observe.unrecorded(key, [B]);
    readView(observe, key, [B]);
    expect(await alarm('unrecorded')).toBe(1);
    readView(observe, key, ['c' as TxHash]);
    expect(await alarm('unrecorded')).toBe(0);
  }
});

test('raises an alarm while answers do not prove the end of a transaction', async () => {
  const attempts = [{ txHash: A, orderPk: 'order' }];
  hot.unproven(HOT, attempts, readerError('RPC_UNAVAILABLE', 'away'));
  readView(hot, HOT, [A]);
  expect(await alarm('unproven')).toBe(0);
  hot.unproven(HOT, attempts, readerError('INCONSISTENT_ANSWER', 'two sources give different blocks'));
  readView(hot, HOT, [A]);
  expect(await alarm('unproven')).toBe(1);
  readView(hot, HOT, [B]);
  expect(await alarm('unproven')).toBe(0);
});

test('raises an alarm while keys of block producers do not count yet', async () => {
  hot.newBlockKeys(HOT, ['witness: key']);
  deposits.newBlockKeys(DEPOSIT, []);
  expect(await alarm('new-block-keys')).toBe(1);
  hot.newBlockKeys(HOT, []);
  expect(await alarm('new-block-keys')).toBe(0);
});

test('ends only the alarms of a deposit address that is no longer driven', async () => {
  const raise = () => {
    deposits.unrecorded(DEPOSIT, [A]);
    deposits.forged(DEPOSIT, ['a: amount']);
  };
  hot.forged(HOT, ['b: amount']);
  raise();
  const driver = startExpiringDriver({
    key: DEPOSIT,
    observe: deposits,
    leaseIntervalMs: 60_000,
    sweepMs: 60_000,
    fail: () => undefined,
    sender: { checkNetwork: () => Promise.reject(new Error('no node answers')) },
    leaseKeeper: {
      current: () => ({ fencingToken: 1 }),
      acquire: () => Promise.resolve({ fencingToken: 1 }),
      release: () => Promise.resolve(),
    } as unknown as LeaseKeeper,
  } as unknown as ExpiringDriverDeps);
  expect(await alarm('unrecorded')).toBe(1);
  await driver.stop();
  expect([await alarm('unrecorded'), await alarm('forged')]).toEqual([0, 1]);
  raise();
  deposits.leads(DEPOSIT, false);
  expect([await alarm('unrecorded'), await alarm('forged')]).toEqual([0, 1]);
});
