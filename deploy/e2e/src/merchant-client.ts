import { createHmac, randomUUID } from 'node:crypto';
import type {
  AnswerEnvelope,
  OrderAnswer,
  OrderStatusAnswer,
  PayinOrderAnswer,
} from '@opentill/contracts/http/answers';
import type { NotifyOrder } from '@opentill/contracts/notify-order';

/** An answer of the API with its HTTP status. */
export interface Answered<Data> extends AnswerEnvelope<Data> {
  readonly httpStatus: number;
}

/** Fields of `data` of a creation. */
export type OrderFields = Readonly<Record<string, string | number>>;

/** A merchant's own client of the API, written from its documentation alone. */
export interface MerchantClient {
  createCollection(data: OrderFields): Promise<Answered<OrderAnswer>>;
  createPayout(data: OrderFields): Promise<Answered<OrderAnswer>>;
  status(orderId: string): Promise<Answered<NotifyOrder>>;
  pay(orderId: string): Promise<Answered<PayinOrderAnswer>>;
  getOrderStatus(orderId: string): Promise<Answered<OrderStatusAnswer>>;
}

const REQUEST_TIMEOUT_MS = 15_000;

export function createMerchantClient(apiUrl: string, token: string): MerchantClient {
  const hmac = (message: string) => createHmac('sha256', token).update(message).digest('hex');

  async function read<Data>(response: Response): Promise<Answered<Data>> {
    return { httpStatus: response.status, ...((await response.json()) as AnswerEnvelope<Data>) };
  }

  async function post<Data>(path: string, fields: OrderFields): Promise<Answered<Data>> {
    const data = JSON.stringify(fields);
    const timestamp = Math.floor(Date.now() / 1000);
    const body = `{"sign":"${hmac(data)}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`;
    const headers = { 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return read(await fetch(`${apiUrl}/v1/order/${path}`, { method: 'POST', headers, body, signal }));
  }

  async function get<Data>(path: string, query: Readonly<Record<string, string>>): Promise<Answered<Data>> {
    const url = `${apiUrl}/v1/order/${path}?${new URLSearchParams(query).toString()}`;
    return read(await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }));
  }

  return {
    createCollection: (data) => post('createCollection', data),
    createPayout: (data) => post('createPayout', data),
    status: (orderId) => get(`status/${orderId}`, { sign: hmac(orderId) }),
    pay: (orderId) => get('pay', { orderId, sign: hmac(orderId) }),
    getOrderStatus: (orderId) => get('getOrderStatus', { orderId, sign: hmac(orderId) }),
  };
}
