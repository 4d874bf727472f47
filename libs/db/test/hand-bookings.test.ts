import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aHotWalletAddress } from '@opentill/testkit/payout-scenario';
import {
  aChainCursor,
  aHash,
  anEvmAddress,
  aPayout,
  aTransfer,
  type TransferRow,
} from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

/* Coin that was booked by hand for fees becomes an asset. Its transfers must not be booked twice. */
const CHAIN = 'ETH';
const hot = { family: 'EVM' as const, address: anEvmAddress() };
const { admin, open } = await openTestDatabase();
const [tracker, ops] = [open('tracker'), open('ops')];
beforeAll(async () => {
  await aHotWalletAddress(admin.kysely, hot);
  await aChainCursor(admin.kysely, {
    chain: CHAIN,
    verified_height: 1_000,
    seen_height: 1_010,
    head_height: 1_010,
  });
});

let coins = 0;
let symbol = '';
beforeEach(() => {
  symbol = `COIN${(coins += 1)}`;
});

/** Books like `reconcile --book-gas`. */
const bookGas = (amount: bigint, height: number, after = 0n) => {
  const ref = `${CHAIN}:gas-at-${height}-after-${after}:${symbol}`;
  return sql`select book_gas_top_up(${ref}, ${CHAIN}, ${symbol}, ${amount}::numeric)`
    .execute(ops.kysely)
    .then(() => ref);
};
/** Inserts what a rescan records. */
const scanned = (amount: bigint, height: number, overrides: Parameters<typeof aTransfer>[2] = {}) =>
  aTransfer(
    admin.kysely,
    { chain: CHAIN, ...hot, symbol, contract_address: null, amount },
    { state: 'VERIFIED', position: 'value', block_height: height, ...overrides },
  );
const settle = (...transfers: readonly Pick<TransferRow, 'transfer_id' | 'version'>[]) =>
  sql`select * from settle_hot_wallet_deposits(${JSON.stringify(
    transfers.map(({ transfer_id: transferId, version }) => ({ transferId, version })),
  )}::jsonb)`.execute(tracker.kysely);
async function change(transfer: TransferRow, values: Partial<TransferRow>): Promise<TransferRow> {
  return admin.kysely
    .updateTable('transfer')
    .set({ ...values, version: transfer.version + 1 } as never)
    .where('transfer_id', '=', transfer.transfer_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}
async function accounts(): Promise<Record<string, bigint>> {
  const { rows } = await sql<{
    kind: string;
    balance: bigint;
  }>`select kind, sum(balance) as balance from ledger_account
    where chain = ${CHAIN} and symbol = ${symbol} group by kind having sum(balance) <> 0`.execute(
    admin.kysely,
  );
  return Object.fromEntries(rows.map(({ kind, balance }) => [kind, balance]));
}
const payable = (amount: bigint) => ({ HOT_AVAILABLE: amount, OWNER: -amount });
const reserve = async (amount: bigint): Promise<boolean> => {
  const payout = await aPayout(admin.kysely, {
    chain: CHAIN,
    symbol,
    contract_address: null,
    amount,
    accepted_amount: amount,
    source_address: hot.address,
  });
  const { rows } = await sql<{ ok: boolean }>`select reserve(${payout.order_pk}) as ok`.execute(admin.kysely);
  return rows[0]!.ok;
};
const reverse = async (ref: string): Promise<string> => {
  const { rows } = await sql<{ outcome: string }>`select outcome from reverse_top_up(${ref})`.execute(
    ops.kysely,
  );
  return rows[0]!.outcome;
};

describe('native coin booked twice', () => {
  test('books coin once that was booked as gas and scanned later', async () => {
    await bookGas(3_000n, 50);
    await settle(await scanned(3_000n, 40));
    expect(await accounts()).toEqual(payable(3_000n));
    expect(await reserve(3_001n)).toBe(false);
    expect(await reserve(3_000n)).toBe(true);
  });

  test('books a transfer above the measured block in addition', async () => {
    await bookGas(3_000n, 50);
    await settle(await scanned(2_000n, 40), await scanned(1_000n, 50), await scanned(7n, 51));
    expect(await accounts()).toEqual(payable(3_007n));
  });

  test('keeps the measured sum when coin left the wallet unseen before the measurement', async () => {
    await bookGas(2_600n, 50);
    await settle(await scanned(3_000n, 40));
    const { HOT_AVAILABLE: available = 0n, HOT_GAS: gas = 0n } = await accounts();
    expect(available + gas).toBe(2_600n);
    expect(await reserve(2_601n)).toBe(false);
  });

  test('moves coin for fees to the asset exactly once, before or after the scan', async () => {
    const makePayable = () => sql`select make_gas_payable(${CHAIN}, ${symbol})`.execute(tracker.kysely);
    await bookGas(3_000n, 50);
    await Promise.all([makePayable(), makePayable()]);
    expect(await accounts()).toEqual(payable(3_000n));
    await settle(await scanned(3_000n, 40));
    await makePayable();
    expect(await accounts()).toEqual(payable(3_000n));
  });

  test('reverses a reorganised transfer and books it once when it is mined again', async () => {
    await bookGas(3_000n, 50);
    const transfer = await scanned(3_000n, 40);
    await settle(transfer);
    const orphaned = await change(transfer, { state: 'ORPHANED' });
    await settle(orphaned);
    expect(await accounts()).toEqual({});
    const again = await change(orphaned, { state: 'VERIFIED', block_height: 45 });
    await settle(again);
    await settle(again);
    expect(await accounts()).toEqual(payable(3_000n));
  });

  test('matches a transfer with the measurement made after its reorganisation', async () => {
    const transfer = await scanned(3_000n, 40);
    await settle(transfer);
    const orphaned = await change(transfer, { state: 'ORPHANED' });
    await settle(orphaned);
    await bookGas(3_000n, 50);
    await settle(await change(orphaned, { state: 'VERIFIED', block_height: 45 }));
    expect(await accounts()).toEqual(payable(3_000n));
  });

  test('does not match coin that was booked by its transaction before the measurement', async () => {
    const [byHand, unknown] = [await scanned(1_000n, 30), await scanned(2_000n, 40)];
    await sql`select book_gas_top_up(${`${CHAIN}:${byHand.tx_hash}:${symbol}`}, ${CHAIN}, ${symbol}, 1000)`.execute(
      ops.kysely,
    );
    await bookGas(2_000n, 50, 1_000n);
    await settle(byHand);
    await settle(unknown);
    expect(await accounts()).toEqual(payable(3_000n));
  });

  test('concurrent bookings by hand and by the tracker book the coin once', async () => {
    for (let round = 0; round < 5; round += 1) {
      symbol = `RACE${round}`;
      const [one, two] = [await scanned(1_000n, 30), await scanned(2_000n, 40)];
      await bookGas(3_000n, 50);
      await Promise.all([settle(one, two), settle(two), settle(one), settle(two, one)]);
      expect(await accounts()).toEqual(payable(3_000n));
    }
  });
});

describe('measured manual booking', () => {
  const bookMeasured = async (ref: string, amount: bigint, height: number, owner: bigint) => {
    const { rows } = await sql<{ outcome: string }>`
      select book_measured_top_up('TOP_UP', ${ref}, ${CHAIN}, ${symbol}, ${amount}::numeric, ${height}, ${owner}::numeric) as outcome`.execute(
      ops.kysely,
    );
    return rows[0]!.outcome;
  };

  test('a measured booking is refused when a transfer was booked since the measurement', async () => {
    await settle(await scanned(10n, 40));
    expect(await bookMeasured(`${CHAIN}:${aHash()}:${symbol}`, 10n, 50, 0n)).toBe('MOVED');
    expect(await accounts()).toEqual(payable(10n));
  });

  test('a measured booking matches transfers of other transactions up to its amount', async () => {
    expect(await bookMeasured(`${CHAIN}:${aHash()}:${symbol}`, 3_000n, 50, 0n)).toBe('BOOKED');
    await settle(await scanned(2_000n, 40));
    expect(await accounts()).toEqual(payable(3_000n));
    await settle(await scanned(3_000n, 41));
    expect(await accounts()).toEqual(payable(5_000n));
    await settle(await scanned(1n, 51));
    expect(await accounts()).toEqual(payable(5_001n));
  });

  test('a measured booking is replaced by its transaction up to the unmatched amount', async () => {
    const named = await scanned(3_000n, 45);
    await bookMeasured(`${CHAIN}:${named.tx_hash}:${symbol}`, 3_000n, 50, 0n);
    await settle(await scanned(500n, 40));
    await settle(named);
    expect(await accounts()).toEqual(payable(3_500n));
  });
});

describe('reversal of a booking', () => {
  test('reverses a wrong booking once, after which its transfer is booked', async () => {
    const transfer = await scanned(300n, 40);
    const ref = `${CHAIN}:${transfer.tx_hash}:${symbol}`;
    const book = (amount: bigint) =>
      sql`select book_top_up(${ref}, ${CHAIN}, ${symbol}, ${amount}::numeric)`.execute(ops.kysely);
    await book(3_000n);
    expect(await Promise.all([reverse(ref), reverse(ref)])).toEqual(
      expect.arrayContaining(['REVERSED', 'BEFORE']),
    );
    expect(await accounts()).toEqual({});
    await book(300n);
    expect(await accounts()).toEqual(payable(300n));
    await settle(transfer);
    expect(await accounts()).toEqual(payable(300n));
    expect(await reverse(ref)).toBe('SEEN');
    expect(await reverse(`${ref}x`)).toBe('NOT_FOUND');
  });

  test('leaves the transfers of a reversed measurement to a later one', async () => {
    const first = await bookGas(3_000n, 50);
    expect(await reverse(first)).toBe('REVERSED');
    const one = await scanned(1_000n, 30);
    await settle(one);
    expect(await accounts()).toEqual(payable(1_000n));
    const second = await bookGas(2_000n, 60, 1_000n);
    await settle(await scanned(2_000n, 40));
    expect(await accounts()).toEqual(payable(3_000n));
    expect(await reverse(second)).toBe('SEEN');
  });

  test('a reversal takes payable coin from the account that received it', async () => {
    const ref = await bookGas(3_000n, 50);
    await sql`select make_gas_payable(${CHAIN}, ${symbol})`.execute(tracker.kysely);
    expect(await reverse(ref)).toBe('REVERSED');
    expect(await accounts()).toEqual({});
  });

  test('refuses a reversal that uncovers reserved money, unless the chain lacks it', async () => {
    const ref = `${CHAIN}:${aHash()}:${symbol}`;
    await sql`select book_top_up(${ref}, ${CHAIN}, ${symbol}, 100)`.execute(ops.kysely);
    expect(await reserve(60n)).toBe(true);
    expect(await reverse(ref)).toBe('UNCOVERED');
    const holds = (amount: bigint) =>
      sql`insert into hot_wallet_balance (chain, wallet, symbol, amount, block_height, block_hash, seen_at)
        values (${CHAIN}, ${hot.address}, ${symbol}, ${amount}::numeric, 990, 'h', now())
        on conflict (chain, wallet, symbol) do update set amount = excluded.amount`.execute(admin.kysely);
    await holds(1n);
    expect(await reverse(ref)).toBe('UNCOVERED');
    await holds(0n);
    expect(await reverse(ref)).toBe('REVERSED');
    expect(await accounts()).toEqual({ HOT_AVAILABLE: -60n, HOT_RESERVED: 60n });
  });
});

describe('check of a top-up', () => {
  const check = async (txid: string, amount: bigint) => {
    const { rows } = await sql<{ outcome: string; missing: bigint | null }>`
      select outcome, missing from book_covered_top_up('TOP_UP', ${`${CHAIN}:${txid}:${symbol}`}, ${CHAIN}, ${symbol}, ${amount}::numeric)`.execute(
      ops.kysely,
    );
    return rows[0]!;
  };
  /** The signer saves a balance of a block that the scanner stores. */
  const sees = async (amount: bigint, height: number) => {
    await sql`insert into block (chain, height, hash, parent_hash, block_time)
      values (${CHAIN}, ${height}, ${`hash-${height}`}, 'p', now()) on conflict do nothing`.execute(
      admin.kysely,
    );
    await saves(amount, height);
  };
  const saves = (amount: bigint, height: number) =>
    sql`insert into hot_wallet_balance (chain, wallet, symbol, amount, block_height, block_hash, seen_at)
      values (${CHAIN}, ${hot.address}, ${symbol}, ${amount}::numeric, ${height}, ${`hash-${height}`}, clock_timestamp())
      on conflict (chain, wallet, symbol) do update set amount = excluded.amount, block_height = excluded.block_height,
        block_hash = excluded.block_hash, seen_at = excluded.seen_at`.execute(admin.kysely);

  test('refuses a top-up that no balance at a verified block covers', async () => {
    expect(await check(aHash(), 100n)).toMatchObject({ outcome: 'NO_BALANCE' });
    await sees(100n, 1_001); // above the verified block
    expect(await check(aHash(), 100n)).toMatchObject({ outcome: 'NO_BALANCE' });
    await sees(100n, 1_002);
    expect(await check(aHash(), 100n)).toMatchObject({ outcome: 'NO_BALANCE' });
    expect(await accounts()).toEqual({});
  });

  test('books a top-up only up to the amount that the balance covers', async () => {
    await sees(100n, 900);
    await sees(100n, 901);
    const txid = aHash();
    expect(await check(txid, 101n)).toMatchObject({ outcome: 'NOT_COVERED', missing: 1n });
    expect(await check(txid, 70n)).toMatchObject({ outcome: 'BOOKED' });
    expect(await check(txid, 70n)).toMatchObject({ outcome: 'BEFORE' });
    await expect(check(txid, 71n)).rejects.toThrow(/another amount/);
    expect(await check(aHash(), 31n)).toMatchObject({ outcome: 'NOT_COVERED', missing: 1n });
    await scanned(30n, 950, { state: 'DETECTED' });
    expect(await check(aHash(), 30n)).toMatchObject({ outcome: 'NOT_COVERED', missing: 30n });
    expect(await accounts()).toEqual(payable(70n));
  });

  test('ignores a balance whose block is not stored, unless it is below all stored ones', async () => {
    await sql`delete from block where chain = ${CHAIN}`.execute(admin.kysely);
    await sees(0n, 840);
    await saves(100n, 850);
    await saves(100n, 851);
    expect(await check(aHash(), 100n)).toMatchObject({ outcome: 'NOT_COVERED', missing: 100n });
    const heights = await sql<{ heights: string[] }>`
      select balance_heights(${CHAIN}, 800, 851) as heights, balance_heights(${CHAIN}, 851, 900) as none`.execute(
      admin.kysely,
    );
    expect(heights.rows).toEqual([{ heights: [851], none: [] }]);
    await sql`update block set height = 860 where chain = ${CHAIN}`.execute(admin.kysely);
    await saves(0n, 870);
    expect(await check(aHash(), 100n)).toMatchObject({ outcome: 'BOOKED' });
  });

  test('ignores a balance read at a block that was reorganised', async () => {
    await sql`insert into block (chain, height, hash, parent_hash, block_time) values (${CHAIN}, 800, 'other', 'p', now())`.execute(
      admin.kysely,
    );
    await sees(100n, 800);
    await sees(0n, 801);
    await sees(0n, 1_001);
    expect(await check(aHash(), 100n)).toMatchObject({ outcome: 'NOT_COVERED', missing: 100n });
  });

  test('leaves a transfer that the scanner knows to the tracker', async () => {
    await sees(100n, 900);
    await sees(100n, 901);
    const transfer = await scanned(100n, 1_001, { state: 'DETECTED' });
    expect(await check(transfer.tx_hash, 100n)).toMatchObject({ outcome: 'SEEN' });
    const verified = await change(transfer, { state: 'VERIFIED' });
    await settle(verified);
    expect(await check(transfer.tx_hash, 100n)).toMatchObject({ outcome: 'BEFORE' });
    expect(await accounts()).toEqual(payable(100n));
  });
});
