import { describe, expect, it } from 'vitest';
import { normalizeStructTag } from '@mysten/sui/utils';
import { coinTypeOf, contractOf, parseCoinType, SUI_COIN_TYPE } from './coin-type.ts';

const USDC = '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC';

describe('coin types', () => {
  it('parses every spelling into the canonical form of nodes and the SDK', () => {
    for (const text of [
      USDC,
      '0x2::sui::SUI',
      '0x02::sui::SUI',
      '0x00000abc::a_1::_B2',
      USDC.replace('db', 'DB'),
    ])
      expect(parseCoinType(text)).toBe(normalizeStructTag(text));
    expect(parseCoinType(USDC)).toBe(USDC);
    expect(parseCoinType('0x2::sui::SUI')).toBe(SUI_COIN_TYPE);
  });

  it('keeps the case of module and struct, which tells coins apart', () => {
    expect(parseCoinType(USDC.replace('USDC', 'usdc'))).not.toBe(USDC);
    expect(parseCoinType(USDC.replace('::usdc', '::Usdc'))).not.toBe(USDC);
  });

  it('rejects text that is not a plain coin type', () => {
    for (const text of [
      '',
      USDC.split('::')[0]!,
      `${USDC}::x`,
      `${USDC}<0x2::sui::SUI>`,
      `0x2::coin::Coin<${USDC}>`,
      USDC.slice(2),
      `0x${'1'.repeat(65)}::usdc::USDC`,
      '0x::usdc::USDC',
      '0x2::1a::B',
      ` ${USDC}`,
      `${USDC}\n`,
    ])
      expect({ text, type: parseCoinType(text) }).toEqual({ text, type: undefined });
  });

  it('maps null to the native coin and back', () => {
    expect(contractOf(SUI_COIN_TYPE)).toBeNull();
    expect(coinTypeOf(null)).toBe(SUI_COIN_TYPE);
    const usdc = parseCoinType(USDC)!;
    expect(contractOf(usdc)).toBe(usdc);
    expect(coinTypeOf(usdc)).toBe(usdc);
  });
});
