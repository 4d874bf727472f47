import type { Address } from '@opentill/chain/address-codec';
import { senderError } from '@opentill/chain/sender-error';
import { canSignFor, type SignerBackend } from '@opentill/chain/signer-backend';
import type { FeeTerms, PaymentIntent, SignedTransaction, StoredClaim } from '@opentill/chain/wallet-sender';
import { Signature } from 'ethers/crypto';
import { Transaction } from 'ethers/transaction';
import type { EvmCall } from './encode-payment.ts';
import { cancelOf, encodePayment, TRANSFER_SELECTOR } from './encode-payment.ts';
import type { FeeBounds } from './fee-bounds.ts';
import { isWithinBounds } from './fee-bounds.ts';
import type { ReadTransaction } from './read-signed-transaction.ts';
import { readSignedTransaction } from './read-signed-transaction.ts';

export interface SigningDeps {
  readonly chainId: number;
  readonly bounds: FeeBounds;
  readonly backend: SignerBackend;
}

/** EIP-7825: the maximum of a transaction (2^24). */
export const GAS_LIMIT_MAX = 16_777_216n;
const SIGNATURE_BYTES = 65;
const ADDRESS_GRAMMAR = /^0x(?!0{40})[0-9a-f]{40}$/;
const WORD_DIGITS = 64;
const UINT256_END = 1n << 256n;

/** Without an intent it is a cancel. */
export interface AskedTransaction {
  readonly chainId: number;
  readonly from: Address;
  readonly nonce: number;
  readonly terms: FeeTerms;
  readonly intent: PaymentIntent | null;
}

export async function signPayment(
  deps: SigningDeps,
  intent: PaymentIntent,
  nonce: number,
  terms: FeeTerms,
): Promise<SignedTransaction> {
  const { from, to, contract, amountBaseUnits } = intent;
  if (!ADDRESS_GRAMMAR.test(to) || (contract !== null && !ADDRESS_GRAMMAR.test(contract)))
    throw senderError('INTENT_INVALID', 'not an address that may be paid', { to, contract });
  if (intent.resource !== undefined)
    throw senderError('INTENT_INVALID', 'energy cannot be lent on this chain', { resource: intent.resource });
  if (amountBaseUnits <= 0n || amountBaseUnits >= UINT256_END)
    throw senderError('INTENT_INVALID', 'not an amount that may be paid', { amount: `${amountBaseUnits}` });
  const asked = { chainId: deps.chainId, from, nonce, terms, intent };
  return signCall(deps, asked, encodePayment(intent));
}

export async function signNothing(
  deps: SigningDeps,
  wallet: Address,
  nonce: number,
  terms: FeeTerms,
): Promise<SignedTransaction> {
  const asked = { chainId: deps.chainId, from: wallet, nonce, terms, intent: null };
  return signCall(deps, asked, cancelOf(wallet));
}

async function signCall(
  { bounds, backend }: SigningDeps,
  asked: AskedTransaction,
  { to, valueWei: value, data }: EvmCall,
): Promise<SignedTransaction> {
  const { chainId, from, nonce, terms } = asked;
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = terms;
  if (!canSignFor(backend, from))
    throw senderError('WALLET_UNKNOWN', 'the signer has no key of this wallet', { wallet: from });
  if (!Number.isSafeInteger(nonce) || nonce < 0)
    throw senderError('INTENT_INVALID', 'not a nonce', { nonce });
  const fees = { gasLimit, maxFeePerGas, maxPriorityFeePerGas };
  if (gasLimit <= 0n || gasLimit > GAS_LIMIT_MAX || !isWithinBounds(terms, bounds)) {
    const context = Object.fromEntries(Object.entries(fees).map(([name, value]) => [name, `${value}`]));
    throw senderError('INTENT_INVALID', 'the gas or its prices are out of their bounds', context);
  }
  const transaction = Transaction.from({ type: 2, chainId, nonce, to, value, data, ...fees });
  const digest = Buffer.from(transaction.unsignedHash.slice(2), 'hex');
  const raw = serialise(transaction, await backend.sign(from, digest), from);
  const read = readAgain(raw, from);
  const difference = differenceBetween(asked, read);
  if (difference !== undefined) throw signedOtherwise(difference, from);
  return { txHash: read.txHash, raw, nonce, terms };
}

function serialise(transaction: Transaction, signature: Uint8Array, from: Address): Uint8Array {
  const [parity] = signature.subarray(SIGNATURE_BYTES - 1);
  if (signature.length !== SIGNATURE_BYTES || (parity !== 0 && parity !== 1))
    throw signedOtherwise('signature', from);
  const hex = Buffer.from(signature).toString('hex');
  try {
    transaction.signature = Signature.from({
      r: `0x${hex.slice(0, WORD_DIGITS)}`,
      s: `0x${hex.slice(WORD_DIGITS, 2 * WORD_DIGITS)}`,
      yParity: parity,
    });
    return Buffer.from(transaction.serialized.slice(2), 'hex');
  } catch {
    // The error of ethers contains its input, which must not reach a log.
    throw signedOtherwise('signature', from);
  }
}

function readAgain(raw: Uint8Array, from: Address): ReadTransaction {
  try {
    return readSignedTransaction(raw);
  } catch (cause) {
    throw signedOtherwise('encoding', from, cause);
  }
}

export function differenceOfStored(
  chainId: number,
  { txHash, raw }: Pick<SignedTransaction, 'txHash' | 'raw'>,
  { wallet, nonce, terms, intent }: StoredClaim,
): string | undefined {
  let read: ReadTransaction;
  try {
    read = readSignedTransaction(raw);
  } catch {
    return 'encoding';
  }
  if (read.txHash !== txHash) return 'txHash';
  return differenceBetween({ chainId, from: wallet, nonce, terms, intent }, read);
}

export function differenceBetween(asked: AskedTransaction, read: ReadTransaction): string | undefined {
  const { from, intent, terms } = asked;
  if (read.from !== from) return 'from';
  if (read.chainId !== BigInt(asked.chainId)) return 'chainId';
  if (read.nonce !== BigInt(asked.nonce)) return 'nonce';
  const fees = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const;
  const fee = fees.find((field) => read[field] !== terms[field]);
  if (fee !== undefined) return fee;
  if (intent !== null) return differenceFrom(intent, read);
  if (read.to !== from) return 'to';
  if (read.valueWei !== 0n) return 'amount';
  return read.data === '0x' ? undefined : 'data';
}

function differenceFrom(intent: PaymentIntent, read: ReadTransaction): string | undefined {
  const { from, contract, to, amountBaseUnits } = intent;
  if (read.from !== from) return 'from';
  if (contract === null) {
    if (read.to !== to) return 'to';
    if (read.valueWei !== amountBaseUnits) return 'amount';
    return read.data === '0x' ? undefined : 'data';
  }
  if ((read.to as string) !== contract) return 'contract';
  if (read.valueWei !== 0n) return 'value';
  if (read.data.length !== TRANSFER_SELECTOR.length + 2 * WORD_DIGITS) return 'data';
  if (!read.data.startsWith(TRANSFER_SELECTOR)) return 'selector';
  const receiver = read.data.slice(TRANSFER_SELECTOR.length, -WORD_DIGITS);
  if (receiver !== to.slice(2).padStart(WORD_DIGITS, '0')) return 'to';
  return BigInt(`0x${read.data.slice(-WORD_DIGITS)}`) === amountBaseUnits ? undefined : 'amount';
}

function signedOtherwise(field: string, wallet: Address, cause?: unknown): Error {
  const why = 'the signed bytes differ from the request and were discarded';
  return senderError('SIGNED_OTHERWISE', why, { field, wallet }, cause);
}
