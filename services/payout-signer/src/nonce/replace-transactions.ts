import type { FeePrices } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { hasBoundedFee, isFeeWithin } from '../policy/fees-within.ts';
import { chooseBumps, type Bump } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import type { SignedAttempt, WalletView } from './store/payout-store.ts';
import { findGaps } from './plan-nonces.ts';
import { sendStored } from './send-stored.ts';
import { tellOfForged, vouch, withoutForged } from './vouch-attempts.ts';
import { inFlight, type OpenNonce } from './store/nonce-facts.ts';

/**
 * Replaces transactions that wait too long for a block by dearer ones of the same nonce: signed, stored, then sent. All
 * earlier ones are kept, and any of them may still land. Signs nothing while the wallet is halted, nothing that the wallet's
 * coin does not pay for, no sweep above what it may cost, and nothing in the place of bytes that our own key did not sign for just
 * this: the columns beside them are nobody's authorisation, and a row that somebody put beside ours is passed over.
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
  const { bumps, atCap } = chooseBumps(nonces, memory.sends, now, timing, sender.raise);
  const payable = await choosePayable(context, await chooseWithin(context, bumps, nonces));
  const dearest = atCap ?? (payable.includes(bumps[0] as Bump) ? undefined : bumps[0]?.nonce);
  observe.feesAtCap(key, dearest?.nonce);
  // What was known of them may have been changed since.
  const vouched = await vouch(context, payable);
  if (vouched.length < payable.length) tellOfForged(context, view.nonces);
  for (const bump of vouched) {
    const attempt = await signBump(context, bump);
    if ((await store.saveReplacement(lease, attempt)).kind !== 'SAVED') continue;
    observe.bumped(key, attempt, bump.attempt.txHash);
    const { txHash, nonce } = attempt.signed;
    await sendStored(context, view, [{ txHash, nonce, orderPk: attempt.orderPk }]);
  }
}

/**
 * Those that the wallet's coin pays for at their dearest. A node refuses others, and what was sent before is as good as it was: it
 * lands when fees fall. A deposit address has little more than the fee that was brought.
 */
async function choosePayable(
  { sender, key, signal }: PassContext,
  bumps: readonly Bump[],
): Promise<readonly Bump[]> {
  if (bumps.length === 0) return bumps;
  const { amounts } = await sender.balances(key.wallet, [null], { signal });
  const coin = amounts.get(null) ?? 0n;
  return bumps.filter(({ attempt: { contract, amountBaseUnits }, terms: { gasLimit, maxFeePerGas } }) => {
    const moved = contract === null ? amountBaseUnits : 0n;
    return gasLimit * maxFeePerGas + moved <= coin;
  });
}

/**
 * Those that stay within what sweeps may cost: the bounds that one was signed by hold as long as it is on its way, and what a
 * customer's address has is not spent on fees that nobody planned. What is held back lands when fees fall. Not so what the hot wallet
 * sends where others wait behind it: it holds up payouts.
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
  return bumps.filter(({ nonce: { purpose, orderPk, nonce }, terms: { gasLimit, maxFeePerGas } }) => {
    const moved = purpose === 'PAYOUT' && orderPk !== null ? moves.get(orderPk) : undefined;
    const isBound = moved !== undefined && hasBoundedFee(moved);
    if (!isBound || (moved.movement?.kind !== 'SWEEP' && nonce < last)) return true;
    const fee = { workPrice: maxFeePerGas, feeBaseUnits: gasLimit * maxFeePerGas };
    return isFeeWithin(sweep, rules.network, moved, fee);
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
 * Fills free nonces below signed ones, for which no payout came, by transactions that move nothing: nothing above them could
 * get into a block otherwise. And those up to `usedUp`, which no payout may get: these alone while the chain is ahead, as
 * they have to win against what may wait in some pool.
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
    const nothing = { contract: null, to: key.wallet, amountBaseUnits: baseUnits(0n) };
    const attempt: SignedAttempt = { purpose: 'CANCEL', orderPk: null, ...nothing, signed };
    if ((await store.saveReplacement(lease, attempt)).kind !== 'SAVED') continue;
    observe.cancelled(key, nonce, signed.txHash);
    await sendStored(context, view, [{ txHash: signed.txHash, nonce, orderPk: null }]);
  }
}

function maySign({ rules, key }: PassContext, view: WalletView): boolean {
  return view.halted === null && rules.policy.allowsChain(key.chain);
}
