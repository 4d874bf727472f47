import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { AddressOf } from './address-book.ts';
import { addressOfShortHex } from './address-codec.ts';
import type { Raw } from './node-value.ts';
import { blockIdOf, heightDigits } from './protobuf/header.ts';
import { countIn, hashIn, isNothing, listIn, malformed, objectIn, sunIn } from './node-value.ts';

export interface TronHeader extends BlockHeader {
  /** The block's own time. */
  readonly timeMs: number;
}

/** What a TransferContract carries. */
export interface CarriedTrx {
  readonly from: Address;
  readonly to: Address;
  readonly sun: bigint;
}

/** A transaction as a block or `gettransactionbyid` shows it. */
export interface TronTransaction {
  readonly txHash: TxHash;
  /** SUCCESS, REVERT, OUT_OF_ENERGY …; undefined where it is not said. */
  readonly contractRet: string | undefined;
  readonly type: string;
  /** Who signed it, and whose it is. Undefined where the node shows it otherwise than chains do. */
  readonly owner: Address | undefined;
  /** Undefined for any other type. */
  readonly trx: CarriedTrx | undefined;
}

const PREFIX = '41';
const EMPTY_ROOT = '0'.repeat(64);

/**
 * A header, of an answer with or without transactions. Throws BLOCK_NOT_FOUND for the empty answer; INCONSISTENT_ANSWER
 * unless the id is that of just this header, and the parent's begins with the height before: of a chain that ids link nobody can
 * tell another time. The id of block 0 is compared with the configured one.
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
    throw readerError('INCONSISTENT_ANSWER', "a block's ids are not of its height", { height, hash });
  if (height > 0 && blockIdOf(data, height) !== hash)
    throw readerError('INCONSISTENT_ANSWER', "a block's id is not that of its header", { height, hash });
  if (asked !== undefined && height !== asked)
    throw readerError('INCONSISTENT_ANSWER', 'the node answered another block', {
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

/** The part of a header that the port knows. */
export function plainHeader({ height, hash, parentHash, timeSeconds }: TronHeader): BlockHeader {
  return { height, hash, parentHash, timeSeconds };
}

/** The transactions of a block that was asked for with them. */
export function decodeTransactions(raw: unknown, addressOf?: AddressOf): readonly TronTransaction[] {
  return listIn(objectIn(raw, 'block')['transactions'], 'transactions').map((one) =>
    decodeTransaction(one, addressOf),
  );
}

/** Whether the header says that the block has no transactions: nodes write a root of zeros into just these. */
export function hasEmptyRoot(raw: unknown): boolean {
  const data = objectIn(objectIn(raw, 'block')['block_header'], 'block_header')['raw_data'];
  return objectIn(data, 'block_header.raw_data')['txTrieRoot'] === EMPTY_ROOT;
}

export function decodeTransaction(raw: unknown, addressOf: AddressOf = addressOfShortHex): TronTransaction {
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
  const trx = type === 'TransferContract' ? carriedBy(contract, addressOf) : undefined;
  return { txHash, contractRet, type, owner: ownerOf(contract, addressOf), trx };
}

/** Asked for of own transactions alone: what a node says of others must not fail for it. */
function ownerOf(contract: Raw, addressOf: AddressOf): Address | undefined {
  const { parameter } = contract;
  if (typeof parameter !== 'object' || parameter === null || !('value' in parameter)) return undefined;
  const { value } = parameter;
  if (typeof value !== 'object' || value === null || !('owner_address' in value)) return undefined;
  return typeof value.owner_address === 'string' ? wholeAddress(value.owner_address, addressOf) : undefined;
}

function carriedBy(contract: Raw, addressOf: AddressOf): CarriedTrx {
  const value = objectIn(objectIn(contract['parameter'], 'parameter')['value'], 'parameter.value');
  return {
    from: addressIn(value['owner_address'], 'owner_address', addressOf),
    to: addressIn(value['to_address'], 'to_address', addressOf),
    sun: sunIn(value['amount'], 'amount'),
  };
}

function addressIn(value: unknown, what: string, addressOf: AddressOf): Address {
  return (typeof value === 'string' ? wholeAddress(value, addressOf) : undefined) ?? malformed(what, value);
}

/** Of 21 bytes of hex. */
function wholeAddress(hex: string, addressOf: AddressOf): Address | undefined {
  return hex.startsWith(PREFIX) ? addressOf(hex.slice(PREFIX.length)) : undefined;
}
