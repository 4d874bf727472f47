import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { Raw } from './node-value.ts';
import { blockIdOf, heightDigits } from './protobuf/header.ts';
import { countIn, hashIn, isNothing, listIn, malformed, objectIn, sunIn } from './node-value.ts';

export interface TronHeader extends BlockHeader {
  readonly timeMs: number;
}

export interface CarriedTrx {
  readonly toHex: string;
  readonly sun: bigint;
}

/** Addresses stay in hex: few of a block's hundreds are needed, and each conversion to base58 takes two hashes. */
export interface TronTransaction {
  readonly txHash: TxHash;
  /** SUCCESS, REVERT, OUT_OF_ENERGY …; undefined if the node omits it. */
  readonly contractRet: string | undefined;
  readonly type: string;
  /** Signed the transaction: 42 digits that begin with 41. Undefined if the node returns another form. */
  readonly ownerHex: string | undefined;
  readonly trx: CarriedTrx | undefined;
}

const HEX_ADDRESS = /^41[0-9a-f]{40}$/;
const EMPTY_ROOT = '0'.repeat(64);

/**
 * BLOCK_NOT_FOUND for the empty answer. INCONSISTENT_ANSWER unless the id is computed from this header and the parent's
 * id begins with the height before: ids that link blocks also protect their times. The id of block 0 is compared with
 * the configured one.
 */
export function decodeHeader(raw: unknown, asked?: number): TronHeader {
  if (isNothing(raw))
    throw readerError('BLOCK_NOT_FOUND', 'the node does not have the block', { height: asked ?? null });
  const block = objectIn(raw, 'block');
  const hash = hashIn(block['blockID'], 'blockID');
  const data = objectIn(objectIn(block['block_header'], 'block_header')['raw_data'], 'block_header.raw_data');
  const height = countIn(data['number'], 'number');
  const timeMs = countIn(data['timestamp'], 'timestamp');
  const parentHash = hashIn(data['parentHash'], 'parentHash');
  const isLinked = height === 0 || parentHash.startsWith(heightDigits(height - 1));
  if (!hash.startsWith(heightDigits(height)) || !isLinked)
    throw readerError('INCONSISTENT_ANSWER', "a block's id does not begin with its height", { height, hash });
  if (height > 0 && blockIdOf(data, height) !== hash)
    throw readerError('INCONSISTENT_ANSWER', "a block's id does not match its header", { height, hash });
  if (asked !== undefined && height !== asked)
    throw readerError('INCONSISTENT_ANSWER', 'the node returned another block', {
      height: asked,
      answered: height,
    });
  return {
    height,
    hash: hash as BlockHash,
    parentHash: parentHash as BlockHash,
    timeSeconds: Math.floor(timeMs / 1_000),
    timeMs,
  };
}

export function plainHeader({ height, hash, parentHash, timeSeconds }: TronHeader): BlockHeader {
  return { height, hash, parentHash, timeSeconds };
}

export function decodeTransactions(raw: unknown): readonly TronTransaction[] {
  return listIn(objectIn(raw, 'block')['transactions'], 'transactions').map((one) => decodeTransaction(one));
}

/** Nodes write a root of zeros only into a block without transactions. */
export function hasEmptyRoot(raw: unknown): boolean {
  const data = objectIn(objectIn(raw, 'block')['block_header'], 'block_header')['raw_data'];
  return objectIn(data, 'block_header.raw_data')['txTrieRoot'] === EMPTY_ROOT;
}

export function decodeTransaction(raw: unknown): TronTransaction {
  const transaction = objectIn(raw, 'transaction');
  const txHash = hashIn(transaction['txID'], 'txID') as TxHash;
  const contracts = listIn(objectIn(transaction['raw_data'], 'raw_data')['contract'], 'contract');
  const [only] = contracts;
  if (contracts.length !== 1) return malformed('contract', contracts.length);
  const contract = objectIn(only, 'contract');
  const { type } = contract;
  if (typeof type !== 'string') return malformed('contract.type', type);
  const [ret] = listIn(transaction['ret'], 'ret');
  const contractRet = ret === undefined ? undefined : objectIn(ret, 'ret')['contractRet'];
  if (contractRet !== undefined && typeof contractRet !== 'string')
    return malformed('contractRet', contractRet);
  const ownerHex = ownerHexOf(contract);
  const trx = type === 'TransferContract' ? carriedBy(contract, ownerHex) : undefined;
  return { txHash, contractRet, type, ownerHex, trx };
}

/** Needed for own transactions only, so a malformed owner in others must not fail the block. */
function ownerHexOf(contract: Raw): string | undefined {
  const { parameter } = contract;
  if (typeof parameter !== 'object' || parameter === null || !('value' in parameter)) return undefined;
  const { value } = parameter;
  if (typeof value !== 'object' || value === null || !('owner_address' in value)) return undefined;
  const { owner_address: owner } = value;
  return typeof owner === 'string' && HEX_ADDRESS.test(owner) ? owner : undefined;
}

function carriedBy(contract: Raw, ownerHex: string | undefined): CarriedTrx {
  const value = objectIn(objectIn(contract['parameter'], 'parameter')['value'], 'parameter.value');
  if (ownerHex === undefined) return malformed('owner_address', value['owner_address']);
  const { to_address: toHex } = value;
  if (typeof toHex !== 'string' || !HEX_ADDRESS.test(toHex)) return malformed('to_address', toHex);
  return { toHex, sun: sunIn(value['amount'], 'amount') };
}
