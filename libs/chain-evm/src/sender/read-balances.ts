import type { Address } from '@opentill/chain/address-codec';
import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract } from '@opentill/chain/transfer';
import { blockRequest, hexQuantity } from '../block-requests.ts';
import { decodeHeader, decodeInteger, plainHeader } from '../decode.ts';
import { boundedText } from '@opentill/chain-sources/node-text';
import type { RpcRequest } from '../rpc-call.ts';
import type { EvmSource, EvmSources } from '../sources.ts';

const BALANCE_SELECTOR = '0x70a08231';
const WORD_GRAMMAR = /^0x[0-9a-fA-F]{64}$/;
const QUANTITY_GRAMMAR = /^0x[0-9a-fA-F]{1,64}$/;

export interface Balances {
  readonly block: BlockHeader;
  readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
  readonly count: number;
}

export function readBalances(
  sources: EvmSources,
  wallet: Address,
  contracts: readonly (TokenContract | null)[],
  options: ReadOptions,
): Promise<Balances> {
  return sources.run((source, own) => balancesAt(source, wallet, [...new Set(contracts)], own), options);
}

/** The newest block's hash must be unchanged after all answers. */
async function balancesAt(
  source: EvmSource,
  wallet: Address,
  contracts: readonly (TokenContract | null)[],
  options: ReadOptions,
): Promise<Balances> {
  const [latest] = await source.batch([blockRequest('latest')], options);
  const header = decodeHeader(latest);
  const height = hexQuantity(header.height);
  const requests = contracts.map((contract) => balanceRequest(wallet, contract, height));
  const countRequest: RpcRequest = { method: 'eth_getTransactionCount', params: [wallet, height] };
  const answers = await source.batch([...requests, countRequest, blockRequest(header.height)], options);
  const after = answers.at(-1);
  if (after === null || decodeHeader(after).hash !== header.hash)
    throw readerError('INCONSISTENT_ANSWER', 'the chain changed while balances were read', {
      height: header.height,
    });
  return {
    block: plainHeader(header),
    amounts: new Map(contracts.map((contract, place) => [contract, amountOf(contract, answers[place])])),
    count: decodeInteger(answers.at(-2), 'eth_getTransactionCount'),
  };
}

function balanceRequest(wallet: Address, contract: TokenContract | null, block: string): RpcRequest {
  if (contract === null) return { method: 'eth_getBalance', params: [wallet, block] };
  const data = `${BALANCE_SELECTOR}${wallet.slice(2).padStart(64, '0')}`;
  return { method: 'eth_call', params: [{ to: contract, data }, block] };
}

function amountOf(contract: TokenContract | null, raw: unknown): bigint {
  const grammar = contract === null ? QUANTITY_GRAMMAR : WORD_GRAMMAR;
  if (typeof raw === 'string' && grammar.test(raw)) return BigInt(raw);
  const sample = boundedText(JSON.stringify(raw) ?? '');
  throw readerError('INCONSISTENT_ANSWER', 'the answer for a balance is malformed', { contract, sample });
}
