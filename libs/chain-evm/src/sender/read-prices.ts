import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { FeePrices } from '@opentill/chain/wallet-sender';
import { hexQuantity } from '../block-requests.ts';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { RpcRequest } from '../rpc-call.ts';
import type { EvmSource, EvmSources } from '../sources.ts';
import { askTwoAtOnce } from './ask-two-at-once.ts';
import type { FeeBounds, FeeMarket } from './fee-bounds.ts';
import { higher, lower, pricesFor } from './fee-bounds.ts';

const BLOCKS = 10;
/** Median of the tips paid in a block, weighted by gas. */
const PERCENTILE = 50;
const QUANTITY_GRAMMAR = /^0x[0-9a-fA-F]{1,32}$/;

/**
 * With two sources, the higher base fee counts: a block charges only its own. The lower tip counts, because it is paid
 * in full. So a source that overstates changes the reserved amount, not the fee; one that understates is overruled or
 * costs a raise. The configured cap bounds an error that all share.
 */
export async function readPrices(
  sources: EvmSources,
  bounds: FeeBounds,
  options: ReadOptions,
): Promise<FeePrices> {
  const question = { ask: readMarket, suffices: () => true };
  const [first, second] = await askTwoAtOnce(sources, question, options);
  if (first === undefined) throw new TypeError('no source answered');
  const one = first.answer;
  const other = second?.answer ?? one;
  return pricesFor(
    {
      baseFeePerGas: higher(one.baseFeePerGas, other.baseFeePerGas),
      tipPerGas: lower(one.tipPerGas, other.tipPerGas),
    },
    bounds,
  );
}

async function readMarket(source: EvmSource, options: ReadOptions): Promise<FeeMarket> {
  const [raw] = await source.batch([feeHistoryRequest(BLOCKS, [PERCENTILE])], options);
  return decodeMarket(raw);
}

export function feeHistoryRequest(blocks: number, percentiles: readonly number[]): RpcRequest {
  return { method: 'eth_feeHistory', params: [hexQuantity(blocks), 'latest', percentiles] };
}

export function decodeNextBaseFee(raw: unknown): bigint {
  const fees = listOf(raw, 'baseFeePerGas');
  return quantityOf(fees.at(-1), raw);
}

export function decodeMarket(raw: unknown): FeeMarket {
  const shares = listOf(raw, 'gasUsedRatio');
  const tips = listOf(raw, 'reward')
    .filter((_, place) => Number(shares[place]) > 0)
    .map((rewards) => quantityOf(Array.isArray(rewards) ? rewards[0] : undefined, raw))
    .toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return { baseFeePerGas: decodeNextBaseFee(raw), tipPerGas: tips[tips.length >> 1] ?? 0n };
}

function listOf(raw: unknown, field: string): readonly unknown[] {
  const list = typeof raw === 'object' && raw !== null ? (raw as Record<string, unknown>)[field] : undefined;
  return Array.isArray(list) ? list : malformed(raw);
}

function quantityOf(raw: unknown, whole: unknown): bigint {
  return typeof raw === 'string' && QUANTITY_GRAMMAR.test(raw) ? BigInt(raw) : malformed(whole);
}

function malformed(raw: unknown): never {
  const sample = boundedText(JSON.stringify(raw) ?? '');
  throw readerError('INCONSISTENT_ANSWER', "the node's answer is not a fee history", { sample });
}
