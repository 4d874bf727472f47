import { describe, expect, test } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import { decodeMarket, decodeNextBaseFee } from './read-prices.ts';

const history = (
  tips: readonly string[],
  gasUsedRatio: readonly number[],
  baseFeePerGas: readonly string[],
): unknown => ({
  oldestBlock: '0x1',
  baseFeePerGas,
  gasUsedRatio,
  reward: tips.map((tip) => [tip]),
});

describe('decodeMarket', () => {
  test('takes the next block’s base fee and the median tip of non-empty blocks', () => {
    const raw = history(
      ['0x5', '0x0', '0x1', '0x9'],
      [0.5, 0, 0.1, 0.9],
      ['0x7', '0x8', '0x9', '0xa', '0xb'],
    );
    expect(decodeMarket(raw)).toEqual({ baseFeePerGas: 11n, tipPerGas: 5n });
  });

  test('returns zero prices for blocks with neither transactions nor a base fee', () => {
    expect(decodeMarket(history(['0x0'], [0], ['0x0', '0x0']))).toEqual({ baseFeePerGas: 0n, tipPerGas: 0n });
  });

  test.each([
    null,
    {},
    { baseFeePerGas: [], gasUsedRatio: [], reward: [] },
    history(['soon'], [1], ['0x1', '0x1']),
    { baseFeePerGas: ['0x1'], gasUsedRatio: [1], reward: [null] },
    { baseFeePerGas: ['0x1'], gasUsedRatio: [1], reward: null },
    history(['0x1'], [1], ['0x1', `0x${'f'.repeat(64)}`]),
  ])('rejects the fee history %j', (raw) => {
    expect(() => decodeMarket(raw)).toThrow(GatewayError);
  });

  test('reads the next base fee of a history without tips', () => {
    expect(decodeNextBaseFee({ baseFeePerGas: ['0x1', '0x2'], gasUsedRatio: [0] })).toBe(2n);
  });
});
