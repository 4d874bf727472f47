import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { PreparedExpiring } from '@opentill/chain/expiring-sender';
import { PREPARE_MAX, type PaymentIntent, type PaymentObstacle } from '@opentill/chain/wallet-sender';
import { mayBeBetterElsewhere } from '@opentill/chain-sources/may-be-better-elsewhere';
import type { Address } from '@opentill/chain/address-codec';
import { shortHexOf } from '../address-codec.ts';
import { inTurns } from '../confirm-transfers.ts';
import { transferIn } from '../decode-info.ts';
import { encodeRaw, encodeSigned } from '../protobuf/transaction.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { callConstant } from './call-constant.ts';
import { encodePayment, encodeTransferCall } from './encode-payment.ts';
import { readAccount } from './read-balances.ts';
import { readPrices, type ChainPrices } from './read-prices.ts';

export interface PaymentBounds {
  /** In sun: no payment may burn more for the work of its contract. */
  readonly maxFeeLimitSun: bigint;
  /** What is added to the energy that a trial takes. */
  readonly energyMarginPercent: number;
}

const WITNESSES = 2;
/** What a node adds to the bytes of a transaction when it counts them (the room of its result). */
const RESULT_BYTES = 64;
const SIGNATURE_BYTES = 65;

/**
 * See ExpiringSender.prepare. Two sources are asked: one that lies or lags holds up no payment but by a price above the cap, and none gets too little of a fee
 * limit by its word, which would burn all of it for nothing.
 */
export async function preparePayments(
  sources: TronSources,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly PreparedExpiring[]> {
  if (intents.length > PREPARE_MAX) throw new RangeError(`${intents.length} payments at once are too many`);
  if (intents.length === 0) return [];
  const said: (readonly PreparedExpiring[])[] = [];
  const left = [...sources.witnesses()];
  let failure: unknown;
  while (said.length < WITNESSES && left.length > 0) {
    const asked = left.splice(0, WITNESSES - said.length);
    const answers = await Promise.allSettled(asked.map((source) => judge(source, bounds, intents, options)));
    for (const [place, answer] of answers.entries()) {
      if (answer.status === 'fulfilled') {
        said.push(answer.value);
        continue;
      }
      failure = answer.reason;
      if (options.signal?.aborted === true || !mayBeBetterElsewhere(failure)) throw failure;
      const source = asked[place];
      if (source !== undefined) sources.noteFault(source, failure);
    }
  }
  if (said.length === 0) throw failure;
  return intents.map((_, place) => settle(said.flatMap((all) => all.slice(place, place + 1))));
}

/**
 * What counts of the verdicts: that it costs more than the cap, whoever says so, or it would run out of energy by the word of
 * the other; that it can be paid, at the most that is named; else why not.
 */
function settle(verdicts: readonly PreparedExpiring[]): PreparedExpiring {
  const tooDear = verdicts.find((one) => one.kind === 'OBSTACLE' && one.obstacle === 'FEES_ABOVE_CAP');
  if (tooDear !== undefined) return tooDear;
  const ready = verdicts.flatMap((verdict) => (verdict.kind === 'READY' ? [verdict] : []));
  const [first] = verdicts;
  if (ready.length === 0) return first ?? obstacle('UNCLEAR', 'no node says');
  const highest = (amounts: readonly bigint[]): bigint => amounts.reduce((a, b) => (a > b ? a : b), 0n);
  return {
    kind: 'READY',
    feeLimitBaseUnits: highest(ready.map(({ feeLimitBaseUnits }) => feeLimitBaseUnits)),
    costBaseUnits: highest(ready.map(({ costBaseUnits }) => costBaseUnits)),
  };
}

/** Tries all payments at one source. */
async function judge(
  source: TronSource,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly PreparedExpiring[]> {
  const prices = await readPrices(source, options);
  const verdicts = await inTurns(intents, (intent) =>
    intent.contract === null
      ? judgeNative(source, intent, prices, options)
      : judgeToken(source, intent, prices, bounds, options),
  );
  return intents.map((intent) => verdicts.get(intent) ?? obstacle('UNCLEAR', 'not tried'));
}

/** The first TRX to an address makes it an account, which costs more than the transfer. */
async function judgeNative(
  source: TronSource,
  intent: PaymentIntent,
  prices: ChainPrices,
  options: ReadOptions,
): Promise<PreparedExpiring> {
  const receiver = await readAccount(source, intent.to, options);
  if (receiver?.['type'] === 'Contract') return obstacle('WOULD_FAIL', 'a contract takes no TRX this way');
  const activation = receiver === undefined ? prices.activationSun : 0n;
  return {
    kind: 'READY',
    feeLimitBaseUnits: 0n,
    costBaseUnits: activation + bytesOf(intent, 0n) * prices.byteSun,
  };
}

async function judgeToken(
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
  // The answer says nothing: Tether's contract answers false when it has paid. Where logs are told, they do.
  if (logs !== undefined && !logs.some((log) => isOf(intent, log)))
    return obstacle('WOULD_FAIL', 'the token would move nothing');
  const energy = (BigInt(energyUsed) * BigInt(100 + energyMarginPercent) + 99n) / 100n;
  const feeLimit = energy * prices.energySun;
  if (feeLimit === 0n) return obstacle('UNCLEAR', 'the node names no energy');
  if (feeLimit > maxFeeLimitSun) {
    const detail = `it may burn ${feeLimit} sun (${energy} energy), the cap is ${maxFeeLimitSun} sun`;
    return obstacle('FEES_ABOVE_CAP', detail);
  }
  const costBaseUnits = feeLimit + bytesOf(intent, feeLimit) * prices.byteSun;
  return { kind: 'READY', feeLimitBaseUnits: feeLimit, costBaseUnits };
}

function isOf({ from, to, contract }: PaymentIntent, log: unknown): boolean {
  if (contract === null) return false;
  const transfer = transferIn(log, new Map([[shortHexOf(contract as string as Address), contract]]));
  return transfer?.from === from && transfer.to === to;
}

/** How many bytes of bandwidth the transaction takes. */
function bytesOf(intent: PaymentIntent, feeLimit: bigint): bigint {
  const now = BigInt(Date.UTC(2100, 0));
  const raw = encodeRaw({
    refBlockBytes: new Uint8Array(2),
    refBlockHash: new Uint8Array(8),
    expirationMs: now,
    contract: encodePayment(intent),
    timestampMs: now,
    feeLimit,
  });
  return BigInt(encodeSigned(raw, new Uint8Array(SIGNATURE_BYTES)).length + RESULT_BYTES);
}

function obstacle(kind: PaymentObstacle, detail: string): PreparedExpiring {
  return { kind: 'OBSTACLE', obstacle: kind, detail };
}
