import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { AgreementOptions, ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { askTwoSources } from '../ask-two-sources.ts';
import { blockRequest, hexQuantity } from '../block-requests.ts';
import { decodeHeader, decodeInteger } from '../decode.ts';
import type { EvmSource, EvmSources } from '../sources.ts';
import { askSomeSources } from './ask-some-sources.ts';

type Block = Pick<BlockHeader, 'height' | 'hash'>;

/** See WalletSender.latestCount. */
export async function readLatestCount(
  sources: EvmSources,
  wallet: Address,
  options: ReadOptions,
): Promise<number> {
  const said = await askSomeSources(
    sources,
    sources.witnesses().length,
    async (source, own) => {
      const [raw] = await source.batch([countRequest(wallet, 'latest')], own);
      return decodeInteger(raw, 'a count of transactions');
    },
    options,
  );
  return Math.max(...said.map(({ answer }) => answer));
}

/** See WalletSender.countAt. `onAlone` is told when one source of several is believed alone. */
export async function readCountAt(
  sources: EvmSources,
  wallet: Address,
  block: Block,
  onAlone: (source: EvmSource) => void,
  { neverAlone, ...options }: AgreementOptions,
): Promise<number> {
  const ask = (source: EvmSource, own: ReadOptions): Promise<number> => countOf(source, wallet, block, own);
  const { height } = block;
  const [first, second] = await askTwoSources(sources, { ask, height, onAlone, neverAlone }, options);
  if (second === undefined || first.answer === second.answer) return first.answer;
  throw readerError('INCONSISTENT_ANSWER', 'two sources count the transactions of a wallet differently', {
    wallet,
    height,
    sources: [first.source.label, second.source.label],
    counts: [first.answer, second.answer],
  });
}

/** By the block's hash (EIP-1898); where a node knows no such form, by its height, looking at the hash afterwards. */
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

/** `block` may be a tag: latest, pending. */
export function countRequest(
  wallet: Address,
  block: string | { readonly blockHash: string; readonly requireCanonical: boolean },
): { readonly method: string; readonly params: readonly unknown[] } {
  return { method: 'eth_getTransactionCount', params: [wallet, block] };
}
