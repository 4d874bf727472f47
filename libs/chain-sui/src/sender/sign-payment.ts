import type { Address } from '@opentill/chain/address-codec';
import type {
  EpochWindow,
  ExpiringClaim,
  Funding,
  SignedExpiring,
  Validity,
} from '@opentill/chain/expiring-sender';
import { senderError } from '@opentill/chain/sender-error';
import { canSignFor, type SignerBackend } from '@opentill/chain/signer-backend';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { suiAddressCodec } from '../address-codec.ts';
import { coinTypeOf } from '../coin-type.ts';
import { suiFundingIn, type SuiFunding } from './funding.ts';
import { programOf } from './payment-program.ts';
import { readSignedPayment, type ReadSigned } from './read-payment-bytes.ts';
import { signHash } from './signature.ts';
import { digestOf, encodeSigned, encodeTransaction, signingHashOf, windowOf } from './transaction-bytes.ts';

export interface SigningDeps {
  readonly backend: SignerBackend;
  /** Base58 digest of checkpoint 0: the transaction is invalid on any other chain. */
  readonly chainId: string;
  readonly sponsor: Address | undefined;
  readonly maxGasBudgetMist: bigint;
  readonly maxGasPriceMist: bigint;
}

/** Raises the price of a transaction that may land in the next epoch; within the margin of the budget. */
const RISE_PERCENT = 25n;
const NONCE_VALUES = 2 ** 32;
const U64_END = 1n << 64n;

/** Repeats after 49 days, so never within the same epochs. */
export function nonceOf(uniqueMs: number): number {
  return uniqueMs % NONCE_VALUES;
}

export async function signPayment(
  deps: SigningDeps,
  intent: PaymentIntent,
  validity: Validity,
  feeLimitBaseUnits: bigint,
  funding: Funding | undefined,
): Promise<SignedExpiring> {
  const { backend, chainId } = deps;
  const { from } = intent;
  if (!canSignFor(backend, from))
    throw senderError('WALLET_UNKNOWN', 'the signer has no key of this wallet', { wallet: from });
  requirePayable(intent);
  const found = suiFundingIn(funding);
  const { epochs } = validity;
  if (found === undefined || epochs === undefined)
    throw senderError('INTENT_INVALID', 'the payment has no funding or no epochs', { wallet: from });
  requireValid(deps, validity, feeLimitBaseUnits, found);
  // Only a node knows the balance of a whole coin, so whole coins are paid only from deposit addresses.
  if (found.coins.length > 0 && backend.addresses.includes(from))
    throw senderError('INTENT_INVALID', 'a hot wallet must pay from its address balance', { wallet: from });
  const owner = found.gas === 'SPONSORED' ? deps.sponsor : from;
  if (owner === undefined || !canSignFor(backend, owner))
    throw senderError('WALLET_UNKNOWN', 'no wallet can pay the fee', { wallet: from });
  const transaction = encodeTransaction({
    kind: {
      ProgrammableTransaction: programOf({ ...intent, ...found, coinType: coinTypeOf(intent.contract) }),
    },
    sender: from,
    gasData: {
      payment: [],
      owner,
      price: priceFor(found.gasPriceMist, epochs, deps),
      budget: feeLimitBaseUnits,
    },
    expiration: windowOf(chainId, epochs, nonceOf(validity.uniqueMs)),
  });
  const hash = signingHashOf(transaction);
  const signatures = [await signHash(backend, from, hash)];
  if (owner !== from) signatures.push(await signHash(backend, owner, hash));
  const raw = encodeSigned({ transaction, signatures });
  const signed = { txHash: digestOf(transaction), raw, validity, feeLimitBaseUnits };
  const difference = differenceOfStored(deps, signed, { intent, validity, feeLimitBaseUnits });
  if (difference !== undefined)
    throw senderError(
      'SIGNED_OTHERWISE',
      'the signed transaction differs from the request; it was discarded',
      {
        field: difference,
        wallet: from,
      },
    );
  return signed;
}

/** Validators may ask for more in the next epoch. */
function priceFor(
  gasPriceMist: bigint,
  { first, last }: EpochWindow,
  { maxGasPriceMist }: Pick<SigningDeps, 'maxGasPriceMist'>,
): bigint {
  if (last === first) return gasPriceMist;
  const raised = (gasPriceMist * (100n + RISE_PERCENT)) / 100n;
  return raised < maxGasPriceMist ? raised : maxGasPriceMist > gasPriceMist ? maxGasPriceMist : gasPriceMist;
}

/**
 * Bytes that pay whole coins do not contain the amount. `sponsor` is a permitted gas payer besides the sender; ANY for
 * stored transactions, which an earlier hot wallet may have sponsored.
 */
export function differenceOfStored(
  { chainId, sponsor }: { readonly chainId: string; readonly sponsor: Address | undefined | 'ANY' },
  { txHash, raw }: Pick<SignedExpiring, 'txHash' | 'raw'>,
  { intent, validity, feeLimitBaseUnits }: ExpiringClaim,
): string | undefined {
  let read: ReadSigned;
  try {
    read = readSignedPayment(raw);
  } catch {
    return 'encoding';
  }
  if (read.txHash !== txHash) return 'txHash';
  const { owner } = read.gas;
  if (owner !== intent.from && sponsor !== 'ANY' && owner !== sponsor) return 'gasOwner';
  const needed = owner === intent.from ? [intent.from] : [intent.from, owner];
  if (read.signers.length !== needed.length || needed.some((who, place) => read.signers[place] !== who))
    return 'signer';
  const paid = (['from', 'contract', 'to'] as const).find((field) => read.intent[field] !== intent[field]);
  if (paid !== undefined) return paid;
  const amount = read.intent.amountBaseUnits;
  if (
    amount === undefined
      ? read.withdrawnBaseUnits >= intent.amountBaseUnits
      : amount !== intent.amountBaseUnits
  )
    return 'amountBaseUnits';
  if (read.gas.budgetMist !== feeLimitBaseUnits) return 'feeLimit';
  if (read.chainId !== chainId) return 'chain';
  if (read.nonce !== nonceOf(validity.uniqueMs)) return 'nonce';
  const { epochs } = validity;
  return epochs?.first === read.epochs.first && epochs.last === read.epochs.last ? undefined : 'epochs';
}

function requirePayable({ from, to, contract, amountBaseUnits, resource }: PaymentIntent): void {
  if (resource !== undefined)
    throw senderError('INTENT_INVALID', 'SUI has no resources to delegate', { resource });
  if (amountBaseUnits <= 0n || amountBaseUnits >= U64_END)
    throw senderError('INTENT_INVALID', 'the amount is out of range', { amount: `${amountBaseUnits}` });
  for (const address of [from, to])
    if (suiAddressCodec.parse(address) !== address)
      throw senderError('INTENT_INVALID', 'invalid address', { to, contract });
}

/** GASLESS requires zero fee and price, otherwise both within the limits. Epochs: one, or two in a row. */
function requireValid(
  { maxGasBudgetMist, maxGasPriceMist }: SigningDeps,
  { uniqueMs, expiresMs, epochs }: Validity,
  feeLimitBaseUnits: bigint,
  { gas, gasPriceMist }: SuiFunding,
): void {
  const { first, last } = epochs ?? { first: -1, last: -1 };
  const isWindow =
    [uniqueMs, expiresMs, first, last].every((value) => Number.isSafeInteger(value) && value >= 0) &&
    (last === first || last === first + 1);
  const isFee =
    gas === 'GASLESS'
      ? feeLimitBaseUnits === 0n && gasPriceMist === 0n
      : feeLimitBaseUnits > 0n &&
        feeLimitBaseUnits <= maxGasBudgetMist &&
        gasPriceMist > 0n &&
        gasPriceMist <= maxGasPriceMist;
  if (!isWindow || !isFee)
    throw senderError('INTENT_INVALID', 'the fee or the epochs are out of bounds', {
      feeLimit: `${feeLimitBaseUnits}`,
      price: `${gasPriceMist}`,
      epochs,
    });
}
