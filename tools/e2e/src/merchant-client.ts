import { createHmac, randomUUID } from 'node:crypto';
import type {
  AnswerEnvelope,
  LinkAnswer,
  OrderAnswer,
  OrderStateAnswer,
  OrderStatusAnswer,
  PayinOrderAnswer,
} from '@opentill/contracts/http/answers';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { WAIT_MS } from './time-limits.ts';

export interface Answered<Data> extends AnswerEnvelope<Data> {
  readonly httpStatus: number;
}

export type OrderFields = Readonly<Record<string, string | number | readonly object[]>>;

/** A client of the merchant API, written only from docs/api.md. */
export interface MerchantClient {
  createCollection(data: OrderFields): Promise<Answered<OrderAnswer>>;
  createPayout(data: OrderFields): Promise<Answered<OrderAnswer>>;
  status(orderId: string): Promise<Answered<OrderStateAnswer>>;
  pay(orderId: string): Promise<Answered<PayinOrderAnswer>>;
  getOrderStatus(orderId: string): Promise<Answered<OrderStatusAnswer>>;
  link(operation: 'create' | 'read', data: OrderFields): Promise<Answered<LinkAnswer>>;
}

const REQUEST_TIMEOUT_MS = 60_000;
const BUSY = 503;
const ASK_AGAIN_MS = 100;

/** `extra` headers go with each POST. */
export function createMerchantClient(
  apiUrl: string,
  token: string,
  extra: Readonly<Record<string, string>> = {},
): MerchantClient {
  const hmac = (message: string) => createHmac('sha256', token).update(message).digest('hex');

  async function read<Data>(response: Response): Promise<Answered<Data>> {
    return { httpStatus: response.status, ...((await response.json()) as AnswerEnvelope<Data>) };
  }

  async function post<Data>(path: string, fields: OrderFields): Promise<Answered<Data>> {
    const data = JSON.stringify(fields);
    const timestamp = Math.floor(Date.now() / 1000);
    const body = `{"sign":"${hmac(data)}","timestamp":${timestamp},"nonce":"${randomUUID()}","data":${data}}`;
    const headers = { 'content-type': 'application/json', ...extra };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    return read(await fetch(`${apiUrl}/v1/${path}`, { method: 'POST', headers, body, signal }));
  }

  async function get<Data>(path: string, query: Readonly<Record<string, string>>): Promise<Answered<Data>> {
    const url = `${apiUrl}/v1/order/${path}?${new URLSearchParams(query).toString()}`;
    return read(await fetch(url, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }));
  }

  return {
    createCollection: (data) => post('order/createCollection', data),
    createPayout: (data) => post('order/createPayout', data),
    status: (orderId) => get(`status/${orderId}`, { sign: hmac(orderId) }),
    pay: (orderId) => get('pay', { orderId, sign: hmac(orderId) }),
    getOrderStatus: (orderId) => get('getOrderStatus', { orderId, sign: hmac(orderId) }),
    link: (operation, data) => post(`link/${operation}`, data),
  };
}

/** Retries while the gateway answers 503. Creation is idempotent. */
export function createPatientClient(client: MerchantClient): MerchantClient {
  const untilAnswered = async <Data>(ask: () => Promise<Answered<Data>>): Promise<Answered<Data>> => {
    const endsAt = performance.now() + WAIT_MS;
    for (;;) {
      const answer = await ask();
      if (answer.httpStatus !== BUSY || performance.now() > endsAt) return answer;
      await abortableDelay(ASK_AGAIN_MS);
    }
  };
  return {
    createCollection: async (data) => untilAnswered(() => client.createCollection(data)),
    createPayout: async (data) => untilAnswered(() => client.createPayout(data)),
    status: async (orderId) => untilAnswered(() => client.status(orderId)),
    pay: async (orderId) => untilAnswered(() => client.pay(orderId)),
    getOrderStatus: async (orderId) => untilAnswered(() => client.getOrderStatus(orderId)),
    link: async (operation, data) => untilAnswered(() => client.link(operation, data)),
  };
}
