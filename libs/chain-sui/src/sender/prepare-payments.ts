import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { PreparedExpiring } from '@opentill/chain/expiring-sender';
import { PREPARE_MAX, type PaymentIntent, type PaymentObstacle } from '@opentill/chain/wallet-sender';
import { askOneOrTwo } from '@opentill/chain-sources/ask-one-or-two';
import { boundedText } from '@opentill/chain-sources/node-text';
import { coinTypeOf } from '../coin-type.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import { askStateWitnesses, type StateAnswers } from './ask-state-witnesses.ts';
import { chooseSources } from './choose-sources.ts';
import { asFunding, suiFundingIn, type GasMode, type SuiFunding } from './funding.ts';
import { programOf } from './payment-program.ts';
import { readEpoch, type EpochState } from './read-epoch.ts';
import { readHeld } from './read-holdings.ts';
import { simulate, withMargin } from './simulate.ts';
import { encodeTransaction, windowOf } from './transaction-bytes.ts';

export interface PaymentBounds {
  readonly chainId: string;
  readonly maxGasBudgetMist: bigint;
  readonly maxGasPriceMist: bigint;
  /** Undefined if `wallet` pays itself. A sponsored wallet is a deposit address without SUI. */
  readonly sponsorOf: (wallet: Address) => Address | undefined;
  /** Moves coins without gas where the network permits it. */
  readonly gasless: boolean;
}

const AT_ONCE = 16;

type Epochs = Map<SuiSource, EpochState>;

/**
 * See ExpiringSender.prepare. Asks two sources.
 *
 * - A payment from the hot wallet's own balance needs one source. Another one can block it only by a gas price
 *   above the cap.
 * - Coins of a deposit address, and gas paid by a sponsor, need two sources that agree.
 * - All sources simulate at the highest price that one of them reports. A transaction below the network's price is
 *   not executed and cannot be replaced before its epochs end; a budget simulated at a lower price may be too small.
 */
export async function preparePayments(
  sources: SuiSources,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly PreparedExpiring[]> {
  if (intents.length > PREPARE_MAX)
    throw new RangeError(`${intents.length} payments exceed the limit per call`);
  if (intents.length === 0) return [];
  const epochs: Epochs = new Map();
  await askOneOrTwo(sources, (source) => epochOf(epochs, source, options), options);
  const settle = async (some: readonly PaymentIntent[], by: PaymentBounds) => {
    const { answers, needed } = await askAtOnePrice(sources, epochs, by, some, options);
    return some.map((_, place) => {
      const verdicts = answers.flatMap((all) => all.slice(place, place + 1));
      return { verdict: settleVerdicts(verdicts, needed), isFreeForSome: verdicts.some(isFree) };
    });
  };
  const settled = await settle(intents, bounds);
  // A node that does not permit gasless transfers must not block a sweep: try again with gas.
  const isAsked = ({ verdict, isFreeForSome }: (typeof settled)[number]): boolean =>
    isFreeForSome && verdict.kind === 'OBSTACLE' && verdict.obstacle === 'UNCLEAR';
  const again = intents.filter((_, place) => {
    const one = settled[place];
    return one !== undefined && isAsked(one);
  });
  const paid = again.length === 0 ? [] : await settle(again, { ...bounds, gasless: false });
  const left = [...paid];
  return settled.map((one) => (isAsked(one) ? (left.shift() ?? one) : one).verdict);
}

/** A source that replaces a failed one may report a higher price. All are then asked again, at most once per source. */
async function askAtOnePrice(
  sources: SuiSources,
  epochs: Epochs,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<StateAnswers<readonly PreparedExpiring[]>> {
  for (;;) {
    const gasPriceMist = highestPrice(epochs);
    const ask = async (source: SuiSource): Promise<readonly PreparedExpiring[]> => {
      const epoch = { ...(await epochOf(epochs, source, options)), gasPriceMist };
      return simulateAll(source, bounds, epoch, intents, options);
    };
    const witnessed = await askStateWitnesses(sources, ask, options);
    if (highestPrice(epochs) === gasPriceMist) return witnessed;
  }
}

async function epochOf(epochs: Epochs, source: SuiSource, options: ReadOptions): Promise<EpochState> {
  const epoch = epochs.get(source) ?? (await readEpoch(source, options));
  epochs.set(source, epoch);
  return epoch;
}

function highestPrice(epochs: Epochs): bigint {
  return [...epochs.values()].reduce((most, one) => (one.gasPriceMist > most ? one.gasPriceMist : most), 0n);
}

function isFree(verdict: PreparedExpiring): boolean {
  return verdict.kind === 'READY' && suiFundingIn(verdict.funding)?.gas === 'GASLESS';
}

/**
 * Combines the verdicts of all sources, at one price:
 *
 * - a cost above the cap at any source rejects the payment;
 * - READY if all READY verdicts agree on the funds, with the highest of their costs;
 * - otherwise the obstacle.
 *
 * @param needed READY verdicts required unless the wallet pays from its own balance
 */
export function settleVerdicts(verdicts: readonly PreparedExpiring[], needed: number): PreparedExpiring {
  const aboveCap = verdicts.find((one) => one.kind === 'OBSTACLE' && one.obstacle === 'FEES_ABOVE_CAP');
  if (aboveCap !== undefined) return aboveCap;
  const ready = verdicts.flatMap((verdict) => (verdict.kind === 'READY' ? [verdict] : []));
  const [dearest, ...others] = ready.toSorted((a, b) => (a.costBaseUnits < b.costBaseUnits ? 1 : -1));
  if (dearest === undefined) return verdicts[0] ?? obstacle('UNCLEAR', 'no source answered');
  const key = fundingKey(dearest);
  if (others.some((other) => fundingKey(other) !== key))
    return obstacle('UNCLEAR', 'two sources choose different funds');
  if (suiFundingIn(dearest.funding)?.gas === 'OWN') return dearest;
  const denial = verdicts.find((verdict) => verdict.kind === 'OBSTACLE');
  if (denial !== undefined) return obstacle('UNCLEAR', `another source rejects it: ${denial.detail}`);
  return ready.length < needed ? obstacle('UNCLEAR', 'only one of several sources answered') : dearest;
}

function fundingKey({ funding }: Extract<PreparedExpiring, { kind: 'READY' }>): string {
  const { gas, gasPriceMist, form, withdrawnBaseUnits, coins, hasRest } = suiFundingIn(funding) ?? {};
  const named = coins?.map(({ id, version, digest, startVersion }) => [id, version, digest, startVersion]);
  return JSON.stringify([gas, `${gasPriceMist}`, form, `${withdrawnBaseUnits}`, named, hasRest]);
}

async function simulateAll(
  source: SuiSource,
  bounds: PaymentBounds,
  epoch: EpochState,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly PreparedExpiring[]> {
  const verdicts: PreparedExpiring[] = [];
  for (let from = 0; from < intents.length; from += AT_ONCE) {
    const part = intents.slice(from, from + AT_ONCE);
    verdicts.push(
      ...(await Promise.all(part.map((intent) => simulateOne(source, bounds, epoch, intent, options)))),
    );
  }
  return verdicts;
}

async function simulateOne(
  source: SuiSource,
  bounds: PaymentBounds,
  epoch: EpochState,
  intent: PaymentIntent,
  options: ReadOptions,
): Promise<PreparedExpiring> {
  const { maxGasPriceMist } = bounds;
  const sponsor = bounds.sponsorOf(intent.from);
  if (sponsor === undefined) {
    if (epoch.gasPriceMist > maxGasPriceMist) return aboveCap(epoch, bounds);
    const form = {
      form: 'COIN',
      withdrawnBaseUnits: intent.amountBaseUnits,
      coins: [],
      hasRest: false,
    } as const;
    return attempt(source, bounds, epoch, { intent, gas: 'OWN', payer: intent.from, form }, options);
  }
  const found = await findSources(source, intent, options);
  if (found === undefined) return obstacle('WOULD_FAIL', 'the address holds less, or in too many coins');
  const form = { form: 'FUNDS', ...found } as const;
  if (bounds.gasless && epoch.allowsGasless && intent.contract !== null) {
    const free = { intent, gas: 'GASLESS', payer: intent.from, form } as const;
    const verdict = await attempt(source, bounds, epoch, free, options);
    if (verdict.kind === 'READY') return verdict;
  }
  if (epoch.gasPriceMist > maxGasPriceMist) return aboveCap(epoch, bounds);
  return attempt(source, bounds, epoch, { intent, gas: 'SPONSORED', payer: sponsor, form }, options);
}

async function findSources(source: SuiSource, intent: PaymentIntent, options: ReadOptions) {
  const { from, contract, amountBaseUnits } = intent;
  return chooseSources(amountBaseUnits, await readHeld(source, from, coinTypeOf(contract), options));
}

interface Attempted {
  readonly intent: PaymentIntent;
  readonly gas: GasMode;
  readonly payer: Address;
  readonly form: Pick<SuiFunding, 'form' | 'withdrawnBaseUnits' | 'coins' | 'hasRest'>;
}

/** Simulates the payment as it would be signed, with the maximum gas budget. */
async function attempt(
  source: SuiSource,
  { chainId, maxGasBudgetMist }: PaymentBounds,
  epoch: EpochState,
  { intent, gas, payer, form }: Attempted,
  options: ReadOptions,
): Promise<PreparedExpiring> {
  const isFree = gas === 'GASLESS';
  const gasPriceMist = isFree ? 0n : epoch.gasPriceMist;
  const bytes = encodeTransaction({
    kind: {
      ProgrammableTransaction: programOf({ ...intent, ...form, coinType: coinTypeOf(intent.contract) }),
    },
    sender: intent.from,
    gasData: { payment: [], owner: payer, price: gasPriceMist, budget: isFree ? 0n : maxGasBudgetMist },
    expiration: windowOf(chainId, { first: epoch.epoch, last: epoch.epoch }, 0),
  });
  const trial = await simulate(source, bytes, options);
  if (typeof trial === 'string') return obstacle('WOULD_FAIL', trial);
  // A receiver of SUI who also pays the gas receives the amount less the gas.
  const feeBeside = intent.contract === null && intent.to === payer ? trial.netGasMist : 0n;
  if (trial.receivedBy(intent.to, coinTypeOf(intent.contract)) + feeBeside !== intent.amountBaseUnits)
    return obstacle('WOULD_FAIL', 'the receiver would receive another amount');
  const funding = asFunding({ gas, gasPriceMist, ...form });
  if (isFree) return { kind: 'READY', feeLimitBaseUnits: 0n, costBaseUnits: 0n, funding };
  const budget = withMargin(trial.gasMist);
  if (budget > maxGasBudgetMist)
    return obstacle('FEES_ABOVE_CAP', `it may cost ${budget} MIST, the cap is ${maxGasBudgetMist}`);
  return { kind: 'READY', feeLimitBaseUnits: budget, costBaseUnits: budget, funding };
}

function aboveCap({ gasPriceMist }: EpochState, { maxGasPriceMist }: PaymentBounds): PreparedExpiring {
  return obstacle('FEES_ABOVE_CAP', `the gas price is ${gasPriceMist} MIST, the cap is ${maxGasPriceMist}`);
}

function obstacle(kind: PaymentObstacle, detail: string): PreparedExpiring {
  return { kind: 'OBSTACLE', obstacle: kind, detail: boundedText(detail) };
}
