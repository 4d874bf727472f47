import type { EnergyQuote, EnergySeller, OrderOutcome } from './energy-seller.ts';

/*
 * TronSave (docs.tronsave.io, "Buy resources with an API key", version 2): orders are paid out of an internal account. It has no
 * name of the customer's for an order; `preventDuplicateIncompleteOrders` refuses a second one like an unfilled one.
 */

export interface TronsaveOptions {
  /** https://api.tronsave.io, for Nile https://api-dev.tronsave.io. */
  readonly url: string;
  readonly apiKey: string;
  /** @default 10 seconds */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
}

const TIMEOUT_MS = 10_000;
const DURATION_SECONDS = 3_600;
/** No less is sold at once. */
const ENERGY_MIN = 65_000n;
const ANSWER_CHARACTERS_MAX = 65_536;
const WHY_CHARACTERS_MAX = 120;
/** What an order's reference may look like. */
const REFERENCE = /^[A-Za-z0-9_-]{1,64}$/;

/** Buys energy of TronSave, for an hour each time: enough for a transaction that is sent as soon as it is there. */
export function createTronsaveSeller(options: TronsaveOptions): EnergySeller {
  const { url } = options;
  return {
    name: new URL(url).host,
    async quote(wanted, receiver, signal) {
      const energy = wanted > ENERGY_MIN ? wanted : ENERGY_MIN;
      const asked = { ...wish(energy, receiver), unitPrice: 'MEDIUM', options: { allowPartialFill: false } };
      const answer = await ask(options, '/v2/estimate-buy-resource', asked, signal);
      return answer.kind === 'SUCCESS' ? quoteIn(answer.data, energy) : undefined;
    },
    async order({ receiver, quote }, signal): Promise<OrderOutcome> {
      const asked = {
        ...wish(quote.energy, receiver),
        unitPrice: Number(quote.unitPriceSun),
        options: {
          allowPartialFill: false,
          onlyCreateWhenFulfilled: true,
          preventDuplicateIncompleteOrders: true,
        },
      };
      const answer = await ask(options, '/v2/buy-resource', asked, signal);
      if (answer.kind !== 'SUCCESS') return answer;
      const ref = answer.data['orderId'];
      // Said to be done, without a name: done.
      if (typeof ref !== 'string' || !REFERENCE.test(ref))
        return { kind: 'UNKNOWN', why: 'an order without a name' };
      return { kind: 'ORDERED', ref };
    },
  };
}

function wish(energy: bigint, receiver: string) {
  return {
    resourceType: 'ENERGY',
    receiver,
    resourceAmount: Number(energy),
    durationSec: DURATION_SECONDS,
  };
}

/** The whole price is what counts; one that is less than its units is no price. */
function quoteIn(data: Readonly<Record<string, unknown>>, energy: bigint): EnergyQuote | undefined {
  const [priceSun, unitPriceSun, available] = [
    wholeIn(data['estimateTrx']),
    wholeIn(data['unitPrice']),
    wholeIn(data['availableResource']),
  ];
  if (priceSun === undefined || unitPriceSun === undefined || available === undefined) return undefined;
  if (unitPriceSun === 0n || priceSun < unitPriceSun * energy || available < energy) return undefined;
  return { energy, priceSun, unitPriceSun };
}

function wholeIn(value: unknown): bigint | undefined {
  const number = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0
    ? BigInt(number)
    : undefined;
}

type Answer =
  | { readonly kind: 'SUCCESS'; readonly data: Readonly<Record<string, unknown>> }
  | { readonly kind: 'REFUSED'; readonly why: string }
  | { readonly kind: 'UNKNOWN'; readonly why: string };

/** Answers of the seller himself that say that nothing was done; not those of something on the way to him, as 408. */
const REFUSALS: readonly number[] = [400, 401, 402, 403, 404, 422];
/** There is an order like it, so perhaps this one. */
const IS_THERE = /duplicate|exist|already/i;

/** A refusal in his own words says that nothing was done; whatever else is no success says nothing. */
async function ask(
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
    const said = parsed(text);
    const isDone = answer.ok && said?.['error'] === false;
    const data = said?.['data'];
    if (isDone && typeof data === 'object' && data !== null)
      return { kind: 'SUCCESS', data: data as Readonly<Record<string, unknown>> };
    const message = typeof said?.['message'] === 'string' ? said['message'] : '';
    const why = `${answer.status} ${message}`.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, WHY_CHARACTERS_MAX);
    const isRefused = REFUSALS.includes(answer.status) && said?.['error'] === true && !IS_THERE.test(message);
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

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
