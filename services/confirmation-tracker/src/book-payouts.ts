import type { Tx } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import { verdictOf } from '@opentill/domain/settle-payout';
import type { KnownPayout, LockedPayout, MovedMoney, PayoutMoney } from './store/payout-rows.ts';
import { loadPayouts, settleMoney } from './store/payouts.ts';

/** The facts of payouts, and where the ledger moved their amounts by the very same facts. */
export interface BookedPayouts {
  readonly known: ReadonlyMap<string, KnownPayout>;
  readonly moved: ReadonlyMap<string, MovedMoney>;
}

/** Fates change once in a block or so; in that time many rounds are made. */
const ROUNDS_MAX = 10;

/**
 * Has the ledger follow the facts of locked payouts, and reads these. Each is a snapshot of its own, between which a
 * scanner may commit: so both are done until the facts that were read are those that were booked. Else a merchant could be
 * told of a success that the ledger never had, and nobody would notice when it is taken back. Throws DATABASE_CONFLICT
 * when they never agree.
 */
export async function bookPayouts(tx: Tx, orders: readonly LockedPayout[]): Promise<BookedPayouts> {
  const moved = new Map<string, MovedMoney>();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const moves = await settleMoney(
      tx,
      orders.map((order) => order.orderPk),
    );
    for (const move of moves) addMove(moved, move);
    const known = await loadPayouts(tx, orders);
    if ([...known.values()].every(isBookedAsKnown)) return { known, moved };
  }
  throw new GatewayError('DATABASE_CONFLICT', 'the fates of payouts change faster than they are booked', {
    retryable: true,
  });
}

/** Of several moves of one amount the first place and the last one; none where they are the same. */
function addMove(moved: Map<string, MovedMoney>, move: MovedMoney): void {
  const { was } = moved.get(move.orderPk) ?? move;
  if (was === move.became) moved.delete(move.orderPk);
  else moved.set(move.orderPk, { ...move, was });
}

function isBookedAsKnown(payout: KnownPayout): boolean {
  // What was set free without being sent is over.
  return payout.money === 'RELEASED' || payout.money === placeOf(payout);
}

/** Where settle_payout_money() puts the amount by these facts. */
function placeOf({ signing, sent, fates }: KnownPayout): PayoutMoney {
  const verdicts = new Set(fates.map(verdictOf));
  if (verdicts.has('LANDED')) return 'PAID_OUT';
  if (verdicts.has('FAILED')) return 'RETURNED';
  const hasEnded = signing === 'REFUSED' || signing === 'EXPIRED';
  // Sent, and all of it proven to land nowhere.
  const wasSent = sent || fates.length > 0;
  if (wasSent) return hasEnded && !verdicts.has('IN_BLOCK') ? 'RETURNED' : 'IN_FLIGHT';
  return hasEnded ? 'RELEASED' : 'RESERVED';
}
