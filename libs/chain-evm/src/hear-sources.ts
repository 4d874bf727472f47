import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { blockRequest } from './block-requests.ts';
import type { OwnAccount, PeerAnswers, SourceDifference } from './compare-sources.ts';
import { compareSources } from './compare-sources.ts';
import { isTooLarge, noteAccepted, noteTooLarge } from './read-in-calls.ts';
import type { Account } from './read-blocks.ts';
import {
  accountOf,
  blockRequests,
  linkedHeaders,
  logRequests,
  readByHash,
  unlessTooLarge,
} from './read-blocks.ts';
import type { BlockRange, Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';
import { mayBeBetterElsewhere } from './translate-rpc-error.ts';

/** What a source says of a range, and what another has against it; without a second source, nobody vouches for it. */
export interface Testimony {
  readonly source: EvmSource;
  readonly account: Account;
  readonly peer: { readonly source: EvmSource; readonly difference: SourceDifference } | undefined;
}

/**
 * Asks two sources at once, and others in the place of one that fails, until two have answered or none is left to
 * ask; throws the first failure when not even one has. RPC_RANGE_TOO_LARGE of any ends it, unless it is of one block.
 */
export async function hearSources(
  reading: Reading,
  sources: EvmSources,
  range: BlockRange,
  options: ReadOptions,
): Promise<Testimony> {
  const failures = new Map<EvmSource, unknown>();
  const failed = (source: EvmSource, error: unknown): void => {
    noteTooLarge(source, range, error);
    if (isTooLarge(range, error) || !isOfThisSource(error)) throw error;
    failures.set(source, error);
    sources.noteFault(source, error);
  };
  for (;;) {
    const [source, second, third] = sources.usable().filter((usable) => !failures.has(usable));
    if (source === undefined) throw [...failures.values()][0];
    const [own, beside] = await Promise.allSettled([
      readOwnAccount(reading, source, range, second === undefined, options),
      second === undefined ? undefined : askPeer(reading, second, range, options),
    ]);
    if (own.status === 'rejected') failed(source, own.reason);
    if (second !== undefined && beside.status === 'rejected') failed(second, beside.reason);
    if (own.status === 'rejected') continue;
    noteAccepted(source, range);
    const { account } = own.value;
    if (second !== undefined && beside.status === 'fulfilled' && beside.value !== undefined) {
      try {
        const difference = compareSources(reading, own.value, beside.value);
        noteAccepted(second, range);
        return { source, account, peer: { source: second, difference } };
      } catch (error) {
        failed(second, error);
      }
    }
    if (third === undefined) return { source, account, peer: undefined };
  }
}

/** Whether another source may do better; a single block too large for this one may be small enough for another. */
function isOfThisSource(error: unknown): boolean {
  return mayBeBetterElsewhere(error) || isReaderError(error, 'RPC_RANGE_TOO_LARGE');
}

/** Where nobody can vouch for logs, they are not even asked for: the receipts say more. */
async function readOwnAccount(
  reading: Reading,
  source: EvmSource,
  range: BlockRange,
  isAlone: boolean,
  options: ReadOptions,
): Promise<OwnAccount> {
  const requests = blockRequests(reading, range);
  if (isAlone) {
    const headers = linkedHeaders(await source.batch(requests, options), range.from);
    return { account: { headers, byBlock: undefined }, blocks: undefined, logs: undefined };
  }
  if (!reading.bloom) {
    const account = await readByHash(reading, source, range, options);
    return { account, blocks: undefined, logs: undefined };
  }
  const [blocks, logs] = await Promise.all([
    source.ask(requests, options),
    unlessTooLarge(range, () => source.ask(logRequests(reading, range), options)),
  ]);
  const account = accountOf(reading, linkedHeaders(blocks.results(), range.from), logs?.results());
  return { account, blocks, logs };
}

async function askPeer(
  reading: Reading,
  source: EvmSource,
  range: BlockRange,
  options: ReadOptions,
): Promise<PeerAnswers> {
  const [blocks, logs] = await Promise.all([
    reading.native ? source.ask(blockRequests(reading, range), options) : undefined,
    unlessTooLarge(range, () => source.ask(logRequests(reading, range), options)),
  ]);
  return {
    blocks,
    logs: logs ?? (await source.ask([blockRequest(range.to)], options)),
    hasLogs: logs !== undefined,
  };
}
