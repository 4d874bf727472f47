import { formatAmount, parseAmount } from '@opentill/domain/money';
import type { Opentill } from '@opentill/sdk/client';
import type { CheckoutOrder } from '@opentill/sdk/orders';
import { DevnetRefusal } from './devnet-refusal.ts';
import type { DevnetWallet } from './devnet-wallet.ts';

/** Resolves with the transaction hash. Throws DevnetRefusal and OpentillError. */
export type PayOrder = (orderId: string) => Promise<string>;

/** Pays the missing amount of an order. Rejects a second payment until the gateway reports the first one. */
export function createPayOrder(opentill: Pick<Opentill, 'pay'>, wallet: Pick<DevnetWallet, 'pay'>): PayOrder {
  /** Order id to the amount received when a payment was sent. While it is unchanged, the payment is not yet seen. */
  const receivedBefore = new Map<string, string>();
  return async (orderId) => {
    const order = await opentill.pay(orderId);
    const { address } = order;
    if (address === null) throw new DevnetRefusal(`No coin of ${orderId} is chosen yet.`);
    const amount = missingOf(order);
    if (receivedBefore.get(orderId) === order.receivedAmount)
      throw new DevnetRefusal(`A payment of ${orderId} is on its way.`);
    receivedBefore.set(orderId, order.receivedAmount);
    try {
      return await wallet.pay({ chain: order.chain, symbol: order.symbol, to: address, amount });
    } catch (error) {
      receivedBefore.delete(orderId);
      throw error;
    }
  };
}

/** Returns display units. */
function missingOf({ orderId, status, amount, receivedAmount, decimals }: CheckoutOrder): string {
  const missing = baseUnits(amount, decimals) - baseUnits(receivedAmount, decimals);
  const isAwaited = (status === 'INIT' || status === 'PENDING') && missing > 0n;
  if (!isAwaited) throw new DevnetRefusal(`${orderId} wants no payment now: it is ${status}.`);
  return formatAmount(missing, decimals, 0);
}

/** Returns 0 for an amount of zero, which parseAmount rejects. */
function baseUnits(amount: string, decimals: number): bigint {
  const parsed = parseAmount(amount, decimals);
  return parsed.ok ? parsed.value : 0n;
}
