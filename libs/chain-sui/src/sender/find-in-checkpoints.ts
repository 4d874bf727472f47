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
  readonly untilEpoch?: number;
}

export interface SingleSourcePolicy {
  readonly onSingleSource: (source: { readonly label: string }) => void;
  /** For test networks with one configured source. */
  readonly acceptsSingleSource: boolean;
}

/** Checkpoints searched for a transaction that the node must know. Each has at least one of the chain's own. */
const CANARY_CHECKPOINTS = 8;
const FOUND_PATHS = ['digest'];
const CONTENTS_MASK = { paths: ['transactions.digest'] };

/**
 * Full nodes index every executed transaction and report their oldest available checkpoint. Two nodes that have
 * executed the whole stretch, and have pruned none of it, are asked for the transactions.
 *
 * Their agreement is not enough: both could hide a transaction. The caller asks only after the own scan has proven
 * every checkpoint of the stretch. Each request also contains transactions of the node's own checkpoints: a node that
 * does not know those has lost its index, and its answer is rejected.
 */
export async function findInCheckpoints(
  sources: SuiSources,
  txHashes: readonly TxHash[],
  stretch: Stretch,
  { onSingleSource, acceptsSingleSource }: SingleSourcePolicy,
  options: ReadOptions,
): Promise<BlocksSearched> {
  const { untilEpoch } = stretch;
  if (untilEpoch === undefined) throw new TypeError('a SUI transaction needs untilEpoch');
  if (!acceptsSingleSource && sources.all().length < 2)
    throw readerError(
      'RPC_UNAVAILABLE',
      'a single source cannot prove a transaction dead on a main network. Configure another source.',
      {},
    );
  const [first, second] = await askTwoSources(
    sources,
    {
      ask: (source, own) => search(source, txHashes, stretch.after, untilEpoch, own),
      height: undefined,
      onSingleSource,
      requireTwoSources: true,
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
      throw readerError('INCONSISTENT_ANSWER', 'two sources return different checkpoints or transactions', {
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
    throw readerError('INCONSISTENT_ANSWER', 'the node has another checkpoint in place of a verified one', {
      source: source.label,
      height: reference,
    });
  // Before the search: the node has then executed every checkpoint that may hold one of the transactions.
  const end = await readEnd(source, untilEpoch, options);
  const canaries = new Set([
    ...(await chooseCanaries(source, reference, options)),
    ...(await chooseCanaries(source, end[1].height, options)),
  ]);
  const found = new Set<TxHash>();
  const atOnce = TRANSACTIONS_PER_CALL - canaries.size;
  for (let from = 0; from < txHashes.length; from += atOnce) {
    const some = txHashes.slice(from, from + atOnce);
    // In one call, so that one node answers it.
    const asked = [...new Set([...canaries, ...some])];
    const answered = await readTransactions(source, asked, options, FOUND_PATHS);
    const known = new Set(asked.filter((_, place) => answered[place] !== undefined));
    // In each answer: another node behind the same URL may have given it.
    const unknown = [...canaries].filter((digest) => !known.has(digest));
    if (unknown.length > 0)
      throw readerError('INCONSISTENT_ANSWER', 'the node does not know transactions of its own checkpoints', {
        source: source.label,
        txHashes: unknown,
      });
    for (const txHash of some) if (known.has(txHash)) found.add(txHash);
  }
  // A node that pruned during the search may have missed one.
  await requireWhole(source, reference, options);
  return { found, end };
}

/** Chooses from the checkpoint, or the next one that has any transaction. */
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
  throw readerError('INCONSISTENT_ANSWER', 'the checkpoints have no transactions', {
    source: source.label,
    height,
  });
}

async function requireWhole(source: SuiSource, height: number, options: ReadOptions): Promise<void> {
  const { response } = await source.ask(({ ledger }, call) => ledger.getServiceInfo({}, call), options);
  const { lowestAvailableCheckpoint } = response;
  if (lowestAvailableCheckpoint === undefined || lowestAvailableCheckpoint > BigInt(height) + 1n)
    throw readerError('BLOCK_NOT_FOUND', 'the node has pruned checkpoints that may hold the transaction', {
      source: source.label,
      height,
      lowest: `${lowestAvailableCheckpoint}`,
    });
}

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
    throw readerError('INCONSISTENT_ANSWER', 'the node returned another epoch than requested', {
      source: source.label,
      next,
    });
  const height = Number(firstCheckpoint);
  const [first, second] = [
    await readHeader(source, options, height),
    await readHeader(source, options, height + 1),
  ];
  if (first.epoch !== next || second.parentHash !== first.hash)
    throw readerError('INCONSISTENT_ANSWER', 'these are not the first checkpoints of the epoch', {
      source: source.label,
      height,
    });
  return [plainHeader(first), plainHeader(second)];
}
