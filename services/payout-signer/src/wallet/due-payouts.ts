import { PREPARE_MAX, type PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Lease } from '@opentill/db/lease';
import type { Observe } from '../observe/observe.ts';
import type {
  Hindered,
  Obstacle,
  SaveOutcome,
  UnsignedPayout,
  WalletKey,
  WalletStore,
} from '../payouts/payout-facts.ts';
import { checkIntent } from '../policy/check-intent.ts';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { ObstaclePauses } from './obstacle-pauses.ts';

/** What signing works with, whether what it signs is ordered by nonces or ends by time. */
export interface SigningContext {
  readonly key: WalletKey;
  readonly rules: AuthorisationRules;
  readonly store: Pick<WalletStore, 'saveObstacles'>;
  readonly lease: Lease;
  readonly memory: { readonly pauses: ObstaclePauses };
  readonly monotonicMs: () => number;
  readonly observe: Pick<Observe, 'hindered'>;
}

/** An authorised payout, and the payment that its order names. */
export interface DuePayment {
  readonly payout: UnsignedPayout;
  readonly intent: PaymentIntent;
}

/** Payouts end while their transactions are being signed; then the rest is signed again without them, so often at most. */
const ROUNDS_MAX = 4;

/** What keeps a wallet from signing anything, if something does. */
export function stopsAll(
  { rules, key }: Pick<SigningContext, 'rules' | 'key'>,
  halted: unknown,
  pausedBy: Obstacle | undefined,
): Obstacle | undefined {
  // The first of them keeps payouts from expiring.
  if (pausedBy !== undefined) return pausedBy;
  if (halted !== null) return 'HALTED';
  return rules.policy.allowsChain(key.chain) ? undefined : 'NO_POLICY';
}

/** The payouts whose turn it is, as many as may be signed at once; with `stopped`, those that are told why they wait. */
export function chooseDue(
  { memory, monotonicMs }: Pick<SigningContext, 'memory' | 'monotonicMs'>,
  unsigned: readonly UnsignedPayout[],
  stopped: Obstacle | undefined,
  capacity: number,
): readonly UnsignedPayout[] {
  return (
    unsigned
      .filter(({ orderPk }) => memory.pauses.isDue(orderPk, monotonicMs()))
      // It expires as soon as it is known that nothing unknown has paid it.
      .filter(({ isOverdue }) => !isOverdue || stopped === 'CHAIN_AHEAD')
      .slice(0, Math.max(0, Math.min(PREPARE_MAX, capacity)))
  );
}

/** The payments that their orders name, and those whose orders the configuration no longer bears out. */
export function intentsOf(
  due: readonly UnsignedPayout[],
  rules: AuthorisationRules,
): { readonly payments: readonly DuePayment[]; readonly hindered: readonly Hindered[] } {
  const payments: DuePayment[] = [];
  const hindered: Hindered[] = [];
  for (const payout of due) {
    const checked = checkIntent(payout, rules);
    if (checked.kind === 'INTENT') payments.push({ payout, intent: checked.intent });
    // What was right when it was authorised and is refused now has met another configuration.
    else if (checked.kind === 'OBSTACLE') hindered.push({ payout, obstacle: checked.obstacle });
    else hindered.push({ payout, obstacle: 'CONFIG_MISMATCH' });
  }
  return { payments, hindered };
}

/**
 * Signs all and stores all bytes in one commit, or none: where some of them ended meanwhile, the rest is signed anew without them.
 * @param save is given what was signed for what
 * @returns what was stored; nothing where things stand otherwise than planned
 */
export async function saveInRounds<R extends { readonly payout: UnsignedPayout }, S>(
  { pauses }: SigningContext['memory'],
  ready: readonly R[],
  signAll: (left: readonly R[]) => Promise<readonly S[]>,
  save: (signed: readonly S[], left: readonly R[]) => Promise<SaveOutcome>,
): Promise<readonly S[]> {
  let left = ready;
  for (let round = 1; left.length > 0 && round <= ROUNDS_MAX; round += 1) {
    const signed = await signAll(left);
    const outcome = await save(signed, left);
    if (outcome.kind === 'SAVED') {
      for (const { payout } of left) pauses.forget(payout.orderPk);
      return signed;
    }
    if (outcome.kind === 'STALE') return [];
    // Signed, never stored, never sent: as if it had not been.
    left = left.filter(({ payout }) => !outcome.orderPks.includes(payout.orderPk));
  }
  return [];
}

/** Lets each wait before it is tried again, and says why. */
export async function hinder(context: SigningContext, hindered: readonly Hindered[]): Promise<void> {
  const { memory, monotonicMs, store, lease, observe, key } = context;
  for (const { payout } of hindered) memory.pauses.put(payout.orderPk, monotonicMs());
  if (hindered.length === 0) return;
  await store.saveObstacles(
    lease,
    hindered.map(({ payout: { orderPk }, obstacle }) => ({ orderPk, obstacle })),
  );
  for (const { payout, obstacle } of hindered)
    if (payout.obstacle !== obstacle) observe.hindered(key, payout.orderPk, obstacle);
}

/** As `hinder`, all for the same reason. */
export function hinderAll(
  context: SigningContext,
  payouts: readonly UnsignedPayout[],
  obstacle: Obstacle,
): Promise<void> {
  return hinder(
    context,
    payouts.map((payout) => ({ payout, obstacle })),
  );
}
