import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { createTronSources, readHeader } from '@opentill/chain-tron/tron-sources';
import { baseUnits } from '@opentill/domain/money';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { aTronAddress, createTronWorld, ONE_TRX, type DriverOptions, type TronWorld } from './tron-world.ts';

// Another holder of the key sent these transactions, or a restore forgot them.

let world: TronWorld;
let keys: ExpiringSender;
let uniqueMs = 1_000;
let isCutOff = false;
let sending = 0;
beforeAll(async () => {
  world = await createTronWorld();
  await start();
});
afterEach(() => world.devnet.control.clearFaults());
afterAll(() => world.close());

const start = (options: DriverOptions = {}) =>
  world.start({
    ...options,
    sender: (sender) => {
      keys = sender;
      return {
        ...sender,
        async broadcast(signed, options) {
          if (isCutOff) return signed.map(() => 'UNKNOWN' as const);
          sending += 1;
          return sender.broadcast(signed, options).finally(() => (sending -= 1));
        },
      };
    },
  });

async function sendForeign(pays: Partial<PaymentIntent>): Promise<string> {
  const { solid, headTimeMs } = world.devnet.control.summary();
  const { height, hash } = await readHeader(createTronSources(world.network, {}).all()[0]!, {}, solid);
  const intent = {
    from: world.wallet,
    contract: world.usdt as TokenContract,
    to: aTronAddress() as Address,
    amountBaseUnits: baseUnits(ONE_TRX),
    ...pays,
  };
  uniqueMs += 1;
  const validity = { expiresMs: headTimeMs + 60_000, reference: { height, hash }, uniqueMs };
  const signed = await keys.sign(intent, validity, intent.contract === null ? 0n : 50n * ONE_TRX);
  expect(await keys.broadcast([signed])).toEqual(['ACCEPTED']);
  return signed.txHash;
}
const paysFor = ({ address, amount }: OrderRow) => ({
  to: address as Address,
  amountBaseUnits: baseUnits(amount),
});

const halts = async () => {
  const { rows } = await sql<{ kind: string; reason: string; open: boolean }>`
    select kind, reason, released_at is null as open from wallet_halt where wallet = ${world.wallet} order by set_at`.execute(
    world.admin,
  );
  return rows;
};
const halted = (txHash: string) =>
  waitUntil('halted', async () => {
    await world.mine();
    return (await halts()).some(({ open, reason }) => open && reason.includes(txHash));
  });
const release = () =>
  sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'looked'
    where released_at is null`.execute(world.admin);
const blocked = (order: OrderRow, obstacle: string) =>
  waitUntil(obstacle, async () => (await world.payoutOf(order)).obstacle === obstacle, TIMEOUT_MS);
const decide = (order: OrderRow, decision: 'PAID_BY' | 'PAY_AGAIN', txHash: string | null) =>
  sql`insert into payout_decision (decision_id, order_pk, decision, tx_hash, operator, reason)
    values (gen_random_uuid(), ${order.order_pk}, ${decision}, ${txHash}, 'test', 'looked')`.execute(
    world.admin,
  );
const states = async (order: OrderRow) => (await world.attemptsOf(order)).map(({ state }) => state);

test.each([
  ['moves a token', {}],
  ['fails and moves nothing', { amountBaseUnits: baseUnits(10n ** 14n) }],
])('halts the wallet once for a foreign transaction that %s', async (_, pays) => {
  const before = (await halts()).length;
  const txHash = await sendForeign(pays);
  await halted(txHash);
  const order = await world.payout();
  await blocked(order, 'HALTED');
  const incidents =
    await sql`select from incident where kind = 'FOREIGN_NONCE' and closed_at is null`.execute(world.admin);
  expect(incidents.rows.length).toBeGreaterThan(0);
  await release();
  await world.land([order]);
  expect((await halts()).slice(before)).toEqual([
    { kind: 'FOREIGN_NONCE', reason: expect.anything(), open: false },
  ]);
});

test('does not sign an equal payout after the release until an operator decides', async () => {
  const txHash = await sendForeign({});
  await halted(txHash);
  const [paid, unpaid] = [await world.payout(), await world.payout()];
  const doing = [await sendForeign(paysFor(paid)), await sendForeign(paysFor(unpaid))];
  for (const one of doing)
    await waitUntil('found', async () => {
      await world.mine();
      const { rows } =
        await sql`select from foreign_transaction where tx_hash = ${one} and halt_id is not null`.execute(
          world.admin,
        );
      return rows.length === 1;
    });
  await release();
  for (const order of [paid, unpaid]) await blocked(order, 'MAYBE_PAID');
  await world.mine(3);
  await decide(paid, 'PAID_BY', doing[0]!);
  await decide(unpaid, 'PAY_AGAIN', null);
  await world.land([paid, unpaid]);
  expect(await world.received(paid)).toBe(paid.amount);
  expect(await world.received(unpaid)).toBe(2n * unpaid.amount);
});

test('keeps a signed payout signed after its expiry until an operator decides', async () => {
  world.devnet.control.fault({ kind: 'swallow-broadcast' });
  const order = await world.payout();
  await waitUntil('sent', async () => (await world.payoutOf(order)).sent, TIMEOUT_MS);
  // Sends stop, or the payout would land as well. This includes a signer that has just lost the lease.
  isCutOff = true;
  await waitUntil('nothing is on its way to the node', () => sending === 0);
  await sql`update signer.lease set holder = 'nobody', expires_at = now() + interval '1 hour', fencing_token = fencing_token + 1`.execute(
    world.admin,
  );
  world.devnet.control.clearFaults();
  const txHash = await sendForeign(paysFor(order));
  await world.passExpiry();
  isCutOff = false;
  await sql`update signer.lease set expires_at = now()`.execute(world.admin);
  await halted(txHash);
  await release();
  await world.mine(3);
  expect(await states(order)).toEqual(['OPEN']);
  await decide(order, 'PAID_BY', txHash);
  await world.land([order]);
  expect(await states(order)).toEqual(expect.arrayContaining(['DEAD', 'SETTLED']));
  expect(await world.received(order)).toBe(order.amount);
});
