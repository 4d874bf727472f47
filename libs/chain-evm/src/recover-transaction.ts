import type { Address } from '@opentill/chain/address-codec';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { FeeTerms } from '@opentill/chain/wallet-sender';
import { Signature } from 'ethers/crypto';
import { Transaction } from 'ethers/transaction';
import { readSignedTransaction, type ReadTransaction } from './sender/read-signed-transaction.ts';
import { TRANSFER_SELECTOR } from './sender/encode-payment.ts';

/** Read from the signed bytes. Only the receipt shows whether it succeeded. */
export type TransactionAim =
  | {
      readonly kind: 'PAYMENT';
      readonly contract: TokenContract | null;
      readonly to: Address;
      readonly amountBaseUnits: bigint;
    }
  /** No coin, from the wallet to itself. */
  | { readonly kind: 'NOTHING' }
  | { readonly kind: 'OTHER' };

export interface RecoveredTransaction {
  readonly txHash: TxHash;
  /** Empty for a transaction type that this gateway does not know. */
  readonly raw: Uint8Array;
  readonly nonce: number;
  readonly aim: TransactionAim;
  readonly terms: FeeTerms | undefined;
}

interface RpcTransaction {
  readonly hash: string;
  readonly type: string;
  readonly nonce: string;
  readonly gas: string;
  readonly maxFeePerGas?: string;
  readonly maxPriorityFeePerGas?: string;
  readonly to: string | null;
  readonly value: string;
  readonly input: string;
  readonly chainId?: string;
  readonly accessList?: readonly unknown[];
  readonly r: string;
  readonly s: string;
  readonly v?: string;
  readonly yParity?: string;
}

const EIP_1559 = '0x2';
const WORD_DIGITS = 64;

/**
 * INCONSISTENT_ANSWER unless the rebuilt bytes have the transaction's hash and the wallet's signature. One node is
 * enough: it cannot forge the signature.
 */
export function recoverTransaction(answer: unknown, wallet: Address, chainId: number): RecoveredTransaction {
  const rpc = answer as RpcTransaction;
  const isPlain = rpc.type === EIP_1559 && rpc.to !== null && (rpc.accessList ?? []).length === 0;
  if (!isPlain) {
    const nonce = Number(rpc.nonce);
    return {
      txHash: rpc.hash as TxHash,
      raw: new Uint8Array(),
      nonce,
      aim: { kind: 'OTHER' },
      terms: undefined,
    };
  }
  const raw = serialise(rpc, chainId);
  const read = readAgain(raw);
  if (read.txHash !== rpc.hash || read.from !== wallet || read.chainId !== BigInt(chainId))
    throw readerError('INCONSISTENT_ANSWER', "the node's transaction does not match its hash", {
      txHash: rpc.hash,
    });
  const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = read;
  return {
    txHash: read.txHash,
    raw,
    nonce: Number(read.nonce),
    aim: aimOf(read),
    terms: { gasLimit, maxFeePerGas, maxPriorityFeePerGas },
  };
}

function serialise(rpc: RpcTransaction, chainId: number): Uint8Array {
  try {
    const transaction = Transaction.from({
      type: 2,
      chainId,
      nonce: Number(rpc.nonce),
      to: rpc.to,
      value: rpc.value,
      data: rpc.input,
      gasLimit: rpc.gas,
      maxFeePerGas: rpc.maxFeePerGas ?? '0x0',
      maxPriorityFeePerGas: rpc.maxPriorityFeePerGas ?? '0x0',
    });
    const [r, s] = [rpc.r, rpc.s].map((word) => `0x${word.slice(2).padStart(WORD_DIGITS, '0')}`);
    const yParity = Number(rpc.yParity ?? rpc.v) === 1 ? 1 : 0;
    transaction.signature = Signature.from({ r: r ?? '', s: s ?? '', yParity });
    return Buffer.from(transaction.serialized.slice(2), 'hex');
  } catch (cause) {
    throw readerError(
      'INCONSISTENT_ANSWER',
      "the node's transaction is malformed",
      { txHash: rpc.hash },
      cause,
    );
  }
}

function readAgain(raw: Uint8Array): ReadTransaction {
  try {
    return readSignedTransaction(raw);
  } catch (cause) {
    throw readerError('INCONSISTENT_ANSWER', "the node's transaction is malformed", {}, cause);
  }
}

function aimOf({ from, to, valueWei, data }: ReadTransaction): TransactionAim {
  if (data === '0x') {
    if (valueWei > 0n) return { kind: 'PAYMENT', contract: null, to, amountBaseUnits: valueWei };
    return { kind: to === from ? 'NOTHING' : 'OTHER' };
  }
  const isTransfer =
    valueWei === 0n &&
    data.startsWith(TRANSFER_SELECTOR) &&
    data.length === TRANSFER_SELECTOR.length + 2 * WORD_DIGITS &&
    /^0{24}$/.test(data.slice(TRANSFER_SELECTOR.length, TRANSFER_SELECTOR.length + 24));
  if (!isTransfer) return { kind: 'OTHER' };
  return {
    kind: 'PAYMENT',
    contract: to as string as TokenContract,
    to: `0x${data.slice(TRANSFER_SELECTOR.length + 24, -WORD_DIGITS)}` as Address,
    amountBaseUnits: BigInt(`0x${data.slice(-WORD_DIGITS)}`),
  };
}
