import type { Quote } from '@opentill/domain/agree-rate';
import type { ReferenceTable } from '@opentill/domain/decide-rate';
import type { Clock } from '@opentill/runtime/clock';
import { fetchAnswer, unreachable } from './fetch-answer.ts';
import type { Observe } from './observe.ts';
import type { RateSettings } from './rate-settings.ts';
import type { TickerSource } from './sources/source.ts';

export interface QuoteBookDeps {
  readonly settings: Pick<RateSettings, 'exchanges' | 'centralBanks' | 'sourcesUrl'>;
  readonly clock: Clock;
  readonly observe: Pick<Observe, 'sourceFailed' | 'sourceRead'>;
}

/** The last answer of each source, with its time. A failed request leaves the answer before, which ages. */
export interface QuoteBook {
  /** `pairs` are `<coin>/<currency>`. Asks all sources at once and resolves when each has answered or failed. */
  refresh(pairs: ReadonlySet<string>, withReferences: boolean, stop: AbortSignal): Promise<void>;
  quotes(pair: string): readonly Quote[];
  readonly references: readonly ReferenceTable[];
}

const REQUEST_TIMEOUT_MS = 5_000;
/** An answer that took longer passed through a machine that was suspended: its age is unknown. */
const ANSWER_TIME_MAX_MS = REQUEST_TIMEOUT_MS + 1_000;
/** Central banks publish once a day. */
const REFERENCES_KEPT_MS = 3_600_000;

export function createQuoteBook({ settings, clock, observe }: QuoteBookDeps): QuoteBook {
  const quotesOf = new Map<string, Map<string, Quote>>();
  const tables = new Map<string, ReferenceTable>();
  const tablesReadAtMs = new Map<string, number>();

  const urlOf = (source: { readonly name: string; readonly baseUrl: string }, path: string): string =>
    (settings.sourcesUrl === undefined ? source.baseUrl : `${settings.sourcesUrl}/${source.name}`) + path;

  /**
   * An answer is as old as its request: it may have waited on the way. A later time in it does not count, since a source
   * must not keep its answer fresh by it.
   */
  async function ask<T extends { readonly atMs?: number }>(
    source: { readonly name: string; readonly baseUrl: string },
    path: string,
    stop: AbortSignal,
    read: (body: string) => T,
  ): Promise<(T & { readonly source: string; readonly atMs: number }) | undefined> {
    const askedAtMs = clock.now().getTime();
    try {
      const { body, ageMs } = await fetchAnswer(urlOf(source, path), REQUEST_TIMEOUT_MS, stop);
      if (clock.now().getTime() - askedAtMs > ANSWER_TIME_MAX_MS)
        throw unreachable('an answer after its time limit');
      const newestMs = askedAtMs - ageMs;
      const reading = read(body);
      observe.sourceRead(source.name);
      return { ...reading, source: source.name, atMs: Math.min(reading.atMs ?? newestMs, newestMs) };
    } catch (error) {
      if (!stop.aborted) observe.sourceFailed(source.name, path, error);
      return undefined;
    }
  }

  async function askExchange(source: TickerSource, pair: string, stop: AbortSignal): Promise<void> {
    const name = source.pairs[pair];
    if (name === undefined) return;
    const quote = await ask(source, source.path(name), stop, (body) => source.read(body, pair));
    if (quote === undefined) return;
    const quotes = quotesOf.get(pair) ?? new Map<string, Quote>();
    quotesOf.set(pair, quotes.set(source.name, quote));
  }

  async function askBanks(stop: AbortSignal): Promise<void> {
    const nowMs = clock.now().getTime();
    const due = settings.centralBanks.filter(
      ({ name }) => nowMs - (tablesReadAtMs.get(name) ?? -Infinity) >= REFERENCES_KEPT_MS,
    );
    await Promise.all(
      due.map(async (bank) => {
        const table = await ask(bank, bank.path, stop, (body) => bank.read(body));
        if (table === undefined) return;
        tables.set(bank.name, table);
        tablesReadAtMs.set(bank.name, nowMs);
      }),
    );
  }

  return {
    async refresh(pairs, withReferences, stop) {
      await Promise.all([
        ...settings.exchanges.flatMap((source) => [...pairs].map((pair) => askExchange(source, pair, stop))),
        withReferences ? askBanks(stop) : undefined,
      ]);
    },
    quotes: (pair) => [...(quotesOf.get(pair)?.values() ?? [])],
    get references() {
      return [...tables.values()];
    },
  };
}
