import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { UnsweptAsset } from '@opentill/domain/plan-sweeps';
import type { CostObstacle, LyingAsset } from './store/sweep-facts.ts';

/** An asset, and what the database says of it. */
export type Lying = readonly [UnsweptAsset, LyingAsset];

/** Where sweeps go. */
export interface SweepTargets {
  /** The hot wallet. */
  readonly wallet: Address;
  readonly coldAddress: Address;
  /** Whether it may be what the hot wallet is filled with. */
  readonly mayGoHot: (asset: UnsweptAsset) => boolean;
}

/** What a chain answers of a payment: what it takes, or what is in its way; undefined where nobody knows. */
export type Answer<T> = T | CostObstacle | undefined;

/** What is known of one sweep, by where it goes. */
export interface BothWays<T> {
  readonly cold: Answer<T>;
  /** Absent: as to cold storage, or it does not go there. */
  readonly hot?: Answer<T>;
}

/** So much may be between what two receivers cost, in parts of it, where they are the same to a chain: but for an address's digits. */
const ALIKE_PARTS = 20n;

/**
 * Asks what each sweep takes: to cold storage, and where it may go to the hot wallet as well. To fill a place that is empty takes
 * more, of most tokens: a receiver who holds none of it. That is the same whoever sends, so one of each symbol is tried, and the others
 * only where that made a difference.
 */
export async function askBothWays<T extends bigint | object>(
  ask: (intents: readonly PaymentIntent[]) => Promise<readonly Answer<T>[]>,
  lying: readonly Lying[],
  { wallet, coldAddress, mayGoHot }: SweepTargets,
  isAlike: (one: T, other: T) => boolean,
): Promise<readonly BothWays<T>[]> {
  const cold = await ask(lying.map((one) => intentOf(one, coldAddress)));
  const hot = new Map<number, Answer<T>>();
  const going = lying.flatMap((one, place) =>
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
  return lying.map(([{ symbol }], place) => ({
    cold: cold[place],
    ...(differs.has(symbol) && hot.has(place) ? { hot: hot.get(place) } : {}),
  }));
}

/** Whether two amounts of work are as good as the same. */
export function areAlike(one: bigint, other: bigint): boolean {
  const [less, more] = one < other ? [one, other] : [other, one];
  return (more - less) * ALIKE_PARTS <= more;
}

function isKnown<T extends bigint | object>(answer: Answer<T>): answer is T {
  return answer !== undefined && typeof answer !== 'string';
}

function intentOf([{ amountBaseUnits }, found]: Lying, to: Address): PaymentIntent {
  return { from: found.address, to, contract: found.contract, amountBaseUnits };
}
