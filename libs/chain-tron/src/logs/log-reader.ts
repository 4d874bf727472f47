import type { ExpectedTransfer, RangeRead, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { pairOf } from '@opentill/chain-sources/ask-two-sources';
import { GatewayError } from '@opentill/domain/gateway-error';
import { plainHeader } from '../decode-block.ts';
import { BLOCKS_PER_CALL, LOG_BLOCKS_PER_CALL } from '../read-range.ts';
import type { BlockRange } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import { agreeOnLogs, type AgreedLogs, type LogReading, type Pair } from './agree-on-logs.ts';
import { createBeaconChoice } from './beacons.ts';
import { doubtfulHeights } from './compare-logs.ts';
import { candidatesIn, createCompletion, type CompletionOptions } from './complete-range.ts';
import { createDistrust } from './distrust.ts';
import { createLogPlan } from './log-plan.ts';
import { createPause } from './pause.ts';
import { readLogs } from './read-logs.ts';

export type LogReader = ReturnType<typeof createLogReader>;

export interface LogReaderOptions extends CompletionOptions {
  readonly nowMs: () => number;
}

/**
 * Reads a range by the logs of the tokens instead of by its blocks. The block ids prove the headers, as before. Every
 * method returns undefined where only whole blocks suffice; the caller then reads these.
 *
 * | a whole block shows                | by logs                                                             |
 * |------------------------------------|---------------------------------------------------------------------|
 * | transfers, from two sources        | logs from two sources, equal; blocks with other logs are read whole |
 * | success, place, fee of a deposit   | its receipt, from two sources (confirmTransfers)                     |
 * | a node without receipts            | a log of a beacon in each block and answer (createBeaconChoice)      |
 * | transactions of the hot wallets    | the time of their newest one, from two sources; then whole blocks    |
 * | the proof by the header's root     | nothing: a single source needs whole blocks                          |
 */
export function createLogReader(given: LogReaderOptions) {
  const tokens = [...given.tokens.keys()];
  const deps = { ...given, plan: createLogPlan(given.watched, tokens), beacons: createBeaconChoice(tokens) };
  const { sources, offers, reading, onBlocksRead } = deps;
  const pause = createPause(given.nowMs);
  const distrust = createDistrust(given.nowMs);
  const complete = createCompletion({ ...deps, pause });
  let haveSufficed = false;
  let isTooLarge = false;

  /** Undefined also while logs do not suffice again and again, so that no range is read both ways for long. */
  async function agree(
    range: BlockRange,
    expected: readonly ExpectedTransfer[],
    options: ReadOptions,
  ): Promise<{ readonly pair: Pair; readonly agreed: AgreedLogs } | undefined> {
    const [first, second] = pairOf(sources.quorumSources().filter(offers.isOffered));
    if (first === undefined || second === undefined || range.from <= 1 || pause.isOn()) return undefined;
    const pair = [first, second] as const;
    const agreeing = agreeOnLogs(deps, pair, range, expected, options);
    const agreed = await orUndefined(agreeing, options, (error) => {
      pause.failed();
      if (isReaderError(error, 'RPC_RANGE_TOO_LARGE')) isTooLarge = true;
    });
    return agreed && { pair, agreed };
  }

  return {
    /** Longer if logs sufficed for the last range that was read the verified way. */
    blocksPerCall: () => (haveSufficed && !isTooLarge ? LOG_BLOCKS_PER_CALL : BLOCKS_PER_CALL),
    /** The source did not prove a log that it showed. */
    distrust: distrust.begin,
    /** One source may show a payment. Whole blocks of it count again in the verified pass, so logs only if that uses them. */
    async readSeen(
      source: TronSource,
      range: BlockRange,
      options: ReadOptions,
    ): Promise<RangeRead | undefined> {
      if (!haveSufficed || distrust.isOn(source) || !offers.isOffered(source)) return undefined;
      return orUndefined(readSeenLogs(deps, source, range, options), options);
    },
    async readVerified(
      range: BlockRange,
      expected: readonly ExpectedTransfer[],
      options: ReadOptions,
    ): Promise<RangeRead | undefined> {
      const found = await agree(range, expected, options);
      const read = found && (await complete(found.pair, found.agreed, options));
      haveSufficed = read !== undefined;
      if (found === undefined || read === undefined) {
        onBlocksRead('whole', range.to - range.from + 1);
        return undefined;
      }
      const [first, second] = found.pair;
      for (const source of found.pair) sources.noteCompleteness(source, true);
      reading.onCompared({ outcome: 'AGREED', sources: [first.label, second.label], height: range.to });
      return read;
    },
  };
}

const ignore = (): void => undefined;

/** Whole blocks are read after any failure of a source, which also replaces a source that cannot be asked. */
async function orUndefined<T>(
  work: Promise<T | undefined>,
  { signal }: ReadOptions,
  onFailed: (error: GatewayError) => void = ignore,
): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted === true || !(error instanceof GatewayError)) throw error;
    onFailed(error);
    return undefined;
  }
}

async function readSeenLogs(
  deps: LogReading,
  source: TronSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<RangeRead> {
  const { filters } = await deps.plan.planFor(range, deps.beacons.chosen());
  const question = { range, filters, isToHead: true };
  const [{ logs, unproven }, headers] = await Promise.all([
    deps.offers.ask(source, () => readLogs(source, deps, question, options)),
    deps.headers.read(source, range, options),
  ]);
  const [wrong] = [...doubtfulHeights(headers, [logs, logs], []), ...unproven];
  if (wrong !== undefined)
    throw readerError('INCONSISTENT_ANSWER', 'the logs of a block may be missing', { height: wrong });
  return { headers: headers.map(plainHeader), transfers: candidatesIn(logs, source) };
}
