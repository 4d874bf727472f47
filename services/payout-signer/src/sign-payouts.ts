import type { TokenContract } from '@opentill/chain/transfer';
import { PREPARE_MAX, type FeePrices, type PaymentIntent } from '@opentill/chain/wallet-sender';
import type { NonceGate } from './authorise.ts';
import { checkIntent } from './check-intent.ts';
import type { PassContext } from './pass-deps.ts';
import type { SignedAttempt } from './payout-store.ts';
import { noncesToSign } from './plan-nonces.ts';
import { sendStored } from './send-stored.ts';
import { createBudget } from './wallet-budget.ts';
import { inFlight, type Obstacle, type UnsignedPayout, type WalletView } from './wallet-facts.ts';

interface Ready {
  readonly orderPk: string;
  readonly intent: PaymentIntent;
  readonly gasLimit: bigint;
}

interface Hindered {
  readonly payout: UnsignedPayout;
  readonly obstacle: Obstacle;
}

/** Payouts end while their transactions are being signed; then the rest is signed again without them, so often at most. */
const ROUNDS_MAX = 4;

/**
 * Signs payouts that are authorised, stores the bytes, and only then sends them. Those that can't be signed give their
 * nonces back and are tried again later. @returns how many were signed
 */
export async function signPayouts(context: PassContext, view: WalletView, gate: NonceGate): Promise<number> {
  const capacity = context.terms.maxOpenNonces - inFlight(view.nonces).length;
  const due = view.unsigned
    .filter(({ orderPk }) => context.memory.pauses.isDue(orderPk, view.now.getTime()))
    .slice(0, Math.max(0, Math.min(PREPARE_MAX, capacity)));
  if (due.length === 0) return 0;
  const stopped = stopsAll(context, view, gate);
  if (stopped !== undefined) {
    await hinder(
      context,
      view,
      due.map((payout) => ({ payout, obstacle: stopped })),
    );
    return 0;
  }
  const prices = await context.sender.currentPrices({ signal: context.signal });
  const { ready, hindered } = await prepare(context, view, due, prices);
  await hinder(context, view, hindered);
  const signed = await signAndSave(context, view, gate, ready, prices);
  await sendStored(
    context,
    view,
    signed.map(({ signed: { txHash }, orderPk }) => ({ txHash, orderPk })),
  );
  return signed.length;
}

function stopsAll({ rules, key }: PassContext, view: WalletView, gate: NonceGate): Obstacle | undefined {
  if (view.halted !== null) return 'HALTED';
  if (!rules.policy.allowsChain(key.chain)) return 'NO_POLICY';
  return gate.pausedBy;
}

/** Tries each payment on the chain, and takes it out of what the wallet can still spend. */
async function prepare(
  context: PassContext,
  view: WalletView,
  due: readonly UnsignedPayout[],
  prices: FeePrices,
): Promise<{ readonly ready: readonly Ready[]; readonly hindered: readonly Hindered[] }> {
  const { sender, key, rules, signal } = context;
  const hindered: Hindered[] = [];
  const intents = due.flatMap((payout) => {
    const checked = view.heldSymbols.has(payout.symbol)
      ? ({ kind: 'OBSTACLE', obstacle: 'ASSET_HELD' } as const)
      : checkIntent(payout, rules);
    if (checked.kind === 'INTENT') return [{ payout, intent: checked.intent }];
    // What was right when it was authorised and is refused now has met another configuration.
    const obstacle = checked.kind === 'OBSTACLE' ? checked.obstacle : 'CONFIG_MISMATCH';
    hindered.push({ payout, obstacle });
    return [];
  });
  if (intents.length === 0) return { ready: [], hindered };
  const contracts = new Set<TokenContract | null>([null, ...intents.map(({ intent }) => intent.contract)]);
  const [balances, answers] = await Promise.all([
    sender.balances(key.wallet, [...contracts], { signal }),
    sender.prepare(
      intents.map(({ intent }) => intent),
      { signal },
    ),
  ]);
  const budget = createBudget(balances, view.nonces, prices);
  const ready = intents.flatMap(({ payout, intent }, place): Ready[] => {
    const answer = answers[place];
    if (answer === undefined) return [];
    // A payment without the money for it fails on the chain as well: the plainer word is told.
    const gasLimit = answer.kind === 'READY' ? answer.gasLimit : 0n;
    const money = answer.kind === 'READY' ? budget.take(intent, gasLimit) : budget.lacks(intent);
    const obstacle =
      money === 'TAKEN' ? undefined : (money ?? (answer.kind === 'OBSTACLE' ? answer.obstacle : undefined));
    if (obstacle === undefined) return [{ orderPk: payout.orderPk, intent, gasLimit }];
    if (answer.kind === 'OBSTACLE') context.observe.wouldFail(key, payout.orderPk, answer.detail);
    hindered.push({ payout, obstacle });
    return [];
  });
  return { ready, hindered };
}

/** Signs with the lowest nonces there are, and stores all bytes in one commit, or none. */
async function signAndSave(
  context: PassContext,
  view: WalletView,
  gate: NonceGate,
  ready: readonly Ready[],
  prices: FeePrices,
): Promise<readonly SignedAttempt[]> {
  const { store, lease, observe, key, memory } = context;
  let left = ready;
  for (let round = 1; left.length > 0 && round <= ROUNDS_MAX; round += 1) {
    const attempts = await signAll(context, view, gate, left, prices);
    const outcome = await store.saveSigned(lease, attempts);
    if (outcome.kind === 'SAVED') {
      for (const { orderPk } of left) memory.pauses.forget(orderPk);
      observe.signed(key, attempts);
      return attempts;
    }
    if (outcome.kind === 'STALE') return [];
    // Signed, never stored, never sent: as if it had not been.
    left = left.filter(({ orderPk }) => !outcome.orderPks.includes(orderPk));
  }
  return [];
}

async function signAll(
  { sender }: PassContext,
  view: WalletView,
  gate: NonceGate,
  ready: readonly Ready[],
  prices: FeePrices,
): Promise<readonly SignedAttempt[]> {
  const nonces = noncesToSign(view.nonces, gate.nextNonce, ready.length);
  const attempts: SignedAttempt[] = [];
  for (const [place, { orderPk, intent, gasLimit }] of ready.entries()) {
    const signed = await sender.sign(intent, nonces[place] ?? gate.nextNonce + place, {
      ...prices,
      gasLimit,
    });
    const { contract, to, amountBaseUnits } = intent;
    attempts.push({ purpose: 'PAYOUT', orderPk, contract, to, amountBaseUnits, signed });
  }
  return attempts;
}

async function hinder(context: PassContext, view: WalletView, hindered: readonly Hindered[]): Promise<void> {
  const { memory, store, lease, observe, key } = context;
  for (const { payout } of hindered) memory.pauses.put(payout.orderPk, view.now.getTime());
  if (hindered.length === 0) return;
  await store.saveObstacles(
    lease,
    hindered.map(({ payout: { orderPk }, obstacle }) => ({ orderPk, obstacle })),
  );
  for (const { payout, obstacle } of hindered)
    if (payout.obstacle !== obstacle) observe.hindered(key, payout.orderPk, obstacle);
}
