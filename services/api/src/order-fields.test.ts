import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { asObject, readMember } from '@opentill/contracts/signing/json-value';
import { tokenizeJson } from '@opentill/contracts/signing/tokenize-json';
import { createAssetBook } from './asset-book.ts';
import { readCollectionFields, readPayoutFields, type FieldRules } from './order-fields.ts';

const V3: FieldRules = {
  version: 'V3',
  allowHttpReturnUrl: false,
  enabledChains: ['ETH_SEPOLIA', 'BSC_TEST'],
  isKnownChain: createAssetBook([], []).isKnownChain,
};
const V2: FieldRules = {
  version: 'V2',
  allowHttpReturnUrl: false,
  enabledChains: ['ETH_SEPOLIA', 'BSC_TEST'],
  isKnownChain: createAssetBook([], []).isKnownChain,
};

/** Parses `data` with the api's tokenizer, which keeps number literals. */
function data(text: string) {
  return asObject(readMember(tokenizeJson(Buffer.from(`{"data":${text}}`)), 'data'))!;
}
const collection = (fields: object, rules = V3) =>
  readCollectionFields(
    data(JSON.stringify({ amount: '1', symbol: 'USDT', chain: 'ETH', orderId: 'a', ...fields })),
    rules,
  );

describe('readCollectionFields', () => {
  it('reads the fields as sent', () => {
    expect(collection({ uid: 12345678901234567890n.toString(), description: 'd', expiresIn: 60 })).toEqual({
      amount: '1',
      price: null,
      coin: { symbol: 'USDT', chain: 'ETH' },
      accept: null,
      uid: '12345678901234567890',
      orderId: 'a',
      returnUrl: null,
      description: 'd',
      expiresInSeconds: 60,
    });
  });

  it('reads numbers from their literals', () => {
    const read = readCollectionFields(
      data(
        '{"amount":1234567890123.123456789,"symbol":"U","chain":"BSC","orderId":"a","uid":98765432109876543210}',
      ),
      V3,
    );
    expect(read).toMatchObject({ amount: '1234567890123.123456789', uid: '98765432109876543210' });
  });

  it.each(['1e3', '1E3', '1.0e0', '-1', '-0', '0e5'])('rejects the amount literal %s', (literal) => {
    const text = `{"amount":${literal},"symbol":"U","chain":"BSC","orderId":"a"}`;
    expect(readCollectionFields(data(text), V3)).toMatchObject({ code: 'AMOUNT_BLANK' });
  });

  it.each(['1e3', '1.0', '1.5'])('rejects the uid literal %s', (literal) => {
    const text = `{"amount":"1","symbol":"U","chain":"BSC","orderId":"a","uid":${literal}}`;
    expect(readCollectionFields(data(text), V3)).toMatchObject({ code: 'UID_INVALID' });
  });

  it('recognises zero in every spelling of the amount and as uid', () => {
    for (const amount of ['0', '0.0', '000', '00.000000000000000000'])
      expect(collection({ amount })).toMatchObject({ code: 'AMOUNT_ZERO' });
    for (const uid of ['0', 0]) expect(collection({ uid }, V2)).toMatchObject({ code: 'UID_ZERO' });
    expect(collection({ uid: '00' }, V2)).toMatchObject({ uid: '00' });
  });

  it('requires uid for V2 and orderId for V3', () => {
    expect(collection({ uid: null }, V2)).toMatchObject({ code: 'UID_BLANK' });
    expect(collection({ uid: '' }, V2)).toMatchObject({ code: 'UID_BLANK' });
    expect(collection({ orderId: null, uid: 'u' }, V2)).toMatchObject({ orderId: null, uid: 'u' });
    expect(collection({ orderId: null })).toMatchObject({ code: 'ORDER_ID_BLANK' });
    expect(collection({ uid: null })).toMatchObject({ uid: null });
  });

  it('accepts http return URLs only where they are allowed', () => {
    const returnUrl = 'http://localhost:3011/back';
    expect(collection({ returnUrl })).toMatchObject({ code: 'RETURN_URL_INVALID' });
    const local = collection({ returnUrl }, { ...V3, allowHttpReturnUrl: true });
    expect(local).toMatchObject({ returnUrl: new URL(returnUrl) });
    expect(collection({ returnUrl: `https://shop.example/${'x'.repeat(2048)}` })).toMatchObject({
      code: 'RETURN_URL_INVALID',
    });
    expect(collection({ returnUrl: 'https://shop.example/\tx' })).toMatchObject({
      code: 'RETURN_URL_INVALID',
    });
  });

  it('limits a description by characters, not by code units', () => {
    expect(collection({ description: '😀'.repeat(120) })).toMatchObject({ description: '😀'.repeat(120) });
    expect(collection({ description: '😀'.repeat(121) })).toMatchObject({ code: 'DESCRIPTION_INVALID' });
    expect(collection({ description: '' })).toMatchObject({ description: null });
  });

  it('accepts only valid amounts, known chains and valid names', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            amount: fc.jsonValue(),
            symbol: fc.jsonValue(),
            chain: fc.jsonValue(),
            orderId: fc.jsonValue(),
            uid: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
        (fields) => {
          let read;
          try {
            read = readCollectionFields(data(JSON.stringify(fields)), V2);
          } catch {
            return; // the tokenizer rejects duplicate keys and lone surrogates
          }
          if ('code' in read) {
            expect(read.detail ?? '').toMatch(/^[ -~]{0,600}$/);
            return;
          }
          expect(read.amount).toMatch(/^\d+(\.\d+)?$/);
          expect(read.uid).toMatch(/^[A-Za-z0-9_.:~@-]{1,64}$/);
          expect(read.orderId ?? 'made').toMatch(/^[A-Za-z0-9_.:~@-]{1,64}$/);
        },
      ),
    );
  });
});

describe('readPayoutFields', () => {
  it('checks the receiver before uid and orderId', () => {
    const text = '{"amount":"1","symbol":"U","chain":"BSC","uid":"a b"}';
    expect(readPayoutFields(data(text), V3)).toMatchObject({ code: 'RECEIVE_ADDRESS_BLANK' });
    const right = '{"amount":"1","symbol":"U","chain":"BSC","orderId":"o","receiveAddress":"anything"}';
    expect(readPayoutFields(data(right), V3)).toEqual({
      amount: '1',
      coin: { symbol: 'U', chain: 'BSC' },
      uid: null,
      orderId: 'o',
      receiveAddress: 'anything',
    });
  });
});
