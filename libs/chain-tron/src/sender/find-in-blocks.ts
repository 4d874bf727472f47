import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { BlocksSearched, Validity } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { plainHeader, type TronHeader } from '../decode-block.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import type { BlockOptions } from '../read-block.ts';
import { proofOf, walkSolidBlocks } from '../walk-blocks.ts';

export interface Stretch {
  /** Known to be in the chain; not searched itself. */
  readonly after: Validity['reference'];
  readonly untilMs: number;
}

/** What one source says of the stretch. */
interface Search {
  readonly found: ReadonlySet<TxHash>;
  readonly end: readonly [TronHeader, TronHeader];
}

/** A day of blocks: no transaction can be valid for longer. */
const BLOCKS_MAX = 30_000;

/**
 * See ExpiringSender.findInBlocks. Blocks are read whole with all their receipts, on the solid side; another one has to say the same,
 * and where no other is configured, the headers.
 */
export async function findInBlocks(
  sources: TronSources,
  txHashes: readonly TxHash[],
  stretch: Stretch,
  onAlone: (source: { readonly label: string }) => void,
  options: ReadOptions,
): Promise<BlocksSearched> {
  const wanted = new Set(txHashes);
  const ask = (source: TronSource, own: ReadOptions): Promise<Search> =>
    search(source, wanted, stretch, { ...own, ...proofOf(sources) });
  const question = { ask, height: undefined, onAlone, neverAlone: true };
  const [first, second] = await askTwoSources(sources, question, options);
  const { found, end } = first.answer;
  if (second !== undefined) {
    const other = second.answer;
    const isSame =
      other.end[1].hash === end[1].hash &&
      other.found.size === found.size &&
      [...found].every((txHash) => other.found.has(txHash));
    if (!isSame)
      throw readerError(
        'INCONSISTENT_ANSWER',
        'two sources tell other blocks, or other transactions in them',
        {
          sources: [first.source.label, second.source.label],
          height: end[1].height,
        },
      );
  }
  return { found, end: [plainHeader(end[0]), plainHeader(end[1])] };
}

async function search(
  source: TronSource,
  wanted: ReadonlySet<TxHash>,
  { after, untilMs }: Stretch,
  options: BlockOptions,
): Promise<Search> {
  const found = new Set<TxHash>();
  let past: TronHeader | undefined;
  for await (const { header, entries } of walkSolidBlocks(
    source,
    after,
    options,
    after.height + BLOCKS_MAX,
  )) {
    for (const { transaction } of entries) if (wanted.has(transaction.txHash)) found.add(transaction.txHash);
    if (past !== undefined && header.timeMs >= untilMs) return { found, end: [past, header] };
    past = header.timeMs >= untilMs ? header : undefined;
  }
  throw readerError('INCONSISTENT_ANSWER', 'no end of the blocks before a time that must have come', {
    after: after.height,
    untilMs,
  });
}
