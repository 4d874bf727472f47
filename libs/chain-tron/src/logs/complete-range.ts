import type { BlockHash } from '@opentill/chain/block';
import type { Address } from '@opentill/chain/address-codec';
import type { Actor, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { baseUnits } from '@opentill/domain/money';
import { addressOfShortHex, shortHexOf } from '../address-codec.ts';
import { plainHeader } from '../decode-block.ts';
import { malformed } from '../node-value.ts';
import type { TronSource } from '../tron-sources.ts';
import type { AgreedLogs, LogReaderDeps, Pair } from './agree-on-logs.ts';
import { doubtfulHeights } from './compare-logs.ts';
import type { LoggedCandidate } from './logged-candidate.ts';
import type { Pause } from './pause.ts';
import type { TokenLog } from './read-logs.ts';

export interface LogsContradicted {
  readonly sources: readonly [string, string];
  readonly height: number;
  /** The newest block of the sample before it, since the start. */
  readonly sampledHeight: number | undefined;
}

export interface CompletionOptions extends LogReaderDeps {
  /** From 0 to 1, chooses the sample. */
  readonly random: () => number;
  readonly onContradicted: (contradicted: LogsContradicted) => void;
  readonly onBlocksRead: (by: 'logs' | 'whole', blocks: number) => void;
}

/** One block in this number is also read whole, and compared with its logs. */
const BLOCKS_PER_SAMPLE = 256;
const CONTRADICTED_MS = 24 * 60 * 60 * 1_000;

/** Adds the blocks that must be read whole. Undefined if one of the sample has a transfer that its logs lack. */
export function createCompletion(deps: CompletionOptions & { readonly pause: Pause }) {
  const { pause, random, onContradicted, onBlocksRead } = deps;
  let sampledHeight: number | undefined;
  return async (pair: Pair, agreed: AgreedLogs, options: ReadOptions): Promise<RangeRead | undefined> => {
    const sample = agreed.headers.filter(() => random() < 1 / BLOCKS_PER_SAMPLE);
    const heights = new Set([...agreed.doubtful, ...sample.map(({ height }) => height)]);
    const whole = await readHeights(deps, agreed.headers, heights, options);
    const contradicted = contradictedHeight(agreed, whole);
    if (contradicted !== undefined) {
      const labels = [pair[0].label, pair[1].label] as const;
      onContradicted({ sources: labels, height: contradicted, sampledHeight });
      pause.begin(CONTRADICTED_MS);
      return undefined;
    }
    pause.succeeded();
    sampledHeight = sample.at(-1)?.height ?? sampledHeight;
    onBlocksRead('whole', whole.length);
    onBlocksRead('logs', agreed.headers.length - whole.length);
    return joined({ ...agreed, doubtful: heights }, whole);
  };
}

async function readHeights(
  { readWhole }: LogReaderDeps,
  headers: AgreedLogs['headers'],
  heights: ReadonlySet<number>,
  options: ReadOptions,
): Promise<readonly RangeRead[]> {
  const wanted = headers.filter(({ height }) => heights.has(height));
  return Promise.all(
    wanted.map(async ({ height, hash }) => {
      const read = await readWhole({ from: height, to: height }, options);
      if (read.headers[0]?.hash === hash) return read;
      throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', { height });
    }),
  );
}

/** Blocks in doubt contradict nothing: their logs were not believed. */
function contradictedHeight(
  { headers, logs, doubtful, recipients }: AgreedLogs,
  whole: readonly RangeRead[],
): number | undefined {
  const asked = whole.flatMap(({ transfers }) =>
    transfers.filter(({ blockHeight, to }) => !doubtful.has(blockHeight) && (recipients?.has(to) ?? true)),
  );
  return [...doubtfulHeights(headers, [logs, logs], asked)].find((height) => !doubtful.has(height));
}

function joined({ headers, logs, doubtful }: AgreedLogs, whole: readonly RangeRead[]): RangeRead {
  const sure = logs.filter(({ height }) => !doubtful.has(height));
  return {
    headers: headers.map(plainHeader),
    transfers: [...candidatesIn(sure), ...whole.flatMap(({ transfers }) => transfers)].toSorted(
      (a, b) => a.blockHeight - b.blockHeight || a.indexInBlock - b.indexInBlock,
    ),
    transactions: sure.length + whole.reduce((sum, { transactions = 0 }) => sum + transactions, 0),
    actsOf: (wallets) => [
      ...actsIn(sure, wallets),
      ...whole.flatMap(({ actsOf }) => actsOf?.(wallets) ?? []),
    ],
  };
}

export function candidatesIn(logs: readonly TokenLog[], shownBy?: TronSource): readonly LoggedCandidate[] {
  return logs.flatMap((log) => {
    const { txHash, blockHash, height, logIndex, contract, fromHex, toHex, amount } = log;
    const to = addressOfShortHex(toHex);
    if (to === undefined) return [];
    return {
      isLogged: true,
      shownBy,
      txHash,
      blockHash: blockHash as BlockHash,
      blockHeight: height,
      indexInBlock: logIndex,
      contract,
      get from() {
        return addressOfShortHex(fromHex) ?? malformed('log.topics', fromHex);
      },
      to,
      amountBaseUnits: baseUnits(amount),
    };
  });
}

function actsIn(logs: readonly TokenLog[], wallets: ReadonlySet<Address>): readonly Actor[] {
  const byHex = new Map([...wallets].map((wallet) => [shortHexOf(wallet), wallet]));
  return logs.flatMap(({ txHash, fromHex, height }) => {
    const wallet = byHex.get(fromHex);
    return wallet === undefined ? [] : [{ txHash, wallet, blockHeight: height }];
  });
}
