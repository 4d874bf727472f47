import type { Address } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { AbiCoder } from 'ethers/abi';

export interface EvmCall {
  readonly to: Address;
  readonly valueWei: bigint;
  /** Hex with 0x. */
  readonly data: string;
}

/** Selector of transfer(address,uint256). */
export const TRANSFER_SELECTOR = '0xa9059cbb';

export function encodePayment({ contract, to, amountBaseUnits }: PaymentIntent): EvmCall {
  if (contract === null) return { to, valueWei: amountBaseUnits, data: '0x' };
  const words = AbiCoder.defaultAbiCoder().encode(['address', 'uint256'], [to, amountBaseUnits]);
  return { to: contract as string as Address, valueWei: 0n, data: `${TRANSFER_SELECTOR}${words.slice(2)}` };
}

/** Zero coin from the wallet to itself. */
export function cancelOf(wallet: Address): EvmCall {
  return { to: wallet, valueWei: 0n, data: '0x' };
}
