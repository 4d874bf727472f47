import type { BlockHeader, HeaderRaw, Transaction, TransactionInfo } from '../protobuf/messages.ts';
import { encodeMessage } from '../protobuf/wire.ts';
import type { UndoLog } from '../state/state.ts';
import { addressOfKey, hex } from '../tron-address.ts';
import { signHash } from './signature.ts';
import { sha256 } from '../sha256.ts';

/** Stores transactions and infos encoded, in a fifth of the memory. */
export interface Block {
  readonly number: number;
  /** 64 hex digits; the first 16 encode the number. */
  readonly id: string;
  readonly parentId: string;
  readonly timestampMs: number;
  readonly header: BlockHeader;
  readonly transactions: readonly BlockTransaction[];
  /** State values that the block replaced. Undefined once the block is solidified. */
  undo: UndoLog | undefined;
}

export interface BlockTransaction {
  readonly id: string;
  /** Protobuf, with `ret`. */
  readonly transaction: Uint8Array;
  readonly info: Uint8Array;
}

export interface ExecutedTransaction {
  readonly id: string;
  readonly transaction: Transaction;
  readonly info: TransactionInfo;
}

export interface Producer {
  readonly privateKey: Uint8Array;
  readonly address: Uint8Array;
}

const PRODUCERS_MAX = 27;
const BLOCK_VERSION = 32;
/** Parent hash of Mainnet's genesis block. */
const GENESIS_PARENT = 'e58f33f9baf9305dc6f82b9f1934ea8f0ade2defb951258d50167028c780351f';

/** As many keys as give this lag: java-tron solidifies a block after 70 % of the producers built on it. */
export function createProducers(seed: string, solidLagBlocks: number): readonly [Producer, ...Producer[]] {
  let count = 1;
  while (count < PRODUCERS_MAX && count - Math.floor((3 * (count + 1)) / 10) <= solidLagBlocks) count += 1;
  const create = (index: number): Producer => {
    const privateKey = sha256(Buffer.from(`${seed} block producer ${index}`));
    return { privateKey, address: addressOfKey(privateKey) };
  };
  return [create(0), ...Array.from({ length: count - 1 }, (_, index) => create(index + 1))];
}

/** Has timestamp 0, so that its id, which identifies the chain, depends only on the seed. */
export function createGenesisBlock(producer: Producer): Omit<Block, 'undo'> {
  return sealBlock({ number: 0, parentId: GENESIS_PARENT, timestampMs: 0, producer, executed: [] });
}

/** Signs a block. The block id is the header's hash with the number as first eight bytes. */
export function sealBlock(content: {
  readonly number: number;
  readonly parentId: string;
  readonly timestampMs: number;
  readonly producer: Producer;
  readonly executed: readonly ExecutedTransaction[];
}): Omit<Block, 'undo'> {
  const { number, parentId, timestampMs, producer } = content;
  const transactions = content.executed.map(({ id, transaction, info }) => ({
    id,
    transaction: encodeMessage('Transaction', transaction),
    info: encodeMessage('TransactionInfo', info),
  }));
  const raw: HeaderRaw = {
    timestamp: BigInt(timestampMs),
    txTrieRoot: merkleRoot(transactions.map(({ transaction }) => sha256(transaction))),
    parentHash: new Uint8Array(Buffer.from(parentId, 'hex')),
    number: BigInt(number),
    witness_address: producer.address,
    version: BLOCK_VERSION,
  };
  const hash = sha256(encodeMessage('HeaderRaw', raw));
  const header = { raw_data: raw, witness_signature: signHash(hash, producer.privateKey) };
  const id = number.toString(16).padStart(16, '0') + hex(hash).slice(16);
  return { number, id, parentId, timestampMs, header, transactions };
}

function merkleRoot(hashes: readonly Uint8Array[]): Uint8Array {
  let level = hashes;
  while (level.length > 1) {
    const next: Uint8Array[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [level[index], level[index + 1]];
      if (left) next.push(right ? sha256(Buffer.concat([left, right])) : left);
    }
    level = next;
  }
  return level[0] ?? new Uint8Array(32);
}
