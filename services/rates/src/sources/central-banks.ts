import { asArray, asObject } from '@opentill/contracts/signing/json-value';
import { inverse, multiply, ONE, parseRatio, type Ratio } from '@opentill/domain/ratio';
import { at, priceAt, readJson } from './read-json.ts';
import { unreadable, type ReferenceSource } from './source.ts';

/** @throws GatewayError SOURCE_ANSWER_UNREADABLE */
function startOfDay(date: string | undefined): number {
  const atMs = date !== undefined && /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : NaN;
  if (Number.isNaN(atMs)) throw unreadable('date');
  return atMs;
}

/** @throws GatewayError SOURCE_ANSWER_UNREADABLE when a table has no rates */
function tableOf(own: string, rates: readonly (readonly [currency: string, value: Ratio])[]) {
  if (rates.length === 0) throw unreadable('rates');
  return new Map([[own, ONE], ...rates]);
}

/**
 * https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates: units of each currency for
 * one euro, on working days at about 16:00 CET.
 */
const ECB: ReferenceSource = {
  name: 'ecb',
  baseUrl: 'https://www.ecb.europa.eu',
  path: '/stats/eurofxref/eurofxref-daily.xml',
  read(body) {
    const atMs = startOfDay(/<Cube time=['"]([0-9-]{10})['"]>/.exec(body)?.[1]);
    const rates = [...body.matchAll(/<Cube currency=['"]([A-Z]{3})['"] rate=['"]([0-9.]+)['"]\s*\/>/g)];
    const valueOf = tableOf(
      'EUR',
      rates.map(([, currency = '', rate = '']) => [currency, inverse(ratioOf(rate))]),
    );
    return { atMs, valueOf };
  },
};

/** https://api.nbp.pl: table A, złoty for one unit of each currency, on working days at about noon. */
const NBP: ReferenceSource = {
  name: 'nbp',
  baseUrl: 'https://api.nbp.pl',
  path: '/api/exchangerates/tables/A?format=json',
  read(body) {
    const table = at(readJson(body), 0);
    const date = at(table, 'effectiveDate');
    const rates = asArray(at(table, 'rates')) ?? [];
    return {
      atMs: startOfDay(typeof date === 'string' ? date : undefined),
      valueOf: tableOf(
        'PLN',
        rates.map((rate) => {
          const code = at(rate, 'code');
          if (typeof code !== 'string') throw unreadable('code');
          return [code, priceAt(rate, 'mid')];
        }),
      ),
    };
  },
};

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/**
 * https://www.cnb.cz/en/faq/Format-of-the-foreign-exchange-market-rates: koruny for an amount of each currency. The
 * first line is `24 Nov 2026 #227`; the page documents `24.Nov.2026  #227`.
 */
const CNB: ReferenceSource = {
  name: 'cnb',
  baseUrl: 'https://www.cnb.cz',
  path: '/en/financial-markets/foreign-exchange-market/central-bank-exchange-rate-fixing/central-bank-exchange-rate-fixing/daily.txt',
  read(body) {
    const [, day = '', month = '', year = ''] =
      /^(\d\d?)[ .]([A-Z][a-z]{2})[ .](\d{4}) +#\d+/.exec(body) ?? [];
    const monthNumber = `${MONTHS.indexOf(month) + 1}`.padStart(2, '0');
    const atMs = startOfDay(`${year}-${monthNumber}-${day.padStart(2, '0')}`);
    const lines = [...body.matchAll(/^[^|\n]+\|[^|\n]+\|(\d+)\|([A-Z]{3})\|([0-9.]+)\r?$/gm)];
    const valueOf = tableOf(
      'CZK',
      lines.map(([, amount = '', currency = '', rate = '']) => [
        currency,
        multiply(ratioOf(rate), inverse(ratioOf(amount))),
      ]),
    );
    return { atMs, valueOf };
  },
};

/** https://www.bankofcanada.ca/valet/docs: series FX<currency>CAD, Canadian dollars for one unit, at 16:30 ET. */
const BANK_OF_CANADA: ReferenceSource = {
  name: 'bank-of-canada',
  baseUrl: 'https://www.bankofcanada.ca',
  path: '/valet/observations/group/FX_RATES_DAILY/json?recent=1',
  read(body) {
    const observation = asObject(at(readJson(body), 'observations', 0));
    const date = observation?.get('d');
    const rates = [...(observation?.entries() ?? [])].flatMap(([series, value]) => {
      const currency = /^FX([A-Z]{3})CAD$/.exec(series)?.[1];
      return currency === undefined ? [] : [[currency, priceAt(value, 'v')] as const];
    });
    const atMs = startOfDay(typeof date === 'string' ? date : undefined);
    return { atMs, valueOf: tableOf('CAD', rates) };
  },
};

function ratioOf(text: string): Ratio {
  const ratio = parseRatio(text);
  if (ratio === undefined) throw unreadable(`rate in '${text}'`);
  return ratio;
}

export const CENTRAL_BANKS: readonly ReferenceSource[] = [ECB, NBP, CNB, BANK_OF_CANADA];
