import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { PreparedExpiring } from '@opentill/chain/expiring-sender';
import { PREPARE_MAX, type PaymentIntent, type PaymentObstacle } from '@opentill/chain/wallet-sender';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { askOneOrTwo } from '@opentill/chain-sources/ask-one-or-two';
import { boundedText } from '@opentill/chain-sources/node-text';
import { selectQuorum } from '@opentill/chain-sources/select-quorum';
import type { Address } from '@opentill/chain/address-codec';
import { shortHexOf } from '../address-codec.ts';
import { inBatches } from '../confirm-transfers.ts';
import { isBetween, transferIn } from '../decode-info.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { callConstant } from './call-constant.ts';
import { bytesOf } from './bytes-of-payment.ts';
import { encodeTransferCall, isExactAsNumber } from './encode-payment.ts';
import { readAccount } from './read-balances.ts';
import { readLendable, readLent } from './read-energy.ts';
import { readPrices, type ChainPrices } from './read-prices.ts';

export interface PaymentBounds {
  /** Sun: the maximum that the contract call of a payment may burn. */
  readonly maxFeeLimitSun: bigint;
  readonly energyMarginPercent: number;
}

/** Minimum of java-tron's DelegateResourceActuator: 1 TRX. */
const DELEGATION_MIN_SUN = 1_000_000n;

/**
 * Of several configured sources, two must accept a payment, and the higher fee limit counts: with one that is too low
 * the chain burns all of it without paying, and a payment that fails costs its fee too. If the two differ, a third one
 * decides, or the payment waits.
 */
export async function preparePayments(
  sources: TronSources,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  onSingleSource: (source: TronSource) => void,
  options: ReadOptions,
): Promise<readonly PreparedExpiring[]> {
  if (intents.length > PREPARE_MAX)
    throw new RangeError(`${intents.length} payments exceed the limit per call`);
  if (intents.length === 0) return [];
  type Verdicts = readonly PreparedExpiring[];
  const ofEach = (answers: readonly Verdicts[]): readonly Verdicts[] =>
    intents.map((_, place) => answers.flatMap((all) => all.slice(place, place + 1)));
  const ask = async (source: TronSource): Promise<SourceAnswer<TronSource, Verdicts>> => ({
    source,
    answer: await assess(source, bounds, intents, options),
  });
  const answers = await askOneOrTwo(sources, ask, options, (soFar) =>
    ofEach(soFar.map(({ answer }) => answer)).some(isOpen),
  );
  return ofEach(selectQuorum(sources, answers, onSingleSource)).map(settlePayment);
}

const ENOUGH = 2;

function isOpen(verdicts: readonly PreparedExpiring[]): boolean {
  const ready = verdicts.filter(({ kind }) => kind === 'READY').length;
  return ready > 0 && ready < ENOUGH && verdicts.length - ready < ENOUGH;
}

/**
 * Combines the verdicts of the sources that count:
 *
 * - READY at the highest fee limit, if two sources accept the payment, or the only one does;
 * - otherwise FEES_ABOVE_CAP, if a source reports that;
 * - otherwise the obstacle of two sources, or of the only one, or UNCLEAR.
 */
export function settlePayment(verdicts: readonly PreparedExpiring[]): PreparedExpiring {
  const ready = verdicts.flatMap((verdict) => (verdict.kind === 'READY' ? [verdict] : []));
  const against = verdicts.flatMap((verdict) => (verdict.kind === 'OBSTACLE' ? [verdict] : []));
  const [denial] = against;
  if (ready.length === 0 || (denial !== undefined && ready.length < ENOUGH)) {
    const aboveCap = against.find((one) => one.obstacle === 'FEES_ABOVE_CAP');
    if (aboveCap !== undefined) return aboveCap;
    if (denial === undefined) return obstacle('UNCLEAR', 'no source answered');
    if (ready.length === 0 || against.length >= ENOUGH) return denial;
    return obstacle('UNCLEAR', boundedText(`one of two sources rejects it: ${denial.detail}`));
  }
  const highest = (amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (a > b ? a : b), 0n);
  return {
    kind: 'READY',
    feeLimitBaseUnits: highest(ready.map(({ feeLimitBaseUnits }) => feeLimitBaseUnits)),
    costBaseUnits: highest(ready.map(({ costBaseUnits }) => costBaseUnits)),
    takes: {
      workUnits: highest(ready.map(({ takes }) => takes?.workUnits ?? 0n)),
      bytes: highest(ready.map(({ takes }) => takes?.bytes ?? 0n)),
    },
  };
}

async function assess(
  source: TronSource,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly PreparedExpiring[]> {
  const prices = await readPrices(source, options);
  const verdicts = await inBatches(intents, (intent) => {
    if (intent.resource !== undefined) return assessDelegation(source, intent, prices, options);
    return intent.contract === null
      ? assessNative(source, intent, prices, options)
      : assessToken(source, intent, prices, bounds, options);
  });
  return intents.map((intent) => verdicts.get(intent) ?? obstacle('UNCLEAR', 'not tried'));
}

/** The first TRX to an address activates it as an account, which costs more than the transfer. */
async function assessNative(
  source: TronSource,
  intent: PaymentIntent,
  prices: ChainPrices,
  options: ReadOptions,
): Promise<PreparedExpiring> {
  const receiver = await readAccount(source, intent.to, options);
  if (receiver?.['type'] === 'Contract')
    return obstacle('WOULD_FAIL', 'TRX cannot be transferred to a contract');
  if (!isExactAsNumber(intent.amountBaseUnits))
    return obstacle('WOULD_FAIL', 'the amount would be rounded in the transaction');
  const activation = receiver === undefined ? prices.activationSun : 0n;
  const bytes = bytesOf(intent, 0n);
  return {
    kind: 'READY',
    feeLimitBaseUnits: 0n,
    costBaseUnits: activation + bytes * prices.byteSun,
    takes: { workUnits: 0n, bytes },
  };
}

/** Repeats the checks of the chain's actuator. The transaction costs only its bandwidth. */
async function assessDelegation(
  source: TronSource,
  intent: PaymentIntent,
  prices: ChainPrices,
  options: ReadOptions,
): Promise<PreparedExpiring> {
  const { from, to, amountBaseUnits, resource } = intent;
  if (resource === 'LEND_ENERGY') {
    if (amountBaseUnits < DELEGATION_MIN_SUN)
      return obstacle('WOULD_FAIL', 'less than 1 TRX cannot be delegated');
    const receiver = await readAccount(source, to, options);
    if (receiver === undefined)
      return obstacle('WOULD_FAIL', 'energy cannot be delegated to an inactive address');
    if (receiver['type'] === 'Contract')
      return obstacle('WOULD_FAIL', 'energy cannot be delegated to a contract');
    const delegable = await readLendable(source, from, options);
    if (delegable < amountBaseUnits)
      return obstacle(
        'WOULD_FAIL',
        `only ${delegable} sun of the stake can be delegated, not ${amountBaseUnits}`,
      );
  } else {
    const lent = await readLent(source, from, to, options);
    if (lent < amountBaseUnits)
      return obstacle('WOULD_FAIL', `only ${lent} sun are delegated there, not ${amountBaseUnits}`);
  }
  const bytes = bytesOf(intent, 0n);
  return {
    kind: 'READY',
    feeLimitBaseUnits: 0n,
    costBaseUnits: bytes * prices.byteSun,
    takes: { workUnits: 0n, bytes },
  };
}

async function assessToken(
  source: TronSource,
  intent: PaymentIntent,
  prices: ChainPrices,
  { maxFeeLimitSun, energyMarginPercent }: PaymentBounds,
  options: ReadOptions,
): Promise<PreparedExpiring> {
  const { from, contract } = intent;
  if (contract === null) throw new TypeError('not the payment of a token');
  const call = { from, contract, data: encodeTransferCall(intent) };
  const { energyUsed, logs, failure } = await callConstant(source, call, options);
  if (failure !== undefined) return obstacle('WOULD_FAIL', failure);
  // The return value is no evidence: Tether's contract returns false after a successful transfer. The logs decide, if
  // the node returns any.
  if (logs !== undefined && !logs.some((log) => isOf(intent, log)))
    return obstacle('WOULD_FAIL', 'the token contract would move no tokens');
  const energy = (BigInt(energyUsed) * BigInt(100 + energyMarginPercent) + 99n) / 100n;
  const feeLimit = energy * prices.energySun;
  if (feeLimit === 0n) return obstacle('UNCLEAR', 'the node reports no energy');
  if (feeLimit > maxFeeLimitSun) {
    const detail = `it may burn ${feeLimit} sun (${energy} energy), the cap is ${maxFeeLimitSun} sun`;
    return obstacle('FEES_ABOVE_CAP', detail);
  }
  const bytes = bytesOf(intent, feeLimit);
  const costBaseUnits = feeLimit + bytes * prices.byteSun;
  return { kind: 'READY', feeLimitBaseUnits: feeLimit, costBaseUnits, takes: { workUnits: energy, bytes } };
}

function isOf({ from, to, contract }: PaymentIntent, log: unknown): boolean {
  if (contract === null) return false;
  const transfer = transferIn(log, new Map([[shortHexOf(contract as string as Address), contract]]));
  return transfer !== undefined && isBetween(transfer, from, to);
}

function obstacle(kind: PaymentObstacle, detail: string): PreparedExpiring {
  return { kind: 'OBSTACLE', obstacle: kind, detail };
}
