import type { BlockHash } from '@opentill/chain/block';
import type { Address } from '@opentill/chain/address-codec';
import type { Actor, ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import { pairOf } from '@opentill/chain-sources/ask-two-sources';
import { baseUnits } from '@opentill/domain/money';
import { addressOfShortHex, shortHexOf } from '../address-codec.ts';
import { plainHeader } from '../decode-block.ts';
import { malformed } from '../node-value.ts';
import type { BlockRange } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import {
  agreeOnLogs,
  askForLogs,
  type AgreedLogs,
  type LogReaderDeps,
  type LogReading,
} from './agree-on-logs.ts';
import { doubtfulHeights } from './compare-logs.ts';
import { createLogControls, type Pair } from './log-controls.ts';
import { createLogPlan } from './log-plan.ts';
import type { LoggedCandidate } from './logged-candidate.ts';
import type { TokenLog } from './read-logs.ts';

export type LogReader = ReturnType<typeof createLogReader>;

/**
 * Reads a range by the logs of the tokens instead of by its blocks. The block ids prove the headers, as before. Every
 * method returns undefined where only whole blocks suffice; the caller then reads these.
 *
 * | a whole block shows                | by logs                                                             |
 * |------------------------------------|---------------------------------------------------------------------|
 * | transfers, from two sources        | logs from two sources, equal; blocks with other logs are read whole |
 * | success, place, fee of a deposit   | its receipt, from two sources (confirmTransfers)                     |
 * | a node without receipts            | controls: transfers of blocks that both return (createLogControls)   |
 * | transactions of the hot wallets    | the time of their newest one, from two sources; then whole blocks    |
 * | the proof by the header's root     | nothing: a single source needs whole blocks                          |
 */
export function createLogReader(given: LogReaderDeps) {
  const controls = createLogControls();
  const deps = { ...given, plan: createLogPlan(given.watched, [...given.tokens.keys()]), controls };
  const { sources, offers, reading } = deps;
  let haveSufficed = false;

  async function agree(
    range: BlockRange,
    expected: readonly ExpectedTransfer[],
    options: ReadOptions,
  ): Promise<{ readonly pair: Pair; readonly agreed: AgreedLogs } | undefined> {
    const [first, second] = pairOf(sources.quorumSources().filter(offers.isOffered));
    if (first === undefined || second === undefined || range.from <= 1) return undefined;
    const pair = [first, second] as const;
    const agreed = await orUndefined(agreeOnLogs(deps, pair, range, expected, options), options);
    return agreed && { pair, agreed };
  }

  return {
    /** Logs sufficed for the last range that was read the verified way. If not, ranges are shorter. */
    haveSufficed: () => haveSufficed,
    /** The source showed a log of a transaction that it does not have. */
    distrust: controls.forget,
    /** One source may show a payment. */
    async readSeen(
      source: TronSource,
      range: BlockRange,
      options: ReadOptions,
    ): Promise<RangeRead | undefined> {
      if (!offers.isOffered(source) || !controls.hasRecent(source, range.from)) return undefined;
      return orUndefined(readSeenLogs(deps, source, range, options), options);
    },
    async readVerified(
      range: BlockRange,
      expected: readonly ExpectedTransfer[],
      options: ReadOptions,
    ): Promise<RangeRead | undefined> {
      const found = await agree(range, expected, options);
      haveSufficed = found !== undefined;
      if (found === undefined) return undefined;
      const { pair, agreed } = found;
      const read = joined(agreed, await readDoubtful(deps, agreed, options));
      for (const source of pair) sources.noteCompleteness(source, true);
      const labels = [pair[0].label, pair[1].label] as const;
      reading.onCompared({ outcome: 'AGREED', sources: labels, height: range.to });
      return read;
    },
  };
}

/** Whole blocks are read after any failure, which also replaces a source that cannot be asked. */
async function orUndefined<T>(work: Promise<T | undefined>, { signal }: ReadOptions): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    return undefined;
  }
}

async function readSeenLogs(
  deps: LogReading,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const question = { range, filters: await deps.plan.filtersFor(range) };
  const [logs, headers] = await Promise.all([
    askForLogs(deps, source, question, options),
    deps.headers.read(source, range, options),
  ]);
  const [wrong] = doubtfulHeights(headers, [logs, logs], []);
  if (wrong !== undefined)
    throw readerError('INCONSISTENT_ANSWER', 'a log is of another block', { height: wrong });
  return { headers: headers.map(plainHeader), transfers: candidatesIn(logs, source) };
}

async function readDoubtful(
  { readWhole }: LogReading,
  { headers, doubtful }: AgreedLogs,
  options: ReadOptions,
): Promise<readonly RangeRead[]> {
  const whole: RangeRead[] = [];
  for (const { height, hash } of headers) {
    if (!doubtful.has(height)) continue;
    const read = await readWhole({ from: height, to: height }, options);
    if (read.headers[0]?.hash !== hash)
      throw readerError('INCONSISTENT_ANSWER', 'the chain changed while the range was read', { height });
    whole.push(read);
  }
  return whole;
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

function candidatesIn(logs: readonly TokenLog[], shownBy?: TronSource): readonly LoggedCandidate[] {
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
