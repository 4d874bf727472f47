import type { Address } from '@opentill/chain/address-codec';
import { senderError } from '@opentill/chain/sender-error';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { FeeTerms, PaymentIntent, SignedTransaction } from '@opentill/chain/wallet-sender';
import { Signature } from 'ethers/crypto';
import { Transaction } from 'ethers/transaction';
import type { EvmCall } from './encode-payment.ts';
import { encodePayment, TRANSFER_SELECTOR } from './encode-payment.ts';
import type { FeeBounds } from './fee-bounds.ts';
import { isWithinBounds } from './fee-bounds.ts';
import type { ReadTransaction } from './read-signed-transaction.ts';
import { readSignedTransaction } from './read-signed-transaction.ts';

export interface SigningDeps {
  readonly chainId: number;
  readonly bounds: FeeBounds;
  readonly backend: SignerBackend;
}

/** EIP-7825: no transaction may ask for more (2^24). */
export const GAS_LIMIT_MAX = 16_777_216n;
const SIGNATURE_BYTES = 65;
const ADDRESS_GRAMMAR = /^0x(?!0{40})[0-9a-f]{40}$/;
const WORD_DIGITS = 64;
const UINT256_END = 1n << 256n;

/** See WalletSender.sign. */
export async function signPayment(
  deps: SigningDeps,
  intent: PaymentIntent,
  nonce: number,
  terms: FeeTerms,
): Promise<SignedTransaction> {
  const { from, to, contract, amountBaseUnits } = intent;
  if (!ADDRESS_GRAMMAR.test(to) || (contract !== null && !ADDRESS_GRAMMAR.test(contract)))
    throw senderError('INTENT_INVALID', 'not an address that may be paid', { to, contract });
  if (amountBaseUnits <= 0n || amountBaseUnits >= UINT256_END)
    throw senderError('INTENT_INVALID', 'not an amount that may be paid', { amount: `${amountBaseUnits}` });
  return signCall(deps, from, encodePayment(intent), nonce, terms, (read) => differenceFrom(intent, read));
}

/** Signs a transaction that moves no coin, from the wallet to itself. */
export async function signNothing(
  deps: SigningDeps,
  wallet: Address,
  nonce: number,
  terms: FeeTerms,
): Promise<SignedTransaction> {
  return signCall(deps, wallet, { to: wallet, valueWei: 0n, data: '0x' }, nonce, terms, (read) =>
    read.to !== wallet || read.valueWei !== 0n || read.data !== '0x' ? 'call' : undefined,
  );
}

/** Signs and reads again what was signed; `differenceIn` names what the call that was read should not be. */
async function signCall(
  { chainId, bounds, backend }: SigningDeps,
  from: Address,
  { to, valueWei: value, data }: EvmCall,
  nonce: number,
  terms: FeeTerms,
  differenceIn: (read: ReadTransaction) => string | undefined,
): Promise<SignedTransaction> {
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = terms;
  if (!backend.addresses.includes(from))
    throw senderError('WALLET_UNKNOWN', 'the signer has no key of this wallet', { wallet: from });
  if (!Number.isSafeInteger(nonce) || nonce < 0)
    throw senderError('INTENT_INVALID', 'not a nonce', { nonce });
  if (gasLimit <= 0n || gasLimit > GAS_LIMIT_MAX || !isWithinBounds(terms, bounds))
    throw senderError('INTENT_INVALID', 'fees out of their bounds', {
      gasLimit: `${gasLimit}`,
      maxFeePerGas: `${maxFeePerGas}`,
      maxPriorityFeePerGas: `${maxPriorityFeePerGas}`,
    });
  const fees = { gasLimit, maxFeePerGas, maxPriorityFeePerGas };
  const transaction = Transaction.from({ type: 2, chainId, nonce, to, value, data, ...fees });
  const digest = Buffer.from(transaction.unsignedHash.slice(2), 'hex');
  const raw = serialise(transaction, await backend.sign(from, digest), from);
  const read = readAgain(raw, from);
  const difference =
    read.from !== from
      ? 'from'
      : read.chainId !== BigInt(chainId)
        ? 'chainId'
        : read.nonce !== BigInt(nonce)
          ? 'nonce'
          : (differenceInFees(read, terms) ?? differenceIn(read));
  if (difference !== undefined) throw signedOtherwise(difference, from);
  return { txHash: read.txHash, raw, nonce, terms: fees };
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
    // ethers repeats what it was given, which belongs into no log.
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

function differenceInFees(read: ReadTransaction, terms: FeeTerms): string | undefined {
  const fields = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const;
  return fields.find((field) => read[field] !== terms[field]);
}

/** The field in which signed bytes pay otherwise than intended; undefined when they do what was intended. */
export function differenceFrom(intent: PaymentIntent, read: ReadTransaction): string | undefined {
  const { from, contract, to, amountBaseUnits } = intent;
  if (read.from !== from) return 'from';
  if (contract === null) {
    if (read.to !== to) return 'to';
    if (read.valueWei !== amountBaseUnits) return 'amount';
    return read.data === '0x' ? undefined : 'data';
  }
  if ((read.to as string) !== contract) return 'contract';
  if (read.valueWei !== 0n) return 'value';
  // transfer(address,uint256): the selector and two words, and not a byte more.
  if (read.data.length !== TRANSFER_SELECTOR.length + 2 * WORD_DIGITS) return 'data';
  if (!read.data.startsWith(TRANSFER_SELECTOR)) return 'selector';
  const receiver = read.data.slice(TRANSFER_SELECTOR.length, -WORD_DIGITS);
  if (receiver !== to.slice(2).padStart(WORD_DIGITS, '0')) return 'to';
  return BigInt(`0x${read.data.slice(-WORD_DIGITS)}`) === amountBaseUnits ? undefined : 'amount';
}

function signedOtherwise(field: string, wallet: Address, cause?: unknown): Error {
  const why = 'what was signed is not what was asked for; it is thrown away';
  return senderError('SIGNED_OTHERWISE', why, { field, wallet }, cause);
}
