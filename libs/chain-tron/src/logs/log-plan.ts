import type { Address } from '@opentill/chain/address-codec';
import type { WatchedAddresses } from '@opentill/chain/watched-addresses';
import { shortHexOf } from '../address-codec.ts';
import type { BlockRange } from '../reading.ts';
import type { TronSource } from '../tron-sources.ts';
import type { LogFilter, ReadLogs, TokenLog } from './read-logs.ts';

/** A recipient takes 69 bytes of a request, and the logs of a full block take as many as this number of recipients. */
const RECIPIENTS_PER_BLOCK = 1_000;
const RECIPIENTS_MAX = 10_000;
/** java-tron's `maxSubTopics`. */
const RECIPIENTS_PER_FILTER = 1_000;
/** A node indexes logs only while its JSON-RPC interface is on. Of other blocks it returns none, without an error. */
const CONTROL_EVERY_BLOCKS = 50;
const CONTROL_VALID_BLOCKS = 100;
const CONTROL_BLOCKS_MAX = 128;
const CONTROLS_KEPT = 64;

export type Pair = readonly [TronSource, TronSource];

export type LogPlan = ReturnType<typeof createLogPlan>;

/**
 * Decides which logs to ask for, and when a source's logs count.
 *
 * - With few recipients for the number of blocks only their logs are requested, otherwise all transfers of the tokens.
 * - Early TRON compilers wrote addresses with the prefix 41 into topics, where a filter by recipient does not find
 * them. So a token is filtered only after two sources returned transfers of it without the prefix.
 * - Logs count only near a block of which two sources returned the same transfers, and at least one (the control).
 * Otherwise blocks are read whole. The control must precede the read: an index could begin within the range.
 */
export function createLogPlan(watched: WatchedAddresses, tokens: readonly string[]) {
  const forms = new Map<string, { plain: boolean; prefixed: boolean }>();
  const proven = new Map<TronSource, readonly number[]>();
  let controlBlocks = 1;

  const isFiltered = (token: string): boolean => {
    const form = forms.get(token);
    return form?.plain === true && !form.prefixed;
  };
  const distance = (pair: Pair, height: number): number =>
    Math.max(
      ...pair.map((source) => Math.min(...(proven.get(source) ?? []).map((at) => Math.abs(height - at)))),
    );

  return {
    /** The blocks must exist already (see WatchedAddresses). */
    async filtersFor({ from, to }: BlockRange): Promise<readonly LogFilter[]> {
      const filtered = tokens.filter(isFiltered);
      const max = Math.min(RECIPIENTS_MAX, RECIPIENTS_PER_BLOCK * (to - from + 1));
      const recipients = filtered.length === 0 ? undefined : await watched.recipients(max);
      if (recipients === undefined) return [{ tokens }];
      const others = tokens.filter((token) => !isFiltered(token));
      const wallets = [...(await watched.hotWallets())].map(shortHexOf);
      return [
        ...chunksOf(recipients).map((to20) => ({ tokens: filtered, to: to20 })),
        ...(wallets.length === 0 ? [] : [{ tokens: filtered, from: wallets }]),
        ...(others.length === 0 ? [] : [{ tokens: others }]),
      ];
    },
    /** Undefined while the last control is recent enough. */
    controlFor(pair: Pair, { to }: BlockRange): BlockRange | undefined {
      if (distance(pair, to) < CONTROL_EVERY_BLOCKS && tokens.some(isFiltered)) return undefined;
      return { from: Math.max(0, to - controlBlocks + 1), to };
    },
    /** Call only with equal answers of both. */
    noteControl(pair: Pair, { control }: Pick<ReadLogs, 'control'>): void {
      // Where transfers are rare, the next control covers more blocks.
      controlBlocks =
        control.length > 0 ? Math.max(1, controlBlocks / 2) : Math.min(CONTROL_BLOCKS_MAX, 2 * controlBlocks);
      for (const log of control) noteForm(log);
      const last = control.at(-1)?.height;
      if (last === undefined) return;
      for (const source of pair)
        proven.set(source, [...(proven.get(source) ?? []), last].slice(-CONTROLS_KEPT));
    },
    isProven: (pair: Pair, { from }: BlockRange): boolean => distance(pair, from) <= CONTROL_VALID_BLOCKS,
  };

  function noteForm({ tokenHex, isPlain }: TokenLog): void {
    const form = forms.get(tokenHex) ?? { plain: false, prefixed: false };
    form[isPlain ? 'plain' : 'prefixed'] = true;
    forms.set(tokenHex, form);
  }
}

function chunksOf(recipients: readonly Address[]): readonly (readonly string[])[] {
  const chunks: (readonly string[])[] = [];
  for (let at = 0; at < recipients.length; at += RECIPIENTS_PER_FILTER)
    chunks.push(recipients.slice(at, at + RECIPIENTS_PER_FILTER).map(shortHexOf));
  return chunks;
}
