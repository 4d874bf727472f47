import { PREPARE_MAX, type PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Lease } from '@opentill/db/lease';
import type { Observe } from '../observe/observe.ts';
import type {
  BlockedPayout,
  Obstacle,
  SaveOutcome,
  UnsignedPayout,
  WalletKey,
  WalletStore,
} from '../payouts/payout-facts.ts';
import { checkIntent } from '../policy/check-intent.ts';
import type { AuthorisationRules } from '../policy/policy-port.ts';
import type { ObstaclePauses } from './obstacle-pauses.ts';

export interface SigningContext {
  readonly key: WalletKey;
  readonly rules: AuthorisationRules;
  readonly store: Pick<WalletStore, 'saveObstacles'>;
  readonly lease: Lease;
  readonly memory: { readonly pauses: ObstaclePauses };
  readonly monotonicMs: () => number;
  readonly observe: Pick<Observe, 'blocked'>;
}

export interface DuePayment {
  readonly payout: UnsignedPayout;
  readonly intent: PaymentIntent;
}

/** Payouts may end while their transactions are signed; then the rest is signed again. */
const ROUNDS_MAX = 4;

export function stopsAll(
  { rules, key }: Pick<SigningContext, 'rules' | 'key'>,
  halted: unknown,
  pausedBy: Obstacle | undefined,
): Obstacle | undefined {
  // Comes first, because it may keep payouts from expiring.
  if (pausedBy !== undefined) return pausedBy;
  if (halted !== null) return 'HALTED';
  return rules.policy.allowsChain(key.chain) ? undefined : 'NO_POLICY';
}

export function chooseDue(
  { memory, monotonicMs }: Pick<SigningContext, 'memory' | 'monotonicMs'>,
  unsigned: readonly UnsignedPayout[],
  stopped: Obstacle | undefined,
  capacity: number,
): readonly UnsignedPayout[] {
  return (
    unsigned
      .filter(({ orderPk }) => memory.pauses.isDue(orderPk, monotonicMs()))
      // It expires once it is clear that no unknown transaction paid it.
      .filter(({ isOverdue }) => !isOverdue || stopped === 'CHAIN_AHEAD')
      .slice(0, Math.max(0, Math.min(PREPARE_MAX, capacity)))
  );
}

/** `hindered`: payouts whose orders no longer match the configuration. */
export function intentsOf(
  due: readonly UnsignedPayout[],
  rules: AuthorisationRules,
): { readonly payments: readonly DuePayment[]; readonly blocked: readonly BlockedPayout[] } {
  const payments: DuePayment[] = [];
  const blocked: BlockedPayout[] = [];
  for (const payout of due) {
    const checked = checkIntent(payout, rules);
    if (checked.kind === 'INTENT') payments.push({ payout, intent: checked.intent });
    // It was valid when it was authorised, so the configuration has changed.
    else if (checked.kind === 'OBSTACLE') blocked.push({ payout, obstacle: checked.obstacle });
    else blocked.push({ payout, obstacle: 'CONFIG_MISMATCH' });
  }
  return { payments, blocked };
}

/** Stores all bytes in one commit, or none. If some payouts ended meanwhile, signs the others again without them. */
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
    left = left.filter(({ payout }) => !outcome.orderPks.includes(payout.orderPk));
  }
  return [];
}

export async function blockPayouts(
  context: SigningContext,
  blocked: readonly BlockedPayout[],
): Promise<void> {
  const { memory, monotonicMs, store, lease, observe, key } = context;
  for (const { payout } of blocked) memory.pauses.put(payout.orderPk, monotonicMs());
  if (blocked.length === 0) return;
  await store.saveObstacles(
    lease,
    blocked.map(({ payout: { orderPk }, obstacle }) => ({ orderPk, obstacle })),
  );
  for (const { payout, obstacle } of blocked)
    if (payout.obstacle !== obstacle) observe.blocked(key, payout.orderPk, obstacle);
}

export function blockAllPayouts(
  context: SigningContext,
  payouts: readonly UnsignedPayout[],
  obstacle: Obstacle,
): Promise<void> {
  return blockPayouts(
    context,
    payouts.map((payout) => ({ payout, obstacle })),
  );
}
