import { describe, expect, it } from 'vitest';
import { asObject, readMember } from '@opentill/contracts/signing/json-value';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import { createAssetBook } from '../asset-book.ts';
import { readCollectionFields, readPayoutFields, type FieldRules } from '../order-fields.ts';

const V3: FieldRules = {
  version: 'V3',
  allowHttpReturnUrl: false,
  enabledChains: ['ETH_SEPOLIA', 'BSC_TEST'],
  isKnownChain: createAssetBook([], []).isKnownChain,
};
const ORDER = { amount: '1', symbol: 'USDT', chain: 'ETH_SEPOLIA', orderId: 'a' };
const RECEIVER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const AMOUNT_FORM = 'write digits with a point, such as "25.00"';
const NAME_FORM = '1 to 64 letters, digits and _ - . : ~ @';

/** `ORDER` with changed fields, whose values are JSON texts. */
function dataWith(changed: Readonly<Record<string, string | undefined>>) {
  const fields = Object.entries({
    ...Object.fromEntries(Object.entries(ORDER).map(([name, value]) => [name, JSON.stringify(value)])),
    ...changed,
  });
  const members = fields.flatMap(([name, json]) => (json === undefined ? [] : [`"${name}":${json}`]));
  const body = Buffer.from(`{"data":{${members.join(',')}}}`);
  return asObject(readMember(tokenizeJson(body), 'data'))!;
}
const read = (changed: Readonly<Record<string, string | undefined>>, rules = V3) =>
  readCollectionFields(dataWith(changed), rules);

describe('details of createCollection', () => {
  it.each([
    ['amount', undefined, `is missing; ${AMOUNT_FORM}`],
    ['amount', '""', `is missing; ${AMOUNT_FORM}`],
    ['amount', '["5"]', `is a list; ${AMOUNT_FORM}`],
    ['amount', '"12,50"', "'12,50' is not a decimal number; write 12.50"],
    ['amount', '"12,5"', "'12,5' is not a decimal number; write 12.5"],
    ['amount', '"12,500"', `'12,500' is not a decimal number; ${AMOUNT_FORM}`],
    ['amount', '"1,234.50"', `'1,234.50' is not a decimal number; ${AMOUNT_FORM}`],
    ['amount', '"1e2"', `'1e2' has an exponent or letters; ${AMOUNT_FORM}`],
    ['amount', '1e2', `'1e2' has an exponent or letters; ${AMOUNT_FORM}`],
    ['amount', '"-5"', `'-5' has a sign; ${AMOUNT_FORM}`],
    ['amount', '"1111111111222222222233333333334"', 'has 31 digits; at most 30'],
    ['symbol', undefined, 'is missing; GET /v1/symbol/supportSymbols lists the symbols'],
    ['symbol', '7', 'is a number; GET /v1/symbol/supportSymbols lists the symbols'],
    ['chain', undefined, 'is missing; one of ETH_SEPOLIA, BSC_TEST'],
    ['chain', '"Ethereum"', "'Ethereum' is unknown; one of ETH_SEPOLIA, BSC_TEST"],
    ['chain', '"eth_sepolia"', "'eth_sepolia' is unknown; one of ETH_SEPOLIA, BSC_TEST"],
    ['receiveAddress', `"${RECEIVER}"`, 'belongs to createPayout; createCollection takes none'],
    ['uid', '1.5', "'1.5' is not an integer of at most 64 digits; write an integer or a string"],
    ['uid', '"a b"', `'a b' contains ' '; ${NAME_FORM}`],
    ['uid', '{}', `is an object; ${NAME_FORM}`],
    ['orderId', undefined, `is missing; ${NAME_FORM}`],
    ['orderId', '1042', 'is the number 1042; write a string'],
    ['orderId', '"order 1/2"', `'order 1/2' contains ' '; ${NAME_FORM}`],
    ['orderId', '"caf\u00e9"', `'caf\\u00e9' contains '\\u00e9'; ${NAME_FORM}`],
    ['orderId', `"${'x'.repeat(65)}"`, `has 65 characters; ${NAME_FORM}`],
    ['orderId', '".."', "'..' is a relative path; use another id"],
    ['returnUrl', '7', 'is a number; write a string with an https URL'],
    ['returnUrl', '"http://shop.example"', "the scheme is 'http'; write https"],
    ['returnUrl', '"shop.example"', 'is not an absolute URL, such as https://shop.example/thanks'],
    [
      'returnUrl',
      '"https://shop.example/ a"',
      'contains white space or characters beyond ASCII; percent-encode them',
    ],
    ['returnUrl', '"https://u:secret@shop.example"', 'contains a user name or password; leave them out'],
    ['returnUrl', `"https://shop.example/${'x'.repeat(2_028)}"`, 'has 2049 characters; at most 2048'],
    ['description', '7', 'is a number; a string of at most 120 characters'],
    ['description', `"${'x'.repeat(121)}"`, 'has 121 characters; at most 120'],
    [
      'description',
      '"a\\nb"',
      'contains a line break, a control character or a character that changes the text direction',
    ],
    ['expiresIn', '"600"', 'is a string; write an integer from 60 to 86400 seconds, without quotation marks'],
    ['expiresIn', '30', "'30' is not an integer from 60 to 86400 seconds"],
    ['expiresIn', '86401', "'86401' is not an integer from 60 to 86400 seconds"],
  ])('explains a wrong %s (case %#)', (field, json, detail) => {
    expect(read({ [field]: json })).toMatchObject({ detail: `${field}: ${detail}` });
  });

  it('explains a missing uid to a V2 merchant', () => {
    expect(read({}, { ...V3, version: 'V2' })).toEqual({
      code: 'UID_BLANK',
      detail: `uid: is missing; ${NAME_FORM}`,
    });
  });

  it('adds no detail where the text says all', () => {
    expect(read({ amount: '"0.00"' })).toEqual({ code: 'AMOUNT_ZERO' });
    expect(read({ uid: '0' })).toEqual({ code: 'UID_ZERO' });
  });
});

it.each([
  [undefined, 'is missing'],
  ['5', 'is a number'],
])('explains the receiveAddress %s of a payout', (json, problem) => {
  expect(readPayoutFields(dataWith({ receiveAddress: json }), V3)).toEqual({
    code: 'RECEIVE_ADDRESS_BLANK',
    detail: `receiveAddress: ${problem}; write the receiver of the payout as a string`,
  });
});
