import { formatAmount, parseAmount } from '@opentill/domain/money';
import type { Opentill } from '@opentill/sdk/client';
import type { CheckoutOrder } from '@opentill/sdk/orders';
import { DevnetRefusal } from './devnet-refusal.ts';
import type { DevnetWallet } from './devnet-wallet.ts';

/** Pays an order as its customer, and answers the transaction's hash. Throws DevnetRefusal and OpentillError. */
export type PayOrder = (orderId: string) => Promise<string>;

/** What the customer pays is what is missing, once: clicking twice pays no order twice. */
export function createPayOrder(opentill: Pick<Opentill, 'pay'>, wallet: Pick<DevnetWallet, 'pay'>): PayOrder {
  /** By order what it had received when a payment was sent, which has not come while it is still the same. */
  const receivedBefore = new Map<string, string>();
  return async (orderId) => {
    const order = await opentill.pay(orderId);
    const amount = missingOf(order);
    if (receivedBefore.get(orderId) === order.receivedAmount)
      throw new DevnetRefusal(`A payment of ${orderId} is on its way.`);
    receivedBefore.set(orderId, order.receivedAmount);
    try {
      return await wallet.pay({ chain: order.chain, symbol: order.symbol, to: order.address, amount });
    } catch (error) {
      receivedBefore.delete(orderId);
      throw error;
    }
  };
}

/** In display units. */
function missingOf({ orderId, status, amount, receivedAmount, decimals }: CheckoutOrder): string {
  const missing = baseUnits(amount, decimals) - baseUnits(receivedAmount, decimals);
  const isAwaited = (status === 'INIT' || status === 'PENDING') && missing > 0n;
  if (!isAwaited) throw new DevnetRefusal(`${orderId} wants no payment now: it is ${status}.`);
  return formatAmount(missing, decimals, 0);
}

/** Nothing is no amount to pay, but one that may have been received. */
function baseUnits(amount: string, decimals: number): bigint {
  const parsed = parseAmount(amount, decimals);
  return parsed.ok ? parsed.value : 0n;
}
