import { highestCost, type FeePrices } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { hasBoundedFee, isFeeWithinBounds } from '../policy/fee-bounds.ts';
import { withNewDataFees } from './data-fees.ts';
import { chooseBumps, type Bump } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import type { SignedAttempt, WalletView } from './store/payout-store.ts';
import { findGaps } from './plan-nonces.ts';
import { sendStored } from './send-stored.ts';
import { reportForged, verifyAttempts, withoutForged } from './verify-stored-signatures.ts';
import { inFlight, type OpenNonce } from './store/nonce-facts.ts';

/**
 * Replaces late transactions by ones of the same nonce with a higher fee. Any of them may still land.
 *
 * Signs no replacement while the wallet is halted, beyond the wallet's coin, or above a sweep's cost bound or the cap of
 * the data fee. It also needs stored bytes that our key signed for exactly this payment, so rows that a third party
 * inserted are skipped.
 */
export async function bumpFees(context: PassContext, view: WalletView): Promise<void> {
  const { sender, store, lease, observe, key, timing, memory, monotonicMs, signal } = context;
  const [ms, databaseMs] = [monotonicMs(), view.now.getTime()];
  const nonces = withoutForged(memory, view.nonces);
  const mayBeDue = inFlight(nonces).some(({ attempts }) => {
    const newest = attempts.at(-1);
    if (newest === undefined) return false;
    const sentMs = memory.sends.sends.get(newest.txHash)?.firstMs ?? ms;
    const waitedMs = Math.max(ms - sentMs, databaseMs - newest.signedAt.getTime());
    return newest.outcome === 'UNDERPRICED' || waitedMs >= timing.bumpAfterMs;
  });
  if (!mayBeDue) observe.feesAtCap(key, undefined);
  if (!mayBeDue || !maySign(context, view)) return;
  const prices = await sender.currentPrices({ signal });
  const now = { ms, databaseMs, seenHeight: view.cursor?.seen.height ?? 0, prices };
  const { bumps: chosen, atCap } = chooseBumps(nonces, memory.sends, now, timing, sender.raise);
  const bumps = await withNewDataFees(context, chosen);
  const payable = await choosePayable(context, await chooseWithin(context, bumps, nonces));
  const first = chosen[0]?.nonce;
  const cappedNonce = atCap ?? (payable.some(({ nonce }) => nonce === first) ? undefined : first);
  observe.feesAtCap(key, cappedNonce?.nonce);
  // The rows may have changed since they were verified.
  const verified = await verifyAttempts(context, payable);
  if (verified.length < payable.length) reportForged(context, view.nonces);
  for (const bump of verified) {
    const attempt = await signBump(context, bump);
    if ((await store.saveReplacement(lease, attempt)).kind !== 'SAVED') continue;
    observe.bumped(key, attempt, bump.attempt.txHash);
    const { txHash, nonce } = attempt.signed;
    await sendStored(context, view, [{ txHash, nonce, orderPk: attempt.orderPk }]);
  }
}

/** Nodes reject bumps that the coin cannot pay. The earlier transaction still lands when fees fall. */
async function choosePayable(
  { sender, key, signal }: PassContext,
  bumps: readonly Bump[],
): Promise<readonly Bump[]> {
  if (bumps.length === 0) return bumps;
  const { amounts } = await sender.balances(key.wallet, [null], { signal });
  const coin = amounts.get(null) ?? 0n;
  return bumps.filter(({ attempt: { contract, amountBaseUnits }, terms }) => {
    const moved = contract === null ? amountBaseUnits : 0n;
    return highestCost(terms) + moved <= coin;
  });
}

/**
 * Sweeps stay within their cost bounds, and land when fees fall. Exempt: hot wallet transactions with others behind
 * them.
 */
export async function chooseWithin(
  { store, rules, key }: Pick<PassContext, 'store' | 'rules' | 'key'>,
  bumps: readonly Bump[],
  nonces: readonly OpenNonce[],
): Promise<readonly Bump[]> {
  const paying = bumps.flatMap(({ nonce: { purpose, orderPk } }) =>
    purpose === 'PAYOUT' && orderPk !== null ? [orderPk] : [],
  );
  if (paying.length === 0) return bumps;
  const moves = await store.readMoves(paying);
  const sweep = rules.policy.sweepsOf(key.chain)?.sweep;
  const last = Math.max(...inFlight(nonces).map(({ nonce }) => nonce));
  return bumps.filter(({ nonce: { purpose, orderPk, nonce }, terms }) => {
    const moved = purpose === 'PAYOUT' && orderPk !== null ? moves.get(orderPk) : undefined;
    const isBound = moved !== undefined && hasBoundedFee(moved);
    if (!isBound || (moved.movement?.kind !== 'SWEEP' && nonce < last)) return true;
    const fee = { workPrice: terms.maxFeePerGas, feeBaseUnits: highestCost(terms) };
    return isFeeWithinBounds(sweep, rules.network, moved, fee);
  });
}

async function signBump({ sender, key }: PassContext, bump: Bump): Promise<SignedAttempt> {
  const { nonce, attempt, terms } = bump;
  const { contract, to, amountBaseUnits } = attempt;
  const { purpose, orderPk } = nonce;
  const signed =
    purpose === 'CANCEL'
      ? await sender.signCancel(key.wallet, nonce.nonce, terms)
      : await sender.sign({ from: key.wallet, contract, to, amountBaseUnits }, nonce.nonce, terms);
  return { purpose, orderPk, contract, to, amountBaseUnits, signed };
}

/**
 * No nonce above a free one gets into a block. Fills gaps that no payout took, and those up to `usedUp`, by
 * transactions that move no money. While the chain is ahead, only the latter: they compete with transactions in some
 * pool.
 */
export async function closeGaps(
  context: PassContext,
  view: WalletView,
  { usedUp, isPaused }: { readonly usedUp: number; readonly isPaused: boolean },
): Promise<void> {
  const { sender, store, lease, observe, key, timing, memory, monotonicMs, signal } = context;
  const nowMs = monotonicMs();
  const gaps = findGaps(view.nonces, usedUp).filter(
    ({ orderPk, nonce }) => orderPk === null && (!isPaused || nonce <= usedUp),
  );
  const since = memory.gapsSinceMs;
  for (const nonce of since.keys()) if (!gaps.some((gap) => gap.nonce === nonce)) since.delete(nonce);
  for (const { nonce } of gaps) if (!since.has(nonce)) since.set(nonce, nowMs);
  observe.gaps(key, gaps.length === 0 ? 0 : nowMs - Math.min(...since.values()));
  const due = gaps.filter(({ nonce }) => nowMs - (since.get(nonce) ?? nowMs) >= timing.cancelGapAfterMs);
  if (due.length === 0 || !maySign(context, view)) return;
  const prices: FeePrices = await sender.currentPrices({ signal });
  for (const { nonce } of due) {
    const signed = await sender.signCancel(key.wallet, nonce, prices);
    const noTransfer = { contract: null, to: key.wallet, amountBaseUnits: baseUnits(0n) };
    const attempt: SignedAttempt = { purpose: 'CANCEL', orderPk: null, ...noTransfer, signed };
    if ((await store.saveReplacement(lease, attempt)).kind !== 'SAVED') continue;
    observe.cancelled(key, nonce, signed.txHash);
    await sendStored(context, view, [{ txHash: signed.txHash, nonce, orderPk: null }]);
  }
}

function maySign({ rules, key }: PassContext, view: WalletView): boolean {
  return view.halted === null && rules.policy.allowsChain(key.chain);
}
