import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { UnsweptAsset } from '@opentill/domain/plan-sweeps';
import type { CostObstacle, DepositAsset } from './store/sweep-facts.ts';

export type UnsweptDeposit = readonly [UnsweptAsset, DepositAsset];

export interface SweepTargets {
  readonly wallet: Address;
  readonly coldAddress: Address;
  readonly mayGoHot: (asset: UnsweptAsset) => boolean;
}

export type Answer<T> = T | CostObstacle | undefined;

export interface BothEstimates<T> {
  readonly cold: Answer<T>;
  /** Absent: the same as to cold storage, or no destination. */
  readonly hot?: Answer<T>;
}

/** Costs that differ by at most one part in this many are equal: only the digits of the addresses differ. */
const ALIKE_PARTS = 20n;

/**
 * With most tokens, a receiver without a balance costs more, regardless of the sender. So one sweep of each symbol to
 * the hot wallet is tried, and the others only if the costs differ.
 */
export async function estimateBothDestinations<T extends bigint | object>(
  ask: (intents: readonly PaymentIntent[]) => Promise<readonly Answer<T>[]>,
  unswept: readonly UnsweptDeposit[],
  { wallet, coldAddress, mayGoHot }: SweepTargets,
  isAlike: (one: T, other: T) => boolean,
): Promise<readonly BothEstimates<T>[]> {
  const cold = await ask(unswept.map((one) => intentOf(one, coldAddress)));
  const hot = new Map<number, Answer<T>>();
  const going = unswept.flatMap((one, place) =>
    mayGoHot(one[0]) ? [{ place, symbol: one[0].symbol, intent: intentOf(one, wallet) }] : [],
  );
  const askHot = async (some: typeof going): Promise<void> => {
    const answers = some.length === 0 ? [] : await ask(some.map(({ intent }) => intent));
    for (const [i, { place }] of some.entries()) hot.set(place, answers[i]);
  };
  const samples = [...new Set(going.map(({ symbol }) => symbol))].flatMap((symbol) => {
    const all = going.filter((one) => one.symbol === symbol);
    return all.find(({ place }) => isKnown(cold[place])) ?? all.slice(0, 1);
  });
  await askHot(samples);
  const isSame = (one: Answer<T>, other: Answer<T>) =>
    one === other || (isKnown<T>(one) && isKnown<T>(other) && isAlike(one, other));
  const differs = new Set(
    samples.flatMap(({ place, symbol }) => (isSame(cold[place], hot.get(place)) ? [] : [symbol])),
  );
  await askHot(going.filter(({ place, symbol }) => differs.has(symbol) && !hot.has(place)));
  return unswept.map(([{ symbol }], place) => ({
    cold: cold[place],
    ...(differs.has(symbol) && hot.has(place) ? { hot: hot.get(place) } : {}),
  }));
}

export function areAlike(one: bigint, other: bigint): boolean {
  const [less, more] = one < other ? [one, other] : [other, one];
  return (more - less) * ALIKE_PARTS <= more;
}

function isKnown<T extends bigint | object>(answer: Answer<T>): answer is T {
  return answer !== undefined && typeof answer !== 'string';
}

function intentOf([{ amountBaseUnits }, found]: UnsweptDeposit, to: Address): PaymentIntent {
  return { from: found.address, to, contract: found.contract, amountBaseUnits };
}
