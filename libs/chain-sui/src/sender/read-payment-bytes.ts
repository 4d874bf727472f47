import { baseUnits } from '@opentill/domain/money';
import type { Address } from '@opentill/chain/address-codec';
import type { EpochWindow } from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { addressOfNode } from '../address-codec.ts';
import { contractOf } from '../coin-type.ts';
import { programOf, type CoinReference, type PaymentPlan } from './payment-program.ts';
import { readSignature } from './signature.ts';
import {
  decodeSigned,
  decodeTransactionBytes,
  digestOf,
  encodeTransaction,
  signingHashOf,
  type ProgramInput,
  type TransactionData,
} from './transaction-bytes.ts';

export interface ReadPayment {
  readonly txHash: TxHash;
  /** Undefined if whole coins are paid: the bytes do not contain their balances. */
  readonly intent: Omit<PaymentIntent, 'amountBaseUnits'> & {
    readonly amountBaseUnits: PaymentIntent['amountBaseUnits'] | undefined;
  };
  readonly withdrawnBaseUnits: bigint;
  readonly gas: { readonly owner: Address; readonly priceMist: bigint; readonly budgetMist: bigint };
  readonly epochs: EpochWindow;
  readonly nonce: number;
  readonly chainId: string;
}

export interface ReadSigned extends ReadPayment {
  readonly signers: readonly Address[];
}

/** Throws RangeError unless the bytes are one signed payment of the kind that this gateway makes. */
export function readSignedPayment(bytes: Uint8Array): ReadSigned {
  const { transaction, signatures } = decodeSigned(bytes);
  const hash = signingHashOf(transaction);
  const signers = signatures.map((signature) => readSignature(signature, hash));
  return { ...readPaymentBytes(transaction), signers };
}

/** Reads bytes without signatures, as a checkpoint contains them. */
export function readPaymentBytes(transaction: Uint8Array): ReadPayment {
  const data = decodeTransactionBytes(transaction);
  const plan = planIn(data);
  // Encoding the plan again must give the same bytes, which rules out other contents.
  const again = encodeTransaction({ ...data, kind: { ProgrammableTransaction: programOf(plan) } });
  if (!Buffer.from(again).equals(transaction))
    throw new RangeError('the transaction does more than a payment');
  const isWhole = plan.coins.length > 0 && !plan.hasRest;
  return {
    txHash: digestOf(transaction),
    intent: {
      from: plan.from,
      to: plan.to,
      contract: contractOf(plan.coinType),
      amountBaseUnits: isWhole ? undefined : baseUnits(plan.amountBaseUnits),
    },
    withdrawnBaseUnits: plan.withdrawnBaseUnits,
    gas: gasIn(data),
    ...windowIn(data),
  };
}

function planIn({ kind, sender }: TransactionData): PaymentPlan {
  if (kind.$kind !== 'ProgrammableTransaction') throw new RangeError('not a programmable transaction');
  const { inputs, commands } = kind.ProgrammableTransaction;
  const coins = inputs.flatMap((input) => (input.$kind === 'Object' ? [coinIn(input)] : []));
  const withdrawals = inputs.flatMap((input) =>
    input.$kind === 'FundsWithdrawal' ? [input.FundsWithdrawal] : [],
  );
  const pures = inputs.flatMap((input) =>
    input.$kind === 'Pure' ? [Buffer.from(input.Pure.bytes, 'base64')] : [],
  );
  const [to, amount] = pures;
  const types = commands.flatMap((command) =>
    command.$kind === 'MoveCall' ? command.MoveCall.typeArguments : [],
  );
  const [coinType] = types;
  if (to === undefined || coinType === undefined)
    throw new RangeError('the payment has no receiver or no coin type');
  const withdrawnBaseUnits = BigInt(withdrawals[0]?.reservation.MaxAmountU64 ?? 0);
  const hasRest = coins.length > 0 && pures.length > 1;
  return {
    from: addressIn(sender),
    to: addressIn(`0x${to.toString('hex')}`),
    coinType: coinType as TokenContract,
    form: commands.at(-1)?.$kind === 'TransferObjects' ? 'COIN' : 'FUNDS',
    coins,
    withdrawnBaseUnits,
    hasRest,
    amountBaseUnits: amountOf({ coins, hasRest, withdrawnBaseUnits }, amount),
  };
}

/** Unknown for whole coins: any valid amount encodes to the same bytes. */
function amountOf(
  { coins, hasRest, withdrawnBaseUnits }: Pick<PaymentPlan, 'coins' | 'hasRest' | 'withdrawnBaseUnits'>,
  written: Buffer | undefined,
): bigint {
  if (hasRest) {
    if (written?.length !== 8) throw new RangeError('invalid amount');
    return written.readBigUInt64LE(0);
  }
  return coins.length > 0 ? withdrawnBaseUnits + 1n : withdrawnBaseUnits;
}

function coinIn({ Object: object }: Extract<ProgramInput, { $kind: 'Object' }>): CoinReference {
  if (object.$kind === 'ImmOrOwnedObject') {
    const { objectId, version, digest } = object.ImmOrOwnedObject;
    return { id: objectId, version, digest, startVersion: null };
  }
  if (object.$kind !== 'SharedObject') throw new RangeError('not a coin that can be spent');
  const { objectId, initialSharedVersion } = object.SharedObject;
  return { id: objectId, version: '0', digest: '', startVersion: initialSharedVersion };
}

function gasIn({ gasData: { payment, owner, price, budget } }: TransactionData): ReadPayment['gas'] {
  if (payment.length > 0) throw new RangeError('the gas is paid with coins');
  return { owner: addressIn(owner), priceMist: BigInt(price), budgetMist: BigInt(budget) };
}

function windowIn({ expiration }: TransactionData): Pick<ReadPayment, 'epochs' | 'nonce' | 'chainId'> {
  if (expiration.$kind !== 'ValidDuring') throw new RangeError('the validity has no epochs');
  const { minEpoch, maxEpoch, minTimestamp, maxTimestamp, chain, nonce } = expiration.ValidDuring;
  if (minEpoch === null || maxEpoch === null || minTimestamp !== null || maxTimestamp !== null)
    throw new RangeError('the validity must be limited by epochs only');
  return { epochs: { first: Number(minEpoch), last: Number(maxEpoch) }, nonce, chainId: chain };
}

function addressIn(text: string): Address {
  const address = addressOfNode(text);
  if (address === undefined) throw new RangeError('invalid address');
  return address;
}
