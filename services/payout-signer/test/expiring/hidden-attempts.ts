import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { policyCheckOf } from '../world/test-policy.ts';
import { createTronWorld } from './tron-world.ts';

export type HiddenAttempts = Awaited<ReturnType<typeof createHiddenAttempts>>;

export async function createHiddenAttempts() {
  const world = await createTronWorld({ expirationSeconds: 30 });
  const { admin } = world;
  await sql`create function hide_it() returns trigger language plpgsql as 'begin return null; end'`.execute(
    admin,
  );
  await sql`create trigger hidden before insert on own_transaction_fate for each row execute function hide_it()`.execute(
    admin,
  );
  const expired = new Set<string>();
  /** Lets each attempt expire as soon as it is sent. */
  const expireUntil = (what: string, order: OrderRow, isSo: () => Promise<boolean>) =>
    waitUntil(
      what,
      async () => {
        if (await isSo()) return true;
        const sent = (await world.attemptsOf(order)).find(
          ({ tx_hash: txHash, send_outcome: outcome }) => outcome !== null && !expired.has(txHash),
        );
        if (sent === undefined) return false;
        expired.add(sent.tx_hash);
        await world.passExpiry();
        return false;
      },
      2 * TIMEOUT_MS,
    );
  const obstacleOf = async (order: OrderRow) => {
    const { state, obstacle } = await world.payoutOf(order);
    return state === 'AUTHORISED' ? obstacle : null;
  };
  return {
    ...world,
    start: (asset: Readonly<Record<string, string>> = {}, more: Readonly<Record<string, unknown>> = {}) =>
      world.start({
        policy: policyCheckOf(world.network, { asset, symbols: ['USDT'], more }),
        sender: (sender) => ({
          ...sender,
          findInBlocks: async (...given) => ({
            ...(await sender.findInBlocks(...given)),
            found: new Set(),
          }),
        }),
      }),
    async untilItWaits(order: OrderRow): Promise<string | null> {
      await expireUntil('it waits', order, async () => (await obstacleOf(order)) !== null);
      return obstacleOf(order);
    },
    untilSecondAttempt: (order: OrderRow) =>
      expireUntil('signed twice', order, async () => (await world.attemptsOf(order)).length === 2),
    makeOverdue: (order: OrderRow) =>
      sql`update payout set expires_at = now() - interval '1 hour' where order_pk = ${order.order_pk}`.execute(
        admin,
      ),
    expire: async (order: OrderRow) =>
      (await sql`select expire_payouts(array[${order.order_pk}]::uuid[])`.execute(admin)).rows,
    payAgain: (order: OrderRow) =>
      sql`insert into payout_decision (decision_id, order_pk, decision, operator, reason)
        values (gen_random_uuid(), ${order.order_pk}, 'PAY_AGAIN', 'test', 'looked')`.execute(admin),
  };
}
