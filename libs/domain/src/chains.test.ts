import { expect, test } from 'vitest';
import { familyOf, isChain, PRESET_CHAINS, PRESETS, presetOf, type Chain } from './chains.ts';

test.each(['eth', 'ETH ', '', 'E', '1ETH', '_ETH', 'toString', '__proto__', `A${'B'.repeat(32)}`, null, 1])(
  'rejects %j as a chain',
  (value) => {
    expect(isChain(value)).toBe(false);
  },
);

test('a chain that is no preset belongs to the EVM family and has no known identity', () => {
  const chain = 'ACME_L2' as Chain;
  expect(isChain(chain)).toBe(true);
  expect(familyOf(chain)).toBe('EVM');
  expect(presetOf(chain)).toBeUndefined();
});

test('presets have names of the allowed form, and EVM presets distinct chain ids', () => {
  for (const chain of PRESET_CHAINS) expect(isChain(chain)).toBe(true);
  const ids = Object.values(PRESETS).flatMap((preset) => ('chainId' in preset ? [preset.chainId] : []));
  expect(new Set(ids).size).toBe(ids.length);
  for (const chain of PRESET_CHAINS)
    expect(presetOf(chain)?.chainId !== undefined).toBe(familyOf(chain) === 'EVM');
});
