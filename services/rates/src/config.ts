import { isCurrency, type Currency } from '@opentill/domain/currency';
import { isLoopback } from '@opentill/domain/loopback';
import { invalidConfig, readConfig, type Environment } from '@opentill/runtime/config';
import {
  basicProperties,
  basicSettings,
  type BasicSettings,
  type BasicVariables,
} from '@opentill/runtime/service-settings';
import { parseCoin, parseManualRate, type RateSettings } from './rate-settings.ts';
import { CENTRAL_BANKS } from './sources/central-banks.ts';
import { EXCHANGES } from './sources/exchanges.ts';

export interface RatesConfig extends BasicSettings {
  readonly rates: RateSettings;
}

interface Variables extends BasicVariables {
  readonly PRICE_CURRENCIES: readonly string[];
  readonly PRICE_COINS: readonly string[];
  readonly MANUAL_RATES: readonly string[];
  readonly RATE_SOURCES: readonly string[];
  readonly RATE_SOURCES_URL?: string;
  readonly RATE_MAX_SPREAD_BPS: number;
  readonly RATE_MAX_AGE_SECONDS: number;
  readonly PEG_TOLERANCE_BPS: number;
  readonly DEPEG_ACTION: 'refuse' | 'market';
}

const SOURCE_NAMES = [...EXCHANGES, ...CENTRAL_BANKS].map(({ name }) => name);

/** Central banks fix their rates at different hours. */
const REFERENCE_MAX_SPREAD_BPS = 100;
/** From the Thursday before Easter to the Tuesday after it, in the evening. */
const REFERENCE_MAX_AGE_MS = 144 * 3_600_000;
/** So that one missed answer makes no rate stale. */
const POLLS_PER_MAX_AGE = 4;

export const RATES_CONFIG_SCHEMA = {
  required: ['DATABASE_URL'],
  properties: {
    ...basicProperties({ healthPort: 3026, databasePoolMax: 2 }),
    PRICE_CURRENCIES: { type: 'array', items: { type: 'string' }, uniqueItems: true, default: [] },
    PRICE_COINS: {
      type: 'array',
      items: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,32}:[A-Z]{3}$' },
      uniqueItems: true,
      default: ['USDT:USD', 'USDC:USD'],
    },
    MANUAL_RATES: { type: 'array', items: { type: 'string' }, uniqueItems: true, default: [] },
    RATE_SOURCES: {
      type: 'array',
      items: { type: 'string', enum: SOURCE_NAMES },
      uniqueItems: true,
      default: SOURCE_NAMES,
    },
    RATE_SOURCES_URL: { type: 'string', pattern: '^https?://[^?#\\s]+[^/?#\\s]$' },
    RATE_MAX_SPREAD_BPS: { type: 'integer', minimum: 1, maximum: 1_000, default: 50 },
    RATE_MAX_AGE_SECONDS: { type: 'integer', minimum: 30, maximum: 3_600, default: 120 },
    PEG_TOLERANCE_BPS: { type: 'integer', minimum: 1, maximum: 1_000, default: 50 },
    DEPEG_ACTION: { type: 'string', enum: ['refuse', 'market'], default: 'refuse' },
  },
} as const;

/** @throws GatewayError CONFIG_INVALID */
export function readRatesConfig(env: Environment): RatesConfig {
  const variables = readConfig<Variables>(RATES_CONFIG_SCHEMA, env);
  const maxAgeMs = variables.RATE_MAX_AGE_SECONDS * 1_000;
  const isEnabled = ({ name }: { readonly name: string }) => variables.RATE_SOURCES.includes(name);
  return {
    ...basicSettings(variables),
    rates: {
      currencies: parsed(
        'PRICE_CURRENCIES',
        variables.PRICE_CURRENCIES,
        parseCurrency,
        (currency) => currency,
      ),
      coins: parsed('PRICE_COINS', variables.PRICE_COINS, parseCoin, ({ symbol }) => symbol),
      manual: parsed(
        'MANUAL_RATES',
        variables.MANUAL_RATES,
        parseManualRate,
        (rate) => `${rate.symbol}/${rate.currency}`,
      ),
      exchanges: EXCHANGES.filter(isEnabled),
      centralBanks: CENTRAL_BANKS.filter(isEnabled),
      sourcesUrl: checkedSourcesUrl(variables.RATE_SOURCES_URL),
      rules: {
        market: { maxSpreadBps: variables.RATE_MAX_SPREAD_BPS, maxAgeMs },
        references: { maxSpreadBps: REFERENCE_MAX_SPREAD_BPS, maxAgeMs: REFERENCE_MAX_AGE_MS },
        pegToleranceBps: variables.PEG_TOLERANCE_BPS,
        whenDepegged: variables.DEPEG_ACTION === 'market' ? 'MARKET' : 'REFUSE',
      },
      pollIntervalMs: maxAgeMs / POLLS_PER_MAX_AGE,
    },
  };
}

function parseCurrency(text: string): Currency | undefined {
  return isCurrency(text) ? text : undefined;
}

const FORMS: Readonly<Record<string, string>> = {
  PRICE_CURRENCIES: 'codes of ISO 4217, such as EUR',
  PRICE_COINS: 'coins with the currency of their peg, such as USDT:USD',
  MANUAL_RATES: 'rates such as USDT/EUR=0.92, from 0.000000000001 up to 18 digits before the point',
};

/** Parses a list. Two entries with the same key are a mistake: only one of them could count. */
function parsed<T>(
  name: string,
  texts: readonly string[],
  parse: (text: string) => T | undefined,
  keyOf: (value: T) => string,
): T[] {
  const textOf = new Map<string, string>();
  return texts.map((text) => {
    const value = parse(text);
    if (value === undefined) throw invalidConfig([`${name} has '${text}'; write ${FORMS[name]}`]);
    const key = keyOf(value);
    const before = textOf.get(key);
    if (before !== undefined)
      throw invalidConfig([`${name} has '${before}' and '${text}' for ${key}; keep one of them`]);
    textOf.set(key, text);
    return value;
  });
}

/** A third party that changes answers on the way sets the rates, so that plain http is for this machine only. */
function checkedSourcesUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (!URL.canParse(text)) throw invalidConfig(['RATE_SOURCES_URL is no URL']);
  const { protocol, hostname } = new URL(text);
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw invalidConfig([
      'RATE_SOURCES_URL must be https; http is for this machine only, such as http://127.0.0.1:8080',
    ]);
  return text;
}
