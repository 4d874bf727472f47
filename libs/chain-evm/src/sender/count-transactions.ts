import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { AgreementOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { blockRequest, hexQuantity } from '../block-requests.ts';
import { decodeHeader, decodeInteger } from '../decode.ts';
import type { EvmSource, EvmSources } from '../sources.ts';
import { askSomeSources } from './ask-some-sources.ts';
import type { CountClaims } from './count-claims.ts';

type Block = Pick<BlockHeader, 'height' | 'hash'>;

/** Maximum plausible lead of a source over the others. */
const LEAD_MAX_BLOCKS = 64;
/** Nodes behind one URL may lag behind the head that one of them reports. */
const SLACK_BLOCKS = 32;

export async function readLatestCount(
  sources: EvmSources,
  claims: CountClaims,
  wallet: Address,
  options: ReadOptions,
): Promise<number> {
  const received = await askSomeSources(
    sources,
    sources.quorumSources().length,
    async (source, own) => {
      const [raw] = await source.batch([countRequest(wallet, 'latest')], own);
      return decodeInteger(raw, 'a count of transactions');
    },
    options,
  );
  const [most, second] = received.toSorted((a, b) => b.answer - a.answer);
  if (most === undefined) throw new TypeError('no source answered');
  if (second === undefined || second.answer === most.answer) return most.answer;
  await recordClaim(claims, wallet, most, received, options);
  const trusted = received.filter(({ source }) => claims.isTrusted(source));
  // A count that two sources report is accepted, even from ignored ones.
  return Math.max(second.answer, ...trusted.map(({ answer }) => answer));
}

/** Stores the claim with the block by which it must be confirmed. */
async function recordClaim(
  claims: CountClaims,
  wallet: Address,
  { source, answer: count }: SourceAnswer<EvmSource, number>,
  received: readonly SourceAnswer<EvmSource, number>[],
  options: ReadOptions,
): Promise<void> {
  if (!claims.isTrusted(source) || claims.isOpen(wallet, source)) return;
  // Requested after the counts, so everything counted is at or below this head.
  const heads = await Promise.all(received.map((one) => headOf(one.source, options)));
  const own = heads[received.findIndex((one) => one.source === source)];
  const others = heads.filter((head, place) => head !== undefined && received[place]?.source !== source);
  if (others.length === 0) return;
  const plausible = Math.max(...others.map(Number)) + LEAD_MAX_BLOCKS;
  claims.note(wallet, source, { count, height: Math.min(own ?? plausible, plausible) + SLACK_BLOCKS });
}

async function headOf(source: EvmSource, options: ReadOptions): Promise<number | undefined> {
  try {
    const [raw] = await source.batch([{ method: 'eth_blockNumber', params: [] }], options);
    return decodeInteger(raw, 'the number of a block');
  } catch (error) {
    if (options.signal?.aborted === true) throw error;
    return undefined;
  }
}

/** Where two sources differ, a third decides. `onSingleSource`: a single source of several was accepted. */
export async function readCountAt(
  sources: EvmSources,
  {
    claims,
    onSingleSource,
  }: { readonly claims: CountClaims; readonly onSingleSource: (source: EvmSource) => void },
  wallet: Address,
  block: Block,
  { requireTwoSources, ...options }: AgreementOptions,
): Promise<number> {
  const ask = (source: EvmSource, own: ReadOptions): Promise<number> => countOf(source, wallet, block, own);
  const { height } = block;
  const [first, second] = await askTwoSources(
    sources,
    { ask, height, onSingleSource, requireTwoSources },
    options,
  );
  if (second === undefined) return first.answer;
  if (first.answer === second.answer) {
    claims.settle(wallet, first.answer, height);
    return first.answer;
  }
  const right = await findRight(sources, [first, second], ask, options);
  if (right === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'two sources count the transactions of a wallet differently', {
      wallet,
      height,
      sources: [first.source.label, second.source.label],
      counts: [first.answer, second.answer],
    });
  const wrong = right === first ? second : first;
  claims.refute(wallet, wrong.source, wrong.answer, right.answer, height);
  claims.settle(wallet, right.answer, height);
  return right.answer;
}

async function findRight(
  sources: EvmSources,
  two: readonly SourceAnswer<EvmSource, number>[],
  ask: (source: EvmSource, options: ReadOptions) => Promise<number>,
  options: ReadOptions,
): Promise<SourceAnswer<EvmSource, number> | undefined> {
  for (const source of sources.quorumSources()) {
    if (two.some((one) => one.source === source)) continue;
    try {
      const answer = await ask(source, options);
      const right = two.find((one) => one.answer === answer);
      if (right !== undefined) return right;
    } catch (error) {
      if (options.signal?.aborted === true) throw error;
      sources.noteFault(source, error);
    }
  }
  return undefined;
}

/** Asks by the block's hash (EIP-1898), or by height with a check of the hash if the node does not support that. */
async function countOf(
  source: EvmSource,
  wallet: Address,
  { height, hash }: Block,
  options: ReadOptions,
): Promise<number> {
  const byHash = countRequest(wallet, { blockHash: hash, requireCanonical: true });
  const [counted] = await source.batch([{ ...byHash, mayBeRefused: true }], options);
  if (!(counted instanceof GatewayError)) return decodeInteger(counted, 'a count of transactions');
  if (!isReaderError(counted, 'RPC_REFUSED') && !isReaderError(counted, 'BLOCK_NOT_FOUND')) throw counted;
  const [byHeight, raw] = await source.batch(
    [countRequest(wallet, hexQuantity(height)), blockRequest(height)],
    options,
  );
  if (raw === null) throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height });
  const found = decodeHeader(raw);
  if (found.hash !== hash || found.height !== height)
    throw readerError('INCONSISTENT_ANSWER', 'the node has another block at this height', { height, hash });
  return decodeInteger(byHeight, 'a count of transactions');
}

export function countRequest(
  wallet: Address,
  block: string | { readonly blockHash: string; readonly requireCanonical: boolean },
): { readonly method: string; readonly params: readonly unknown[] } {
  return { method: 'eth_getTransactionCount', params: [wallet, block] };
}
