import { createHmac, randomUUID } from 'node:crypto';

/** A signed createCollection body with an order id of its own. */
export function signedCollection(token: string, orderId: string): string {
  const data = `{"orderId":"${orderId}","amount":"12.50","symbol":"USDT","chain":"ETH_SEPOLIA"}`;
  const sign = createHmac('sha256', token).update(data).digest('hex');
  const timestamp = Math.floor(Date.now() / 1000);
  return `{"sign":"${sign}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`;
}
