import { senderError } from '@opentill/chain/sender-error';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Address } from '@opentill/chain/address-codec';
import { hexOf, shortHexOf, tronAddressCodec } from '../address-codec.ts';
import type { PayingContract } from '../protobuf/transaction.ts';

/** transfer(address,uint256) */
export const TRANSFER_SELECTOR = 'a9059cbb';
const WORD_DIGITS = 64;
const INT64_END = 1n << 63n;
const UINT256_END = 1n << 256n;

/** The call data of a token's transfer, as hex without 0x. */
export function encodeTransferCall({
  to,
  amountBaseUnits,
}: Pick<PaymentIntent, 'to' | 'amountBaseUnits'>): string {
  const words = [shortHexOf(to), amountBaseUnits.toString(16)];
  return TRANSFER_SELECTOR + words.map((word) => word.padStart(WORD_DIGITS, '0')).join('');
}

/** The contract that makes the payment. Throws INTENT_INVALID for what may not be paid, or cannot be. */
export function encodePayment(intent: PaymentIntent): PayingContract {
  const { from, to, contract, amountBaseUnits, resource } = intent;
  const end = contract === null ? INT64_END : UINT256_END;
  if (amountBaseUnits <= 0n || amountBaseUnits >= end)
    throw senderError('INTENT_INVALID', 'not an amount that may be paid', { amount: `${amountBaseUnits}` });
  for (const address of [from, to, contract])
    if (address !== null && tronAddressCodec.parse(address) !== address)
      throw senderError('INTENT_INVALID', 'not an address that may be paid', { to, contract });
  if (resource !== undefined && contract !== null)
    throw senderError('INTENT_INVALID', 'energy is lent by stake, not by a token', { resource, contract });
  if (resource !== undefined)
    return {
      type: resource === 'LEND_ENERGY' ? 'DelegateResourceContract' : 'UnDelegateResourceContract',
      owner: addressBytes(from),
      balance: amountBaseUnits,
      receiver: addressBytes(to),
    };
  if (contract === null)
    return {
      type: 'TransferContract',
      owner: addressBytes(from),
      to: addressBytes(to),
      amount: amountBaseUnits,
    };
  return {
    type: 'TriggerSmartContract',
    owner: addressBytes(from),
    contract: addressBytes(contract as string as Address),
    data: Buffer.from(encodeTransferCall(intent), 'hex'),
  };
}

/** The 21 bytes of an address. */
export function addressBytes(address: Address): Uint8Array {
  return Buffer.from(hexOf(address), 'hex');
}
