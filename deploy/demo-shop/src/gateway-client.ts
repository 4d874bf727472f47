import { createHmac, randomUUID } from 'node:crypto';

/** What the gateway answered to createCollection. */
export interface CreatedCollection {
  readonly address: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: string;
  readonly orderId: string;
  readonly expiredTime: number;
  readonly paymentUrl: string;
}

export interface CollectionRequest {
  readonly orderId: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: string;
  readonly returnUrl?: string;
  readonly description?: string;
}

/** Money that the shop sends to somebody, from the gateway's hot wallet. */
export interface PayoutRequest {
  readonly orderId: string;
  readonly amount: string;
  readonly symbol: string;
  readonly chain: string;
  readonly receiveAddress: string;
}

/** What the gateway answered to createPayout. */
export type CreatedPayout = Omit<CreatedCollection, 'paymentUrl'>;

/** An order's state as GET pay answers it. */
export interface PaymentDetails {
  readonly chain: string;
  readonly symbol: string;
  readonly address: string;
  readonly amount: string;
  readonly status: string;
}

export interface GatewayClient {
  createCollection(request: CollectionRequest): Promise<CreatedCollection>;
  createPayout(request: PayoutRequest): Promise<CreatedPayout>;
  paymentDetails(orderId: string): Promise<PaymentDetails>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** A merchant server's view of the API: this file is all that an integration needs. */
export function createGatewayClient(
  gatewayUrl: string,
  merchantToken: string,
  now: () => Date,
): GatewayClient {
  const hmac = (message: string) => createHmac('sha256', merchantToken).update(message).digest('hex');

  async function answer<T>(response: Response): Promise<T> {
    const body = (await response.json()) as { code: number; msg: string; data: T };
    if (body.code !== 200) throw new GatewayRefusal(body.code, body.msg);
    return body.data;
  }

  async function post<T>(path: string, request: object): Promise<T> {
    const data = JSON.stringify(request);
    const timestamp = Math.floor(now().getTime() / 1000);
    const body = `{"sign":"${hmac(data)}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`;
    const response = await fetch(`${gatewayUrl}/v1/order/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return answer<T>(response);
  }

  return {
    createCollection: (request) => post('createCollection', request),
    createPayout: (request) => post('createPayout', request),
    async paymentDetails(orderId) {
      const query = new URLSearchParams({ orderId, sign: hmac(orderId) });
      const response = await fetch(`${gatewayUrl}/v1/order/pay?${query}`, {
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      return answer<PaymentDetails>(response);
    },
  };
}

/** The gateway said no; `code` and the message are the envelope's. */
export class GatewayRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
