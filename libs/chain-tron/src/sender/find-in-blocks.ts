import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { BlocksSearched, Validity } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources, type SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { plainHeader, type TronHeader } from '../decode-block.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { confirmByWitnesses, readTrail, walkSolidBlocks } from '../walk-blocks.ts';
import type { WitnessKeys } from '../witness-keys.ts';
import type { WitnessTrail } from '../witness-trail.ts';

export interface BlockSearching {
  readonly sources: TronSources;
  readonly keys: WitnessKeys;
  readonly onSingleSource: (source: { readonly label: string }) => void;
}

export interface Stretch {
  /** Known to be in the chain; not searched itself. Only witnesses of the blocks up to it count as signers. */
  readonly after: Validity['reference'];
  readonly untilMs: number;
}

interface Search {
  readonly found: ReadonlySet<TxHash>;
  readonly end: readonly [TronHeader, TronHeader];
}

/** A day of blocks: the longest lifetime of a transaction. */
const BLOCKS_MAX = 30_000;

/**
 * Reads whole blocks with all receipts from the solid side and proves them by their headers. After the last one, enough
 * of the witnesses that are active at `after` must have signed. A second source must return the same.
 */
export async function findInBlocks(
  { sources, keys, onSingleSource }: BlockSearching,
  txHashes: readonly TxHash[],
  stretch: Stretch,
  options: ReadOptions,
): Promise<BlocksSearched> {
  await keys.load();
  const wanted = new Set(txHashes);
  const signers = new Map<TronSource, ReadonlyMap<string, string>>();
  const ask = async (source: TronSource, own: ReadOptions): Promise<Search> => {
    const trail = await readTrail(source, stretch.after, keys.isKeyOf, own);
    try {
      return await search(source, wanted, stretch, trail, own);
    } finally {
      signers.set(source, trail.signers());
    }
  };
  try {
    const question = { ask, height: undefined, onSingleSource, requireTwoSources: true };
    const [first, second] = await askTwoSources(sources, question, options);
    requireSame(first, second);
    const { found, end } = first.answer;
    return { found, end: [plainHeader(end[0]), plainHeader(end[1])] };
  } finally {
    // After a failed proof too: keys that do not count yet may be its reason.
    await keys.note([...signers.values()], Math.min(2, sources.all().length));
  }
}

type Answered = SourceAnswer<TronSource, Search>;

function requireSame(first: Answered, second: Answered | undefined): void {
  if (second === undefined) return;
  const { found, end } = first.answer;
  const other = second.answer;
  const isSame =
    other.end[1].hash === end[1].hash &&
    other.found.size === found.size &&
    [...found].every((txHash) => other.found.has(txHash));
  if (isSame) return;
  throw readerError('INCONSISTENT_ANSWER', 'two sources return different blocks or transactions', {
    sources: [first.source.label, second.source.label],
    height: end[1].height,
  });
}

async function search(
  source: TronSource,
  wanted: ReadonlySet<TxHash>,
  { after, untilMs }: Stretch,
  trail: WitnessTrail,
  options: ReadOptions,
): Promise<Search> {
  const found = new Set<TxHash>();
  let past: TronHeader | undefined;
  for await (const { header, entries, seal } of walkSolidBlocks(
    source,
    after,
    options,
    after.height + BLOCKS_MAX,
  )) {
    for (const { transaction } of entries) if (wanted.has(transaction.txHash)) found.add(transaction.txHash);
    if (seal !== undefined) trail.add(seal);
    if (past !== undefined && header.timeMs >= untilMs) {
      await confirmByWitnesses(source, trail, { last: header, height: header.height }, options);
      return { found, end: [past, header] };
    }
    past = header.timeMs >= untilMs ? header : undefined;
  }
  throw readerError('INCONSISTENT_ANSWER', 'no two blocks at or after the expiry were found', {
    after: after.height,
    untilMs,
  });
}
