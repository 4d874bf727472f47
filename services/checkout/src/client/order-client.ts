import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { CheckoutOrder } from '../view/checkout-order.ts';

export type ApiResult<Data> =
  | { readonly outcome: 'ANSWERED'; readonly data: Data }
  /** The link names no order, or its signature is wrong: permanent. */
  | { readonly outcome: 'REFUSED'; readonly httpStatus: 401 | 404 }
  | { readonly outcome: 'SLOW_DOWN'; readonly waitMs: number }
  /** No network, no API, or an invalid response. */
  | { readonly outcome: 'UNREACHABLE' };

export interface StatusRead {
  readonly status: OrderStatus;
  readonly unmatched?: readonly { readonly txid: string }[];
}

/** REJECTED: the order is closed, or does not offer the coin. */
export type ChoiceResult = ApiResult<CheckoutOrder> | { readonly outcome: 'REJECTED' };

export interface OrderClient {
  pay(): Promise<ApiResult<CheckoutOrder>>;
  choose(coin: Pick<CheckoutOrder, 'chain' | 'symbol'>): Promise<ChoiceResult>;
  status(): Promise<ApiResult<StatusRead>>;
  readonly eventsUrl: string;
}

const TIMEOUT_MS = 10_000;
const DEFAULT_WAIT_MS = 1_000;
/** The API's limit is two requests a second for an order; a little more, since their ways take different times. */
const TWO_REQUESTS_MS = 1_100;

/** `apiBase` is the URL's part before `/v1`. */
export function createOrderClient(
  link: { readonly apiBase: string; readonly orderId: string; readonly sign: string },
  fetchIt: typeof fetch,
): OrderClient {
  const query = new URLSearchParams({ orderId: link.orderId, sign: link.sign }).toString();
  const urlOf = (endpoint: string) => `${link.apiBase}/v1/order/${endpoint}?${query}`;

  async function ask<Data>(
    endpoint: string,
    sent: RequestInit = {},
  ): Promise<ApiResult<Data> | { readonly outcome: 'REJECTED' }> {
    try {
      const response = await fetchIt(urlOf(endpoint), {
        ...sent,
        cache: 'no-store',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.status === 429) return { outcome: 'SLOW_DOWN', waitMs: waitOf(response) };
      const { code, data } = (await response.json()) as { code: number; data: Data | null };
      // A proxy or static host may answer 401 or 404 too, without the gateway's envelope.
      if (code === response.status && (code === 401 || code === 404)) {
        return { outcome: 'REFUSED', httpStatus: code };
      }
      if (code === response.status && (code === 400 || code === 409)) return { outcome: 'REJECTED' };
      return code === 200 && data !== null ? { outcome: 'ANSWERED', data } : { outcome: 'UNREACHABLE' };
    } catch {
      return { outcome: 'UNREACHABLE' };
    }
  }
  let [earlierMs, lastMs] = [-Infinity, -Infinity];
  async function waitForTurn(): Promise<void> {
    const nowMs = performance.now();
    const turnMs = Math.max(nowMs, earlierMs + TWO_REQUESTS_MS);
    [earlierMs, lastMs] = [lastMs, turnMs];
    if (turnMs > nowMs) await new Promise((resolve) => setTimeout(resolve, turnMs - nowMs));
  }
  async function read<Data>(endpoint: string): Promise<ApiResult<Data>> {
    const asked = await ask<Data>(endpoint);
    return asked.outcome === 'REJECTED' ? { outcome: 'UNREACHABLE' } : asked;
  }
  return {
    async pay() {
      await waitForTurn();
      return read('pay');
    },
    choose: ({ chain, symbol }) =>
      ask('choose', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ chain, symbol }),
      }),
    status: () => read('getOrderStatus'),
    eventsUrl: urlOf('events'),
  };
}

function waitOf(response: Response): number {
  const seconds = Number(response.headers.get('Retry-After'));
  return seconds > 0 ? seconds * 1000 : DEFAULT_WAIT_MS;
}
