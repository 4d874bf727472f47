import { senderError } from '@opentill/chain/sender-error';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { Address } from '@opentill/chain/address-codec';
import { hexOf, shortHexOf, tronAddressCodec } from '../address-codec.ts';
import type { PayingContract } from './transaction.ts';

/** Selector of transfer(address,uint256). */
export const TRANSFER_SELECTOR = 'a9059cbb';
const WORD_DIGITS = 64;
const INT64_END = 1n << 63n;
const UINT256_END = 1n << 256n;

/** TronWeb takes sun as a number and would round others. The smallest of them is above 9 billion TRX. */
export function isExactAsNumber(sun: bigint): boolean {
  return BigInt(Number(sun)) === sun;
}

/** Hex without 0x. */
export function encodeTransferCall({
  to,
  amountBaseUnits,
}: Pick<PaymentIntent, 'to' | 'amountBaseUnits'>): string {
  const words = [shortHexOf(to), amountBaseUnits.toString(16)];
  return TRANSFER_SELECTOR + words.map((word) => word.padStart(WORD_DIGITS, '0')).join('');
}

export function encodePayment(intent: PaymentIntent): PayingContract {
  const { from, to, contract, amountBaseUnits, resource } = intent;
  const end = contract === null ? INT64_END : UINT256_END;
  const isExact = contract !== null || isExactAsNumber(amountBaseUnits);
  if (amountBaseUnits <= 0n || amountBaseUnits >= end || !isExact)
    throw senderError('INTENT_INVALID', 'the amount is out of range', { amount: `${amountBaseUnits}` });
  for (const address of [from, to, contract])
    if (address !== null && tronAddressCodec.parse(address) !== address)
      throw senderError('INTENT_INVALID', 'invalid address', { to, contract });
  if (resource !== undefined && contract !== null)
    throw senderError('INTENT_INVALID', 'energy is delegated from stake, not from a token', {
      resource,
      contract,
    });
  const owner_address = hexOf(from);
  if (contract !== null)
    return {
      type: 'TriggerSmartContract',
      value: {
        owner_address,
        contract_address: hexOf(contract as string as Address),
        data: encodeTransferCall(intent),
      },
    };
  const sun = Number(amountBaseUnits);
  if (resource === undefined)
    return { type: 'TransferContract', value: { owner_address, to_address: hexOf(to), amount: sun } };
  return {
    type: resource === 'LEND_ENERGY' ? 'DelegateResourceContract' : 'UnDelegateResourceContract',
    value: { owner_address, receiver_address: hexOf(to), balance: sun, resource: 'ENERGY' },
  };
}
