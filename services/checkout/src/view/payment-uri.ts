import { chainIdOf, familyOf } from '@opentill/domain/chains';
import { dueAmount, type CheckoutOrder } from './checkout-order.ts';

/**
 * What a wallet is told by a link or a drawing: the exact transfer where wallets agree on a form, else null.
 *
 * EVM: EIP-681 (https://eips.ethereum.org/EIPS/eip-681): `ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<base
 * units>`, of the native coin `ethereum:<to>@<chain id>?value=<wei>`. Wallets that understand it cannot get amount,
 * token or chain wrong.
 *
 * TRON has no form that wallets agree on, and Sui's (`sui:pay?…` of the Payment Kit) is one that its makers call
 * experimental and that wallets answer with a call of a contract, not a transfer. Both are paid to the bare address,
 * which every wallet and exchange reads.
 */
export function paymentUri(order: CheckoutOrder): string | null {
  const chainId = chainIdOf(order.chain);
  if (familyOf(order.chain) !== 'EVM' || chainId === undefined) return null;
  const { baseUnits } = dueAmount(order);
  return order.contractAddress === null
    ? `ethereum:${order.address}@${chainId}?value=${baseUnits}`
    : `ethereum:${order.contractAddress}@${chainId}/transfer?address=${order.address}&uint256=${baseUnits}`;
}
