import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { decodeHeader, type TronHeader } from '../decode-block.ts';
import { objectIn, type Raw } from '../node-value.ts';
import type { TronSource } from '../tron-sources.ts';
import { askJsonRpc } from './json-rpc.ts';

const HEX = /^0x[0-9a-f]*$/;
const MS_PER_SECOND = 1_000;
/** Java-tron before 4.7 returned milliseconds, which are above this. */
const SECONDS_MAX = 100_000_000_000;

/**
 * Headers of these heights by `eth_getBlockByNumber`, in one HTTP request; the other interface takes one for each. The
 * answer lacks the version of the header (java-tron, BlockResult), which is part of the block's id. So a header counts
 * only if the id is that of one of these versions; otherwise it is missing in the result.
 */
export async function readRpcHeaders(
  source: Pick<TronSource, 'call'>,
  heights: readonly number[],
  versions: Iterable<number>,
  options: ReadOptions,
): Promise<readonly TronHeader[]> {
  const calls = heights.map((height) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${height.toString(16)}`, false],
  }));
  const known = [...versions];
  const blocks = await askJsonRpc(source, calls, options);
  return blocks.flatMap((block, place) => {
    const data = rawDataOf(objectIn(block, 'block'));
    for (const version of data === undefined ? [] : known) {
      const header = tryDecode(
        { ...data, version },
        bareHex(objectIn(block, 'block')['hash']),
        heights[place],
      );
      if (header !== undefined) return [header];
    }
    return [];
  });
}

/** Undefined if the node returns another form. */
function rawDataOf(block: Raw): Raw | undefined {
  const [number, timestamp] = [countOf(block['number']), countOf(block['timestamp'])];
  const parentHash = bareHex(block['parentHash']);
  const txTrieRoot = bareHex(block['transactionsRoot']);
  const witness = bareHex(block['miner']);
  const stateRoot = bareHex(block['stateRoot']);
  if (number === undefined || timestamp === undefined || parentHash === undefined) return undefined;
  if (txTrieRoot === undefined || witness === undefined) return undefined;
  return {
    number,
    // Slots begin at whole seconds.
    timestamp: timestamp > SECONDS_MAX ? timestamp : timestamp * MS_PER_SECOND,
    txTrieRoot,
    parentHash,
    witness_address: `41${witness}`,
    ...(stateRoot === undefined || stateRoot === '' ? {} : { accountStateRoot: stateRoot }),
  };
}

function tryDecode(
  data: Raw,
  blockID: string | undefined,
  height: number | undefined,
): TronHeader | undefined {
  try {
    return decodeHeader({ blockID, block_header: { raw_data: data } }, height);
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return undefined;
    throw error;
  }
}

function bareHex(value: unknown): string | undefined {
  return typeof value === 'string' && HEX.test(value) ? value.slice(2) : undefined;
}

function countOf(value: unknown): number | undefined {
  const digits = bareHex(value);
  const count = digits === undefined ? Number.NaN : Number(`0x${digits}`);
  return Number.isSafeInteger(count) ? count : undefined;
}
