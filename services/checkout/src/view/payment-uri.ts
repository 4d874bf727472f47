import { chainIdOf, dueAmount, type PayableOrder } from './checkout-order.ts';

/**
 * The exact transfer, as link or QR content. EVM: EIP-681 (https://eips.ethereum.org/EIPS/eip-681),
 * `ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<base units>` or `ethereum:<to>@<chain id>?value=<wei>`.
 * Wallets that support it cannot get amount, token or chain wrong.
 *
 * Null for TRON and SUI, which use the bare address: TRON has no format that wallets agree on. The Payment Kit's format
 * for Sui (`sui:pay?…`) is experimental, and wallets answer it with a contract call instead of a transfer.
 */
export function paymentUri(order: PayableOrder): string | null {
  const chainId = chainIdOf(order);
  if (chainId === null) return null;
  const { baseUnits } = dueAmount(order);
  return order.contractAddress === null
    ? `ethereum:${order.address}@${chainId}?value=${baseUnits}`
    : `ethereum:${order.contractAddress}@${chainId}/transfer?address=${order.address}&uint256=${baseUnits}`;
}
