import { createHmac } from 'node:crypto';
import type { RequestVector } from './vector-file.ts';

const PAYOUT =
  '{"amount":"12.5","symbol":"USDC","chain":"BSC_TEST","receiveAddress":"0x52908400098527886E0F7030069857D2E4169EE7","uid":42}';
const STOLEN = PAYOUT.replace(
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
);

export function makeAttacks(token: string): readonly RequestVector[] {
  const hmac = (text: string | Buffer): string => createHmac('sha256', token).update(text).digest('hex');
  const envelope = (sign: string, members: string): string =>
    `{"sign":"${sign}","timestamp":1790000000,"nonce":"n-1",${members}}`;
  const vectors: RequestVector[] = [];
  const add = (expect: 'accepted' | 'refused', name: string, body: string | Buffer, sign: string): void => {
    const text = typeof body === 'string' ? { body } : { bodyBase64: body.toString('base64') };
    vectors.push({ name: `by-hand/${name}`, serialiser: 'by hand', expect, sign, ...text });
  };
  /** `data` in the body is the signed text. */
  const signed = (expect: 'accepted' | 'refused', name: string, data: string): void =>
    add(expect, name, envelope(hmac(data), `"data":${data}`), hmac(data));
  /** The body contains another text than the signed `data`. */
  const other = (expect: 'accepted' | 'refused', name: string, data: string, members: string): void =>
    add(expect, name, envelope(hmac(data), members), hmac(data));

  signed('accepted', 'as-signed', PAYOUT);
  addOtherData(other);
  addOtherSpellings(other);
  addBrokenText(signed, (name, body) => add('refused', name, body, hmac(PAYOUT)), hmac(PAYOUT));
  addSigns(add, hmac(PAYOUT));
  add('refused', 'key-of-another', envelope(wrongKey(), `"data":${PAYOUT}`), wrongKey());
  return vectors;
}

type AddOther = (expect: 'accepted' | 'refused', name: string, data: string, members: string) => void;

/** The meaning differs from the signed one. */
function addOtherData(other: AddOther): void {
  other('refused', 'another-address', PAYOUT, `"data":${STOLEN}`);
  other('refused', 'another-amount', PAYOUT, `"data":${PAYOUT.replace('12.5', '12.6')}`);
  other('refused', 'amount-as-number', PAYOUT, `"data":${PAYOUT.replace('"12.5"', '12.5')}`);
  other('refused', 'number-with-zeros', '{"amount":12.5}', '"data":{"amount":12.50}');
  other('refused', 'number-with-exponent', '{"amount":100}', '"data":{"amount":1e2}');
  other('refused', 'number-as-float', '{"amount":1}', '"data":{"amount":1.0}');
  other(
    'refused',
    'number-beyond-a-double',
    '{"amount":9007199254740993}',
    '"data":{"amount":9007199254740992}',
  );
  other('refused', 'negative-zero', '{"amount":0}', '"data":{"amount":-0}');
  other('refused', 'a-member-more', PAYOUT, `"data":${PAYOUT.replace('}', ',"memo":"x"}')}`);
  other('refused', 'a-member-less', PAYOUT, `"data":${PAYOUT.replace(',"uid":42', '')}`);
  other('refused', 'null-for-nothing', '{"a":1}', '"data":{"a":1,"b":null}');
  other('refused', 'list-in-another-order', '{"a":[1,2]}', '"data":{"a":[2,1]}');
  other('refused', 'keys-in-another-order', '{"b":1,"a":2,"c":3}', '"data":{"c":3,"b":1,"a":2}');
  other('refused', 'key-in-another-case', PAYOUT, `"data":${PAYOUT.replace('"amount"', '"Amount"')}`);
  other('refused', 'text-normalised-otherwise', '{"a":"\u00e9"}', '"data":{"a":"e\u0301"}');
  other('refused', 'twice-signed-first', PAYOUT, `"data":${PAYOUT},"data":${STOLEN}`);
  other('refused', 'twice-signed-last', PAYOUT, `"data":${STOLEN},"data":${PAYOUT}`);
  other('refused', 'twice-equal', PAYOUT, `"data":${PAYOUT},"data":${PAYOUT}`);
  other('refused', 'twice-one-escaped', PAYOUT, `"data":${PAYOUT},"d\\u0061ta":${STOLEN}`);
  other('refused', 'twice-one-escaped-first', PAYOUT, `"d\\u0061ta":${STOLEN},"data":${PAYOUT}`);
  other('refused', 'amount-twice', '{"amount":"1"}', '"data":{"amount":"1","amount":"2"}');
  other('refused', 'amount-twice-escaped', '{"amount":"1"}', '"data":{"amoun\\u0074":"2","amount":"1"}');
  other('refused', 'sign-twice', PAYOUT, `"data":${PAYOUT},"sign":"${'0'.repeat(64)}"`);
  other('refused', 'nested-elsewhere', PAYOUT, `"extra":{"data":${PAYOUT}},"data":${STOLEN}`);
  other('refused', 'nested-only', PAYOUT, `"extra":{"data":${PAYOUT}}`);
  other('refused', 'in-a-list', PAYOUT, `"data":[${PAYOUT}]`);
  other('refused', 'in-a-string', PAYOUT, `"data":${JSON.stringify(PAYOUT)}`);
  other(
    'refused',
    'in-a-string-before',
    PAYOUT,
    `"memo":${JSON.stringify(`"data":${PAYOUT}`)},"data":${STOLEN}`,
  );
  other('refused', 'key-with-capital', PAYOUT, `"Data":${PAYOUT}`);
  other('refused', 'key-with-nul', PAYOUT, `"data\\u0000":${PAYOUT}`);
  other('refused', 'no-data', PAYOUT, '"memo":1');
}

/** The signed meaning, in a spelling that no accepted serialiser produces. */
function addOtherSpellings(other: AddOther): void {
  const spaced = PAYOUT.replaceAll(/[,:](?=["\d])/g, '\n $& \t\r');
  other('accepted', 'white-space', PAYOUT, ` \n"data"\t:\r ${spaced} `);
  other(
    'accepted',
    'escapes-nobody-needs',
    PAYOUT,
    `"data":${PAYOUT.replace('amount', '\\u0061moun\\u0074').replace('USDC', 'USD\\u0043')}`,
  );
  other('accepted', 'escaped-key-of-data', PAYOUT, `"d\\u0061ta":${PAYOUT}`);
  other('accepted', 'more-in-the-envelope', PAYOUT, `"data":${PAYOUT},"version":"1","data2":${STOLEN}`);
  other('accepted', 'nul-escaped', '{"a":"\\u0000"}', '"data":{"a":"\\u0000"}');
  other('accepted', 'empty-data', '{}', '"data":{ }');
  other('accepted', 'upper-case-hex', '{"a":"\\u00e9"}', '"data":{"a":"\\u00E9"}');
}

/** A strict parser rejects these, although the signature is correct where one exists. */
function addBrokenText(
  signed: (expect: 'accepted' | 'refused', name: string, data: string) => void,
  refused: (name: string, body: string | Buffer) => void,
  sign: string,
): void {
  const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
  const list = (elements: number): string =>
    `{"a":[${Array.from({ length: elements }, () => '1').join(',')}]}`;
  signed('accepted', 'depth-16', nested(15));
  signed('refused', 'depth-17', nested(16));
  // Counted values: the envelope, its four values, and the list in `data`.
  signed('accepted', 'values-4096', list(4_096 - 6));
  signed('refused', 'values-4097', list(4_096 - 5));
  const broken: Record<string, string> = {
    'proto-key': '{"__proto__":{"amount":"1"}}',
    'proto-key-escaped': '{"\\u005f_proto__":1}',
    'lone-high-surrogate': '{"a":"\\ud83d"}',
    'lone-low-surrogate': '{"a":"\\ude00"}',
    'surrogates-swapped': '{"a":"\\ude00\\ud83d"}',
    'surrogate-then-text': '{"a":"\\ud83dx"}',
    'surrogate-in-key': '{"\\ud83d":1}',
    'zero-first': '{"a":01}',
    'minus-zero-first': '{"a":-01}',
    'plus-sign': '{"a":+1}',
    'point-first': '{"a":.5}',
    'point-last': '{"a":5.}',
    'hex-number': '{"a":0x10}',
    nan: '{"a":NaN}',
    infinity: '{"a":-Infinity}',
    'exponent-empty': '{"a":1e}',
    'exponent-sign-only': '{"a":1e+}',
    'number-underscore': '{"a":1_000}',
    'minus-only': '{"a":-}',
    comment: '{"a":1/* */}',
    'comma-last': '{"a":1,}',
    'comma-last-in-list': '{"a":[1,]}',
    'comma-missing': '{"a":1 "b":2}',
    'colon-missing': '{"a" 1}',
    'single-quotes': "{'a':1}",
    'key-unquoted': '{a:1}',
    'word-in-capitals': '{"a":True}',
    'word-cut': '{"a":tru}',
    'tab-in-string': '{"a":"\t"}',
    'line-feed-in-string': '{"a":"\n"}',
    'nul-in-string': '{"a":"\u0000"}',
    'escape-unknown': '{"a":"\\x41"}',
    'escape-quote': '{"a":"\\\'"}',
    'escape-short': '{"a":"\\u12"}',
    'escape-not-hex': '{"a":"\\u12g4"}',
    'form-feed-between': '{"a":\f1}',
    'no-break-space-between': '{"a":\u00a01}',
    'byte-order-mark-between': '{"a":\ufeff1}',
    'nul-between': '{"a":1\u0000}',
    'bracket-mixed': '{"a":[1}]',
  };
  for (const [name, data] of Object.entries(broken)) signed('refused', name, data);
  addBrokenBytes(refused, sign);
}

function addBrokenBytes(refused: (name: string, body: string | Buffer) => void, sign: string): void {
  const good = `{"sign":"${sign}","timestamp":1790000000,"nonce":"n-1","data":${PAYOUT}}`;
  const withBytes = (...bytes: number[]): Buffer =>
    Buffer.concat([Buffer.from(`${good.slice(0, -1)},"memo":"`), Buffer.from(bytes), Buffer.from('"}')]);
  refused('overlong-slash', withBytes(0xc0, 0xaf));
  refused('overlong-quote', withBytes(0xc0, 0xa2));
  refused('overlong-nul', withBytes(0xc0, 0x80));
  refused('overlong-three-bytes', withBytes(0xe0, 0x80, 0xaf));
  refused('surrogate-in-utf8', withBytes(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80));
  refused('beyond-unicode', withBytes(0xf4, 0x90, 0x80, 0x80));
  refused('latin-1', withBytes(0xe9));
  refused('utf8-cut', withBytes(0xe2, 0x80));
  refused('byte-order-mark', `\ufeff${good}`);
  refused('utf-16', Buffer.from(good, 'utf16le'));
  refused('after-the-end', `${good}x`);
  refused('two-objects', `${good}${good}`);
  refused('nul-after-the-end', `${good}\u0000`);
  refused('cut-short', good.slice(0, -1));
  refused('list-at-the-top', `[${good}]`);
  refused('string-at-the-top', JSON.stringify(good));
  refused('null-at-the-top', 'null');
  refused('empty', '');
  refused('white-space-only', ' \n');
}

function addSigns(
  add: (expect: 'accepted' | 'refused', name: string, body: string, sign: string) => void,
  sign: string,
): void {
  const withSign = (expect: 'accepted' | 'refused', name: string, given: string): void =>
    add(
      expect,
      `sign-${name}`,
      `{"sign":${JSON.stringify(given)},"timestamp":1790000000,"nonce":"n-1","data":${PAYOUT}}`,
      given,
    );
  withSign('accepted', 'upper-case', sign.toUpperCase());
  withSign(
    'refused',
    'one-digit-changed',
    sign.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
  );
  withSign('refused', 'empty', '');
  withSign('refused', 'cut', sign.slice(0, -2));
  withSign('refused', 'longer', `${sign}00`);
  withSign('refused', 'with-line-feed', `${sign}\n`);
  withSign('refused', 'with-prefix', `0x${sign}`);
  withSign('refused', 'base64', Buffer.from(sign, 'hex').toString('base64'));
  withSign('refused', 'not-hex', `${sign.slice(0, -1)}g`);
}

function wrongKey(): string {
  return createHmac('sha256', 'another-token').update(PAYOUT).digest('hex');
}
