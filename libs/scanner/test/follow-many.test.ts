import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { TxHash } from '@opentill/chain/transfer';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { aTx, createMockNode, type MockNode, type MockTx } from './mock-node.ts';
import {
  address,
  CHAIN,
  closeNonceOf,
  fateVersions,
  forgetScans,
  MOCK_NETWORK,
  openScan,
  recordedFates,
  signPayout,
  fateEvents,
  type TestScan,
  type TestScanOptions,
} from './scan-harness.ts';

const HALF_A_MINUTE_MS = 30_000;

const database = await openTestDatabase();
const { admin } = database;
const signer = database.open('signer');
const scanner = database.open('scanner_evm');

let node: MockNode;

beforeEach(async () => {
  await forgetScans(admin.kysely);
  // TAKEN is permanent, so the test disables the trigger that keeps it.
  await admin.kysely.transaction().execute(async (tx) => {
    await sql`alter table wallet_nonce disable trigger wallet_nonce_kept`.execute(tx);
    await sql`update wallet_nonce set state = 'FINAL' where state = 'TAKEN'`.execute(tx);
    await sql`alter table wallet_nonce enable trigger wallet_nonce_kept`.execute(tx);
  });
  node = createMockNode(CHAIN);
  mineEmpty(20);
});

function mineEmpty(count: number): void {
  for (let i = 0; i < count; i += 1) node.mine();
}

async function openSettled(options: Partial<TestScanOptions> = {}): Promise<TestScan> {
  const scan = await openScan({ db: scanner.kysely, reader: node.reader, ...options });
  await scan.settle();
  return scan;
}
const sign = (options: Parameters<typeof signPayout>[1] = {}): Promise<MockTx> =>
  signPayout({ signer: signer.kysely, admin: admin.kysely }, options);
const fates = (): Promise<readonly string[]> => recordedFates(admin.kysely);
const take = (tx: MockTx): Promise<void> => closeNonceOf(signer.kysely, tx, 'TAKEN');

/** Mines a block and returns the requests made. */
async function askedAfter(scan: TestScan, ms: number): Promise<readonly string[]> {
  node.fateReads.length = 0;
  scan.clock.pass(ms);
  node.mine();
  await scan.tick();
  return node.fateReads.splice(0);
}

describe('more own transactions than one request takes', () => {
  /** Cancels, because they need no orders. */
  async function signMany(count: number, wallet: string): Promise<readonly MockTx[]> {
    const txs = Array.from({ length: count }, () => aTx({ to: address(wallet), amount: 0n, isNative: true }));
    await sql`
      with signed as (
        select hash, place - 1 + (select count(*) from wallet_nonce where wallet = ${wallet}) as nonce
        from unnest(${txs.map(({ hash }) => hash)}::text[]) with ordinality as t (hash, place)
      ), nonces as (
        insert into wallet_nonce (chain, wallet, nonce, state, purpose)
        select ${CHAIN}, ${wallet}, nonce, 'SIGNED', 'CANCEL' from signed
      )
      insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, to_address, amount, raw, fee_terms, signed_at)
      select ${CHAIN}, hash, 'EVM', ${wallet}, nonce, 'CANCEL', ${wallet}, 0, '', '{}', now() from signed`.execute(
      admin.kysely,
    );
    await analyze();
    return txs;
  }
  /** Like autovacuum. Otherwise the plans depend on when it last ran. */
  const analyze = () =>
    sql`analyze wallet_nonce, own_transaction, own_transaction_fate`.execute(admin.kysely);
  const countOf = async (state: string): Promise<number> =>
    (await fates()).filter((fate) => fate.includes(` ${state} `)).length;

  it('records newer own transactions while many wait for depth, and verifies all', async () => {
    const finality = { ...MOCK_NETWORK, confirmations: 'finalized' as const };
    node.finalize(20);
    const scan = await openSettled({ network: finality });
    const many = await signMany(1_100, 'busy');
    for (let at = 0; at < many.length; at += 550) {
      node.mine(...many.slice(at, at + 550));
      await scan.tick();
      await analyze();
    }
    expect(await countOf('MINED')).toBe(1_100);
    const newer = await signMany(1, 'busy');
    node.mine(...newer);
    await scan.tick();
    expect(await countOf('MINED')).toBe(1_101);
    node.finalize(23);
    scan.clock.pass(1_000);
    await scan.tick();
    expect([await countOf('VERIFIED'), await countOf('MINED')]).toEqual([1_101, 0]);
    expect(await fateEvents(admin.kysely)).toEqual(await fateVersions(admin.kysely));
  });

  it('orphans 1,100 own transactions in the commit of a reorganisation', async () => {
    const scan = await openSettled();
    node.mine(...(await signMany(1_100, 'other')));
    await scan.tick();
    await scan.tick(); // requests the remaining ones
    expect(await countOf('MINED')).toBe(1_100);
    node.reorg(1, [], []);
    await scan.tick();
    expect([await countOf('ORPHANED'), await countOf('MINED')]).toEqual([1_100, 0]);
  });

  it('requests own transactions of each wallet, however many another one has', async () => {
    const scan = await openSettled();
    // The only open nonce of its wallet, higher than all of the other wallet's.
    await signMany(2_000, 'long');
    await sql`update wallet_nonce set state = 'FINAL' where wallet = 'long'`.execute(admin.kysely);
    const later = await signMany(1, 'long');
    await signMany(1_100, 'crowded');
    node.mine(...later);
    await scan.settle();
    expect(await countOf('MINED')).toBe(1);
  });
});

describe('own transaction with a taken nonce', () => {
  it('asks two sources for transactions with taken nonces every 30 s', async () => {
    const scan = await openSettled();
    const [lost, never] = [await sign(), await sign()];
    node.mine(lost);
    await scan.settle();
    node.reorg(1, [], []);
    await scan.settle();
    expect(await fates()).toEqual([`${lost.hash} ORPHANED 21`]);
    for (const tx of [lost, never]) await take(tx);
    expect(await askedAfter(scan, HALF_A_MINUTE_MS)).toEqual(['2 by two']);
    expect(await askedAfter(scan, 0)).toEqual([]);
    expect(await askedAfter(scan, HALF_A_MINUTE_MS - 1)).toEqual([]);
    expect(await askedAfter(scan, 1)).toEqual(['2 by two']);
    expect(await fates()).toEqual([`${lost.hash} ORPHANED 21`]);
  });

  it('records a transaction with a taken nonce that lands after all', async () => {
    const scan = await openSettled();
    const tx = await sign();
    await take(tx);
    await scan.settle();
    node.mine(tx);
    scan.clock.pass(HALF_A_MINUTE_MS);
    await scan.tick();
    expect(await fates()).toEqual([`${tx.hash} MINED 21`]);
    mineEmpty(2);
    await scan.tick();
    expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
    expect(await askedAfter(scan, HALF_A_MINUTE_MS)).toEqual([]);
  });

  it('records a transaction that landed long ago and was stored without bytes', async () => {
    const found = aTx({ to: address('payee'), amount: 100n });
    node.mine(found);
    mineEmpty(40);
    const scan = await openSettled();
    const lost = await sign();
    await take(lost);
    await sql`insert into own_transaction
      select chain, ${found.hash}, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, '', fee_terms,
        signed_at from own_transaction where tx_hash = ${lost.hash}`.execute(signer.kysely);
    scan.clock.pass(HALF_A_MINUTE_MS);
    node.mine();
    await scan.tick();
    expect(await fates()).toEqual([`${found.hash} VERIFIED 21`]);
    expect(await askedAfter(scan, HALF_A_MINUTE_MS)).toEqual([]);
  });

  it('stops asking for a transaction while its payout is VERIFIED at another nonce', async () => {
    const scan = await openSettled();
    const lost = await sign();
    await take(lost);
    const again = aTx({ to: address('payee'), amount: 100n });
    await sql`
      with n as (
        insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
        select chain, wallet, nonce + 1000, 'TAKEN', order_pk from own_transaction where tx_hash = ${lost.hash} returning nonce
      )
      insert into own_transaction
      select chain, ${again.hash}, family, wallet, n.nonce, purpose, order_pk, contract_address, to_address, amount, '', fee_terms,
        signed_at from own_transaction, n where tx_hash = ${lost.hash}`.execute(admin.kysely);
    node.mine(again);
    mineEmpty(2);
    // Both transactions, then the found one from two sources at its depth.
    expect(await askedAfter(scan, HALF_A_MINUTE_MS)).toEqual(['2 by two', '1 by two']);
    expect(await fates()).toEqual([`${again.hash} VERIFIED 21`]);
    expect(await askedAfter(scan, HALF_A_MINUTE_MS)).toEqual([]);
    node.reorg(5, [], [], [], [], [], []);
    await scan.settle();
    expect(await fates()).toEqual([`${again.hash} ORPHANED 21`]);
    expect(await askedAfter(scan, HALF_A_MINUTE_MS)).toContain('2 by two');
  });

  it('asks in every round, with an alarm, while sources differ on a transaction', async () => {
    const tx = await sign();
    await take(tx);
    let isWrong = true;
    const reader: ChainReader = {
      ...node.reader,
      async readFates(own, options) {
        const read = await node.reader.readFates(own, options);
        return isWrong ? { fates: [], disputed: read.fates.map(({ txHash }) => txHash) } : read;
      },
    };
    const scan = await openSettled({ reader });
    node.mine(tx);
    mineEmpty(3);
    for (const ms of [HALF_A_MINUTE_MS, 0, 0])
      expect(await askedAfter(scan, ms)).toEqual(['1 by two', '1 by two']);
    await askedAfter(scan, 61_000);
    expect(await scan.metrics.render()).toMatch(/fates-waiting[^\n]* 1$/m);
    isWrong = false;
    await askedAfter(scan, 0);
    expect(await fates()).toEqual([`${tx.hash} VERIFIED 21`]);
  });

  it('asks for 300 transactions with taken nonces in turn', async () => {
    const txs = Array.from({ length: 300 }, () => aTx({ to: address('payee'), amount: 0n }).hash);
    await sql`
      with t as (select hash, place from unnest(${txs}::text[]) with ordinality as t (hash, place)), n as (
        insert into wallet_nonce (chain, wallet, nonce, state, purpose) select ${CHAIN}, '0xtaken', place, 'TAKEN', 'CANCEL' from t)
      insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, to_address, amount, raw, fee_terms, signed_at)
      select ${CHAIN}, hash, 'EVM', '0xtaken', place, 'CANCEL', '0xtaken', 0, '', '{}', now() from t`.execute(
      admin.kysely,
    );
    const asked: TxHash[] = [];
    const scan = await openSettled({
      reader: {
        ...node.reader,
        readFates(own, options) {
          asked.push(...own.map(({ txHash }) => txHash));
          return node.reader.readFates(own, options);
        },
      },
    });
    asked.length = 0;
    for (let round = 0; round < 3; round += 1) await askedAfter(scan, HALF_A_MINUTE_MS);
    expect(new Set(asked).size).toBe(300);
    expect(await recordedFates(admin.kysely)).toEqual([]);
  });
});
