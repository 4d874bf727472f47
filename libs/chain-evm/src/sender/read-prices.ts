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
/** Of the tips paid in a block, weighed by gas. */
const PERCENTILE = 50;
const QUANTITY_GRAMMAR = /^0x[0-9a-fA-F]{1,32}$/;

/**
 * What to offer now, of the last blocks' base fees and tips. Of two sources' answers the higher base fee counts, which
 * costs nothing as every block takes its own only, and the lower tip, which is paid in full: a source that lies upwards
 * changes what is set aside and not what is paid, and one that lies downwards is outdone, or costs a raise. What all
 * lie alike is bounded by the configured cap.
 */
export async function readPrices(
  sources: EvmSources,
  bounds: FeeBounds,
  options: ReadOptions,
): Promise<FeePrices> {
  const question = { ask: readMarket, mayStandAlone: () => true };
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

/** The base fees of the last blocks and of the one to come, and what was paid on top at these percentiles. */
export function feeHistoryRequest(blocks: number, percentiles: readonly number[]): RpcRequest {
  return { method: 'eth_feeHistory', params: [hexQuantity(blocks), 'latest', percentiles] };
}

/** The base fee of the block to come: the last one of a fee history. */
export function decodeNextBaseFee(raw: unknown): bigint {
  const fees = listOf(raw, 'baseFeePerGas');
  return quantityOf(fees.at(-1), raw);
}

/** The middle one of the blocks' tips; blocks without transactions have none. */
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
  throw readerError('INCONSISTENT_ANSWER', "the node's answer is no history of fees", { sample });
}
