import { createHmac, randomUUID } from 'node:crypto';

/** How requests are signed. */
export interface Signing {
  readonly token: string;
  /**
   * 1 signs `data` alone. 2 signs time, nonce and path with it, so that a request that somebody saw can't be sent again;
   * the gateway's operator sets it per merchant, and then takes no other.
   * @default 1
   */
  readonly signVersion?: 1 | 2;
}

/** Lower-case hex HMAC-SHA256, as the gateway compares it. */
export function hmacHex(key: string, message: string): string {
  return createHmac('sha256', key).update(message).digest('hex');
}

/** The `sign` of a GET: over the order's id. Valid for this order permanently. It opens `status`, so it is not for customers. */
export function signOrderId(token: string, orderId: string): string {
  return hmacHex(token, orderId);
}

/** The body of a POST, signed, with a new nonce. `path` is the URL's without the base URL's: `/v1/order/createPayout`. */
export function signedBody({ token, signVersion }: Signing, path: string, data: object, now: Date): string {
  const text = JSON.stringify(data);
  const timestamp = Math.floor(now.getTime() / 1000);
  const nonce = randomUUID();
  const message = signVersion === 2 ? `${timestamp}.${nonce}.${path}.${text}` : text;
  // The very text that was signed goes into the body, not another spelling of it.
  return `{"sign":"${hmacHex(token, message)}","timestamp":${timestamp},"nonce":"${nonce}","data":${text}}`;
}
