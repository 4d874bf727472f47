import { asNumberLexeme, type JsonValue } from '@opentill/contracts/signing/json-value';
import type { Chain } from '@opentill/domain/chains';
import { minorUnits, type Currency } from '@opentill/domain/currency';
import { AMOUNT_DIGITS_MAX, AMOUNT_GRAMMAR } from '@opentill/domain/money';
import { isBlank, oneOf, quote, wrongType } from './describe-value.ts';

// Details for values of `data` that order-fields.ts has rejected.

const AMOUNT_FORM = 'write digits with a point, such as "25.00"';
const NAME_FORM = '1 to 64 letters, digits and _ - . : ~ @';
const NAME_CHARACTERS_MAX = 64;

export function explainAmount(value: JsonValue | undefined, field = 'amount'): string {
  const text = typeof value === 'string' ? value : asNumberLexeme(value);
  if (text === undefined || isBlank(value)) return wrongType(field, value, AMOUNT_FORM);
  if (AMOUNT_GRAMMAR.test(text)) {
    return `${field}: has ${text.replace('.', '').length} digits; at most ${AMOUNT_DIGITS_MAX}`;
  }
  if (/[eE]/.test(text)) return `${field}: ${quote(text)} has an exponent or letters; ${AMOUNT_FORM}`;
  if (/^[+-]/.test(text)) return `${field}: ${quote(text)} has a sign; ${AMOUNT_FORM}`;
  return `${field}: ${quote(text)} is not a decimal number; ${correctedAmount(text) ?? AMOUNT_FORM}`;
}

/** Three digits after a comma may be thousands or decimals, so that amount is not corrected. */
function correctedAmount(text: string): string | undefined {
  const isDecimalComma = /^[0-9]{1,20},(?:[0-9]{1,2}|[0-9]{4,10})$/.test(text);
  return isDecimalComma ? `write ${text.replace(',', '.')}` : undefined;
}

export function explainCurrency(value: JsonValue | undefined): string {
  const form = 'write a code of ISO 4217, such as EUR';
  if (typeof value !== 'string' || isBlank(value)) return wrongType('currency', value, form);
  return `currency: ${quote(value)} is unknown; ${form}`;
}

export function explainPrice(value: JsonValue | undefined, currency: Currency, field = 'price'): string {
  const text = typeof value === 'string' ? value : asNumberLexeme(value);
  const form = `a price in ${currency} is greater than zero, with at most ${minorUnits(currency)} decimals and 18 digits`;
  return text === undefined ? wrongType(field, value, form) : `${field}: ${quote(text)}; ${form}`;
}

export function explainSymbol(value: JsonValue | undefined): string {
  return wrongType('symbol', value, 'GET /v1/symbol/supportSymbols lists the symbols');
}

export function explainChain(value: JsonValue | undefined, enabled: readonly Chain[]): string {
  if (typeof value !== 'string' || isBlank(value)) return wrongType('chain', value, oneOf(enabled));
  return `chain: ${quote(value)} is unknown; ${oneOf(enabled)}`;
}

/** `orderId`, `linkId`, or a `uid` that is no number. */
export function explainName(field: 'orderId' | 'linkId' | 'uid', value: JsonValue | undefined): string {
  if (typeof value !== 'string' || isBlank(value)) {
    const literal = asNumberLexeme(value);
    return literal === undefined
      ? wrongType(field, value, NAME_FORM)
      : `${field}: is the number ${literal.slice(0, 40)}; write a string`;
  }
  if (value.length > NAME_CHARACTERS_MAX) {
    return `${field}: has ${value.length} characters; ${NAME_FORM}`;
  }
  const [wrong] = /[^A-Za-z0-9_.:~@-]/u.exec(value) ?? [];
  if (wrong !== undefined) return `${field}: ${quote(value)} contains ${quote(wrong)}; ${NAME_FORM}`;
  return `${field}: ${quote(value)} is a relative path; use another id`;
}

export function explainUid(value: JsonValue | undefined): string {
  const literal = asNumberLexeme(value);
  if (literal === undefined) return explainName('uid', value);
  return `uid: ${quote(literal)} is not an integer of at most 64 digits; write an integer or a string`;
}

export function explainReturnUrl(
  value: JsonValue | undefined,
  charactersMax: number,
  allowHttp: boolean,
): string {
  if (typeof value !== 'string') return wrongType('returnUrl', value, 'write a string with an https URL');
  if (value.length > charactersMax)
    return `returnUrl: has ${value.length} characters; at most ${charactersMax}`;
  if (!/^[\x21-\x7e]+$/.test(value)) {
    return 'returnUrl: contains white space or characters beyond ASCII; percent-encode them';
  }
  const url = URL.parse(value);
  if (url === null) return 'returnUrl: is not an absolute URL, such as https://shop.example/thanks';
  if (url.username !== '' || url.password !== '') {
    return 'returnUrl: contains a user name or password; leave them out';
  }
  return `returnUrl: the scheme is ${quote(url.protocol.slice(0, -1))}; write ${allowHttp ? 'https or http' : 'https'}`;
}

export function explainDescription(value: JsonValue | undefined, charactersMax: number): string {
  if (typeof value !== 'string')
    return wrongType('description', value, `a string of at most ${charactersMax} characters`);
  const { length } = Array.from(value);
  if (length > charactersMax) return `description: has ${length} characters; at most ${charactersMax}`;
  return 'description: contains a line break, a control character or a character that changes the text direction';
}

export function explainExpiresIn(value: JsonValue | undefined, minimum: number, maximum: number): string {
  const literal = asNumberLexeme(value);
  const expected = `an integer from ${minimum} to ${maximum} seconds`;
  if (literal === undefined)
    return wrongType('expiresIn', value, `write ${expected}, without quotation marks`);
  return `expiresIn: ${quote(literal)} is not ${expected}`;
}
