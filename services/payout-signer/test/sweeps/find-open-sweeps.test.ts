import { beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aChainCursor, aCollection, anEvmAddress, aPayout } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { findDueDeposits } from '../../src/store/find-due-deposits.ts';

// A limited number of deposit addresses is handled at once. Addresses with work to do precede those that wait for a
// block (seconds) or for finality (15 minutes on some chains).

const CHAIN = 'ETH_SEPOLIA';

const { admin } = await openTestDatabase();
beforeEach(async () => {
  await sql`update deposit_balance set reserved = 0`.execute(admin.kysely);
  await sql`update sweep set state = 'DONE', ended_at = now() where state = 'OPEN'`.execute(admin.kysely);
});

type Given =
  | { readonly is: 'AUTHORISED'; readonly obstacle?: string }
  | {
      readonly is: 'SIGNED';
      readonly sentMinutesAgo: number | null;
      readonly fate?: 'MINED' | 'VERIFIED' | 'ORPHANED';
    };

async function aSweep(given: Given): Promise<string> {
  const db = admin.kysely;
  const { order_pk, address } = await aCollection(db, { chain: CHAIN });
  await sql`insert into deposit_balance (chain, address, symbol, family, order_pk, received, reserved)
    values (${CHAIN}, ${address}, 'USDT', 'EVM', ${order_pk}, 100, 100)`.execute(db);
  const sweepId = crypto.randomUUID();
  await sql`insert into sweep (sweep_id, chain, family, address, symbol, amount, destination, destination_kind, method, cost_estimate)
    values (${sweepId}, ${CHAIN}, 'EVM', ${address}, 'USDT', 100, 'cold', 'COLD', 'FREE', 1)`.execute(db);
  const { order_pk: paying } = await aPayout(db, {
    chain: CHAIN,
    source_address: address,
    address: anEvmAddress(),
  });
  await sql`insert into payout (order_pk, chain, wallet, state, money, expires_at, authorised_at, obstacle, obstacle_at, updated_at)
    values (${paying}, ${CHAIN}, ${address}, ${given.is}, ${given.is === 'SIGNED' ? 'IN_FLIGHT' : 'RESERVED'}, now() + interval '1 hour', now(),
      ${given.is === 'AUTHORISED' ? (given.obstacle ?? null) : null}, now(), now() - interval '1 hour')`.execute(
    db,
  );
  await sql`insert into movement (order_pk, kind, sweep_id, source_kind, reserved_kind, sent_kind, target_kind)
    values (${paying}, 'SWEEP', ${sweepId}, 'DEPOSIT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT', 'COLD')`.execute(
    db,
  );
  if (given.is !== 'SIGNED') return address;
  const txHash = `0x${crypto.randomUUID()}`;
  await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk) values (${CHAIN}, ${address}, 0, 'SIGNED', ${paying})`.execute(
    db,
  );
  await sql`insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, to_address, amount, raw, fee_terms,
      signed_at, last_sent_at)
    values (${CHAIN}, ${txHash}, 'EVM', ${address}, 0, 'PAYOUT', ${paying}, 'cold', 100, '', '{}', now() - interval '1 hour',
      now() - ${given.sentMinutesAgo}::int * interval '1 minute')`.execute(db);
  if (given.fate !== undefined)
    await sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered,
        network_fee) values (${CHAIN}, ${txHash}, 'EVM', 1, 'x', now(), ${given.fate}, true, 100, 1)`.execute(
      db,
    );
  return address;
}

const found = async (limit: number) =>
  (await findDueDeposits(admin.kysely, CHAIN, limit)).map(({ address }) => address);

test('selects a sweep to sign, however many wait for blocks', async () => {
  for (let i = 0; i < 3; i += 1) {
    await aSweep({ is: 'SIGNED', sentMinutesAgo: 20, fate: 'MINED' });
    await aSweep({ is: 'SIGNED', sentMinutesAgo: 1 });
  }
  const toSign = await aSweep({ is: 'AUTHORISED' });
  expect(await found(1)).toEqual([toSign]);
  expect(await found(16)).toHaveLength(7);
});

test('selects sweeps that are final, reorganised or not sent', async () => {
  await aSweep({ is: 'SIGNED', sentMinutesAgo: 1 });
  const due = [
    await aSweep({ is: 'SIGNED', sentMinutesAgo: 20, fate: 'VERIFIED' }),
    await aSweep({ is: 'SIGNED', sentMinutesAgo: 20, fate: 'ORPHANED' }),
    await aSweep({ is: 'SIGNED', sentMinutesAgo: null }),
    await aSweep({ is: 'AUTHORISED' }),
  ];
  expect(new Set(await found(4))).toEqual(new Set(due));
});

test('selects waiting sweeps by age of the send, and mined ones last', async () => {
  const mined = await aSweep({ is: 'SIGNED', sentMinutesAgo: 50, fate: 'MINED' });
  const fresh = await aSweep({ is: 'SIGNED', sentMinutesAgo: 6 });
  const long = await aSweep({ is: 'SIGNED', sentMinutesAgo: 20 });
  const blocked = await aSweep({ is: 'AUTHORISED', obstacle: 'FEES_ABOVE_CAP' });
  expect(await found(4)).toEqual([blocked, long, fresh, mined]);
});

async function anEndedAttempt(minutesAgo: number, fate?: 'VERIFIED'): Promise<string> {
  const db = admin.kysely;
  const { address } = await aCollection(db, { chain: 'SUI_TEST', family: 'SUI' });
  const { order_pk: paying } = await aPayout(db, {
    chain: 'SUI_TEST',
    family: 'SUI',
    source_address: address,
  });
  await sql`insert into payout (order_pk, chain, wallet, state, money, expires_at, authorised_at)
    values (${paying}, 'SUI_TEST', ${address}, 'SIGNED', 'IN_FLIGHT', now(), now())`.execute(db);
  const txHash = crypto.randomUUID();
  const endMs = Date.now() - minutesAgo * 60_000;
  await sql`insert into own_transaction (chain, tx_hash, family, wallet, purpose, order_pk, to_address, amount, raw, fee_terms, signed_at,
      last_sent_at)
    values ('SUI_TEST', ${txHash}, 'SUI', ${address}, 'PAYOUT', ${paying}, 'cold', 100, '', '{}', now(), now() - interval '1 day')`.execute(
    db,
  );
  await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
      first_epoch, last_epoch)
    values ('SUI_TEST', ${txHash}, ${address}, ${paying}, 1, ${endMs}, 1, 'x', 4, 5)`.execute(db);
  if (fate !== undefined)
    await sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered,
        network_fee, updated_at) values ('SUI_TEST', ${txHash}, 'SUI', 1, 'x', now(), ${fate}, true, 100, 1,
        now() - ${minutesAgo} * interval '1 minute')`.execute(db);
  return address;
}

test('never lets overdue open attempts displace addresses with work', async () => {
  await aChainCursor(admin.kysely, { chain: 'SUI_TEST', family: 'SUI', verified_epoch: 6 });
  const stuck: string[] = [];
  for (let i = 0; i < 16; i += 1)
    stuck.push(await anEndedAttempt(30 + i, i % 2 === 0 ? 'VERIFIED' : undefined));
  const ended = await anEndedAttempt(1);
  const landed = await anEndedAttempt(2, 'VERIFIED');
  const on = async (limit: number) =>
    (await findDueDeposits(admin.kysely, 'SUI_TEST', limit)).map(({ address }) => address);
  expect(new Set(await on(2))).toEqual(new Set([ended, landed]));
  expect(new Set(await on(18))).toEqual(new Set([ended, landed, ...stuck]));
});
