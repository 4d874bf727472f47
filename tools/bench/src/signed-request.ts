import { createHmac, randomUUID } from 'node:crypto';
import type { DevnetChain } from '@opentill/local/gateway-options';

/** A signed createCollection body with an order id of its own. */
export function signedCollection(token: string, orderId: string, chain: DevnetChain = 'ETH_SEPOLIA'): string {
  const data = `{"orderId":"${orderId}","amount":"12.50","symbol":"USDT","chain":"${chain}"}`;
  const sign = createHmac('sha256', token).update(data).digest('hex');
  const timestamp = Math.floor(Date.now() / 1000);
  return `{"sign":"${sign}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`;
}
