import { divideUp } from '@opentill/domain/divide-up';
import { readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { Interface } from 'ethers/abi';
import { Transaction } from 'ethers/transaction';
import type { ReaderError } from '@opentill/chain/reader-error';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { UnsignedCall } from '@opentill/chain/wallet-sender';
import type { RpcRequest } from '../rpc-call.ts';
import type { EvmSource, EvmSources } from '../sources.ts';
import { askTwoAtOnce, type QuestionToTwo } from './ask-two-at-once.ts';
import { cancelOf, encodePayment, type EvmCall } from './encode-payment.ts';
import { higher, type FeeBounds } from './fee-bounds.ts';
import { isExecutionFailure } from './revert-reason.ts';

/** Predeploy of every OP Stack chain (ethereum-optimism/specs, predeploys). */
export const GAS_PRICE_ORACLE = '0x420000000000000000000000000000000000000f';
const ORACLE = new Interface([
  'function getL1Fee(bytes) view returns (uint256)',
  'function getOperatorFee(uint256) view returns (uint256)',
]);
/** The base chain raises its price by at most an eighth per block of 12 s: the double covers six full blocks. */
export const DATA_PRICE_ROOM = 2n;
/** The fee depends on the transaction's bytes. A later nonce takes at most as many. */
const LONG_NONCE = 0xffffff;

export interface DataFeeBounds extends FeeBounds {
  readonly chainId: number;
  readonly maxGas: bigint;
}

/** For the fee of the transaction's data: `getL1Fee` takes the unsigned transaction. */
export function dataFeeRequest({ to, valueWei, data }: EvmCall, bounds: DataFeeBounds): RpcRequest {
  const { chainId, maxGas: gasLimit, maxFeePerGas, maxPriorityFeePerGas } = bounds;
  const fees = { gasLimit, maxFeePerGas, maxPriorityFeePerGas };
  const unsigned = Transaction.from({
    type: 2,
    chainId,
    nonce: LONG_NONCE,
    to,
    value: valueWei,
    data,
    ...fees,
  });
  return oracleCall('getL1Fee', unsigned.unsignedSerialized);
}

/** The operator fee is linear in the gas, so two answers give it for any gas. */
export function operatorFeeRequests({ maxGas }: DataFeeBounds): readonly RpcRequest[] {
  return [oracleCall('getOperatorFee', 0n), oracleCall('getOperatorFee', maxGas)];
}

/** `getL1Fee` takes the serialised unsigned transaction, `getOperatorFee` the gas. */
export function oracleCall(
  name: 'getL1Fee' | 'getOperatorFee',
  argument: string | bigint,
  block = 'latest',
): RpcRequest {
  const call = { to: GAS_PRICE_ORACLE, data: ORACLE.encodeFunctionData(name, [argument]) };
  return { method: 'eth_call', params: [call, block], mayBeRefused: true };
}

/** Highest fee of a transaction with that much gas, in wei, or why it is unknown. */
export function estimateDataFee(
  answers: { readonly l1Fee: unknown; readonly operatorFees: readonly unknown[] },
  gas: bigint,
  { maxGas }: DataFeeBounds,
): bigint | ReaderError {
  const fees = [answers.l1Fee, ...answers.operatorFees.map(orZero)].map(wordOf);
  const fault = fees.find((fee) => fee instanceof GatewayError);
  if (fault instanceof GatewayError) return fault;
  const [l1Fee, constant, most] = fees as [bigint, bigint, bigint];
  const ofGas = most > constant ? divideUp((most - constant) * gas, maxGas) : 0n;
  return l1Fee * DATA_PRICE_ROOM + constant + ofGas;
}

type KnownFees = readonly (bigint | undefined)[];

/**
 * Two sources are asked, so that one that understates the fee does not lead beyond the wallet's coin. Undefined where
 * neither names a fee: the other calls keep theirs.
 */
export async function readDataFees(
  sources: EvmSources,
  bounds: DataFeeBounds,
  calls: readonly UnsignedCall[],
  options: ReadOptions,
): Promise<KnownFees> {
  const question: QuestionToTwo<KnownFees> = {
    ask: (source, own) => dataFeesOf(source, bounds, calls, own),
    suffices: (fees) => fees.every((fee) => fee !== undefined),
  };
  const received = await askTwoAtOnce(sources, question, options);
  return calls.map((_, place) => highest(received.map(({ answer }) => answer[place])));
}

/** Undefined if none is known. */
export function highest(fees: KnownFees): bigint | undefined {
  const known = fees.filter((fee) => fee !== undefined);
  return known.length === 0 ? undefined : known.reduce(higher);
}

async function dataFeesOf(
  source: EvmSource,
  bounds: DataFeeBounds,
  calls: readonly UnsignedCall[],
  options: ReadOptions,
): Promise<KnownFees> {
  const encoded = calls.map(({ wallet, intent }) =>
    intent === null ? cancelOf(wallet) : encodePayment(intent),
  );
  const answers = await source.batch(
    [...encoded.map((call) => dataFeeRequest(call, bounds)), ...operatorFeeRequests(bounds)],
    options,
  );
  const operatorFees = answers.slice(calls.length);
  return calls.map(({ gasLimit }, place) => {
    const fee = estimateDataFee({ l1Fee: answers[place], operatorFees }, gasLimit, bounds);
    return typeof fee === 'bigint' ? fee : undefined;
  });
}

/** Oracles from before the Isthmus upgrade revert: their chains have no operator fee. */
export function orZero(answer: unknown): unknown {
  const isMissing = answer instanceof GatewayError && isExecutionFailure(answer as ReaderError);
  return isMissing ? `0x${'0'.repeat(64)}` : answer;
}

export function wordOf(answer: unknown): bigint | ReaderError {
  if (answer instanceof GatewayError) return answer as ReaderError;
  if (typeof answer === 'string' && /^0x[0-9a-fA-F]{64}$/.test(answer)) return BigInt(answer);
  const why = `the gas price oracle ${GAS_PRICE_ORACLE} answers no fee: does the chain have "dataFee": "op-stack"?`;
  return readerError('INCONSISTENT_ANSWER', why);
}
