import { expect, test } from 'vitest';
import { sql } from 'kysely';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { payableCoins } from '../src/native-symbols.ts';
import { sweepPayableCoins } from '../src/sweep-payable-coins.ts';
import { createRecordingObserver, NETWORKS } from './tracker-scenario.ts';

const { admin, open } = await openTestDatabase();
const tracker = open('tracker');

test('makes coin for fees payable once its coin is a configured token', async () => {
  const network = NETWORKS[0]!;
  const { chain, nativeSymbol: symbol, nativeDecimals: decimals } = network;
  await sql`select book_gas_top_up(${`${chain}:0x1:${symbol}`}, ${chain}, ${symbol}, 70)`.execute(
    admin.kysely,
  );
  const observe = createRecordingObserver();
  const sweep = (networks: typeof NETWORKS) =>
    sweepPayableCoins({ db: tracker.kysely, observe }, payableCoins(networks));
  await sweep(NETWORKS);
  expect(observe.calls).toEqual([]);
  const coin = { symbol, contract: null, decimals, displayDecimals: 2, minAmount: null, maxAmount: null };
  const withCoin = [{ ...network, tokens: [...network.tokens, coin] }];
  await Promise.all([sweep(withCoin), sweep(withCoin)]);
  expect(observe.calls).toEqual([{ what: 'gasMadePayable', detail: { chain, symbol, amount: 70n } }]);
  const { rows } =
    await sql`select kind, balance from ledger_account where kind like 'HOT%' order by kind`.execute(
      admin.kysely,
    );
  expect(rows).toEqual([
    { kind: 'HOT_AVAILABLE', balance: 70n },
    { kind: 'HOT_GAS', balance: 0n },
  ]);
});
