import type { BlockRange } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import { haveSameLogs } from './compare-logs.ts';
import type { TokenLog } from './read-logs.ts';

/** A gap in the indexes of both sources that is shorter than this is not noticed: 48 s on the main network. */
const APART_BLOCKS_MAX = 16;
/** Where transfers are rare, a control covers more blocks. Where there are fewer than one in 8, blocks are read whole. */
const CONTROL_BLOCKS_MAX = 8;
const TRANSFERS_WANTED = 8;
const RECENT_BLOCKS = 100;

/** Transfers of each controlled range. */
type Controls = readonly (readonly TokenLog[])[];

export type Pair = readonly [TronSource, TronSource];

export type LogControls = ReturnType<typeof createLogControls>;

/**
 * A control is a request for all transfers of the tokens in some blocks. Where two sources return the same transfers, and
 * at least one of each token, one of them becomes a canary: every answer to a filter must contain it too, so that it
 * comes from a node that indexed its block. java-tron indexes logs only while its JSON-RPC interface is on; of other
 * blocks it returns none, without an error.
 *
 * One control ends below the range, as an index may begin within it. One ends with the range, as an index may end within
 * it. Others are between, so that canaries are close to each other.
 */
export function createLogControls() {
  const newest = new Map<TronSource, number>();
  let controlBlocks = 4;

  const forget = (source: TronSource): void => void newest.delete(source);
  function noteDensity(logs: number, blocks: number): void {
    const needed = logs === 0 ? 2 * controlBlocks : Math.ceil((TRANSFERS_WANTED * blocks) / logs);
    controlBlocks = Math.min(CONTROL_BLOCKS_MAX, needed);
  }

  return {
    /** `from` must be above 1. */
    controlsFor({ from, to }: BlockRange): readonly BlockRange[] {
      const ends = [from - 1];
      for (let end = to; end >= from; end -= APART_BLOCKS_MAX - controlBlocks + 1) ends.push(end);
      return ends.map((end) => ({ from: Math.max(1, end - controlBlocks + 1), to: end }));
    },
    /**
     * The canaries: one transfer of each token in each control. Undefined, and earlier controls no longer count, unless
     * both returned the same of each.
     */
    agree(
      pair: Pair,
      asked: readonly BlockRange[],
      tokens: readonly string[],
      [ours, theirs]: readonly [Controls, Controls],
    ): readonly TokenLog[] | undefined {
      const blocks = asked.reduce((sum, { from, to }) => sum + to - from + 1, 0);
      noteDensity(Math.max(ours.flat().length, theirs.flat().length), blocks);
      const isShown = asked.every((_, place) => {
        const [own = [], other = []] = [ours[place], theirs[place]];
        return haveSameLogs(own, other);
      });
      const canaries = asked.flatMap((_, place) =>
        tokens.map((token) => ours[place]?.findLast(({ tokenHex }) => tokenHex === token)),
      );
      const known = canaries.filter((canary) => canary !== undefined);
      if (!isShown || known.length < canaries.length) {
        pair.forEach(forget);
        return undefined;
      }
      const height = known.reduce((max, log) => Math.max(max, log.height), 0);
      for (const source of pair) newest.set(source, height);
      return known;
    },
    /** The source failed to answer. */
    forget,
    /** The source returned known transfers of a block that is at most 100 blocks below. Enough to show payments. */
    hasRecent(source: TronSource, from: number): boolean {
      const at = newest.get(source);
      return at !== undefined && at < from && from - at <= RECENT_BLOCKS;
    },
  };
}

/** Heights that are not between two proven ones close to each other. */
export function unprovenHeights({ from, to }: BlockRange, proven: Iterable<number>): readonly number[] {
  const heights = [...new Set(proven)].toSorted((a, b) => a - b);
  const unproven: number[] = [];
  for (let height = from; height <= to; height += 1) {
    const below = heights.findLast((one) => one <= height);
    const above = heights.find((one) => one >= height);
    if (below === undefined || above === undefined || above - below > APART_BLOCKS_MAX) unproven.push(height);
  }
  return unproven;
}
