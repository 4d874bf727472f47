import { hash } from 'node:crypto';
import { readerError } from '@opentill/chain/reader-error';
import { listIn, malformed, objectIn, type Raw } from './node-value.ts';
import type { TronTransaction } from './decode-block.ts';
import { readSignedContract, TRANSFER_CONTRACT, type SignedContract } from './protobuf/signed-contract.ts';
import { encodeWhole } from './protobuf/whole-transaction.ts';

const HASH_BYTES = 32;

/**
 * The header must prove the transactions of the block, otherwise INCONSISTENT_ANSWER. Each id must be the hash of the
 * signed bytes, and the root in the header that of all transactions. So none can be missing or have another outcome.
 * Owner, receiver and amount must match the signed bytes. The caller must have checked the header's id.
 *
 * Also throws if a result has a field of an unknown kind (see encodeWhole): otherwise a node could avoid the proof by
 * inventing one.
 */
export function requireProven(raw: unknown, decoded: readonly TronTransaction[]): void {
  const block = objectIn(raw, 'block');
  const transactions = listIn(block['transactions'], 'transactions');
  const leaves = Buffer.alloc(transactions.length * HASH_BYTES);
  for (const [place, one] of transactions.entries()) {
    const transaction = objectIn(one, 'transaction');
    const whole = encodeWhole(transaction) ?? unprovable(transaction);
    if (hash('sha256', whole.rawBytes, 'hex') !== transaction['txID'])
      return malformed('txID', transaction['txID']);
    const signed = readSignedContract(whole.rawBytes);
    const its = decoded[place];
    if (signed === undefined || its === undefined || !matchesSigned(its, signed))
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
    'a transaction has a result of an unknown kind, so a single source cannot prove its block. A second source must confirm it.',
    { txHash: txID },
  );
}

/** A node returns the decoded fields separately from the signed bytes. */
function matchesSigned(
  { type, ownerHex, trx }: TronTransaction,
  { type: number, hasOwner, ownerHex: signer, trx: moved }: SignedContract,
): boolean {
  if (hasOwner && ownerHex !== signer) return false;
  if ((type === 'TransferContract') !== (number === TRANSFER_CONTRACT)) return false;
  return trx?.toHex === moved?.toHex && trx?.sun === moved?.sun;
}

/**
 * Pairs are hashed, the last of an odd number is taken unchanged (java-tron capsule/utils/MerkleTree). Overwrites
 * `hashes`.
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
