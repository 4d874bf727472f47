import type { Gathering } from '@opentill/chain/expiring-sender';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import type { Obstacle } from '../payouts/payout-facts.ts';
import { createAttemptBudget, type AttemptFunds } from './attempt-budget.ts';
import type { FeeElsewhere } from './store/attempt-facts.ts';
import type { ExpiringView, OpenGathering } from './store/attempt-store.ts';
import type { ExpiringContext } from './pass-deps.ts';
import { chooseEnd, isBehind } from './choose-end.ts';

/** Under way at once: each is a place among what nodes are asked for and a fee that the wallet may owe. */
const OPEN_MAX = 8;
/** One that has landed nowhere by then has met other coins than it was signed for: its asset is gathered anew beside it. */
const LANDS_WITHIN_MS = 1_800_000;

/**
 * Moves what lies at the wallet in a form that nothing is paid from to where payments are made from (SUI: coins that operators and
 * customers sent become part of the address balance), the chain's own coin first, which pays for the rest. One transaction at a
 * time and asset, none of an asset on hold, of which no payment depends: whatever becomes of it, the money stays the wallet's, and the next look finds what
 * is left. It is stored before it is sent, or the scanner would take it for a stranger's; and it is sent again until a block has
 * it or none can.
 * @param look what is known now: this pass may have signed what there is no more coin for besides
 */
export async function gatherScattered(
  context: ExpiringContext,
  look: () => Promise<ExpiringView>,
  pausedBy: Obstacle | undefined,
): Promise<void> {
  const { sender, key, rules, memory, timing, monotonicMs, store, signal } = context;
  const { gathering: gatherer } = sender;
  const nowMs = monotonicMs();
  const isDue = timing.balancesEveryMs !== 'NEVER' && nowMs - memory.gatheredAtMs >= timing.balancesEveryMs;
  if (gatherer === undefined || !isDue) return;
  memory.gatheredAtMs = nowMs;
  const view = await look();
  const open = await store.openGatherings();
  // What was signed is sent whatever stops the wallet: it may have been sent before.
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
  const lying = assets.filter(({ contract, leastBaseUnits }) => {
    const amount = scattered.get(contract) ?? 0n;
    return amount > 0n && (amount >= leastBaseUnits || isWanted(view, contract));
  });
  const headMs = block.timeSeconds * 1_000;
  if (lying.length === 0 || isBehind(view, headMs)) return;
  const end = await chooseEnd(context, view, headMs);
  if (end === undefined) return;
  const { height, hash } = view.cursor.verified;
  for (const [place, { contract, heldAs }] of lying.slice(0, room).entries()) {
    const validity = { ...end, reference: { height, hash }, uniqueMs: view.now.getTime() + place };
    const gathering = await gatherer.signGathering(key.wallet, contract, validity, { signal });
    if (gathering === undefined) continue;
    const isAffordable = (feesNow: readonly FeeElsewhere[]): boolean =>
      bringsItsFee(gathering) || hasFeeFor(gathering, view, funds, feesNow);
    const held = heldAs === undefined ? gathering : { ...gathering, heldAs };
    if (!(await store.saveGathering(context.lease, held, end.epochs?.last, isAffordable))) return;
    const [outcome = 'UNKNOWN'] = await sender.broadcast([gathering], { signal });
    context.observe.gathering(key, gathering, outcome);
  }
}

/** Of the coin that fees are paid in, more comes than it takes. */
function bringsItsFee({ contract, amountBaseUnits, feeLimitBaseUnits }: Gathering): boolean {
  return contract === null && amountBaseUnits > feeLimitBaseUnits;
}

/** Whether its fee is left beside all that is promised already: or what was signed before would wait for coin because of it. */
function hasFeeFor(
  { feeLimitBaseUnits }: Gathering,
  { attempts, feesElsewhere }: ExpiringView,
  funds: AttemptFunds,
  feesNow: readonly FeeElsewhere[],
): boolean {
  const budget = createAttemptBudget(funds, attempts, [...feesElsewhere, ...feesNow]);
  return budget.hasFee(feeLimitBaseUnits);
}

function isYoung({ signedAt }: OpenGathering, now: Date): boolean {
  return now.getTime() - signedAt.getTime() < LANDS_WITHIN_MS;
}

/** Those that no block has yet, by their stored bytes. */
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

/** What a fee leaves of coins that paid for it themselves is not worth another one: a tenth of a coin (SUI). */
const NATIVE_SHARE = 10n;

interface Scattering {
  readonly contract: TokenContract | null;
  readonly leastBaseUnits: bigint;
  /** The symbol while whose asset is held nothing of it is gathered. Undefined for the chain's own coin: whatever moves, it pays the fee. */
  readonly heldAs?: string;
}

/** The chain's own coin first. Of a token less than one of it is not worth a fee: anybody may send dust. */
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

/** Whether a payout waits for it: then any of it is worth a fee. */
function isWanted({ unsigned }: ExpiringView, contract: TokenContract | null): boolean {
  return unsigned.some(
    (payout) =>
      (payout.obstacle === 'NO_GAS' && contract === null) ||
      (payout.obstacle === 'NO_TOKENS' && payout.contract === contract),
  );
}
