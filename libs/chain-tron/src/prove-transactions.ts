import { hash } from 'node:crypto';
import { readerError } from '@opentill/chain/reader-error';
import { listIn, malformed, objectIn, type Raw } from './node-value.ts';
import type { TronTransaction } from './decode-block.ts';
import { readSignedContract, TRANSFER_CONTRACT, type SignedContract } from './protobuf/signed-contract.ts';
import { encodeWhole } from './protobuf/whole-transaction.ts';

const HASH_BYTES = 32;

/**
 * Throws INCONSISTENT_ANSWER unless the transactions of a block are those, and all, that its header names: each id is the hash of
 * what was signed, and the root in the header that of all transactions, so that one cannot be left out, nor told with another outcome;
 * and owner, receiver and amount are told as they were signed. The header's id must have been checked. It throws as well where a
 * transaction is told with a field of a result that nothing is known of here (see encodeWhole): a node that makes one up would
 * otherwise have no transaction of the block held against anything.
 */
export function mustBeProven(raw: unknown, told: readonly TronTransaction[]): void {
  const block = objectIn(raw, 'block');
  const transactions = listIn(block['transactions'], 'transactions');
  const leaves = Buffer.alloc(transactions.length * HASH_BYTES);
  for (const [place, one] of transactions.entries()) {
    const transaction = objectIn(one, 'transaction');
    const whole = encodeWhole(transaction) ?? unprovable(transaction);
    if (hash('sha256', whole.rawBytes, 'hex') !== transaction['txID'])
      return malformed('txID', transaction['txID']);
    const signed = readSignedContract(whole.rawBytes);
    const its = told[place];
    if (signed === undefined || its === undefined || !isToldAsSigned(its, signed))
      return malformed('raw_data', its?.txHash);
    leaves.write(hash('sha256', whole.bytes, 'hex'), place * HASH_BYTES, 'hex');
  }
  const header = objectIn(block['block_header'], 'block_header');
  const { txTrieRoot } = objectIn(header['raw_data'], 'block_header.raw_data');
  if (rootOf(leaves) !== txTrieRoot) malformed('txTrieRoot', txTrieRoot);
}

function unprovable({ txID }: Raw): never {
  throw readerError(
    'INCONSISTENT_ANSWER',
    'a node alone tells a transaction with a result of a kind that is not known here: only a second node can vouch for its block',
    { txHash: txID },
  );
}

/** What stands beside the bytes that were signed is told in a node's own words. */
function isToldAsSigned(
  { type, ownerHex, trx }: TronTransaction,
  { type: number, hasOwner, ownerHex: signer, trx: moved }: SignedContract,
): boolean {
  if (hasOwner && ownerHex !== signer) return false;
  if ((type === 'TransferContract') !== (number === TRANSFER_CONTRACT)) return false;
  return trx?.toHex === moved?.toHex && trx?.sun === moved?.sun;
}

/**
 * The root, in hex, of the tree over these hashes, one behind the other, which are overwritten: two and two by SHA-256, the last of
 * an odd number as it is (java-tron's capsule/utils/MerkleTree); zeros where there are none.
 */
export function rootOf(hashes: Buffer): string {
  let count = hashes.length / HASH_BYTES;
  if (count === 0) return '0'.repeat(2 * HASH_BYTES);
  for (; count > 1; count = Math.ceil(count / 2)) {
    for (let left = 0; left < count; left += 2) {
      const [from, to] = [left * HASH_BYTES, (left / 2) * HASH_BYTES];
      if (left + 1 === count) hashes.copyWithin(to, from, from + HASH_BYTES);
      else hashes.write(hash('sha256', hashes.subarray(from, from + 2 * HASH_BYTES), 'hex'), to, 'hex');
    }
  }
  return hashes.toString('hex', 0, HASH_BYTES);
}
