import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { BlocksSearched, Validity } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { isDigest, plainHeader } from '../decode-checkpoint.ts';
import { readHeader } from '../read-header.ts';
import { readTransactions, TRANSACTIONS_PER_CALL } from '../read-transactions.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';

export interface Stretch {
  /** Known to be in the chain; not searched itself. */
  readonly after: Validity['reference'];
  /** The last epoch that may hold one of them. */
  readonly untilEpoch?: number;
}

/** What becomes of the word of one node alone. */
export interface Alone {
  readonly onAlone: (source: { readonly label: string }) => void;
  /** Whether the only one that is configured is believed: on test networks. */
  readonly mayBeAlone: boolean;
}

/** In so many checkpoints a transaction is looked for that the node must know. Each holds at least one of the chain's own. */
const CANARY_CHECKPOINTS = 8;
const FOUND_PATHS = ['digest'];
const CONTENTS_MASK = { paths: ['transactions.digest'] };

/**
 * See ExpiringSender.findInBlocks. Full nodes index each transaction that they executed, and say which is the oldest checkpoint that
 * they still have: two of them that have executed all of the stretch, and forgotten nothing of it, are asked for the transactions.
 * The own scan has proven every checkpoint of it besides, or they are not asked: nodes that hide a transaction agree. With each question they are asked for
 * transactions, too, that their own checkpoints hold: a node that does not know those has lost its index, and says so of everything.
 */
export async function findInCheckpoints(
  sources: SuiSources,
  txHashes: readonly TxHash[],
  stretch: Stretch,
  { onAlone, mayBeAlone }: Alone,
  options: ReadOptions,
): Promise<BlocksSearched> {
  const { untilEpoch } = stretch;
  if (untilEpoch === undefined) throw new TypeError('transactions of SUI end by epochs');
  if (!mayBeAlone && sources.all().length < 2)
    throw readerError(
      'RPC_UNAVAILABLE',
      'one node alone proves nothing dead where money is real: configure another one',
      {},
    );
  const [first, second] = await askTwoSources(
    sources,
    {
      ask: (source, own) => search(source, txHashes, stretch.after, untilEpoch, own),
      height: undefined,
      onAlone,
      neverAlone: true,
    },
    options,
  );
  const { found, end } = first.answer;
  if (second !== undefined) {
    const other = second.answer;
    const isSame =
      other.end[1].hash === end[1].hash &&
      other.found.size === found.size &&
      [...found].every((txHash) => other.found.has(txHash));
    if (!isSame)
      throw readerError('INCONSISTENT_ANSWER', 'two sources know other checkpoints, or other transactions', {
        sources: [first.source.label, second.source.label],
        height: end[1].height,
      });
  }
  return { found, end };
}

async function search(
  source: SuiSource,
  txHashes: readonly TxHash[],
  after: Stretch['after'],
  untilEpoch: number,
  options: ReadOptions,
): Promise<BlocksSearched> {
  const { height: reference } = after;
  await requireWhole(source, reference, options);
  const standing = await readHeader(source, options, reference);
  if (standing.hash !== after.hash)
    throw readerError('INCONSISTENT_ANSWER', 'another checkpoint stands in the place of a verified one', {
      source: source.label,
      height: reference,
    });
  // Before they are asked for: whatever may hold one of them is executed there.
  const end = await readEnd(source, untilEpoch, options);
  const canaries = new Set([
    ...(await chooseCanaries(source, reference, options)),
    ...(await chooseCanaries(source, end[1].height, options)),
  ]);
  const found = new Set<TxHash>();
  const atOnce = TRANSACTIONS_PER_CALL - canaries.size;
  for (let from = 0; from < txHashes.length; from += atOnce) {
    const some = txHashes.slice(from, from + atOnce);
    // In one call: one node answers it.
    const asked = [...new Set([...canaries, ...some])];
    const answered = await readTransactions(source, asked, options, FOUND_PATHS);
    const known = new Set(asked.filter((_, place) => answered[place] !== undefined));
    // Of each answer: another node may have given it, behind the same URL.
    const unknown = [...canaries].filter((digest) => !known.has(digest));
    if (unknown.length > 0)
      throw readerError('INCONSISTENT_ANSWER', 'the node does not know what its own checkpoints hold', {
        source: source.label,
        txHashes: unknown,
      });
    for (const txHash of some) if (known.has(txHash)) found.add(txHash);
  }
  // What was pruned meanwhile could be missed.
  await requireWhole(source, reference, options);
  return { found, end };
}

/** The first and the last transaction of the checkpoint, or of the next one that has any. */
async function chooseCanaries(
  source: SuiSource,
  height: number,
  options: ReadOptions,
): Promise<readonly TxHash[]> {
  for (let at = height; at < height + CANARY_CHECKPOINTS; at += 1) {
    const { response } = await source.ask(
      ({ ledger }, call) =>
        ledger.getCheckpoint(
          {
            readMask: CONTENTS_MASK,
            checkpointId: { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(at) },
          },
          call,
        ),
      options,
    );
    const digests = (response.checkpoint?.transactions ?? []).flatMap(({ digest }) => digest ?? []);
    const [first = '', last = ''] = [digests.at(0), digests.at(-1)];
    if (isDigest(first) && isDigest(last)) return [first as TxHash, last as TxHash];
  }
  throw readerError('INCONSISTENT_ANSWER', 'checkpoints without any transaction', {
    source: source.label,
    height,
  });
}

/** Throws BLOCK_NOT_FOUND where a node has forgotten what it executed after `height`. */
async function requireWhole(source: SuiSource, height: number, options: ReadOptions): Promise<void> {
  const { response } = await source.ask(({ ledger }, call) => ledger.getServiceInfo({}, call), options);
  const { lowestAvailableCheckpoint } = response;
  if (lowestAvailableCheckpoint === undefined || lowestAvailableCheckpoint > BigInt(height) + 1n)
    throw readerError('BLOCK_NOT_FOUND', 'the node has not kept all that may hold it', {
      source: source.label,
      height,
      lowest: `${lowestAvailableCheckpoint}`,
    });
}

/** The first two checkpoints of the epoch after the last that counts. BLOCK_NOT_FOUND while there are none. */
async function readEnd(
  source: SuiSource,
  untilEpoch: number,
  options: ReadOptions,
): Promise<readonly [BlockHeader, BlockHeader]> {
  const next = untilEpoch + 1;
  const { response } = await source.ask(
    ({ ledger }, call) =>
      ledger.getEpoch({ epoch: BigInt(next), readMask: { paths: ['epoch', 'first_checkpoint'] } }, call),
    options,
  );
  const { epoch, firstCheckpoint } = response.epoch ?? {};
  if (epoch !== BigInt(next) || firstCheckpoint === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'another epoch than asked for', { source: source.label, next });
  const height = Number(firstCheckpoint);
  const [first, second] = [
    await readHeader(source, options, height),
    await readHeader(source, options, height + 1),
  ];
  if (first.epoch !== next || second.parentHash !== first.hash)
    throw readerError('INCONSISTENT_ANSWER', 'not the first checkpoints of an epoch', {
      source: source.label,
      height,
    });
  return [plainHeader(first), plainHeader(second)];
}
