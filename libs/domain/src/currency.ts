/** ISO 4217 code of a currency in use, such as EUR. */
export type Currency = string & { readonly __brand: 'Currency' };

/** Active codes of ISO 4217 (list one), without metals, funds and test codes, by the digits of their minor unit. */
const CODES: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF',
  2:
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC ' +
    'CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR ' +
    'JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD ' +
    'NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN ' +
    'SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW',
  3: 'BHD IQD JOD KWD LYD OMR TND',
};

const MINOR_UNITS: ReadonlyMap<string, number> = new Map(
  Object.entries(CODES).flatMap(([digits, codes]) =>
    codes.split(' ').map((code) => [code, Number(digits)] as const),
  ),
);

/** Upper case only. */
export function isCurrency(value: unknown): value is Currency {
  return typeof value === 'string' && MINOR_UNITS.has(value);
}

/** Digits after the point of a price in this currency: 2 for EUR, 0 for JPY. */
export function minorUnits(currency: Currency): number {
  return MINOR_UNITS.get(currency) ?? 2;
}
