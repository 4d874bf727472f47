import { divideUp } from '@opentill/domain/divide-up';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ReaderError } from '@opentill/chain/reader-error';
import { readerError } from '@opentill/chain/reader-error';
import type { PaymentIntent, PaymentObstacle, Prepared } from '@opentill/chain/wallet-sender';
import { PREPARE_MAX } from '@opentill/chain/wallet-sender';
import { GatewayError } from '@opentill/domain/gateway-error';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { DataFee } from '../data-fee.ts';
import type { RpcRequest } from '../rpc-call.ts';
import type { EvmSource, EvmSources } from '../sources.ts';
import type { QuestionToTwo } from './ask-two-at-once.ts';
import { askTwoAtOnce } from './ask-two-at-once.ts';
import { encodePayment } from './encode-payment.ts';
import { dataFeeRequest, estimateDataFee, highest, operatorFeeRequests } from './estimate-data-fee.ts';
import type { FeeBounds } from './fee-bounds.ts';
import { higher, isAboveCap, lower } from './fee-bounds.ts';
import { decodeNextBaseFee, feeHistoryRequest } from './read-prices.ts';
import { failureDetail, isExecutionFailure } from './revert-reason.ts';

type Verdict = Prepared | ReaderError;

const GAS_GRAMMAR = /^0x[0-9a-fA-F]{1,16}$/;
const DATA_GRAMMAR = /^0x[0-9a-fA-F]*$/;
const TRUE_WORD = `0x${'1'.padStart(64, '0')}`;
const FALSE_WORD = `0x${'0'.repeat(64)}`;
/** Margin of a quarter: a transfer's gas depends on balances that other transactions change. */
const MARGIN_DIVISOR = 4n;

export interface PaymentBounds extends FeeBounds {
  readonly chainId: number;
  /** A payment above it is rejected: a receiver's code could burn gas at will. */
  readonly maxGas: bigint;
  readonly dataFee: DataFee;
}

/**
 * An estimate is not enough: tokens that return false instead of reverting also have one. Two sources are asked, so
 * that a wrong or lagging one neither blocks a payment nor sets its gas too low.
 */
export async function preparePayments(
  sources: EvmSources,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly Prepared[]> {
  if (intents.length > PREPARE_MAX) throw new RangeError(`${intents.length} payments at once are too many`);
  if (intents.length === 0) return [];
  const question: QuestionToTwo<readonly Verdict[]> = {
    ask: (source, own) => tryPayments(source, bounds, intents, own),
    // The second source may contradict an obstacle.
    suffices: (verdicts) => verdicts.every(isReady),
  };
  const received = await askTwoAtOnce(sources, question, options);
  return intents.map((_, place) => settle(received.flatMap(({ answer }) => answer.slice(place, place + 1))));
}

/** Payable with the highest gas of all, else the obstacle, else UNCLEAR. */
function settle(verdicts: readonly Verdict[]): Prepared {
  const ready = verdicts.filter(isReady);
  const gasLimit = ready.reduce((most, one) => higher(most, one.gasLimit), 0n);
  const dataFeeBaseUnits = highest(ready.map((one) => one.dataFeeBaseUnits));
  if (ready.length > 0)
    return { kind: 'READY', gasLimit, ...(dataFeeBaseUnits !== undefined && { dataFeeBaseUnits }) };
  const known = verdicts.find((verdict) => !(verdict instanceof GatewayError));
  if (known !== undefined && !(known instanceof GatewayError)) return known;
  const [failure] = verdicts;
  return obstacle('UNCLEAR', failure instanceof GatewayError ? failureDetail(failure) : '');
}

function isReady(verdict: Verdict): verdict is Extract<Prepared, { kind: 'READY' }> {
  return !(verdict instanceof GatewayError) && verdict.kind === 'READY';
}

async function tryPayments(
  source: EvmSource,
  bounds: PaymentBounds,
  intents: readonly PaymentIntent[],
  options: ReadOptions,
): Promise<readonly Verdict[]> {
  const paysData = bounds.dataFee !== undefined;
  const questions = intents.map((intent) => requestsOf(intent, bounds));
  const answers = await source.batch(
    [...questions.flat(), ...(paysData ? operatorFeeRequests(bounds) : []), feeHistoryRequest(1, [])],
    options,
  );
  const baseFeePerGas = decodeNextBaseFee(answers.at(-1));
  const perIntent = questions[0]?.length ?? 0;
  const operatorFees = answers.slice(perIntent * intents.length, -1);
  if (isAboveCap(baseFeePerGas, bounds)) {
    const detail = `the base fee is ${baseFeePerGas} wei, the cap ${bounds.maxFeePerGas} wei`;
    return intents.map(() => obstacle('FEES_ABOVE_CAP', detail));
  }
  const verdicts = intents.map((intent, place) => {
    const [called, estimated, l1Fee] = answers.slice(place * perIntent);
    const verdict = classifyOutcome(intent, called, estimated, bounds.maxGas);
    if (!paysData || !isReady(verdict)) return verdict;
    const fee = estimateDataFee({ l1Fee, operatorFees }, verdict.gasLimit, bounds);
    return typeof fee === 'bigint' ? { ...verdict, dataFeeBaseUnits: fee } : fee;
  });
  const [first] = verdicts;
  if (first instanceof GatewayError && verdicts.every((verdict) => verdict instanceof GatewayError))
    throw first;
  return verdicts;
}

/** The calls name no prices, so that the node does not check the wallet's coin for fees. */
function requestsOf(intent: PaymentIntent, bounds: PaymentBounds): readonly RpcRequest[] {
  const encoded = encodePayment(intent);
  const { to, valueWei, data } = encoded;
  const call = { from: intent.from, to, value: `0x${valueWei.toString(16)}`, data };
  const trials = ['eth_call', 'eth_estimateGas'].map((method) => ({
    method,
    params: [call, 'latest'],
    mayBeRefused: true,
  }));
  return bounds.dataFee === undefined ? trials : [...trials, dataFeeRequest(encoded, bounds)];
}

function classifyOutcome(
  { contract }: PaymentIntent,
  called: unknown,
  estimated: unknown,
  maxGas: bigint,
): Verdict {
  const refusals = [called, estimated].filter((answer) => answer instanceof GatewayError) as ReaderError[];
  const failure = refusals.find(isExecutionFailure);
  if (failure !== undefined) return obstacle('WOULD_FAIL', failureDetail(failure));
  const [fault] = refusals;
  if (fault !== undefined) return fault;
  if (typeof called !== 'string' || !DATA_GRAMMAR.test(called)) return malformed('a call', called);
  if (typeof estimated !== 'string' || !GAS_GRAMMAR.test(estimated) || BigInt(estimated) === 0n)
    return malformed('an estimate of gas', estimated);
  // Tether's contract returns no data, others return true.
  if (contract !== null && called !== '0x' && called !== TRUE_WORD) {
    const answer = called === FALSE_WORD ? 'false' : plainWord(called);
    return obstacle('WOULD_FAIL', `the token's contract answers ${answer} instead of true`);
  }
  const gas = BigInt(estimated);
  if (gas > maxGas) return obstacle('WOULD_FAIL', `it takes ${gas} gas, the cap for a payment is ${maxGas}`);
  return { kind: 'READY', gasLimit: lower(gas + divideUp(gas, MARGIN_DIVISOR), maxGas) };
}

function plainWord(data: string): string {
  return data.length > TRUE_WORD.length ? `${data.slice(0, TRUE_WORD.length)}...` : data;
}

function obstacle(kind: PaymentObstacle, detail: string): Prepared {
  return { kind: 'OBSTACLE', obstacle: kind, detail };
}

function malformed(what: string, answer: unknown): ReaderError {
  const sample = boundedText(JSON.stringify(answer) ?? '');
  return readerError('INCONSISTENT_ANSWER', `the answer to ${what} is malformed`, { sample });
}
