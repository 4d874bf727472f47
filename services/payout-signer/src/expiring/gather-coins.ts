import type { Gathering } from '@opentill/chain/expiring-sender';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Obstacle } from '../payouts/payout-facts.ts';
import { createAttemptBudget, type AttemptFunds } from './attempt-budget.ts';
import type { OtherFee } from './store/attempt-facts.ts';
import type { ExpiringView, OpenGathering } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';
import { chooseExpiry, isBehind } from './choose-expiry.ts';

/** Each gathering under way adds to the requests to nodes and reserves a fee. */
const OPEN_MAX = 8;
/** After this time a gathering was signed for coins that have changed. Its asset is gathered again meanwhile. */
const LANDS_WITHIN_MS = 1_800_000;

/**
 * Moves received money into the form that payments use: on SUI, coins into the address balance. Native coin comes
 * first, because it pays the fees of the others. One transaction at a time per asset, and none of an asset on hold.
 *
 * No payment depends on a gathering. Each one is stored before it is sent, or the scanner would report it as foreign.
 * @param readView reads the current view: this pass may have spent coin since the last one
 */
export async function gatherCoins(
  context: ExpiringContext,
  readView: () => Promise<ExpiringView>,
  pausedBy: Obstacle | undefined,
): Promise<void> {
  const { sender, key, rules, memory, timing, monotonicMs, store, signal } = context;
  const { gathering: gatherer } = sender;
  const nowMs = monotonicMs();
  const isDue = timing.balancesEveryMs !== 'NEVER' && nowMs - memory.gatheredAtMs >= timing.balancesEveryMs;
  if (gatherer === undefined || !isDue) return;
  memory.gatheredAtMs = nowMs;
  const view = await readView();
  const open = await store.openGatherings();
  // Sent even while the wallet is halted: they may have been sent before.
  await sendAgain(context, open);
  const isAllowed = pausedBy === undefined && rules.policy.allowsChain(key.chain);
  if (view.halted !== null || view.cursor === null || !isAllowed) return;
  const assets = assetsOf(context).filter(
    ({ contract, heldAs }) =>
      !open.some((one) => one.contract === contract && isYoung(one, view.now)) &&
      (heldAs === undefined || !view.heldSymbols.has(heldAs)),
  );
  const room = OPEN_MAX - open.length;
  if (assets.length === 0 || room <= 0) return;
  const contracts = new Set([null, ...assets.map(({ contract }) => contract)]);
  const funds = await sender.balances(key.wallet, [...contracts], { signal });
  const { block, scattered } = funds;
  const due = assets.filter(({ contract, leastBaseUnits }) => {
    const amount = scattered.get(contract) ?? 0n;
    return amount > 0n && (amount >= leastBaseUnits || isWanted(view, contract));
  });
  const headMs = block.timeSeconds * 1_000;
  if (due.length === 0 || isBehind(view, headMs)) return;
  const end = await chooseExpiry(context, view, headMs);
  if (end === undefined) return;
  const { height, hash } = view.cursor.verified;
  for (const [place, { contract, heldAs }] of due.slice(0, room).entries()) {
    const validity = { ...end, reference: { height, hash }, uniqueMs: view.now.getTime() + place };
    const gathering = await gatherer.signGathering(key.wallet, contract, validity, { signal });
    if (gathering === undefined) continue;
    const isAffordable = (feesNow: readonly OtherFee[]): boolean =>
      bringsItsFee(gathering) || hasFeeFor(gathering, view, funds, feesNow);
    const held = heldAs === undefined ? gathering : { ...gathering, heldAs };
    if (!(await store.saveGathering(context.lease, held, end.epochs?.last, isAffordable))) return;
    const [outcome = 'UNKNOWN'] = await sender.broadcast([gathering], { signal });
    context.observe.gathering(key, gathering, outcome);
  }
}

function bringsItsFee({ contract, amountBaseUnits, feeLimitBaseUnits }: Gathering): boolean {
  return contract === null && amountBaseUnits > feeLimitBaseUnits;
}

/** False if this fee would leave too little coin for transactions that are already signed. */
function hasFeeFor(
  { feeLimitBaseUnits }: Gathering,
  { attempts, otherFees }: ExpiringView,
  funds: AttemptFunds,
  feesNow: readonly OtherFee[],
): boolean {
  const budget = createAttemptBudget(funds, attempts, [...otherFees, ...feesNow]);
  return budget.hasFee(feeLimitBaseUnits);
}

function isYoung({ signedAt }: OpenGathering, now: Date): boolean {
  return now.getTime() - signedAt.getTime() < LANDS_WITHIN_MS;
}

async function sendAgain(
  { store, sender, signal }: ExpiringContext,
  open: readonly OpenGathering[],
): Promise<void> {
  const waiting = open.filter(({ isMined }) => !isMined).map(({ txHash }) => txHash);
  if (waiting.length === 0) return;
  const bytes = await store.readRaw(waiting);
  await sender.broadcast(
    [...bytes].map(([txHash, raw]) => ({ txHash, raw })),
    { signal },
  );
}

/** Change of earlier fees is not worth another fee. The least native coin to gather is one coin divided by this. */
const NATIVE_SHARE = 10n;

interface Scattering {
  readonly contract: TokenContract | null;
  readonly leastBaseUnits: bigint;
  /** Symbol whose hold stops the gathering. undefined for the native coin, which pays all fees. */
  readonly heldAs?: string;
}

/** Native coin first. Less than one whole token is not worth a fee: any third party may send dust. */
function assetsOf({ rules: { network, codec } }: ExpiringContext): readonly Scattering[] {
  const tokens = network.tokens.flatMap(({ contract: written, decimals, symbol }): Scattering[] => {
    const contract = written === null ? undefined : contractIn(codec, written);
    return contract === undefined
      ? []
      : [{ contract, leastBaseUnits: 10n ** BigInt(decimals), heldAs: symbol }];
  });
  const native = { contract: null, leastBaseUnits: 10n ** BigInt(network.nativeDecimals) / NATIVE_SHARE };
  return [native, ...tokens];
}

/** A payout waits for this asset. Then any amount is worth a fee. */
function isWanted({ unsigned }: ExpiringView, contract: TokenContract | null): boolean {
  return unsigned.some(
    (payout) =>
      (payout.obstacle === 'NO_GAS' && contract === null) ||
      (payout.obstacle === 'NO_TOKENS' && payout.contract === contract),
  );
}
