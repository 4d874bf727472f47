import type { EnergyQuote, EnergySeller, OrderOutcome } from './energy-seller.ts';

// TronSave API version 2 (docs.tronsave.io, "Buy resources with an API key"). `preventDuplicateIncompleteOrders`
// rejects an order that equals an unfilled one.

export interface TronsaveOptions {
  /** https://api.tronsave.io; for Nile https://api-dev.tronsave.io. */
  readonly url: string;
  readonly apiKey: string;
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

const TIMEOUT_MS = 10_000;
const DURATION_SECONDS = 3_600;
/** Smallest order, in units of energy. */
const ENERGY_MIN = 65_000n;
const ANSWER_CHARACTERS_MAX = 65_536;
const WHY_CHARACTERS_MAX = 120;
const REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;

/** Buys energy for one hour at a time. The sweep is sent as soon as the energy arrives. */
export function createTronsaveSeller(options: TronsaveOptions): EnergySeller {
  const { url } = options;
  return {
    name: new URL(url).host,
    async quote(wanted, receiver, signal) {
      const energy = wanted > ENERGY_MIN ? wanted : ENERGY_MIN;
      const request = {
        ...orderBody(energy, receiver),
        unitPrice: 'MEDIUM',
        options: { allowPartialFill: false },
      };
      const answer = await callApi(options, '/v2/estimate-buy-resource', request, signal);
      return answer.kind === 'SUCCESS' ? parseQuote(answer.data, energy) : undefined;
    },
    async order({ receiver, quote }, signal): Promise<OrderOutcome> {
      const request = {
        ...orderBody(quote.energy, receiver),
        unitPrice: Number(quote.unitPriceSun),
        options: {
          allowPartialFill: false,
          onlyCreateWhenFulfilled: true,
          preventDuplicateIncompleteOrders: true,
        },
      };
      const answer = await callApi(options, '/v2/buy-resource', request, signal);
      if (answer.kind !== 'SUCCESS') return answer;
      const ref = answer.data['orderId'];
      if (typeof ref !== 'string' || !REFERENCE.test(ref))
        return { kind: 'UNKNOWN', why: 'order placed without a usable id' };
      return { kind: 'ORDERED', ref };
    },
  };
}

function orderBody(energy: bigint, receiver: string) {
  return {
    resourceType: 'ENERGY',
    receiver,
    resourceAmount: Number(energy),
    durationSec: DURATION_SECONDS,
  };
}

/** Rejects a quote whose total is less than its units cost, or that covers less than `energy`. */
function parseQuote(data: Readonly<Record<string, unknown>>, energy: bigint): EnergyQuote | undefined {
  const [priceSun, unitPriceSun, available] = [
    parseWholeNumber(data['estimateTrx']),
    parseWholeNumber(data['unitPrice']),
    parseWholeNumber(data['availableResource']),
  ];
  if (priceSun === undefined || unitPriceSun === undefined || available === undefined) return undefined;
  if (unitPriceSun === 0n || priceSun < unitPriceSun * energy || available < energy) return undefined;
  return { energy, priceSun, unitPriceSun };
}

function parseWholeNumber(value: unknown): bigint | undefined {
  const number = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0
    ? BigInt(number)
    : undefined;
}

type Answer =
  | { readonly kind: 'SUCCESS'; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: 'REFUSED'; readonly why: string }
  | { readonly kind: 'UNKNOWN'; readonly why: string };

/** Statuses with which the seller itself rejects an order. Excludes statuses of proxies, such as 408. */
const REFUSALS: readonly number[] = [400, 401, 402, 403, 404, 422];
/** Rejection of a duplicate: this order may exist already. */
const DUPLICATE_MESSAGE = /duplicate|exist|already/i;

/** REFUSED needs a status of REFUSALS and an error body of the seller. Every other failure is UNKNOWN. */
async function callApi(
  { url, apiKey, timeoutMs = TIMEOUT_MS, fetch: send = fetch }: TronsaveOptions,
  path: string,
  body: object | undefined,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    const answer = await send(new URL(path, url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { apikey: apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const text = await readText(answer);
    const reply = parseObject(text);
    const isDone = answer.ok && reply?.['error'] === false;
    const data = reply?.['data'];
    if (isDone && typeof data === 'object' && data !== null)
      return { kind: 'SUCCESS', data: data as Readonly<Record<string, unknown>> };
    const message = typeof reply?.['message'] === 'string' ? reply['message'] : '';
    const why = `${answer.status} ${message}`.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, WHY_CHARACTERS_MAX);
    const isRefused =
      REFUSALS.includes(answer.status) && reply?.['error'] === true && !DUPLICATE_MESSAGE.test(message);
    return { kind: isRefused ? 'REFUSED' : 'UNKNOWN', why };
  } catch (error) {
    return { kind: 'UNKNOWN', why: error instanceof Error ? error.name : 'no answer' };
  }
}

async function readText(answer: Response): Promise<string> {
  const parts: string[] = [];
  let characters = 0;
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    const part = decoder.decode(chunk as Uint8Array, { stream: true });
    characters += part.length;
    if (characters > ANSWER_CHARACTERS_MAX) throw new RangeError('the answer is too long');
    parts.push(part);
  }
  return parts.join('');
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
