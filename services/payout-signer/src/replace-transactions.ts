import type { FeePrices } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { chooseBumps, type Bump } from './next-sends.ts';
import type { PassContext } from './pass-deps.ts';
import type { SignedAttempt } from './payout-store.ts';
import { findGaps } from './plan-nonces.ts';
import { sendStored } from './send-stored.ts';
import { inFlight, type WalletView } from './wallet-facts.ts';

/**
 * Replaces transactions that wait too long for a block by dearer ones of the same nonce: signed, stored, then sent. All
 * earlier ones are kept, and any of them may still land. Signs nothing while the wallet is halted.
 */
export async function bumpFees(context: PassContext, view: WalletView): Promise<void> {
  const { sender, store, lease, observe, key, timing, memory, signal } = context;
  const nowMs = view.now.getTime();
  const mayBeDue = inFlight(view.nonces).some(({ attempts }) => {
    const newest = attempts.at(-1);
    return (
      newest !== undefined &&
      (newest.outcome === 'UNDERPRICED' || nowMs - newest.signedAt.getTime() >= timing.bumpAfterMs)
    );
  });
  if (!mayBeDue || !maySign(context, view)) return;
  const prices = await sender.currentPrices({ signal });
  const now = { ms: nowMs, seenHeight: view.cursor?.seen.height ?? 0, prices };
  for (const bump of chooseBumps(view.nonces, memory.sends, now, timing, sender.raise)) {
    const attempt = await signBump(context, bump);
    if ((await store.saveReplacement(lease, attempt)).kind !== 'SAVED') continue;
    observe.bumped(key, attempt, bump.attempt.txHash);
    await sendStored(context, view, [{ txHash: attempt.signed.txHash, orderPk: attempt.orderPk }]);
  }
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
 * get into a block otherwise.
 */
export async function closeGaps(context: PassContext, view: WalletView): Promise<void> {
  const { sender, store, lease, observe, key, timing, memory, signal } = context;
  const nowMs = view.now.getTime();
  const gaps = findGaps(view.nonces).filter(({ orderPk }) => orderPk === null);
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
    await sendStored(context, view, [{ txHash: signed.txHash, orderPk: null }]);
  }
}

function maySign({ rules, key }: PassContext, view: WalletView): boolean {
  return view.halted === null && rules.policy.allowsChain(key.chain);
}
